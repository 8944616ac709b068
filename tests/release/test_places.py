"""Names of places: brought to one form, compared, and kept apart."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from apache_beam.io.filesystem import FileSystem

from dxbeam.errors import ConfigurationError
from dxbeam.release import places


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a release and a symbolic link to it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out" / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "out")
    return tmp_path


SAME = [
    "out", "./out", "out/", "out//", ".//out", "out/.", "out/below/..", "nothing/../out", "link",
    "link/.", "HERE/out", "file://HERE/out", "file://HERE//out/", "HERE/link", "file://HERE/./link/",
]  # fmt: skip
WITHIN = [f"{place.rstrip('/')}/{name}" for place in SAME for name in ("m", "below/m", "a//m")]
APART = ["out-metrics", "out2", "ou", "link-metrics", "HERE/m", "out/../m", "gs://bucket/out", ".."]


@pytest.mark.parametrize("output", ["out", "HERE/link", "file://HERE/out"])
def test_metrics_within_a_release_are_found_however_they_are_named(here: Path, output: str) -> None:
    release = output.replace("HERE", str(here))
    for place in (*SAME, *WITHIN):
        with pytest.raises(ConfigurationError, match="is within `output`"):
            places.release_and_metrics(release, place.replace("HERE", str(here)))
    for place in APART:
        places.release_and_metrics(release, place.replace("HERE", str(here)))


@pytest.mark.parametrize(
    "output", ["gs://b/out", "gs://b//out/", "gs://b/x/../out", "gs://b/./out"]
)
def test_so_they_are_in_a_bucket(output: str) -> None:
    for place in (
        "gs://b/out",
        "gs://b//out",
        "gs://b/out//m",
        "gs://b/x/../out/m",
        "gs://b/out/./",
    ):
        with pytest.raises(ConfigurationError, match="is within `output`"):
            places.release_and_metrics(output, place)
    for place in ("gs://b/out2", "gs://b/out/../m", "gs://c/out", "out", "gs://b"):
        places.release_and_metrics(output, place)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("out", ("out", "out-metrics")),
        ("out//", ("out", "out-metrics")),
        ("./out/", ("./out", "./out-metrics")),
        ("file:///a/out", ("/a/out", "/a/out-metrics")),
        (".", (".", "HERE-metrics")),
        ("out/..", ("out/..", "HERE-metrics")),
        ("link", ("link", "link-metrics")),
        ("gs://b/out/", ("gs://b/out", "gs://b/out-metrics")),
        ("gs://b//a//out", ("gs://b//a//out", "gs://b//a//out-metrics")),
        ("rel[1]", ("rel[1]", "rel[1]-metrics")),
    ],
)
def test_places_are_written_to_as_they_are_named(
    here: Path, output: str, expected: tuple[str, str]
) -> None:
    found = places.release_and_metrics(output, None)
    assert found == tuple(place.replace("HERE", str(here)) for place in expected)
    assert found == places.release_and_metrics(output, "")


@pytest.mark.parametrize("output", ["gs://bucket", "gs://bucket/", "gs://bucket//"])
def test_a_whole_bucket_does_not_put_its_metrics_in_another(output: str) -> None:
    with pytest.raises(ConfigurationError, match="would be another one: write to a prefix such as"):
        places.release_and_metrics(output, None)
    assert places.release_and_metrics(output, "gs://other")[0] == "gs://bucket"


@pytest.mark.parametrize("place", ["s3a://b/x", "hdfs://h/x", "http://h/x", "GS://b/x"])
def test_places_that_cannot_be_written_to_are_refused(place: str) -> None:
    for given in ((place, None), ("out", place)):
        with pytest.raises(ConfigurationError, match="name a local directory or a gs:// or s3://"):
            places.release_and_metrics(*given)
    with pytest.raises(ConfigurationError, match="name a bucket"):
        places.release_and_metrics("gs:///x", None)
    assert places.release_and_metrics("s3://b/x/", None) == ("s3://b/x", "s3://b/x-metrics")


def test_key_and_ledger_are_kept_out_of_a_release() -> None:
    places.keep_out("out", {"ledger": "ledger", "key_uri": "env:out", "x": None, "y": ""})
    for place in ("out/ledger", "./link/ledger", "out"):
        with pytest.raises(ConfigurationError, match="`ledger` is within `output` out"):
            places.keep_out("out", {"key_uri": "key", "ledger": place})


@pytest.mark.parametrize(
    ("pattern", "place", "taken_in"),
    [
        ("**", "out", True),
        ("*", "out", False),  # no directories
        ("*/*", "out", True),
        ("HERE/**", "out", True),
        ("file://HERE/**.jsonl", "link", True),
        ("link/*", "out", True),
        ("out/", "out", True),
        ("o?t/*", "out", True),
        ("[a-z]ut/*", "out", True),
        ("./out/../out/*", "link", True),
        ("gs://b/**", "gs://b/out", True),
        ("gs://b//*/*", "gs://b/out", True),
        ("*.jsonl", "out", False),
        ("in/**", "out", False),
        ("out", "out2", False),
        ("*/in/*.jsonl", "out", True),
        ("*", "out/below", False),
        ("gs://b/in/**", "gs://b/out", False),
        ("gs://b/**", "out", False),
        ("**", "gs://b/out", False),
        ("out-*/*", "out", False),
    ],
)
def test_a_corpus_that_takes_in_what_is_written(
    here: Path, pattern: str, place: str, taken_in: bool
) -> None:
    pattern, place = (name.replace("HERE", str(here)) for name in (pattern, place))
    assert places.may_match_below(pattern, place) is taken_in
    if taken_in:
        with pytest.raises(ConfigurationError, match="takes in what the job itself writes to `o"):
            places.keep_from_reading(pattern, {"output": place}, None)
    else:
        places.keep_from_reading(pattern, {"output": place}, "")


def test_a_corpus_that_takes_in_the_ledger() -> None:
    for pattern in ("*", "ledger", "link/../l*r", "**", "?edger"):
        with pytest.raises(ConfigurationError, match=r"writes to `ledger` \./ledger"):
            places.keep_from_reading(pattern, {}, "./ledger")
    places.keep_from_reading("*.jsonl", {"output": "out"}, "ledger")


def test_what_a_glob_matches_below_a_place_is_found(here: Path) -> None:
    """Against Beam's own matching, over all short patterns and places."""
    names = ["a", "b", "a/a", "a/b", "b/a", "a/a/a", "a/b/a"]
    files = [f"{place}/{rest}" for place in names for rest in names]
    for pattern in map("".join, itertools.product(["a", "/", "*", "**", "?", "[ab]"], repeat=4)):
        if pattern.startswith("/") or pattern.endswith("/") or "//" in pattern or "***" in pattern:
            continue
        matches = {
            found.path for found in FileSystem.match_files(_Plain(), map(_File, files), pattern)
        }
        for place in names:
            if any(path.startswith(f"{place}/") for path in matches):
                assert places.may_match_below(pattern, place), (pattern, place)


class _File:
    def __init__(self, path: str):
        self.path = path


class _Plain:
    translate_pattern = staticmethod(FileSystem.translate_pattern)
