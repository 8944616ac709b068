"""The vocabulary artifact: a directory or gs:// prefix that holds a vocabulary, and its handle.

manifest.py says which files that are. The manifest is written last; a directory without
one is not an artifact. Pipelines carry only the ``VocabularyHandle``; each process opens the
artifact once. Nothing is computed and nothing is copied then: arrays, words and their index are
memory-mapped, so the processes of a host share them. The first of these checks all files
(this_host.py).
"""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dxbeam import storage
from dxbeam.errors import ArtifactError
from dxbeam.space.artifact import kind
from dxbeam.space.artifact.contents import UNWRITABLE_WORD, draft, opened
from dxbeam.space.artifact.kind import DEMO as DEMO
from dxbeam.space.artifact.manifest import (
    EXACT,
    FORMAT,
    INDEX,
    LAYOUTS,
    NEIGHBORS,
    PIECES,
    UNKNOWN_VECTOR,
    VECTORS,
    VERSION,
    VOCABULARY,
    all_files,
)
from dxbeam.space.artifact.this_host import copy_here, opened_here
from dxbeam.space.artifact.word_files import write_words
from dxbeam.space.search.backends.rounded_vectors import write_rounded
from dxbeam.space.vocabulary.words import UNWRITABLE, Vocabulary, squared_lengths


class VocabularyHandle(NamedTuple):
    """All that a pipeline carries of a vocabulary.

    Attributes:
      uri: where the artifact is, as every worker sees it; DEMO for the packaged one.
      digest: SHA-256 of the manifest's content, which holds that of every file.
      words: N.
      dimensions: n.
      search: how nearest words are found, as ``release.json`` says it: "exact", whichever backend
        does it, or "approximate: " and the index's factory string and parameters.
    """

    uri: str
    digest: str
    words: int
    dimensions: int
    search: str = "exact"


class WordsAndVectors(NamedTuple):
    """What ``write_words_and_vectors`` has written.

    Attributes:
      words: N.
      dimensions: n.
      digest: SHA-256 of vectors.npy.
      longest: the length of the longest vector, the unknown word's included.
    """

    words: int
    dimensions: int
    digest: str
    longest: float


def write_words_and_vectors(
    chunks: Iterable[tuple[list[str], npt.NDArray[np.float32]]],
    directory: Path,
    dtype: type[np.floating[Any]] = np.float32,
) -> WordsAndVectors:
    """Writes all that follows only from words and vectors: every file but the table and the index.

    Of ``chunks`` of words and float32 [B, n] vectors, words are held in memory, and vectors are
    not; float16 halves the size. An ArtifactError where there is no chunk, or words are repeated or
    unwritable.
    """
    directory.mkdir(parents=True, exist_ok=True)
    rows, total, longest = 0, np.zeros(0), 0.0
    words: list[Any] = []
    with (directory / VECTORS).open("wb") as vectors:
        for chunk_words, chunk in chunks:
            if any(map(UNWRITABLE.search, chunk_words)):
                raise ArtifactError(f"{directory}: {UNWRITABLE_WORD}")
            stored = chunk.astype(dtype)
            if not rows:
                total = np.zeros(chunk.shape[1])
                write_header(vectors, stored.dtype, (0, len(total)))
            words.append(pa.array(chunk_words, pa.large_string()))
            vectors.write(stored.tobytes())
            total += stored.sum(axis=0, dtype=np.float64)
            longest = max(longest, float(squared_lengths(stored).max(initial=0.0)))
            rows += len(chunk)
        if not rows:
            raise ArtifactError(f"{directory}: there are no words to write")
        vectors.seek(0)  # numpy leaves room in the header for any number of rows
        write_header(vectors, stored.dtype, (rows, len(total)))
    unknown = (total / rows).astype(np.float32)
    np.save(directory / UNKNOWN_VECTOR, unknown)
    try:
        write_words(words, directory)
    except ValueError:
        raise ArtifactError(
            f"{directory}: a vocabulary's words must be distinct, and some are repeated"
        ) from None
    written = np.load(directory / VECTORS, mmap_mode="r", allow_pickle=False)
    write_rounded(directory, written, unknown.astype(np.float64))
    longest = max(longest, float(squared_lengths(unknown[None]).max()))
    digest = storage.sha256(str(directory / VECTORS))[0]
    return WordsAndVectors(rows, len(total), digest, longest**0.5)


