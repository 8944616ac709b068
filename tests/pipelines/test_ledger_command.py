"""dxbeam ledger: what was spent and what is left, as a table and as JSON."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.release import ledger
from dxbeam.release.ledger_lines import Entry
from pipelines.ledger import show_ledger
from tests.support import tiny
from tests.support.refusals import refused


def _entry(run: str, corpus: str = "notes", **changes: object) -> Entry:
    begun = Entry(
        "begun", run, "2026-01-01T00:00:00+00:00", corpus, "out", 10.0, 1e-6, "distance", "laplace",
        "c1", "v1", "",
    )  # fmt: skip
    return dataclasses.replace(begun, **changes)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Notes: two releases, one repeated under its key, one unfinished, one abandoned. Letters."""
    path = str(tmp_path / "ledger.jsonl")

    def release(entry: Entry, digest: str = "d1") -> None:
        ledger.begin(path, entry, None)
        ledger.end(path, entry, digest, 7)

    release(_entry("1", key="k1"))
    release(_entry("2", key="k1", time="2026-02-01T00:00:00+00:00"))  # a copy
    release(_entry("3", epsilon=2.5, metric="other distance"))
    ledger.begin(path, _entry("4", epsilon=1.25, delta=0.0), None)
    ledger.begin(path, _entry("5"), None)
    ledger.abandon(path, _entry("5"))
    release(_entry("6", corpus="letters", epsilon=1 / 3))
    return path


def _corpora(path: str, *flags: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    assert show_ledger([path, "--json", *flags]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ledger"] == path
    return list(found["corpora"])


def test_every_corpus_is_accounted_for(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    notes, letters = _corpora(path, "--max_epsilon=30", capsys=capsys)
    assert notes == {
        "corpus": "notes",
        "epsilon": 13.75,
        "delta": 2e-6,
        "releases": 2,
        "repeats": 1,
        "unfinished": 1,
        "abandoned": 1,
        "metrics": ["distance", "other distance"],
        "first": "2026-01-01T00:00:00+00:00",
        "last": "2026-02-01T00:00:00+00:00",
        "keys": [{"key": "k1", "epsilon": 10.0, "releases": 1, "repeats": 1}],
        "max_epsilon": 30.0,
        "left": 16.25,
    }
    assert (letters["corpus"], letters["epsilon"], letters["keys"]) == ("letters", 1 / 3, [])


def test_what_is_spent_is_what_the_ledger_itself_adds_up(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for each in _corpora(path, capsys=capsys):
        spent = ledger.spent(ledger.read(path), str(each["corpus"]))
        assert (each["epsilon"], each["delta"]) == spent


def test_the_table_can_be_read(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert show_ledger([path, "--max_epsilon=30"]) == 0
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= 120
    lines = [line.split() for line in told.splitlines()]
    assert ["notes", "13.75", "30", "16.25", "2e-06", "2", "1", "1", "1", "2026-02-01"] in lines
    assert ["notes", "k1", "10", "1", "1"] in lines
    # What is spent is rounded up and what is left is rounded down.
    assert lines[4][:5] == ["letters", "0.333334", "30", "29.6666", "1e-06"]
    for words in (
        "exp(epsilon spent * d(x, x'))",
        "largest of these",
        "Unfinished runs",
        "Repeats",
    ):
        assert words in " ".join(told.split())
    assert "--max_epsilon" not in told


def test_without_a_cap_it_says_how_to_give_one(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_ledger([path])
    assert "--max_epsilon N shows what is left of N" in capsys.readouterr().out


def test_more_than_the_cap_is_said_to_be_too_much(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_ledger([path, "--max_epsilon=10"])
    assert "0, and 3.75 too much was spent" in capsys.readouterr().out
    show_ledger([path, "--max_epsilon=13.75", "--corpus_id=notes"])
    assert "too much" not in capsys.readouterr().out


def test_one_corpus_is_shown_alone(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    [letters] = _corpora(path, "--corpus_id=letters", capsys=capsys)
    assert letters["corpus"] == "letters"
    with pytest.raises(OutputError, match=r"'diaries'; the ledger knows notes, letters"):
        show_ledger([path, "--corpus_id=diaries"])


def test_an_empty_ledger_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "ledger").touch()
    assert show_ledger([str(tmp_path / "ledger")]) == 0
    assert "no release is recorded yet" in capsys.readouterr().out


def test_what_is_no_ledger_gets_a_sentence(path: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Evelyn saw Montserrat\n")
    with pytest.raises(OutputError, match="line 1: this is not a ledger") as refusal:
        show_ledger([str(tmp_path / "notes.txt")])
    assert "Evelyn" not in str(refusal.value)
    for place in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(OutputError, match="there is no such file"):
            show_ledger([str(place)])
    changed = Path(path).read_text().replace("2.5", "0.5", 1)
    Path(path).write_text(changed)
    with pytest.raises(OutputError, match="or it was changed"):
        show_ledger([path])


@refused(
    """
    --max_epsilon=0     must be a positive number
    --max_epsilon=much  'much' is not a number
    Evelyn              an argument too many
    --corpus=notes      not known
    """
)
def test_mistakes_get_a_sentence(flags: list[str], said: str, path: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as refusal:
        show_ledger([path, *flags])
    assert "Evelyn" not in str(refusal.value)


def test_it_reads_what_a_release_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uri = tiny.write_artifact(tmp_path / "vocabulary")
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", [{"id": "a", "text": "w1 w2"}])
    path = str(tmp_path / "ledger.jsonl")
    tiny.run(uri, corpus, tmp_path / "out", f"--ledger={path}", "--corpus_id=notes")
    capsys.readouterr()
    [notes] = _corpora(path, capsys=capsys)
    assert (notes["corpus"], notes["epsilon"], notes["releases"]) == ("notes", 5.0, 1)
