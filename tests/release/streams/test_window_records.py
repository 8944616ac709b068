"""Records of windows are written once, and the ledger counts a stream once."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from dxbeam.errors import OutputError
from dxbeam.release import ledger
from dxbeam.release.ledger import Account
from dxbeam.release.streams.window_records import (
    StreamRelease,
    Window,
    WindowCounts,
    released_digest,
    stream_name,
)
from dxbeam.text.tally import Tally
from tests.support.ledgers import entry

COUNTS = WindowCounts(Tally(documents=2, tokens=7), 2, 1, bytes(31) + b"\1")
WINDOW = Window(86400, 172800)


def _release(folder: Path, run: str = "s", max_epsilon: float | None = 10.0) -> StreamRelease:
    account = Account(str(folder / "ledger"), entry(run), max_epsilon)
    output, metrics = str(folder / "out"), str(folder / "metrics")
    return StreamRelease(run, output, metrics, {"stream": run}, account)


def test_a_stream_starts_again_without_spending_again(tmp_path: Path) -> None:
    for _ in range(3):
        release = _release(tmp_path)
        release.check()
        release.begin()
        for day in range(3):
            release.record(Window(86400 * day, 86400 * (day + 1)), COUNTS)
    entries = ledger.read(str(tmp_path / "ledger"))
    assert [line.state for line in entries] == ["begun", "released", "released", "released"]
    assert len({line.output for line in entries}) == 4
    assert ledger.spent(entries, "notes") == (10.0, 0.0)


def test_another_stream_of_the_same_messages_spends(tmp_path: Path) -> None:
    _release(tmp_path).begin()
    with pytest.raises(OutputError, match="was written by another run"):
        _release(tmp_path, "other", None).begin()
    other = dataclasses.replace(_release(tmp_path, "other"), output=str(tmp_path / "elsewhere"))
    with pytest.raises(OutputError, match="pass `max_epsilon` 10"):
        other.check()
    with pytest.raises(OutputError, match="pass `max_epsilon` 10"):
        other.begin()


def test_the_first_record_of_a_window_stays(tmp_path: Path) -> None:
    release = _release(tmp_path)
    release.begin()
    path = Path(release.record(WINDOW, COUNTS))
    first = path.read_bytes()
    assert release.record(WINDOW, COUNTS) == str(path)
    again = Path(release.record(WINDOW, COUNTS.merge(COUNTS)))
    assert path.read_bytes() == first
    assert path.name == "window-19700102T000000Z.json"
    assert again.name.startswith("window-19700102T000000Z-again-")
    written = json.loads(first)
    assert (written["documents_in"], written["documents_out"], written["dead_letters"]) == (3, 2, 1)
    later = Path(release.record(WINDOW._replace(late=1), COUNTS))
    assert later.name == "window-19700102T000000Z-late-1.json"
    assert [line.documents for line in ledger.read(str(tmp_path / "ledger"))] == [0, 2, 4, 2]


def test_what_is_there_already_is_no_stream(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "part-1.jsonl").write_text("")
    with pytest.raises(OutputError, match="is not empty"):
        _release(tmp_path).begin()
    assert not (tmp_path / "ledger").exists()


def test_digests_do_not_depend_on_order() -> None:
    messages = [(b"a", b"1"), (b"b", b"2"), (b"a", b"1")]
    assert released_digest(messages) == released_digest(reversed(messages))
    assert released_digest(messages) != released_digest(messages[:2])
    assert released_digest([(b"ab", b"c")]) != released_digest([(b"a", b"bc")])


def test_a_stream_has_the_name_of_its_messages_key_and_settings() -> None:
    names = {stream_name(*named) for named in (("a", "b", "c"), ("ab", "", "c"), ("a", "b", "d"))}
    assert len(names) == 3
    assert stream_name("a", "b", "c") in names
