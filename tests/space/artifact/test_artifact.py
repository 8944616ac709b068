"""The vocabulary artifact: what is written is what is opened, or nothing is opened."""

from __future__ import annotations

import json
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dxbeam.errors import ArtifactError, OutputError
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import WordsAndVectors
from dxbeam.space.artifact.manifest import (
    MANIFEST,
    NEIGHBORS,
    PIECES,
    VECTORS,
    digest_of,
)
from dxbeam.space.artifact.word_files import WORD_INDEX, WORDS
from dxbeam.space.search.backends.rounded_vectors import BOUNDS, INTEGERS, SCALES
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support import tiny
from tests.support.artifacts import FILES, WRITE, every_version, open_artifact

SHAPE = WordsAndVectors(300, 8, "", 12.5)
DEMO_DIGEST = "98caa87f95137a2bed8fafc5bb1dadbe319defcbfe2edd7e8820e24ad285f923"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An artifact of 300 words."""
    return Path(tiny.write_artifact(tmp_path / "vocabulary"))


def _complete_again(folder: Path) -> None:
    """Writes a manifest that vouches for the files as they are now."""
    (folder / MANIFEST).unlink()
    artifact.write_manifest(str(folder), SHAPE, True, {"name": "tiny"})


@every_version
def test_what_is_opened_is_what_was_written(tmp_path: Path, version: int) -> None:
    made, opened = tiny.vocabulary(), open_artifact(Path(WRITE[version](tmp_path)))
    neighbors, radii = NeighborSearch(made).neighbor_table(np.arange(300), 20)
    assert list(opened.words) == list(made.words)
    assert opened.lowercase
    assert np.array_equal(opened.vectors, made.vectors)
    assert np.array_equal(opened.unknown_vector, made.unknown_vector)  # type: ignore[arg-type]
    assert np.array_equal(opened.neighbor_ids, neighbors)  # type: ignore[arg-type]
    assert np.array_equal(opened.close_radius, radii)  # type: ignore[arg-type]
    assert opened.index is None
    assert opened.longest == made.longest
    asked = ["w0", "w299", "W7", "w300", "w", "", "\ud800", "w1 "]
    assert opened.ids_of(asked).tolist() == made.ids_of(asked).tolist()
    assert opened.words_of(np.array([5, 299, 0, 5])) == ["w5", "w299", "w0", "w5"]


def test_arrays_are_mapped_and_cannot_be_written(folder: Path) -> None:
    opened = open_artifact(folder)
    assert opened.rounded
    arrays = (opened.vectors, opened.neighbor_ids, opened.close_radius, *opened.rounded[1:])
    for array in arrays:
        assert isinstance(array, np.memmap) or isinstance(array.base, np.memmap)
        assert not array.flags.writeable


@every_version
def test_an_opened_vocabulary_answers_as_the_one_in_memory(tmp_path: Path, version: int) -> None:
    """Also beyond the 20 neighbours that are stored."""
    opened = open_artifact(Path(WRITE[version](tmp_path)))
    ids, ranks = np.repeat(np.arange(0, 300, 30), 5), np.tile([0, 1, 20, 21, 299], 10)
    of_memory, of_file = NeighborSearch(tiny.vocabulary()), NeighborSearch(opened)
    noisy = np.random.default_rng(0).normal(0, 3, (500, 8))
    assert np.array_equal(of_memory.nearest(noisy), of_file.nearest(noisy))
    assert np.array_equal(of_memory.nearest_two(noisy), of_file.nearest_two(noisy))
    assert np.array_equal(of_memory.neighbor(ids, ranks), of_file.neighbor(ids, ranks))
    assert np.array_equal(of_memory.close_radius(ids), of_file.close_radius(ids))


def test_half_precision_is_rounded_once_and_opened_as_float32(tmp_path: Path) -> None:
    made = tiny.vocabulary()
    rounded = made.vectors.astype(np.float16).astype(np.float32)
    tiny.write_artifact(tmp_path, Vocabulary(made.words, rounded, lowercase=True))
    artifact.write_words_and_vectors([(list(made.words), made.vectors)], tmp_path, np.float16)
    _complete_again(tmp_path)
    opened = open_artifact(tmp_path)
    assert opened.vectors.dtype == np.float32
    assert np.array_equal(opened.vectors, rounded)
    assert (tmp_path / VECTORS).stat().st_size == 300 * 8 * 2 + 128
    # The unknown word stands in the middle of the words as they are stored.
    assert np.allclose(opened.unknown_vector, rounded.mean(axis=0))  # type: ignore[arg-type]


@pytest.mark.parametrize("chunk", [1, 7, 299, 300])
def test_chunks_leave_no_trace(folder: Path, tmp_path: Path, chunk: int) -> None:
    made = tiny.vocabulary()
    chunks = [
        (list(made.words[start : start + chunk]), made.vectors[start : start + chunk])
        for start in range(0, 300, chunk)
    ]
    shape = artifact.write_words_and_vectors(chunks, tmp_path / "chunked")
    assert shape[:2] == (300, 8)
    assert (tmp_path / "chunked" / VECTORS).read_bytes() == (folder / VECTORS).read_bytes()
    assert np.array_equal(np.load(tmp_path / "chunked" / VECTORS), made.vectors)


def test_no_words_are_no_artifact(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="no words to write"):
        artifact.write_words_and_vectors([], tmp_path)


@every_version
def test_words_of_any_kind_come_back(tmp_path: Path, version: int) -> None:
    words = [" two words ", "naïve", "😀", "\u200d", "\t", "e\u0301"]
    vectors = np.eye(len(words), dtype=np.float32)
    opened = open_artifact(Path(WRITE[version](tmp_path, Vocabulary(words, vectors))))
    assert list(opened.words) == words
    assert opened.ids_of(words).tolist() == list(range(6))


def test_words_that_are_repeated_are_no_artifact(tmp_path: Path) -> None:
    vectors = np.eye(3, dtype=np.float32)
    with pytest.raises(ArtifactError, match="words must be distinct, and some are repeated"):
        artifact.write_words_and_vectors([(["a", "b", "a"], vectors)], tmp_path)
    assert not (tmp_path / MANIFEST).exists()


@pytest.mark.parametrize("scale", [0.0, 1e-12, 1e12])
def test_vectors_whose_squares_float32_cannot_hold_have_no_integers(
    tmp_path: Path, scale: float
) -> None:
    made = tiny.vocabulary()
    vectors = made.vectors * np.float32(scale)
    opened = open_artifact(Path(tiny.write_artifact(tmp_path, Vocabulary(made.words, vectors))))
    assert not set(artifact.read_manifest(str(tmp_path))["files"]) & {INTEGERS, SCALES, BOUNDS}
    assert opened.rounded is None
    assert len(NeighborSearch(opened).nearest(vectors[:3].astype(np.float64))) == 3


def test_a_digest_names_the_content_and_not_the_place(folder: Path, tmp_path: Path) -> None:
    handle = artifact.handle(str(folder))
    again = artifact.handle(tiny.write_artifact(tmp_path / "again"))
    other = artifact.handle(tiny.write_artifact(tmp_path / "other", tiny.vocabulary(seed=1)))
    assert handle[2:] == (300, 8, "exact")
    assert handle.digest == again.digest == open_artifact(folder).content_digest
    assert handle.digest != other.digest


def test_a_handle_needs_the_manifest_alone(folder: Path) -> None:
    """A launcher makes it without fetching a vocabulary of gigabytes."""
    handle = artifact.handle(str(folder))
    for name in FILES:
        (folder / name).unlink()
    assert artifact.handle(f"file://{folder}")[1:] == handle[1:]


def test_a_handle_is_known_by_its_fields(folder: Path) -> None:
    """Beam gives worker processes a tuple of a separate class."""
    handle = artifact.handle(str(folder))
    beams = namedtuple("BeamSchema", handle._fields)(*handle)  # type: ignore[misc]
    assert len(artifact.open_vocabulary(beams)) == handle.words  # type: ignore[arg-type]
    with pytest.raises(ArtifactError, match="named by the text of its URI"):
        artifact.open_vocabulary(("a", "b"))  # type: ignore[arg-type]


def test_a_handle_does_not_open_what_took_the_place_of_its_artifact(folder: Path) -> None:
    handle = artifact.handle(str(folder))
    tiny.write_artifact(folder, tiny.vocabulary(seed=1))
    with pytest.raises(ArtifactError, match="replaced in between"):
        artifact.open_vocabulary(handle)


def _changed(**entries: Any) -> Callable[[str], str]:
    return lambda text: json.dumps({**json.loads(text), **entries})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_changed(version=3), "format version 3, and this dxbeam reads versions 1 and 2"),
        (_changed(version=True), "format version True, and this"),
        (_changed(version=[]), r"format version \[\], and this"),
        (_changed(format="another"), "does not describe a dxbeam vocabulary"),
        (_changed(words=299), "its digest does not match"),
        (_changed(digest="0" * 64), "its digest does not match"),
        (lambda text: text[:-40], "not JSON"),
        (lambda text: "[]", "does not describe a dxbeam vocabulary"),
        (lambda text: "", "not JSON"),
        (lambda text: "[" * 100_000, "not JSON"),
    ],
)
def test_a_manifest_that_is_newer_foreign_or_damaged(
    folder: Path, change: Callable[[str], str], said: str
) -> None:
    path = folder / MANIFEST
    path.write_text(change(path.read_text()))
    with pytest.raises(ArtifactError, match=said):
        artifact.handle(str(folder))


def _files(**changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda content: {**content, "files": {**content["files"], **changes}}


def _without(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda content: {k: v for k, v in content.items() if k not in names}


def _without_file(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda content: {
        **content,
        "files": {k: v for k, v in content["files"].items() if k != name},
    }


FORGED: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "no files": (lambda content: {**content, "files": {}}, "'files' must name"),
    "no list of files": (_without("files"), "'files' must name"),
    "files of another kind": (lambda content: {**content, "files": ["a"]}, "'files' must name"),
    "a file outside": (_files(**{"../../evil": {"bytes": 1, "sha256": ""}}), "and nothing else"),
    "a file anywhere": (_files(**{"/etc/passwd": {"bytes": 1, "sha256": ""}}), "and nothing else"),
    "half a table": (_without_file(NEIGHBORS), "must name all of the neighbour table or nothing"),
    "integers by half": (_without_file(SCALES), "must name all of the integers or nothing of it"),
    "no index of the words": (_without_file(WORD_INDEX), "'files' must name words.arrow"),
    "words of another version": (
        _files(**{"words.parquet": {"bytes": 1, "sha256": ""}}),
        "and nothing else",
    ),
    "a length that is none": (lambda content: {**content, "longest": "1"}, "'longest' is no"),
    "a length below 0": (lambda content: {**content, "longest": -1.0}, "'longest' is no length"),
    "an index unsaid": (_files(**{"index.faiss": {"bytes": 1, "sha256": ""}}), "and nothing else"),
    "no size": (_files(**{WORDS: {"sha256": ""}}), "lacks the size or the SHA-256 of words"),
    "no facts": (_files(**{WORDS: None}), "lacks the size or the SHA-256 of words"),
    "no number of words": (_without("words"), "'words' is no positive number"),
    "no words": (lambda content: {**content, "words": 0}, "'words' is no positive number"),
    "a truth of words": (lambda content: {**content, "words": True}, "'words' is no positive"),
    "dimensions in words": (lambda content: {**content, "dimensions": "8"}, "'dimensions' is no"),
    "no casing": (_without("lowercase"), "'lowercase' is neither"),
    "an index of a kind": (lambda content: {**content, "index": "Flat"}, "'index' does not say"),
    "an index unnamed": (lambda content: {**content, "index": {"exact": False}}, "no factory"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_manifest_must_say_what_is_relied_on_and_name_no_other_file(
    folder: Path, name: str
) -> None:
    """Though its digest is right: whoever writes a manifest can compute it."""
    change, said = FORGED[name]
    content = json.loads((folder / MANIFEST).read_text())
    del content["digest"]
    forged = change(content)
    forged["digest"] = digest_of(forged)
    (folder / MANIFEST).write_text(json.dumps(forged))
    with pytest.raises(ArtifactError, match=said):
        artifact.handle(str(folder))


def test_a_manifest_is_written_once(folder: Path) -> None:
    before = (folder / MANIFEST).read_bytes()
    shape = WordsAndVectors(300, 8, "", json.loads(before)["longest"])
    artifact.write_manifest(str(folder), shape, True, {"name": "tiny"})
    with pytest.raises(OutputError, match="was written by another run"):
        artifact.write_manifest(str(folder), shape, False, {"name": "tiny"})
    assert (folder / MANIFEST).read_bytes() == before


def test_a_folder_without_a_manifest_is_not_an_artifact(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    with pytest.raises(ArtifactError, match="no vocabulary here"):
        artifact.handle(str(folder))


@every_version
def test_no_file_may_be_missing_cut_short_or_changed(tmp_path: Path, version: int) -> None:
    folder = Path(WRITE[version](tmp_path))
    names = set(artifact.read_manifest(str(folder))["files"])
    assert len(names) == {1: 5, 2: 9}[version]
    for name in names:
        path = folder / name
        content = path.read_bytes()
        path.write_bytes(content[:-1])
        with pytest.raises(ArtifactError, match=f"{name} has .* bytes where the manifest says"):
            open_artifact(folder)
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        with pytest.raises(ArtifactError, match=f"{name} is damaged"):
            open_artifact(folder)
        path.unlink()
        with pytest.raises(ArtifactError, match=f"{name} cannot be read"):
            open_artifact(folder)
        path.write_bytes(content)
    assert len(open_artifact(folder)) == 300


def _write_words(path: Path, words: Any, column: str = "word") -> None:
    table = pa.table({column: words})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _large(words: list[Any]) -> Any:
    return pa.array(words, pa.large_string())


def _not_text() -> Any:
    """300 words whose bytes are no UTF-8."""
    return pa.array([b"\xff"] * 300, pa.large_binary()).view(pa.large_string())


MISFITS: dict[str, Callable[[Path], object]] = {
    "vectors of other dimensions": lambda f: np.save(f / VECTORS, np.zeros((300, 7), "f4")),
    "fewer vectors": lambda f: np.save(f / VECTORS, np.zeros((299, 8), "f4")),
    "fewer words": lambda f: _write_words(f / WORDS, _large(["a"] * 299)),
    "words under another name": lambda f: _write_words(f / WORDS, _large(["a"] * 300), "token"),
    "words of another type": lambda f: _write_words(f / WORDS, pa.array(["a"] * 300)),
    "words that are no text": lambda f: _write_words(f / WORDS, _not_text()),
    "words in no Arrow file": lambda f: (f / WORDS).write_bytes(b"apple pear"),
    "an index to words that are not there": lambda f: np.save(
        f / WORD_INDEX, np.array([300] * 512 + [-1] * 512, np.int32)
    ),
    "an index without an end": lambda f: np.save(f / WORD_INDEX, np.zeros(512, np.int32)),
    "an index of an odd size": lambda f: np.save(f / WORD_INDEX, np.full(1000, -1, np.int32)),
    "an index of another type": lambda f: np.save(f / WORD_INDEX, np.full(1024, -1)),
    "vectors in no npy file": lambda f: (f / VECTORS).write_bytes(b"apple pear"),
    "vectors that are a pickle": lambda f: np.save(
        f / VECTORS, np.array([{}], object), allow_pickle=True
    ),
    "integers of other words": lambda f: np.save(f / INTEGERS, np.zeros((1, 8, 299), np.int8)),
    "scales of another type": lambda f: np.save(f / SCALES, np.ones(300)),
    "two bounds of three": lambda f: np.save(f / BOUNDS, np.ones((2, 300))),
}


@pytest.mark.parametrize("misfit", MISFITS)
def test_files_that_are_whole_but_do_not_fit_together(folder: Path, misfit: str) -> None:
    MISFITS[misfit](folder)
    _complete_again(folder)
    with pytest.raises(ArtifactError, match="do not fit together"):
        open_artifact(folder)


def test_an_abandoned_artifact_leaves_what_is_not_its_own(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    (folder / PIECES).mkdir()
    (folder / PIECES / "000-neighbors.npy").touch()
    (folder / "mine.txt").touch()
    artifact.abandon(str(folder))
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("damage", ["short", "strangers"])
def test_a_table_that_does_not_fit_the_words_is_refused(folder: Path, damage: str) -> None:
    """Even if every digest is right."""
    table = np.load(folder / NEIGHBORS)
    table = table[:-1] if damage == "short" else np.full_like(table, 300)
    np.save(folder / NEIGHBORS, table)
    _complete_again(folder)
    with pytest.raises(ArtifactError, match="do not fit together"):
        open_artifact(folder)


def test_the_packaged_vocabulary_opens_and_is_small() -> None:
    folder = Path(artifact.resolve(artifact.DEMO))
    if not folder.is_dir():
        pytest.skip("the package comes without dxbeam/demo/vocabulary, see demo/train_vectors.py")
    opened = artifact.open_vocabulary(artifact.handle(artifact.DEMO))
    assert len(opened) >= 15_000
    assert opened.dimensions == 100
    assert sum(path.stat().st_size for path in folder.iterdir()) < 6_000_000


def test_the_packaged_vocabulary_keeps_its_digest() -> None:
    """It names the noise of every release that was made with it under a kept key."""
    assert artifact.read_manifest(artifact.DEMO)["version"] == 1
    assert artifact.handle(artifact.DEMO).digest == DEMO_DIGEST
