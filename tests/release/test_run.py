"""A run holds its places and its line of the ledger, and gives back what it took."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dxbeam.commands.launch import releasing
from dxbeam.errors import OutputError
from dxbeam.release import claim, ledger, manifest
from dxbeam.release.ledger import Account
from dxbeam.release.ledger_lines import Entry
from dxbeam.release.run import Run

MINE = ("metrics.json", "metrics.parquet", "dead_letters.jsonl")


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "out[1]"


@pytest.fixture
def metrics(tmp_path: Path) -> Path:
    return tmp_path / "out[1]-metrics"


def _run(output: Path, metrics: Path) -> Run:
    return Run(str(output), f"file://{metrics}")


def _account(tmp_path: Path, run: Run, cap: float | None = None) -> Account:
    entry = Entry("begun", run.name, "t", "notes", "out", 5.0, 0.0, "d", "m", "c", "v", "k")
    return Account(str(tmp_path / "ledger"), entry, cap)


def _release(output: Path, run: Run) -> None:
    """What the last worker of a run does, in short."""
    content = {
        "format": manifest.FORMAT,
        "version": manifest.VERSION,
        "run": run.name,
        "corpus_digest": "dd",
    }
    claim.complete(str(output), {**content, "documents_out": 3, "shards": []})


def _contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()} if folder.exists() else {}


def _states(tmp_path: Path) -> list[str]:
    return [entry.state for entry in ledger.read(str(tmp_path / "ledger"))]


def _ends_by(run: Run, error: BaseException, done: Callable[[], object]) -> None:
    with releasing(run):
        done()
        raise error


def test_a_run_that_releases_keeps_its_metrics_and_is_entered(
    tmp_path: Path, output: Path, metrics: Path
) -> None:
    with releasing(_run(output, metrics)) as run:
        assert run.enter(_account(tmp_path, run)) == ""
        for name in MINE:
            (metrics / name).write_text("x")
        _release(output, run)
    assert set(_contents(metrics)) == set(MINE)
    assert set(_contents(output)) == {"release.json"}
    assert run.release["documents_out"] == 3
    assert _states(tmp_path) == ["begun", "released"]
    assert ledger.read(str(tmp_path / "ledger"))[-1].corpus_digest == "dd"


def test_a_run_that_fails_leaves_its_dead_letters_under_its_own_name(
    tmp_path: Path, output: Path, metrics: Path
) -> None:
    names = []

    def work(run: Run, letters: str) -> None:
        run.enter(_account(tmp_path, run))
        for name in MINE:
            (metrics / name).write_text(letters)
        (output / "part-0").touch()
        (output / "projection.npy").touch()

    for letters in ("one\n", "two\n", ""):
        run = _run(output, metrics)
        with pytest.raises(ZeroDivisionError):
            _ends_by(run, ZeroDivisionError(), partial(work, run, letters))
        names += [f"dead_letters-{run.name}.jsonl"]
    assert _contents(metrics) == {names[0]: "one\n", names[1]: "two\n"}
    assert _contents(output) == {}
    assert _states(tmp_path) == ["begun", "abandoned"] * 3
    with releasing(_run(output, metrics)) as run:  # a scheduler tries again
        _release(output, run)


@pytest.mark.parametrize("name", MINE)
def test_files_of_an_earlier_run_are_never_written_over(
    output: Path, metrics: Path, name: str
) -> None:
    metrics.mkdir()
    (metrics / name).write_text("earlier")
    run = _run(output, metrics)
    for act in (run.check, releasing(run).__enter__):
        with pytest.raises(OutputError, match=f"holds the metrics of another run .{name}"):
            act()
        assert _contents(metrics) == {name: "earlier"}
        assert _contents(output) == {}


def test_two_runs_do_not_share_a_place_for_metrics(tmp_path: Path, metrics: Path) -> None:
    with releasing(_run(tmp_path / "one", metrics)) as one:
        other = _run(tmp_path / "two", metrics)
        for act in (other.check, releasing(other).__enter__):
            with pytest.raises(OutputError, match="a run is under way there"):
                act()
        (metrics / "metrics.json").write_text("one")
        assert not _contents(tmp_path / "two")
        _release(tmp_path / "one", one)
    assert _contents(metrics) == {"metrics.json": "one"}


@pytest.mark.parametrize("place", ["out", "metrics"])
def test_a_place_that_cannot_be_made_is_said_before_work_starts(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    places = {"out": tmp_path / "out", "metrics": tmp_path / "metrics"}
    places[place] = tmp_path / "file" / place
    with pytest.raises(OutputError, match=f"file/{place} cannot be written"):
        releasing(_run(places["out"], places["metrics"])).__enter__()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "file"]


def test_who_is_refused_the_output_touches_nothing(tmp_path: Path, output: Path) -> None:
    with releasing(_run(output, tmp_path / "one")) as run:
        (output / "part-0").touch()
        with pytest.raises(OutputError, match="under way or did not finish"):
            releasing(_run(output, tmp_path / "two")).__enter__()
        assert set(_contents(output)) == {"part-0", "unfinished-run"}
        assert not (tmp_path / "two").exists()
        (output / "part-0").unlink()
        _release(output, run)


def test_a_run_that_is_stopped_just_after_its_release_has_released(
    tmp_path: Path, output: Path, metrics: Path
) -> None:
    run = _run(output, metrics)

    def work() -> None:
        run.enter(_account(tmp_path, run))
        for name in MINE:
            (metrics / name).write_text("x")
        (output / "projection.npy").touch()
        _release(output, run)

    with pytest.raises(OutputError, match="so it is released"):
        _ends_by(run, KeyboardInterrupt(), work)
    assert set(_contents(output)) == {"projection.npy", "release.json"}
    assert set(_contents(metrics)) == set(MINE)
    assert _states(tmp_path) == ["begun", "released"]


def test_who_is_refused_by_the_ledger_has_nothing_to_take_back(
    tmp_path: Path, output: Path, metrics: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "ledger").write_bytes(b"a key")
    run = _run(output, metrics)
    for act in (run.check, run.enter):
        with pytest.raises(OutputError, match="this is not a ledger"):
            act(_account(tmp_path, run))
    with pytest.raises(OutputError, match="this is not a ledger"):
        _ends_by(run, SystemExit(), lambda: run.enter(_account(tmp_path, run)))
    assert (tmp_path / "ledger").read_bytes() == b"a key"
    assert not caplog.records


def test_a_ledger_that_is_lost_on_the_way_does_not_hide_why_a_run_failed(
    tmp_path: Path, output: Path, metrics: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = _run(output, metrics)

    def work() -> None:
        run.enter(_account(tmp_path, run))
        (tmp_path / "ledger").write_bytes(b"another file")

    with caplog.at_level(logging.WARNING), pytest.raises(ZeroDivisionError):
        _ends_by(run, ZeroDivisionError(), work)
    assert "has released nothing, and yet counts" in caplog.text
    assert (tmp_path / "ledger").read_bytes() == b"another file"


def test_nothing_is_written_by_asking(tmp_path: Path, output: Path, metrics: Path) -> None:
    run = _run(output, metrics)
    run.check(_account(tmp_path, run, 5.0))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OutputError, match="pass `max_epsilon` 4"):
        run.check(_account(tmp_path, run, 4.0))
    assert list(tmp_path.iterdir()) == []


def test_a_worker_that_outlives_its_run_writes_no_metrics(output: Path, metrics: Path) -> None:
    from dxbeam.transforms.metrics import _write_letters, _write_metrics

    late = _run(output, metrics)
    with pytest.raises(ZeroDivisionError):
        _ends_by(late, ZeroDivisionError(), list)
    with releasing(_run(output, metrics)) as run:
        acts: list[Any] = [
            lambda run: _write_letters((None, [b"x"]), str(metrics), run),
            lambda run: _write_metrics(b"", str(metrics), [], [], [], True, [], run),
        ]
        for act in acts:
            with pytest.raises(OutputError, match="has ended and given the prefix up"):
                act(late.name)
        assert set(_contents(metrics)) == {"unfinished-run"}
        for act in acts:
            act(run.name)
        _release(output, run)
    assert json.loads((metrics / "metrics.json").read_text())["dead_letters"] == 0
    assert (metrics / "dead_letters.jsonl").read_text() == "x"
