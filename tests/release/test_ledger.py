"""The ledger adds up what was released, refuses what passes the cap, and notices every change."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.release import ledger, ledger_lines
from dxbeam.release.accounts import accounts
from tests.support.ledgers import entry, released
from tests.support.tiny import KEY


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "books" / "ledger.jsonl")


def _spent(path: str, corpus: str = "notes") -> tuple[float, float]:
    return ledger.spent(ledger.read(path), corpus)


def test_an_empty_ledger_has_nothing_spent(path: str) -> None:
    assert ledger.read(path) == []
    assert _spent(path) == (0, 0)


def test_epsilon_and_delta_add_up_for_each_corpus(path: str) -> None:
    released(path, "1", "d1", delta=1e-6)
    released(path, "2", "d1", key="k2", epsilon=5.0, delta=2e-6)
    released(path, "3", "d1", corpus="letters")
    assert _spent(path) == (15.0, 3e-6)
    assert _spent(path, "letters") == (10.0, 0)


def test_a_copy_counts_once(path: str) -> None:
    for run in "123":
        released(path, run, "d1")
    assert _spent(path) == (10.0, 0)


@pytest.mark.parametrize(
    "changes", [{"key": "k2"}, {"key": ""}, {"configuration": "c2"}, {"corpus_digest": "d2"}]
)
def test_what_is_no_copy_counts(path: str, changes: dict[str, str]) -> None:
    """Another key, none that was kept, another configuration, an edited corpus."""
    released(path, "1", "d1", **({"key": ""} if changes == {"key": ""} else {}))
    digest = changes.pop("corpus_digest", "d1")
    released(path, "2", digest, **changes)
    assert _spent(path) == (20.0, 0)


def test_a_run_that_says_nothing_more_counts_and_one_that_gave_up_does_not(path: str) -> None:
    ledger.begin(path, entry("1"), None)
    assert _spent(path) == (10.0, 0)
    ledger.abandon(path, entry("1"))
    assert _spent(path) == (0, 0)
    ledger.abandon(path, entry("never begun"))
    assert len(ledger.read(path)) == 2


def test_what_was_released_cannot_be_abandoned_afterwards(path: str) -> None:
    begun = released(path, "1", "d1")
    with pytest.raises(OutputError, match="has released, so it cannot be abandoned"):
        ledger.abandon(path, begun)
    # A ledger in which that line was written all the same.
    ledger._append(path, dataclasses.replace(begun, state="abandoned"))
    assert _spent(path) == (10.0, 0)
    [account] = accounts(ledger.read(path))
    assert (account.epsilon, account.releases, account.abandoned) == (10.0, 1, 0)
    with pytest.raises(OutputError, match="pass `max_epsilon`"):
        ledger.begin(path, entry("2", key="k2"), 10.0)


@pytest.mark.parametrize(
    "changes",
    [{"epsilon": -20.0}, {"epsilon": 0.0}, {"epsilon": float("nan")}, {"delta": -0.5}],
    ids=str,
)
def test_a_line_that_would_lower_the_sum_is_refused(path: str, changes: dict[str, float]) -> None:
    released(path, "1", "d1")
    before = Path(path).read_bytes()
    with pytest.raises(ConfigurationError, match="a ledger adds up"):
        ledger.begin(path, entry("2", key="k2", **changes), 15.0)
    assert Path(path).read_bytes() == before
    # The same line, written by hand with the sum of all lines before it.
    fields = {**dataclasses.asdict(entry("2", key="k2")), **changes}
    del fields["release_sha256"]
    chain = hashlib.sha256(before + json.dumps(fields).encode()).hexdigest()
    line = json.dumps({**fields, "chain": chain}) + "\n"
    Path(path).write_bytes(before + line.encode())
    with pytest.raises(OutputError, match="line 3: this is not a ledger"):
        ledger.read(path)


def test_a_ledger_without_digests_of_releases_is_read_and_goes_on(path: str) -> None:
    """As it was before lines had them."""
    begun = released(path, "1", "d1")
    assert "release_sha256" not in Path(path).read_text()
    ledger.begin(path, entry("2", key="k2"), None)
    ledger.end(path, entry("2", key="k2"), "d2", 7, "ab")
    assert [one.release_sha256 for one in ledger.latest(ledger.read(path))] == ["", "ab"]
    assert begun.run == "1"


def test_the_cap_holds(path: str) -> None:
    released(path, "1", "d1")
    released(path, "2", "d1", key="k2")
    with pytest.raises(OutputError, match=r"epsilon 20 of corpus 'notes' spent; .* add 10"):
        ledger.begin(path, entry("3", key="k3"), 25.0)
    assert len(ledger.read(path)) == 4, "a refused run leaves no line"
    assert ledger.begin(path, entry("3", key="k3"), 30.0) == ""


def test_beyond_the_cap_only_a_copy_may_be_released(path: str) -> None:
    released(path, "1", "d1")
    assert ledger.begin(path, entry("2"), 10.0) == "d1"
    ledger.end(path, entry("2"), "d1", 7)
    assert _spent(path) == (10.0, 0)


@pytest.mark.slow
@given(st.data())
def test_any_change_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("ledger") / "ledger.jsonl"
    for run in "123":
        released(str(path), run, f"d{run}")
    content = path.read_bytes()
    at = data.draw(st.integers(0, len(content) - 2))
    change: Callable[[], bytes] = data.draw(
        st.sampled_from(
            [
                lambda: content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :],
                lambda: content[:at] + content[at + 1 :],
                lambda: content.replace(content.splitlines(keepends=True)[at % 5], b""),
            ]
        )
    )
    path.write_bytes(change())
    with pytest.raises(OutputError, match="was changed or cut"):
        ledger.read(str(path))


@pytest.mark.slow
def test_a_line_that_was_cut_short_is_replaced(path: str) -> None:
    """Its writer never learnt that it had begun, so nothing was released."""
    released(path, "1", "d1")
    whole = Path(path).read_bytes()
    ledger.begin(path, entry("cut", key="k2"), None)
    line = Path(path).read_bytes()[len(whole) :]
    for length in range(1, len(line)):
        for before in (b"", whole):
            Path(path).write_bytes(before + line[:length])
            assert len(ledger.read(path)) == before.count(b"\n")
            ledger.begin(path, entry("2", key="k2"), None)
            assert [e.run for e in ledger.read(path)] == ["1", "1", "2"][-1 if not before else 0 :]


NO_LEDGERS = [
    KEY,
    KEY.hex().encode(),
    KEY.hex().encode() + b"\n",
    b"epsilon: 5",
    b'{"id": "a", "text": "w1"}',
    b'{"state": "NY", "run": "1"}',
    b"\x00",
    b"\n",
]


@pytest.mark.parametrize("content", NO_LEDGERS, ids=range(len(NO_LEDGERS)))
@pytest.mark.parametrize("after_a_ledger", [False, True])
def test_what_is_no_ledger_is_refused_and_left_as_it_is(
    path: str, content: bytes, after_a_ledger: bool
) -> None:
    """A key file above all: its one line need not end, and was taken for one that was cut."""
    released(path, "1", "d1")
    whole = (Path(path).read_bytes() if after_a_ledger else b"") + content
    Path(path).write_bytes(whole)
    for act in (
        lambda: ledger.begin(path, entry("2"), None),
        lambda: ledger.check(path, entry("2"), None),
        lambda: ledger.end(path, entry("2"), "d", 1),
        lambda: ledger.abandon(path, entry("2")),
    ):
        with pytest.raises(OutputError, match="this is not a ledger of dxbeam") as refusal:
            act()
        assert Path(path).read_bytes() == whole
        assert KEY.hex()[:8] not in str(refusal.value)


@pytest.mark.parametrize("cap", [float("nan"), float("inf"), -1.0, 0.0, -0.0])
def test_a_cap_that_caps_nothing_is_refused(path: str, cap: float) -> None:
    for act in (ledger.begin, ledger.check):
        with pytest.raises(ConfigurationError, match="`max_epsilon` must be a positive number"):
            act(path, entry("1"), cap)
    assert not Path(path).exists()


def test_whether_a_run_may_begin_can_be_asked_before(path: str) -> None:
    released(path, "1", "d1")
    before = Path(path).read_bytes()
    ledger.check(path, entry("2", key="k2"), 20.0)
    ledger.check(path, entry("2"), 10.0)
    with pytest.raises(OutputError, match="pass `max_epsilon` 15"):
        ledger.check(path, entry("2", key="k2"), 15.0)
    assert Path(path).read_bytes() == before


def _begin(arguments: tuple[str, int]) -> bool:
    path, number = arguments
    try:
        ledger.begin(path, entry(str(number), key=f"k{number}"), 50.0)
    except OutputError:
        return False
    return True


@pytest.mark.slow
def test_of_many_at_once_as_many_begin_as_the_cap_allows(path: str) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        begun = pool.map(_begin, [(path, number) for number in range(16)])
    assert sum(begun) == 5
    assert _spent(path) == (50.0, 0)


class _CountedHash:
    """SHA-256 that adds up the bytes it is given, over all copies."""

    bytes_hashed = 0

    def __init__(self, content: bytes = b"", sha256: Callable[[], Any] = hashlib.sha256) -> None:
        self._digest = sha256()
        self.update(content)

    def update(self, content: bytes) -> None:
        _CountedHash.bytes_hashed += len(content)
        self._digest.update(content)

    def copy(self) -> _CountedHash:
        copied = _CountedHash()
        copied._digest = self._digest.copy()
        return copied

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


def test_the_check_of_a_ledger_is_linear_in_its_lines(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte is hashed once for the chain and once for its line, and entries are compared by
    what they are made of, not pair by pair."""
    lines, whole = [], b""
    for number in range(400):
        of: dict[str, object] = {
            "key": f"k{number // 2}",
            "corpus_digest": "d",
            "state": "released",
        }
        lines.append(ledger_lines.next_line(whole, entry(str(number), **of)))
        whole += lines[-1]
    contents: list[int] = []
    original = ledger_lines.Entry.content

    def content(self: ledger_lines.Entry) -> tuple[str, ...]:
        contents.append(1)
        return original(self)

    Path(path).parent.mkdir()
    monkeypatch.setattr(ledger_lines.Entry, "content", content)
    monkeypatch.setattr(ledger_lines.hashlib, "sha256", _CountedHash)
    for count in (200, 400):
        Path(path).write_bytes(b"".join(lines[:count]))
        _CountedHash.bytes_hashed = 0
        contents.clear()
        entries = ledger.read(path)
        assert _CountedHash.bytes_hashed <= 2 * Path(path).stat().st_size
        assert ledger.spent(entries, "notes") == (10.0 * count / 2, 0)
        [account] = accounts(entries)
        assert (account.releases, account.repeats) == (count // 2, count // 2)
        assert len(contents) <= 3 * count
