"""Where both launchers write, and where they refuse to: by their outcome."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dxbeam.errors import DxbeamError
from dxbeam.release import manifest
from pipelines.release_vectors import release_vectors
from pipelines.sanitize import sanitize
from tests.support import tiny

RECORDS = [{"id": f"d{i}", "text": text} for i, text in enumerate(tiny.texts(4))]
LAUNCHERS: dict[str, tuple[Callable[[list[str]], None], tuple[str, ...]]] = {
    "sanitize": (sanitize, ()),
    "release_vectors": (release_vectors, ("--projected_dimensions=3",)),
}


@pytest.fixture(params=LAUNCHERS)
def launch(
    request: pytest.FixtureRequest, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., None]:
    """Runs a launcher in a directory with a corpus, in/a.jsonl."""
    monkeypatch.chdir(tmp_path)
    tiny.write_jsonl(tmp_path / "in" / "a.jsonl", RECORDS)
    launcher, own = LAUNCHERS[request.param]

    def run(*flags: str) -> None:
        given = {flag.split("=")[0] for flag in flags}
        defaults = ("--input=in/*", f"--vocabulary={uri}", "--epsilon=5", "--output=out")
        launcher([*own, *(flag for flag in defaults if flag.split("=")[0] not in given), *flags])

    return run


@pytest.mark.parametrize("name", ["rel[1]", "*"])
def test_other_releases_stay_whole_whatever_a_run_is_called_and_comes_to(
    launch: Callable[..., None], tmp_path: Path, name: str
) -> None:
    launch("--output=all/rel1", "--metrics_output=metrics")
    manifest.verify("all/rel1")
    before = tiny.contents(tmp_path)
    launch(f"--output=file://{tmp_path}/all/{name}")
    manifest.verify(f"all/{name}")
    tiny.write_jsonl(tmp_path / "bad" / "b.jsonl", [b'{"id": "a", "text": "\\u0000"}'])
    with pytest.raises(DxbeamError, match="no document could be released"):
        launch(f"--output=all/{name}2", "--input=bad/*")
    assert tiny.contents(tmp_path).items() >= before.items()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--output=./m", "--metrics_output=m/x"), "is within --output"),
        (("--output=mm//n", "--metrics_output=mm/n"), "is within --output"),
        (("--output=x/../md", "--metrics_output=md/x"), "is within --output"),
        (("--output=file://HERE/md", "--metrics_output=md"), "is within --output"),
        (("--output=gs://bucket",), "is a whole bucket"),
        (("--output=s3:///x",), "name a bucket, as in s3://bucket/release"),
        (("--metrics_output=hdfs://x/y",), "there is no file system here"),
        (("--metrics_output=in/a.jsonl/m",), "cannot be"),
        (("--ledger=out/ledger", "--corpus_id=c"), "--ledger is within --output"),
        (("--key_uri=out/key",), "--key_uri is within --output"),
        (("--input=**",), "takes in what the job itself writes to --output"),
        (("--input=in/**", "--metrics_output=in/m"), "writes to --metrics_output in/m"),
        (("--ledger=in/ledger", "--corpus_id=c"), "writes to --ledger in/ledger"),
        (("--ledger=key", "--corpus_id=c"), "this is not a ledger"),
        (("--ledger=l", "--corpus_id=c", "--max_epsilon=nan"), "--max_epsilon"),
        (("--ledger=l", "--corpus_id=c", "--max_epsilon=4"), "pass --max_epsilon 4"),
        (("--ledger=l", "--max_epsilon=4"), "--corpus_id is needed"),
        (("--corpus_id=c",), "--ledger is needed"),
        ((f"--key_uri={bytes(range(0, 256, 8)).hex()}",), "looks like the key itself"),
        (("--output=taken",), "is not empty"),
        (("--metrics_output=taken",), "holds the metrics of another run"),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
def test_places_that_must_be_apart_are_refused_before_anything_is_written(
    launch: Callable[..., None], tmp_path: Path, flags: tuple[str, ...], said: str, dry: bool
) -> None:
    (tmp_path / "key").write_text(tiny.KEY.hex())
    tiny.write_jsonl(tmp_path / "taken" / "dead_letters.jsonl", [b"earlier"])
    before = tiny.contents(tmp_path)
    if dry and said == "cannot be":
        return  # only trying shows it
    with pytest.raises(DxbeamError, match=said) as refusal:
        launch(*(flag.replace("HERE", str(tmp_path)) for flag in flags), *["--dry_run"] * dry)
    assert tiny.contents(tmp_path) == before
    assert "0008101820" not in str(refusal.value)


def test_an_empty_key_is_none_also_in_the_manifest(launch: Callable[..., None]) -> None:
    launch("--key_uri=")
    assert manifest.read("out")["key"]["kept"] is False


def test_a_failed_run_leaves_earlier_dead_letters_and_does_not_stand_in_the_way(
    launch: Callable[..., None], tmp_path: Path
) -> None:
    tiny.write_jsonl(tmp_path / "bad" / "b.jsonl", [b'{"id": "a", "text": "\\u0000"}'])
    for _ in range(2):
        with pytest.raises(DxbeamError, match="says where in") as refusal:
            launch("--input=bad/*")
        [told] = re.findall(r"out-metrics/\S+", str(refusal.value))
        assert Path(told).read_text().count("\n") == 1
    letters = tiny.contents(tmp_path / "out-metrics")
    assert len(letters) == 2
    assert all(json.loads(line)["where"].startswith("b.jsonl") for line in letters.values())
    launch()
    assert tiny.contents(tmp_path / "out-metrics").items() > letters.items()


def test_the_rights_of_a_release_are_those_of_any_new_file(
    launch: Callable[..., None], tmp_path: Path
) -> None:
    import os

    before = os.umask(0o027)
    try:
        launch()
    finally:
        os.umask(before)
    modes = {path.stat().st_mode & 0o777 for path in (tmp_path / "out").iterdir()}
    assert modes == {0o640}


@pytest.mark.parametrize("flags", [(), ("--projection=gaussian", "--sensitivity=exact")])
def test_a_release_of_vectors_that_is_stopped_at_its_end_keeps_what_it_names(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    from dxbeam.commands import launch as launching

    run = launching.run

    def stopped_after(pipeline: Any) -> None:
        run(pipeline)
        if (tmp_path / "out" / manifest.RELEASE).exists():
            raise KeyboardInterrupt

    monkeypatch.setattr(launching, "run", stopped_after)
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", RECORDS)
    places = (f"--input={corpus}", f"--output={tmp_path}/out", f"--vocabulary={uri}")
    with pytest.raises(DxbeamError, match="so it is released"):
        release_vectors([*places, "--epsilon=5", "--projected_dimensions=3", *flags])
    release = manifest.verify(str(tmp_path / "out"))
    assert (tmp_path / "out" / release["projection_file"]).exists()
    assert (tmp_path / "out" / "sensitivity.json").exists() == bool(flags)
