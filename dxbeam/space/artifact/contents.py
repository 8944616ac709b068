"""The files of an artifact on this host: checked by the first process, opened by each.

Nothing is computed, and nothing but half precision is copied: arrays, words and their index are
memory-mapped, so the processes of a host share them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from dxbeam.errors import ArtifactError, DxbeamError
from dxbeam.space.artifact.manifest import (
    CLOSE_RADIUS,
    CLUSTERS,
    INDEX,
    NEIGHBORS,
    ORDERS,
    UNKNOWN_VECTOR,
    VECTORS,
    WORDS_OF_VERSION_1,
)
from dxbeam.space.artifact.this_host import check_file, checked_once
from dxbeam.space.artifact.word_files import open_words
from dxbeam.space.search.backends.rounded_vectors import INTEGERS, open_rounded
from dxbeam.space.vocabulary.stored_words import StoredWords
from dxbeam.space.vocabulary.words import UNWRITABLE, Vocabulary

_REBUILD = "build the vocabulary again with dxbeam build-vocabulary"
UNWRITABLE_WORD = "a word is empty or holds a null byte or the end of a line"


def opened(directory: Path, manifest: dict[str, Any], uri: str) -> Vocabulary:
    """The vocabulary in a local directory, all of it checked unless that was done on this host.

    ``uri`` is what errors call it; an ArtifactError where files are missing, damaged, or do not fit
    together.
    """
    files = [directory / name for name in manifest["files"]]
    with checked_once(manifest["digest"], files) as unchecked:
        if unchecked:
            for path in files:
                check_file(path, manifest["files"][path.name], _REBUILD)
        try:
            vocabulary = _load(directory, manifest)
            if unchecked:
                _check_table(vocabulary)
                _check_places(vocabulary)
                unwritable = _holds_unwritable(vocabulary.words)
        except (OSError, ValueError, KeyError, RuntimeError, pa.ArrowException, DxbeamError) as e:
            raise ArtifactError(
                f"`vocabulary` {uri}: the files are whole but do not fit together "
                f"({type(e).__name__}); build it again with dxbeam build-vocabulary"
            ) from None
        if unchecked and unwritable:
            raise ArtifactError(
                f"`vocabulary` {uri}: {UNWRITABLE_WORD}, so a release would not be a text; "
                "build it again with dxbeam build-vocabulary"
            )
    return vocabulary


def _check_table(vocabulary: Vocabulary) -> None:
    table, words = vocabulary.neighbor_ids, len(vocabulary)
    if table is not None and table.size and not (table.min() >= 0 and table.max() < words):
        raise ValueError("the neighbour table names words that are not there")


def _check_places(vocabulary: Vocabulary) -> None:
    if problem := vocabulary.problem_of_places():
        raise ValueError(problem)


def _holds_unwritable(words: Sequence[str]) -> bool:
    if isinstance(words, StoredWords):
        return UNWRITABLE.search(words.checked_text()) is not None
    return any(map(UNWRITABLE.search, words))


def draft(directory: Path) -> Vocabulary:
    """What is there of an artifact that is still being built; the words are left blank."""
    vectors = _load_vectors(directory)
    words: Any = range(len(vectors))
    if not (directory / INTEGERS).exists():
        return Vocabulary(words, vectors, unknown_vector=vectors[0])
    unknown = np.load(directory / UNKNOWN_VECTOR, allow_pickle=False)
    rounded = open_rounded(directory, len(vectors), unknown.astype(np.float64))
    return Vocabulary(words, vectors, unknown_vector=unknown, rounded=rounded)


def _load_vectors(directory: Path) -> npt.NDArray[np.float32]:
    vectors: npt.NDArray[np.float32] = _mapped(directory / VECTORS)
    return vectors if vectors.dtype == np.float32 else vectors.astype(np.float32)


def _mapped(path: Path) -> Any:
    # A plain array over the mapped file: to index numpy's memmap costs a microsecond more.
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def _load(directory: Path, manifest: dict[str, Any]) -> Vocabulary:
    files, vectors = manifest["files"], _load_vectors(directory)
    if vectors.shape != (manifest["words"], manifest["dimensions"]):
        raise ValueError("the vectors' shape is not the manifest's")
    unknown = np.load(directory / UNKNOWN_VECTOR, allow_pickle=False)
    words: Sequence[str]
    if manifest["version"] == 1:
        words = pq.read_table(directory / WORDS_OF_VERSION_1, memory_map=True)["word"].to_pylist()
    else:
        words = open_words(directory)
    neighbors = close_radius = None
    if NEIGHBORS in files:
        neighbors, close_radius = _load_table(directory, len(vectors))
    rounded = None
    if INTEGERS in files:
        rounded = open_rounded(directory, len(vectors), unknown.astype(np.float64))
    clusters, orders = (_mapped(directory / n) if n in files else None for n in (CLUSTERS, ORDERS))
    if clusters is not None and clusters.shape != (len(vectors),):
        raise ValueError("the clusters do not have one number per word")
    if orders is not None and orders.shape[1:] != (len(vectors),):
        raise ValueError("the orders do not have one place per word")
    index = None
    if INDEX in files:
        import faiss  # a tenth of a second that exact vocabularies do not need

        index = faiss.read_index(str(directory / INDEX), faiss.IO_FLAG_MMAP_IFC)
    return Vocabulary(
        words=words,
        vectors=vectors,
        lowercase=manifest["lowercase"],
        unknown_vector=unknown,
        neighbor_ids=neighbors,
        close_radius=close_radius,
        clusters=clusters,
        orders=orders,
        index=index,
        digest=manifest["digest"],
        rounded=rounded,
        longest_vector=manifest.get("longest"),
    ).with_content_digest(manifest["digest"])


def _load_table(directory: Path, words: int) -> tuple[Any, Any]:
    neighbors, close_radius = _mapped(directory / NEIGHBORS), _mapped(directory / CLOSE_RADIUS)
    if neighbors.ndim != 2 or len(neighbors) != words or len(close_radius) != words:
        raise ValueError("the neighbour table or the close radii do not have one row per word")
    return neighbors, close_radius
