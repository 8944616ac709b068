"""The manifest of a vocabulary artifact: which files there may be, and what it must say of them.

    manifest.json         format, version, shape, casing, source; bytes and SHA-256 of each file
    vectors.npy           float32 (or float16) [N, n], C order, memory-mapped when opened
    unknown_vector.npy    float32 [n]
    words.arrow, word_index.npy    the words and the way to their ids (word_files.py)
    integers.npy, integer_scales.npy, integer_bounds.npy
                          the vectors in 8-bit integers (rounded_vectors.py); only where their
                          lengths have squares that float32 holds
    close_radius.npy      float64 [N]; these two only where a neighbour table was asked for
    neighbors.npy         int32 [N, K]
    clusters.npy          int32 [N], the number of each word's cluster; only where asked for
    orders.npy            int32 [k, N], orders of all words; only where asked for
    index.faiss           only where a FAISS factory string asked for one

That is version 2. Version 1 had ``words.parquet``, with one column ``word``, in place of the words
and their index, and no integers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from dxbeam.space.artifact.kind import MANIFEST as MANIFEST
from dxbeam.space.artifact.kind import Kind
from dxbeam.space.artifact.kind import digest_of as digest_of
from dxbeam.space.artifact.word_files import WORD_INDEX, WORDS
from dxbeam.space.search.backends.rounded_vectors import BOUNDS, INTEGERS, SCALES

FORMAT = "dxbeam-vocabulary"
VERSION = 2
"""The version that is written; all of LAYOUTS are read."""

VECTORS, UNKNOWN_VECTOR = "vectors.npy", "unknown_vector.npy"
WORDS_OF_VERSION_1 = "words.parquet"
CLOSE_RADIUS, NEIGHBORS, INDEX = "close_radius.npy", "neighbors.npy", "index.faiss"
CLUSTERS, ORDERS = "clusters.npy", "orders.npy"
PIECES = "table-pieces"
"""Folder of the neighbour table's pieces while it is built."""

EXACT = {"exact": True}


class Layout(NamedTuple):
    """The files of one version.

    Attributes:
      required: files of every artifact.
      optional: groups of files; an artifact has all files of a group or none.
    """

    required: tuple[str, ...]
    optional: dict[str, tuple[str, ...]]


_TABLE: dict[str, tuple[str, ...]] = {"neighbour table": (CLOSE_RADIUS, NEIGHBORS)}
LAYOUTS = {
    1: Layout((WORDS_OF_VERSION_1, VECTORS, UNKNOWN_VECTOR), _TABLE),
    2: Layout(
        (WORDS, WORD_INDEX, VECTORS, UNKNOWN_VECTOR),
        {
            **_TABLE,
            "integers": (INTEGERS, SCALES, BOUNDS),
            "clusters": (CLUSTERS,),
            "orders": (ORDERS,),
        },
    ),
}
"""By version. A structure that is computed from the public words and vectors, and that readers may
do without, becomes one more optional group of the newest."""


def all_files() -> list[str]:
    """Every file but the manifest that an artifact of the newest version may have."""
    required, optional = LAYOUTS[VERSION]
    return [*required, *(name for group in optional.values() for name in group), INDEX]


def wrong_field(manifest: dict[str, Any]) -> str:
    """What is wrong with the fields of a version of LAYOUTS that readers rely on, or ""."""
    for name in ("words", "dimensions"):
        if type(manifest.get(name)) is not int or manifest[name] < 1:
            return f"{name!r} is no positive number"
    if type(manifest.get("lowercase")) is not bool:
        return "'lowercase' is neither true nor false"
    longest = manifest.get("longest", 0.0)
    if type(longest) is not float or not 0 <= longest < math.inf:
        return "'longest' is no length"
    index = manifest.get("index", EXACT)
    if not isinstance(index, dict) or type(index.get("exact")) is not bool:
        return "'index' does not say whether it is exact"
    if not index["exact"] and not isinstance(index.get("factory"), str):
        return "'index' names no factory"
    return _wrong_files(manifest.get("files"), manifest["version"], exact=index["exact"])


def _wrong_files(files: Any, version: int, *, exact: bool) -> str:
    required, optional = LAYOUTS[version]
    needed = [*required, *(() if exact else (INDEX,))]
    known = {*needed, *(name for group in optional.values() for name in group)}
    if not isinstance(files, dict) or not set(needed) <= set(files) <= known:
        rest = [" and ".join(group) for group in optional.values()]
        return (
            f"'files' must name {', '.join(needed)}, perhaps {' or '.join(rest)}, and nothing else"
        )
    for name, group in optional.items():
        if 0 < len(set(group) & set(files)) < len(group):
            return f"'files' must name all of the {name} or nothing of it: {', '.join(group)}"
    for name, facts in files.items():
        if not (
            isinstance(facts, dict)
            and type(facts.get("bytes")) is int
            and isinstance(facts.get("sha256"), str)
        ):
            return f"'files' lacks the size or the SHA-256 of {name}"
    return ""


VOCABULARY = Kind(
    parameter="vocabulary",
    name="vocabulary",
    format=FORMAT,
    versions=tuple(LAYOUTS),
    rebuild="build it with dxbeam build-vocabulary",
    bundled="demo/vocabulary",
    wrong_field=wrong_field,
)