def write_header(file: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Writes the header of a .npy file, of the same size for any number of rows."""
    header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


def write_manifest(
    uri: str,
    shape: WordsAndVectors,
    lowercase: bool,
    source: dict[str, Any],
    table: bool = True,
    **facts: Any,
) -> VocabularyHandle:
    """Completes an artifact whose other files are there; an OutputError where one has a manifest.

    ``table`` says whether it has a neighbour table and close radii; ``facts`` are more JSON values
    that a reader of the manifest should know.
    """
    required, optional = LAYOUTS[VERSION]
    names = list(required)
    for group in optional.values():
        if table if NEIGHBORS in group else storage.exists(storage.join(uri, group[0])):
            names += group
    names += [INDEX] if storage.exists(storage.join(uri, INDEX)) else []
    files = {}
    for name in names:
        digest, size = storage.sha256(storage.join(uri, name))
        files[name] = {"bytes": size, "sha256": digest}
    content = {
        "format": FORMAT,
        "version": VERSION,
        "words": shape.words,
        "dimensions": shape.dimensions,
        "lowercase": lowercase,
        "longest": shape.longest,
        "source": source,
        **facts,
        "files": files,
    }
    manifest = kind.write_manifest(uri, content)
    return VocabularyHandle(uri, manifest["digest"], shape.words, shape.dimensions)


def abandon(uri: str) -> None:
    """Deletes the files of an artifact that was not completed, at a prefix that was empty."""
    for name in (*all_files(), PIECES):
        storage.delete(storage.join(uri, name))


resolve = VOCABULARY.resolve


def read_manifest(uri: str) -> dict[str, Any]:
    """The manifest, checked; see ``Kind.read_manifest``."""
    return VOCABULARY.read_manifest(uri)


def handle(uri: str) -> VocabularyHandle:
    """The handle of the artifact at ``uri``; reads and checks the manifest only.

    Raises:
      ArtifactError: as ``read_manifest``, or this is no text.
    """
    manifest = read_manifest(VOCABULARY.checked_uri(uri))
    index, search = manifest.get("index", EXACT), "exact"
    if not index["exact"]:
        search = f"approximate: {index['factory']} {index.get('parameters', '')}".rstrip()
    return VocabularyHandle(
        uri, manifest["digest"], manifest["words"], manifest["dimensions"], search
    )


def open_vocabulary(vocabulary: str | os.PathLike[str] | VocabularyHandle) -> Vocabulary:
    """Opens a vocabulary, memory-mapped.

    The first process of a host checks every file against its SHA-256; later ones do so where a
    file was touched since, or the host was started anew. A vocabulary in Cloud Storage is first
    copied to this host's temporary directory, once for all its processes.

    Args:
      vocabulary: "demo" for the one that comes with the package; else the directory or gs:// prefix
        that ``build_vocabulary`` wrote, or the handle of one.

    Raises:
      ArtifactError: missing, damaged, or no longer the one that the handle was made of.
    """
    if isinstance(vocabulary, os.PathLike):
        vocabulary = os.fspath(vocabulary)
    # In a separate process, a worker gets the handle as a tuple of a class that Beam made.
    if getattr(vocabulary, "_fields", None) == VocabularyHandle._fields:
        return _open(VocabularyHandle(*cast(VocabularyHandle, vocabulary)))
    return _open(handle(cast(str, vocabulary)))


def _open(handle: VocabularyHandle) -> Vocabulary:
    manifest = read_manifest(handle.uri)
    if manifest["digest"] != handle.digest:
        raise ArtifactError(
            f"`vocabulary` {handle.uri}: this is not the vocabulary that the job was started "
            "with; it was replaced in between, start the job again"
        )
    return opened_here(
        resolve(handle.uri), manifest, lambda folder: opened(folder, manifest, handle.uri)
    )


def open_draft(uri: str, digest: str) -> Vocabulary:
    """Words and vectors of an artifact that is still being built; the words are left blank."""
    directory = storage.without_file_scheme(uri)
    folder = Path(directory)
    if not storage.is_local(directory):
        folder = copy_here(directory, digest, [VECTORS])
    return draft(folder)
