"""Tests of released vectors: their grid and distribution, reachability, repetition.

The reachability attack needs no sample and raises no false alarm: a word that could not have led
to what was released is ruled out for certain, whatever its probability was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy import special

from dxbeam.audit import evidence
from dxbeam.audit.evidence import Evidence, Floats
from dxbeam.audit.reachability import Reals, add, add_on_grid, reachable
from dxbeam.audit.references.distributions import laplace_tail
from dxbeam.audit.subject import Finding, Subject, words_at
from dxbeam.corpus.parsing.given_vectors import encode
from dxbeam.documents import Document
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.vectors.configuration import VectorConfiguration
from dxbeam.vectors.projections import Projection, make_projection
from dxbeam.vectors.release import VectorReleaser
from dxbeam.vectors.sensitivity import Sensitivity, exact, published, spectral

NAME = "released_vectors"
"""How vector releases are called next to mechanisms."""

_WORDS, _LENGTH, _ATTACKED = 2000, 6.6, 20
_COORDINATES = 8
_FEW, _FROM, _TO = 40, 20, 6
"""Words and dimensions, before and after, of what is projected."""

_DELTA = 1e-6

_RELEASES = (
    ("none", "spectral", "text"),
    ("gaussian", "exact", "word"),
    ("gaussian", "spectral", "vector"),
    ("gaussian", "published", "word"),
    ("orthogonal", "exact", "text"),
    ("pca", "exact", "text"),
    ("pca", "spectral", "word"),
)
"""Projection, sensitivity and unit of what is released."""

_ROUNDED_UP = 2e-6
"""What rounding a sensitivity up to six decimals does to a probability, at most."""

_BORDERS = np.linspace(-2.5, 2.5, 20)
"""Between the cells in which a coordinate is counted, in standard deviations of its noise."""


def audit_vectors(
    subject: Subject,
    n: int,
    epsilon: float,
    make: Callable[..., VectorReleaser] = VectorReleaser,
) -> Iterator[Finding]:
    """Releases words as vectors in n dimensions, without a projection.

    ``make`` makes the releaser; tests put broken ones here.
    """
    setting = f"{_WORDS:,} words, n = {n}, epsilon = {epsilon:g}"
    places = subject.normals(_WORDS * n).reshape(_WORDS, n) * (_LENGTH / np.sqrt(n))
    vocabulary = words_at(places, np.zeros(n))
    projection = make_projection("none", n)
    settings = VectorConfiguration("word", epsilon, projection, spectral(projection))
    words = vocabulary.vectors.astype(np.float64)
    releaser = make(vocabulary, settings, subject.key())

    different = [Document("a", f"w{i * (_WORDS // _ATTACKED)}") for i in range(_ATTACKED)]
    attacked = [releaser.release_one(document) for document in different]
    yield _ruled_out(attacked, words, settings.step)._replace(setting=setting)

    same = [Document(str(i), "w0") for i in range(subject.size.outputs)]
    released = np.array([releaser.release_one(document) for document in same], np.float64)
    for test, outcome in (
        *_of_repetition(subject, settings, vocabulary, make, same, released),
        *_of_distribution(released, words[0], settings, 1 / epsilon),
    ):
        yield Finding.of(f"vectors: {test}", setting, outcome)


def _ruled_out(attacked: Sequence[Reals], words: Floats, step: float) -> Finding:
    """Whether every word leads to every released vector over the grid that is stated."""
    left = [len(reachable(vector, words, add_on_grid(step))) for vector in attacked]
    outcome = evidence.never(len(words) * len(left) - sum(left))
    middle = np.median(left)
    says = f"of {len(words):,} words {middle:,.0f} are left (median), {min(left):,} or more"
    if outcome.p_value == 0:
        typed = words.astype(attacked[0].dtype)
        sums = np.median([len(reachable(vector, typed, add)) for vector in attacked])
        says += f"; {sums:,.0f} if the vectors are sums of floats"
    return Finding.of("vectors: words ruled out", "", outcome, says)


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
        np.array([make(vocabulary, settings, key).release_one(one) for one in few], np.float64)
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


def _of_distribution(
    released: Floats, centre: Floats, settings: VectorConfiguration, scale: float
) -> Iterator[tuple[str, Evidence]]:
    """Counts of a coordinate in cells whose borders are between grid points, against exact ones.

    Noise of this scale, 1/epsilon, was added to ``centre``, float64 [m]; ``released`` is [B, m].
    """
    m, step = len(centre), settings.step
    tail = laplace_tail(m, 1 / scale)
    for coordinate in np.unique(np.linspace(0, m - 1, _COORDINATES).astype(int)):
        wanted = centre[coordinate] + _BORDERS * np.sqrt(m + 1) * scale
        borders = (np.floor(wanted / step) + 0.5) * step
        apart = borders - centre[coordinate]
        half = tail(np.abs(apart))
        above = np.concatenate([[1.0], np.where(apart >= 0, half, 1 - half), [0.0]])
        cells = np.searchsorted(borders, released[:, coordinate])
        counts = np.bincount(cells, minlength=len(_BORDERS) + 1)
        tolerance = settings.total_variation + _ROUNDED_UP
        outcome = evidence.counts_of_distribution(counts, -np.diff(above), tolerance)
        yield f"distribution of coordinate {coordinate}", outcome


# --- Projections, and vectors of texts. ----------------------------------------------------------


def audit_projections(
    subject: Subject,
    epsilon: float,
    make: Callable[..., VectorReleaser] = VectorReleaser,
) -> Iterator[Finding]:
    """Releases words, texts and given vectors under every kind of projection.

    ``make`` makes the releaser; tests put broken ones here.
    """
    vectors = subject.normals((_FEW + 1) * _FROM).reshape(_FEW + 1, _FROM)
    vectors *= np.linspace(0.5, 1.5, _FROM) * (_LENGTH / np.sqrt(_FROM))
    vocabulary = words_at(vectors[:-1], vectors[-1])
    seed = subject.key().hex()
    for kind, method, unit in _RELEASES:
        projection = make_projection(kind, _FROM, _TO, seed, vocabulary)
        setting = f"{unit}, {kind} projection, {method} sensitivity"
        for test, outcome in _of_projection(projection, vocabulary):
            yield Finding.of(f"projection: {test}", setting, outcome)
        settings = VectorConfiguration(
            unit, epsilon, projection, _sensitivity(method, vocabulary, projection)
        )
        releaser = make(None if unit == "vector" else vocabulary, settings, subject.key())
        scale = _stretch(method, vocabulary, projection) / epsilon
        for number, (text, mean) in enumerate(_originals(unit, vocabulary)):
            documents = [Document(f"{number}:{i}", text) for i in range(subject.size.outputs // 5)]
            released = np.array([releaser.release_one(one) for one in documents], np.float64)
            off = int((released != np.rint(released / settings.step) * settings.step).sum())
            grid = evidence.never(off)
            yield Finding.of(f"vectors: off the grid, original {number}", setting, grid)
            centre = mean if projection.matrix is None else _doubles(projection) @ mean
            for test, outcome in _of_distribution(released, centre, settings, scale):
                yield Finding.of(f"vectors: {test}, original {number}", setting, outcome)


def _originals(unit: str, vocabulary: Vocabulary) -> list[tuple[str, Floats]]:
    """Texts, and the vectors that stand for them."""
    words = vocabulary.vectors_of(np.append(np.arange(_FEW), UNKNOWN))
    if unit == "vector":
        vectors = [words[3], words[5] - 100 * words[8]]
        return [(encode(vector.tolist(), _FROM), vector) for vector in vectors]
    if unit == "word":
        return [("w1", words[1]), (" w30\n", words[30]), ("odd", words[-1]), ("w1 w2", words[-1])]
    return [
        ("w1, w2 w2 -- odd", (words[1] + 2 * words[2] + words[-1]) / 4),
        ("w30", words[30]),
        ("", words[-1]),
        ("odd strange w4", (2 * words[-1] + words[4]) / 3),
    ]


def _doubles(projection: Projection) -> Floats:
    assert projection.matrix is not None
    return projection.matrix.astype(np.float64)


def _sensitivity(method: str, vocabulary: Vocabulary, projection: Projection) -> Sensitivity:
    if method == "published":
        return published(projection, _DELTA)
    return exact(vocabulary, projection) if method == "exact" else spectral(projection)


def _stretch(method: str, vocabulary: Vocabulary, projection: Projection) -> float:
    """The sensitivity by formulas of the audit's own."""
    if projection.matrix is None:
        return 1.0
    matrix = _doubles(projection)
    if method == "published":
        width = np.sqrt(np.log2(_FROM)) + np.sqrt(np.log(1 / _DELTA))
        return float(1 + width / np.sqrt(_TO))
    if method == "spectral":
        return float(np.sqrt(np.linalg.eigvalsh(matrix @ matrix.T)[-1]))
    words = vocabulary.vectors_of(np.append(np.arange(_FEW), UNKNOWN))
    first, second = np.triu_indices(len(words), 1)
    apart = words[first] - words[second]
    ratios = np.linalg.norm(apart @ matrix.T, axis=1) / np.linalg.norm(apart, axis=1)
    return float(ratios.max())


def _of_projection(
    projection: Projection, vocabulary: Vocabulary
) -> Iterator[tuple[str, Evidence]]:
    """That the matrix is of its kind."""
    if projection.matrix is None:
        return
    matrix = _doubles(projection)
    if projection.kind == "gaussian":
        yield "entries", evidence.uniform(special.ndtr(matrix.ravel() * np.sqrt(_TO)))
        return
    wanted = _FROM / _TO if projection.kind == "orthogonal" else 1.0
    wrong = np.abs(matrix @ matrix.T - wanted * np.eye(_TO)) > 1e-5
    yield "rows that are not orthogonal", evidence.never(int(wrong.sum()))
    if projection.kind == "pca":
        centred = vocabulary.vectors - vocabulary.vectors.mean(axis=0, dtype=np.float64)
        most = np.square(np.linalg.svd(centred, compute_uv=False)[:_TO]).sum()
        lost = most - np.square(centred @ matrix.T).sum() > 1e-5 * most
        yield "directions of less than the most variance", evidence.never(int(lost))
