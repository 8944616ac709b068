"""An empirical epsilon refutes every published form that guarantees nothing, where it fails.

Each is released on a vocabulary where its claim is known to be false, and the sound form of the
same idea on the same one. Draws are seeded. A bound is wrong with probability 1e-6 at most.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
import pytest

from dxbeam.audit.empirical_epsilon import empirical_epsilon, exact_loss
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.mahalanobis import Mahalanobis, shape_of
from dxbeam.mechanisms.published.custext_published import CusTextPublished
from dxbeam.mechanisms.published.mahalanobis_published import MahalanobisPublished
from dxbeam.mechanisms.published.scaled_noise_published import ScaledNoisePublished
from dxbeam.mechanisms.published.tem_published import TEMPublished
from dxbeam.mechanisms.published.trlaplace_published import TrLaplacePublished
from dxbeam.mechanisms.published.truncated_gumbel import TruncatedGumbel
from dxbeam.mechanisms.santext import SanText
from dxbeam.mechanisms.tem import TEM
from dxbeam.mechanisms.trlaplace import TrLaplace
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.bag_of_words_published import BagOfWordsPublished
from tests.support import vocabularies

ERROR = 1e-6
LOG_6 = float(np.log(6))

LINE = vocabularies.line_vocabulary()
"""Words at -3, -1, 0, 0.5 and 4."""

FAR = vocabularies.line_vocabulary([0.1, 0.0, 5.0])
NEAR = vocabularies.line_vocabulary(np.arange(40) / 100)
ISOLATED = vocabularies.line_vocabulary([0.0, 0.1, 0.2, 0.3, 50.0])
AXIS = vocabularies.of(np.eye(1, 10) * np.arange(-40, 41, 2)[:, None])
_LIMIT = TrLaplacePublished(0.5, 1e-5, 1.0).limit(300)
SPLIT = vocabularies.of(np.eye(1, 300) * np.array([-1, 1, _LIMIT - 1.29, _LIMIT - 0.69])[:, None])


class Case(NamedTuple):
    """A published form, the sound one, two words, and what is promised between them."""

    published: Any
    sound: Any
    vocabulary: Any
    words: tuple[int, int]
    promised: float
    draws: int
    delta: float = 0.0


def _apart(weight: float) -> float:
    step = AXIS.vectors_of(np.array([20, 24])).astype(np.float64)
    step = step[1] - step[0]
    return float(np.sqrt(step @ np.linalg.inv(shape_of(AXIS, weight)) @ step))


CASES = {
    "scaled noise": Case(
        ScaledNoisePublished(1.0, 2.0, 0.34), Laplace(2.0), FAR, (0, 1), 0.2, 30_000
    ),
    "custext": Case(CusTextPublished(1.0, 2), SanText(1.0), LINE, (1, 3), 1.5, 900),
    "truncated gumbel": Case(TruncatedGumbel(1.0), SanText(1.0), NEAR, (0, 39), 0.39, 900),
    "tem": Case(TEMPublished(1.0, 0.4), TEM(1.0, 0.4), ISOLATED, (0, 4), 2 * LOG_6, 6_000),
    "mahalanobis": Case(
        MahalanobisPublished(1.0, 0.9), Mahalanobis(1.0, 0.9), AXIS, (20, 24), _apart(0.9), 30_000
    ),
    "trlaplace": Case(
        TrLaplacePublished(0.5, 1e-5, 1.0), TrLaplace(0.5, 1e-5, 1.0), SPLIT, (0, 1), 1.0, 900, 1e-5
    ),
}  # fmt: skip


def _bound(mechanism: Any, case: Case) -> float:
    search, sides = NeighborSearch(case.vocabulary), []
    for side, word in enumerate(case.words):
        generator = np.random.default_rng(side)
        shape = (case.draws, mechanism.draws(case.vocabulary.dimensions))
        random = generator.integers(0, 2**64, shape, np.uint64)
        sides.append(mechanism.release(np.full(case.draws, word), random, search)[:, None])
    return empirical_epsilon(*sides, ERROR, delta=case.delta)


@pytest.mark.parametrize("name", CASES)
def test_what_is_published_is_above_its_promise(name: str) -> None:
    case = CASES[name]
    assert _bound(case.sound, case) <= case.promised < _bound(case.published, case)


def _bags(bag: BagOfWords, words: Ids, draws: int) -> Ids:
    """Bags of a document, released by Laplace noise, in the order of ids."""
    search = NeighborSearch(vocabularies.line_vocabulary([0.0, 2.0, 100.0]))
    keys = [hashlib.sha256(f"{words}{draw}".encode()).digest() for draw in range(draws)]
    drawn = np.concatenate([bag.draw(key, words)[0] for key in keys])
    random = np.random.default_rng(int(words[0])).integers(
        0, 2**64, (len(drawn), Laplace(1.0).draws(1)), np.uint64
    )
    released = Laplace(1.0).release(drawn, random, search)
    return np.sort(released.reshape(draws, -1), axis=1)


def test_published_bags_are_above_their_promise() -> None:
    """Two documents of two words, one of which is changed, by 2: n times WMD is 2."""
    promised, documents = 2.0, (np.array([0, 2]), np.array([1, 2]))
    for kind, above in ((BagOfWords, False), (BagOfWordsPublished, True)):
        sides = [_bags(kind(2, frozenset()), words, 24_000) for words in documents]
        assert (empirical_epsilon(*sides, ERROR) > promised) == above


@pytest.mark.parametrize(("mechanism", "most"), [(SanText(3.0), 84.0), (TEM(3.0, 0.4), 8 * LOG_6)])
def test_exact_ratios_show_what_samples_cannot(mechanism: Any, most: float) -> None:
    """Four words of a document, each 7 apart: the promise is 4 * 7 epsilon, or 4 * 2 ln 6."""
    documents = np.zeros(4, np.int64), np.full(4, 4, np.int64)
    loss = exact_loss(mechanism.channel(NeighborSearch(LINE)), *documents, len(LINE))
    assert most / 4 < loss <= most
