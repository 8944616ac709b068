"""Tests of released vectors, as ``VectorReleaser`` makes them: grid, reach, law, repetition.

The reachability attack needs no sample and raises no false alarm: a word that could not have led
to what was released is ruled out for certain, whatever its probability was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dxbeam.analysis import evidence
from dxbeam.analysis.attacks import Reals, add, add_on_grid, reachable
from dxbeam.analysis.audit_subject import Finding, Subject, words_at
from dxbeam.analysis.evidence import Evidence, Floats
from dxbeam.analysis.reference_laws import laplace_tail
from dxbeam.documents import Document
from dxbeam.projections import make_projection
from dxbeam.sensitivity import spectral
from dxbeam.vector_release import VectorConfiguration, VectorReleaser
from dxbeam.vocabulary import Vocabulary

NAME = "released_vectors"
"""How vector releases are called beside mechanisms."""

_WORDS, _LENGTH, _ATTACKED = 2000, 6.6, 20
_COORDINATES = 8
_BORDERS = np.linspace(-2.5, 2.5, 20)
"""Between the cells in which a coordinate is counted, in standard deviations of its noise."""


def audit_vectors(
    subject: Subject,
    n: int,
    epsilon: float,
    make: Callable[..., VectorReleaser] = VectorReleaser,
) -> Iterator[Finding]:
    """Releases words as vectors in n dimensions, without a projection.

    Args:
      subject: gives sizes and random numbers.
      n: dimensions.
      epsilon: per unit of distance.
      make: makes the releaser; tests put broken ones here.
    """
    setting = f"{_WORDS:,} words, n = {n}, epsilon = {epsilon:g}"
    places = subject.normals(_WORDS * n).reshape(_WORDS, n) * (_LENGTH / np.sqrt(n))
    vocabulary = words_at(places, np.zeros(n))
    projection = make_projection("none", n)
    settings = VectorConfiguration("word", epsilon, projection, spectral(projection))
    words = vocabulary.vectors.astype(np.float64)
    releaser = make(settings, vocabulary, subject.key())

    different = [Document("a", f"w{i * (_WORDS // _ATTACKED)}") for i in range(_ATTACKED)]
    attacked = [releaser.release_one(document) for document in different]
    yield _ruled_out(attacked, words, settings.step)._replace(setting=setting)

    same = [Document(str(i), "w0") for i in range(subject.size.outputs)]
    released = np.array([releaser.release_one(document) for document in same], np.float64)
    for test, found in (
        *_of_repetition(subject, settings, vocabulary, make, same, released),
        *_of_law(released - words[0], words[0], settings),
    ):
        yield Finding.of(f"vectors: {test}", setting, found)


def _ruled_out(attacked: Sequence[Reals], words: Floats, step: float) -> Finding:
    """Whether every word leads to every released vector over the grid that is stated."""
    left = [len(reachable(vector, words, add_on_grid(step))) for vector in attacked]
    found = evidence.never(len(words) * len(left) - sum(left))
    middle = np.median(left)
    says = f"of {len(words):,} words {middle:,.0f} are left (median), {min(left):,} or more"
    if found.p_value == 0:
        typed = words.astype(attacked[0].dtype)
        sums = np.median([len(reachable(vector, typed, add)) for vector in attacked])
        says += f"; {sums:,.0f} if the vectors are sums of floats"
    return Finding.of("vectors: words ruled out", "", found, says)


def _of_repetition(
    subject: Subject,
    settings: VectorConfiguration,
    vocabulary: Vocabulary,
    make: Callable[..., VectorReleaser],
    documents: list[Document],
    released: Floats,
) -> Iterator[tuple[str, Evidence]]:
    """Retries repeat a vector; other documents and other keys never do."""
    key, few = subject.key(), documents[:200]
    once, again = (
        np.array([make(settings, vocabulary, key).release_one(one) for one in few], np.float64)
        for _ in range(2)
    )
    differ = int((once != again).any(axis=1).sum())
    yield "vectors that differ after a retry", evidence.never(differ)
    # Two vectors of 50 and more grid coordinates agree with probability 2^-200.
    rows = np.concatenate([released, once])
    equal = len(rows) - len(np.unique(rows, axis=0))
    yield "vectors of other documents or keys that are equal", evidence.never(equal)
    first, second = released[1:, 0], released[:-1, 0]
    yield "noise of successive documents", evidence.rank_correlation(first, second)


def _of_law(
    noise: Floats, start: Floats, settings: VectorConfiguration
) -> Iterator[tuple[str, Evidence]]:
    """Counts of a coordinate in cells whose borders lie between grid points, so the law is exact.

    Args:
      noise: float64 [B, n], what was released less the word's vector.
      start: the word's vector, float64 [n].
      settings: what is released.
    """
    n, step = len(start), settings.step
    tail = laplace_tail(n, 1 / settings.scale)
    for coordinate in np.linspace(0, n - 1, _COORDINATES).astype(int):
        wanted = start[coordinate] + _BORDERS * np.sqrt(n + 1) * settings.scale
        borders = (np.floor(wanted / step) + 0.5) * step - start[coordinate]
        half = tail(np.abs(borders))
        above = np.concatenate([[1.0], np.where(borders >= 0, half, 1 - half), [0.0]])
        cells = np.searchsorted(borders, noise[:, coordinate])
        counts = np.bincount(cells, minlength=len(_BORDERS) + 1)
        found = evidence.counts_of_law(counts, -np.diff(above), settings.total_variation)
        yield f"law of coordinate {coordinate}", found
