"""Re-identification: which of N texts a release is of.

The attacker holds N candidates, one of which became the release, and orders them by their distance
from it. Each attacker looks at something else: TF-IDF weights of words, the mean word vector, what
a sentence encoder makes of the text, the number of words, or the number and what stands between
words. The last two see nothing that a mechanism draws: word for word, a release keeps the number of
words, white space and punctuation. What they get is what every such release gives away, and words
tell more only beyond that.

Weights of words and means of vectors are taken of each side by itself, as an attacker can who sees
all N releases: a word that is released everywhere says little. Candidates at the same distance
share their places, so that an attacker who sees no difference gets exactly chance.

Time grows with N^2, memory with N: distances are computed for some releases at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import TfidfTransformer

from dxbeam.analysis.evaluate.cross_validation import count_matrices
from dxbeam.analysis.evaluate.text_features import (
    ENCODED,
    GAPS,
    LENGTH,
    MEAN_VECTOR,
    WORDS,
    Features,
)
from dxbeam.analysis.exposure.attack import Attack
from dxbeam.analysis.theory.intervals import mean_interval

Numbers = npt.NDArray[np.float64]

SEES = {
    WORDS: "released words",
    MEAN_VECTOR: "released words",
    ENCODED: "released text",
    LENGTH: "number of words",
    GAPS: "number of words, gaps",
}
"""By the kind of features, what an attacker sees who looks at it."""

ATTACKERS = {
    WORDS: "nearest by TF-IDF of words",
    MEAN_VECTOR: "nearest by mean word vector",
    ENCODED: "nearest by sentence encoder",
    LENGTH: "nearest by length",
    GAPS: "nearest by length and gaps",
}

TOP = 10

LEAST_DOCUMENTS = 2

_DISTANCES_AT_ONCE = 1 << 22

_DIGITS = 9
"""Products of vectors may differ in their last bits where the vectors do not."""


class Standing(NamedTuple):
    """Where the right candidate stands among N, for each release.

    Attributes:
      ahead: float64 [N], how many candidates are nearer.
      level: float64 [N], how many are at the same distance, the right one among them.
    """

    ahead: Numbers
    level: Numbers

    def among(self, first: int) -> Numbers:
        """The probability that the right one is among the first, equals in random order."""
        return np.clip((first - self.ahead) / self.level, 0.0, 1.0)

    def behind(self) -> Numbers:
        """The share of the other candidates that are behind the right one."""
        others = max(len(self.ahead) - 1, 1)
        return 1.0 - (self.ahead + (self.level - 1) / 2) / others


def linked(
    candidates: Sequence[Features], released: Sequence[Features], knows: str
) -> Iterator[Attack]:
    """What each attacker gets.

    The chance of those who see words is what lengths and gaps give away, and of those who see
    lengths and gaps what a uniform guess gets.

    Args:
      candidates: of N texts, the features of each kind.
      released: of the release of each, in the same order, features of the same kinds.
      knows: what the candidates are, in words.
    """
    places = {
        kind: standing([text[kind] for text in candidates], [text[kind] for text in released], kind)
        for kind in (released[0] if released else ())
    }
    uniform = uniform_chances(len(released))
    blind = chances_of(places[GAPS]) if GAPS in places else uniform
    for kind, standings in places.items():
        chances = uniform if kind in (LENGTH, GAPS) else blind
        yield from attacks_of(standings, (ATTACKERS[kind], SEES[kind], knows), chances)


def attacks_of(
    places: Standing, attacker: tuple[str, str, str], chances: Sequence[float]
) -> Iterator[Attack]:
    """What an attacker gets: a row a measure.

    Args:
      places: where the right candidates stand for it.
      attacker: what it does, sees and knows.
      chances: of each measure.
    """
    texts = len(places.ahead)
    for (measure, values), chance in zip(_measured(places).items(), chances, strict=True):
        share = mean_interval(float(values.sum()), float(np.square(values).sum()), texts)
        yield Attack(*attacker, measure, *share, chance, texts)


def uniform_chances(texts: int) -> list[float]:
    """What a uniform guess among texts gets, by each measure."""
    return [1 / max(1, texts), min(1.0, TOP / max(1, texts)), 0.5]


def chances_of(places: Standing) -> list[float]:
    """What an attacker gets by each measure, as the chance of others."""
    return [float(values.mean()) for values in _measured(places).values()]


def _measured(places: Standing) -> dict[str, Numbers]:
    return {
        "right one first": places.among(1),
        f"right one among the first {TOP}": places.among(TOP),
        "others behind the right one": places.behind(),
    }


def standing(
    candidates: Sequence[Any],
    released: Sequence[Any],
    kind: str,
    *,
    distances_at_once: int = _DISTANCES_AT_ONCE,
) -> Standing:
    """Where the right candidates stand.

    Args:
      candidates: the features of N texts.
      released: those of the releases, in the same order.
      kind: of the features.
      distances_at_once: in memory.
    """
    left, right = _points(candidates, kind), _points(released, kind)
    sizes = _squared(left)
    ahead, level = np.zeros(len(sizes)), np.zeros(len(sizes))
    step = max(1, distances_at_once // len(sizes))
    for start in range(0, len(sizes), step):
        part = slice(start, min(start + step, len(sizes)))
        products = right[part] @ left.T
        products = products if isinstance(products, np.ndarray) else products.toarray()
        distances = np.round(sizes - 2 * products, _DIGITS)
        right_ones = distances[np.arange(len(distances)), np.arange(part.start, part.stop)][:, None]
        ahead[part] = (distances < right_ones).sum(axis=1)
        level[part] = (distances == right_ones).sum(axis=1)
    return Standing(ahead, level)


def _points(features: Sequence[Any], kind: str) -> Any:
    """A row a text, float64: where Euclidean distance is how unlike texts are."""
    if kind in (MEAN_VECTOR, ENCODED):
        vectors = np.stack(features).astype(np.float64)
        vectors -= vectors.mean(axis=0)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    if kind == LENGTH:
        return np.stack(features).astype(np.float64)
    (counts,) = count_matrices(features)
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts) if kind == WORDS else counts


def _squared(points: Any) -> Numbers:
    """The square of each row's length, float64 [N]."""
    squares = np.square(points) if isinstance(points, np.ndarray) else points.multiply(points)
    return np.asarray(squares.sum(axis=1), np.float64).ravel()
