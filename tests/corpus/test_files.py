"""Which files a corpus has, and what they are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from dxbeam.corpus.files import matching_files, name_below
from dxbeam.errors import CorpusError


def test_a_corpus_has_files_and_they_hold_something(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no file matches"):
        matching_files(str(tmp_path / "*"))
    (tmp_path / "a").touch()
    with pytest.raises(CorpusError, match="the corpus is empty"):
        matching_files(str(tmp_path / "*"))
    (tmp_path / "b").write_text("x")
    assert [file[1:] for file in matching_files(str(tmp_path / "*"))] == [("a", 0), ("b", 1)]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.jsonl", ["1.jsonl", "2.jsonl"]),
        ("[2-9].json?", ["2.jsonl"]),
        ("1.jsonl", ["1.jsonl"]),
        ("*/3.jsonl", ["in/3.jsonl"]),
        ("in/*", ["3.jsonl"]),
        ("./*.jsonl", ["1.jsonl", "2.jsonl"]),
        ("**.jsonl", ["1.jsonl", "2.jsonl", "in/3.jsonl"]),
    ],
)
def test_a_glob_may_begin_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, names: list[str]
) -> None:
    (tmp_path / "in").mkdir()
    for name in ("1.jsonl", "2.jsonl", "in/3.jsonl", "in/other"):
        (tmp_path / name).write_text("x")
    (tmp_path / "in" / "other").unlink()
    monkeypatch.chdir(tmp_path)
    found = matching_files(pattern)
    assert [file.name for file in found] == names
    assert all(Path(file.path).read_text() == "x" for file in found)


@pytest.mark.parametrize("place", ["{}", "file://{}"])
def test_a_folder_is_not_a_file(tmp_path: Path, place: str) -> None:
    (tmp_path / "a").write_text("x")
    with pytest.raises(CorpusError, match=r"this is a folder; name the files in it: '.*/\*'"):
        matching_files(place.format(tmp_path))
    assert [file.name for file in matching_files(f"{tmp_path}/")] == ["a"]


@pytest.mark.parametrize(
    ("pattern", "path", "name"),
    [
        ("/data/*.jsonl", "/data/a.jsonl", "a.jsonl"),
        ("/data/**/x-?.txt", "/data/1/x-2.txt", "1/x-2.txt"),
        ("/data/a.jsonl", "/data/a.jsonl", "a.jsonl"),
        ("gs://bucket/year=*/a", "gs://bucket/year=1/a", "year=1/a"),
        ("file:///data/*", "/data/a", "a"),
        ("a.jsonl", "a.jsonl", "a.jsonl"),
    ],
)
def test_a_file_is_named_by_its_path_below_the_corpus(pattern: str, path: str, name: str) -> None:
    assert name_below(pattern, path) == name
