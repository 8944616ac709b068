"""Published forms of mechanisms: the distributions they have, and what they do not keep.

False-alarm rate 1e-6 a test.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.mahalanobis import shape_of
from dxbeam.mechanisms.published.custext_published import CusTextPublished
from dxbeam.mechanisms.published.mahalanobis_published import MahalanobisPublished
from dxbeam.mechanisms.published.tem_published import TEMPublished
from dxbeam.mechanisms.tem import TEM
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.configuration import Configuration
from tests.support import vocabularies
from tests.support.distributions import Floats, chi_square_p, judge, random_numbers

ROWS = 40_000
WORDS = 150


def weights(scores: Floats) -> Floats:
    found = np.exp(scores - scores.max())
    return np.asarray(found / found.sum())


def custext(apart: Floats, original: int) -> Floats:
    near = np.argsort(np.where(np.arange(len(apart)) == original, -1.0, apart))[:10]
    scaled = (apart[near] - apart[near].min()) / np.ptp(apart[near])
    distribution = np.zeros(len(apart))
    distribution[near] = weights(-scaled * 3.0 / 2)
    return distribution


def tem(apart: Floats, original: int) -> Floats:
    gamma = TEM(3.0, 0.4).gamma(len(apart))
    distribution = weights(-1.5 * np.minimum(apart, gamma))
    far = apart > gamma
    lost = distribution[far].sum()
    distribution[far] = 0.0
    distribution[apart.argmin() if original == UNKNOWN else original] += lost
    return distribution


@pytest.mark.parametrize(
    ("mechanism", "distribution"),
    [(CusTextPublished(3.0, 10), custext), (TEMPublished(3.0, 0.4), tem)],
    ids=["custext", "tem"],
)
def test_released_words_have_the_enumerated_distribution(mechanism: Any, distribution: Any) -> None:
    vocabulary = vocabularies.random_vocabulary(WORDS, 3)
    search, p_values = NeighborSearch(vocabulary), {}
    for original in (0, 70, UNKNOWN):
        [vector] = vocabulary.vectors_of(np.array([original]))
        apart = np.linalg.norm(vocabulary.vectors - vector, axis=1)
        random = random_numbers(ROWS, mechanism.draws(3), seed=original + 3)
        released = mechanism.release(np.full(ROWS, original), random, search)
        counts = np.bincount(released, minlength=WORDS)
        p_values[str(original)] = chi_square_p(counts, distribution(apart, original))
    judge(p_values)


def test_a_word_far_from_all_others_always_comes_out_as_it_is() -> None:
    """As published, at an epsilon of which TEM's bound for any two words is finite."""
    search = NeighborSearch(vocabularies.of([[0.0], [1.0], [2.0], [30.0]]))
    published, sound = TEMPublished(2.0), TEM(2.0)
    random = random_numbers(ROWS, sound.draws(1), seed=1)
    far = np.full(ROWS, 3)
    assert (published.release(far, random, search) == 3).all()
    assert len(set(sound.release(far, random, search).tolist())) > 1


def test_rescaled_noise_is_beyond_any_multiple_of_epsilon() -> None:
    """Two words a thousandth apart, between which its density changes by tens of nats."""
    generator = np.random.default_rng(1)
    vectors = generator.normal(size=(500, 100)) * np.geomspace(30, 0.05, 100)
    search = NeighborSearch(vocabularies.of(vectors))
    mechanism = MahalanobisPublished(1.0, 0.9)
    inverse = np.linalg.inv(shape_of(search.vocabulary, 0.9))

    def log_density(z: Floats) -> float:
        length = np.linalg.norm(z)
        stretched = np.sqrt(z @ inverse @ z) / length
        return float(-mechanism.epsilon * length - 100 * np.log(stretched))

    noise = mechanism.noise(random_numbers(1, mechanism.draws(100), seed=2), search)[0]
    tiny = noise / np.linalg.norm(noise) * 1e-3  # as if the noise of a draw had been so short
    across = np.linalg.eigh(inverse)[1][:, -1] * 1e-3
    assert log_density(tiny) - log_density(tiny + across) > 1000 * mechanism.epsilon * 1e-3
    lengths = np.linalg.norm(
        mechanism.noise(random_numbers(2000, mechanism.draws(100), seed=3), search), axis=1
    )
    assert lengths.mean() == pytest.approx(100, rel=0.02), "Gamma(n, 1 / epsilon), whatever way"


@pytest.mark.parametrize("name", ["custext_published", "tem_published", "mahalanobis_published"])
def test_published_forms_are_refused_without_consent(name: str) -> None:
    mechanism = make_mechanism(name, epsilon=5.0)
    with pytest.raises(ConfigurationError, match=f"`mechanism` {name} guarantees nothing"):
        Configuration(mechanism)
    promise = Configuration(mechanism, allow_unsound=True).guarantee()
    assert promise.sentence == "Nothing is guaranteed for a word."
