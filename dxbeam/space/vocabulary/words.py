"""Words, their ids and their vectors; the public vector of every unknown word."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dxbeam.errors import ConfigurationError, described
from dxbeam.space.search.backends.rounded_vectors import RoundedVectors
from dxbeam.space.vocabulary.stored_words import StoredWords

LARGEST_VALUE = 1e16
"""Vectors hold no larger value: float32 must hold the squares of their lengths."""

UNWRITABLE = re.compile(r"^$|[\0\n\r\v\f\x1c-\x1e\x85\u2028\u2029\ud800-\udfff]")
"""Found in what no vocabulary holds as a word: nothing, null bytes, ends of lines, halves of
surrogate pairs. A release with such a word would not be a text, or look like several."""

UNKNOWN = -1
"""The id of every word outside the vocabulary."""

REMEMBERED = 1 << 16
"""Words of an artifact whose ids are remembered once they were looked up: some 10 MB."""

_ROWS_AT_ONCE = 4096
_COORDINATES_AT_ONCE = 1 << 17  # float64: 1 MiB, which stays in the cache


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary:
    """A public set of words embedded in R^n.

    The vocabulary must not be built from the private corpus: its words are what a release may
    contain, so a private one voids the guarantee.

    Attributes:
      words: N distinct words; a word's position is its id.
      vectors: float32 [N, n], C order; may be memory-mapped.
      lowercase: whether words are lower-case, so that text is lower-cased before the look-up.
      unknown_vector: float32 [n]: the one public vector that stands for every word outside the
        vocabulary, so that the guarantee covers every string. The mean of ``vectors`` if None.
      neighbor_ids: int32 [N, K] or None: the first K neighbours of each word, itself excluded,
        nearest first, ties by id.
      close_radius: float64 [N] or None: distance to the 100th neighbour (the last one where
        there are fewer).
      index: a FAISS index over ``vectors`` that replaces exact search, or None.
      digest: the artifact's SHA-256, or "" for a vocabulary made in memory; what keys noise is
        ``content_digest``.
      rounded: the vectors in 8-bit integers, or None where a search by them has to make its own.
      longest_vector: ``longest``, or None where it is still to be computed.
      clusters: int32 [N], the number of each word's cluster, or None; see clusters.py. Clusters of
        your own must be as public as the words.
      orders: int32 [k, N], orders of all words, or None; see word_order.py.

    Raises:
      ConfigurationError: words and vectors that do not fit each other, vectors that are not finite
        or too large, clusters that are not of one size, or an order that does not hold each word
        once; and at the first look-up, repeated or unwritable words.
    """

    words: Sequence[str]
    vectors: npt.NDArray[np.float32]
    lowercase: bool = False
    unknown_vector: npt.NDArray[np.float32] | None = None
    neighbor_ids: npt.NDArray[np.int32] | None = None
    close_radius: npt.NDArray[np.float64] | None = None
    index: Any = None
    digest: str = ""
    rounded: RoundedVectors | None = None
    longest_vector: float | None = None
    clusters: npt.NDArray[np.int32] | None = None
    orders: npt.NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.vectors, np.ndarray):
            raise ConfigurationError(
                "a vocabulary's vectors are a NumPy array, float32 [N, n]; this is a "
                f"{type(self.vectors).__name__}"
            )
        if self.vectors.ndim != 2 or self.vectors.dtype != np.float32:
            raise ConfigurationError(
                f"a vocabulary's vectors are float32 [N, n]; these are {self.vectors.dtype} "
                f"{list(self.vectors.shape)}"
            )
        if not self.dimensions:
            raise ConfigurationError("a vocabulary's vectors need at least one number each")
        if len(self.words) != len(self.vectors) or not len(self.words):
            raise ConfigurationError(
                "a vocabulary needs one vector per word and at least one word; it has "
                f"{len(self.words)} words and {len(self.vectors)} vectors"
            )
        if isinstance(self.words, (list, tuple)):
            other = next((word for word in self.words if not isinstance(word, str)), None)
            if other is not None:
                raise ConfigurationError(
                    f"a vocabulary's words are strings, and one of these is {described(other)}"
                )
        if self.unknown_vector is None:
            mean = self.vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
            object.__setattr__(self, "unknown_vector", mean)
        elif np.shape(self.unknown_vector) != (self.dimensions,) or (
            getattr(self.unknown_vector, "dtype", None) != np.float32
        ):
            raise ConfigurationError(
                f"the unknown word's vector is float32 [{self.dimensions}], as every word's is; "
                f"this one is a {type(self.unknown_vector).__name__} "
                f"{list(np.shape(self.unknown_vector))}"
            )
        # An artifact's vectors were checked when they were read, and may be too many to look at.
        to_check = [np.asarray(self.unknown_vector)] + ([] if self.digest else [self.vectors])
        if not all((np.abs(vectors) <= LARGEST_VALUE).all() for vectors in to_check):
            raise ConfigurationError(
                "a vocabulary's vectors must be finite, their values at most "
                f"{LARGEST_VALUE:g} in size; one of these is not"
            )
        if not self.digest and (problem := self.problem_of_places()):
            raise ConfigurationError(f"a vocabulary {problem}")

    def problem_of_places(self) -> str | None:
        """What is wrong with the clusters or the orders, as the end of a sentence; None if nothing.

        Clusters are numbered from 0 on and have one size, K, but for the last one, which has K to
        2K - 1 words.
        """
        words = len(self.words)
        if self.clusters is not None:
            table = np.asarray(self.clusters)
            if table.shape != (words,) or not np.issubdtype(table.dtype, np.integer):
                return f"with clusters has one whole number for each of its {words:,} words"
            sizes = np.bincount(table) if 0 <= table.min() <= table.max() < words else np.zeros(1)
            if not ((sizes[:-1] == sizes[0]).all() and 0 < sizes[0] <= sizes[-1] < 2 * sizes[0]):
                return (
                    "has clusters numbered from 0 on, all of one size but for the last one, which "
                    "is less than twice as large; these are not"
                )
        if self.orders is not None:
            table = np.asarray(self.orders)
            if table.shape[1:] != (words,) or not np.issubdtype(table.dtype, np.integer):
                return f"with orders has places for each of its {words:,} words in each of them"
            if not (np.sort(table, axis=1) == np.arange(words)).all():
                return "has orders that hold each word once; one of these does not"
        return None

    def __len__(self) -> int:
        return len(self.words)

    def __repr__(self) -> str:
        words = "1 word" if len(self) == 1 else f"{len(self):,} words"
        casing = "lower case" if self.lowercase else "cased"
        digest = f", {self.digest[:12]}" if self.digest else ""
        return f"<Vocabulary: {words} in {self.dimensions} dimensions, {casing}{digest}>"

    @property
    def dimensions(self) -> int:
        """The n of R^n."""
        return int(self.vectors.shape[1])

    @cached_property
    def longest(self) -> float:
        """The length of the longest vector, the unknown word's included."""
        if self.longest_vector is not None:
            return self.longest_vector
        unknown = squared_lengths(np.asarray(self.unknown_vector)[None])
        return float(np.sqrt(max(squared_lengths(self.vectors).max(), unknown.max())))

    @cached_property
    def content_digest(self) -> str:
        """SHA-256 of all that decides what is released for given random numbers.

        An artifact's is that of its manifest, which its opener puts here. Any other vocabulary,
        also an opened one of which a field was replaced, is read: words, vectors, casing, and what
        else is given. The close radius decides nothing but tallies.
        """
        digest = hashlib.sha256("\n".join(self.words).encode("utf-8", "surrogatepass"))
        digest.update(np.ascontiguousarray(self.vectors).data)
        digest.update(np.ascontiguousarray(self.unknown_vector).data)
        digest.update(b"lowercase" if self.lowercase else b"cased")
        # Only what is given enters, so that vocabularies without it keep their digests.
        for name, numbers in (
            ("neighbor_ids", self.neighbor_ids),
            ("clusters", self.clusters),
            ("orders", self.orders),
            ("index", None if self.index is None else _bytes_of_index(self.index)),
        ):
            if numbers is not None:
                content = np.ascontiguousarray(numbers)
                digest.update(f"{name} {content.dtype.str} {content.shape}".encode())
                digest.update(content.data)
        return digest.hexdigest()

    def with_content_digest(self, digest: str) -> Vocabulary:
        """The same vocabulary, with a digest that its content has already: for opened artifacts."""
        self.__dict__["content_digest"] = digest
        return self

    @cached_property
    def _stored(self) -> StoredWords | None:
        return self.words if isinstance(self.words, StoredWords) else None

    @cached_property
    def _ids(self) -> dict[str, int]:
        """Words whose ids are at hand: all of a vocabulary in memory, else some that were met."""
        if self._stored is not None:
            return {}
        ids = {word: i for i, word in enumerate(self.words)}
        if len(ids) != len(self.words):
            raise ConfigurationError("a vocabulary's words must be distinct; some are repeated")
        if any(map(UNWRITABLE.search, self.words)):
            raise ConfigurationError(
                "a vocabulary's words must be texts of one line; one of these is empty or holds a "
                "null byte, the end of a line or half of a surrogate pair"
            )
        return ids

    def id_of(self, word: str) -> int:
        """The id of ``word``, lower-cased first where the vocabulary is; UNKNOWN if it has none."""
        return int(self.ids_of([word])[0])

    def _met(self, word: str) -> int:
        """The id of a word that is not at hand; only public words are remembered."""
        number = UNKNOWN if self._stored is None else self._stored.find(word)
        if number != UNKNOWN:
            if len(self._ids) >= REMEMBERED:
                self._ids.clear()
            self._ids[word] = number
        return number

    def ids_of(self, words: Iterable[str]) -> npt.NDArray[np.int64]:
        """The ids of ``words``, int64 [B]; UNKNOWN where there is none."""
        looked_up = list(map(str.lower, words) if self.lowercase else words)
        numbers = list(map(self._ids.get, looked_up))
        if None in numbers:
            pairs = zip(numbers, looked_up, strict=True)
            numbers = [self._met(word) if number is None else number for number, word in pairs]
        return np.array(numbers, np.int64)

    def words_of(self, ids: npt.NDArray[np.int64]) -> list[str]:
        """The words of ``ids``, int64 [B], none of which is UNKNOWN."""
        if self._stored is not None:
            return self._stored.of(ids)
        return [self.words[number] for number in ids.tolist()]

    def vectors_of(self, ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """The vectors of ``ids`` as float64 [B, n]; the unknown word's where an id is UNKNOWN."""
        vectors = self.vectors.take(np.maximum(ids, 0), axis=0).astype(np.float64)
        vectors[ids == UNKNOWN] = self.unknown_vector
        return vectors


def _bytes_of_index(index: Any) -> npt.NDArray[np.uint8]:
    """All that a FAISS index holds, how it searches included: uint8."""
    import faiss  # a tenth of a second that exact vocabularies do not need

    content: npt.NDArray[np.uint8] = faiss.serialize_index(index)
    return content


def squared_lengths(vectors: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Squared lengths of rows in float64: [B, n] -> [B]; they may be a memory map of any size."""
    squares = np.empty(len(vectors))
    for start in range(0, len(vectors), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        np.square(vectors[part], dtype=np.float64).sum(axis=1, out=squares[part])
    return squares


def distances(a: npt.NDArray[np.float32], b: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Euclidean distances of rows in float64; each row is summed alike whatever the batch."""
    difference = a.astype(np.float64)
    difference -= b  # in place, as new arrays cost as much as the work
    result: npt.NDArray[np.float64] = np.sqrt(np.square(difference, out=difference).sum(axis=-1))
    return result


def distances_to_words(
    vectors: npt.NDArray[np.float32],
    queries: npt.NDArray[np.float64],
    ids: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    """Distances from each query, float64 [B, n], to some words, int64 [B, k]: float64 [B, k]."""
    result = np.empty(ids.shape)
    rows = max(1, _COORDINATES_AT_ONCE // vectors.shape[1] // max(1, ids.shape[1]))
    shape = (min(rows, len(queries)), ids.shape[1], vectors.shape[1])
    taken, difference = np.empty(shape, vectors.dtype), np.empty(shape)  # new ones cost page faults
    for start in range(0, len(queries), rows):
        block = slice(start, start + rows)
        near, apart = taken[: len(ids[block])], difference[: len(ids[block])]
        np.take(vectors, ids[block], axis=0, out=near, mode="wrap")  # as vectors[ids] has it
        apart[...] = near
        apart -= queries[block, None, :]
        np.multiply(apart, apart, out=apart)
        apart.sum(axis=-1, out=result[block])
    return np.sqrt(result, out=result)
