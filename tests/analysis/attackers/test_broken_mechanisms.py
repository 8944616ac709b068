"""What a mistake in a mechanism gives to attackers; a perfect mechanism gives them nothing.

Attackers know the mechanism as it is stated. Texts are 200 of 12 words, released on seeded draws;
differences are of 6 standard errors or exact, so another seed would not fail in practice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dxbeam.analysis.attackers.channel import Channel
from dxbeam.analysis.attackers.context import candidates_for, read_texts, share_right
from dxbeam.analysis.attackers.noisy_context import candidates_from_vectors
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.attackers.word_pairs import WordPairs, learn_pairs
from dxbeam.analysis.evaluate.text_features import WORDS, FeatureMaker
from dxbeam.analysis.exposure.linking import ATTACKERS, linked
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.space.search.neighbors import NeighborSearch
from tests.support.attacked import chained, channel_of, tabled

SIZE, TEXTS, LENGTH = 60, 200, 12
STATED = Laplace(1.0)

Gets = dict[str, tuple[float, float, float]]


@pytest.fixture(scope="module")
def search() -> NeighborSearch:
    return tabled(SIZE, 4)


@pytest.fixture(scope="module")
def prior() -> Prior:
    return Prior("uniform", np.full(SIZE, 1 / SIZE))


@pytest.fixture(scope="module")
def pairs() -> WordPairs:
    return learn_pairs(_texts(1), SIZE)


@pytest.fixture(scope="module")
def channel(prior: Prior, search: NeighborSearch) -> Channel:
    return channel_of(STATED, None, prior, search)


def _texts(seed: int) -> list[np.ndarray]:
    return chained(TEXTS, LENGTH, SIZE, 0.6, seed)


def _noise(mechanism: Laplace, seed: int, search: NeighborSearch, shared: bool = False) -> Any:
    shape = (TEXTS if shared else TEXTS * LENGTH, mechanism.draws(4))
    random = np.random.default_rng(seed).integers(0, 2**64, shape, dtype=np.uint64)
    noise = mechanism.noise(random, search)
    return np.repeat(noise, LENGTH, axis=0) if shared else noise


def _split(ids: np.ndarray) -> list[np.ndarray]:
    return list(ids.reshape(TEXTS, LENGTH))


def _released(texts: list[np.ndarray], noise: Any, search: NeighborSearch) -> tuple[Any, Any]:
    noisy = search.vocabulary.vectors_of(np.concatenate(texts)) + noise
    return noisy, search.nearest(noisy)


def _linked(before: list[np.ndarray], after: list[np.ndarray]) -> tuple[float, float, float]:
    maker = FeatureMaker((WORDS,), None, ())
    sides = []
    for texts in (before, after):
        named = [[f"w{word}" for word in text] for text in texts]
        sides.append([maker.features(" ".join(words), words) for words in named])
    row = next(iter(linked(*sides, "the originals")))
    assert row.attacker == ATTACKERS[WORDS]
    return row.success, row.low, row.high


def _attacked(
    texts: list[np.ndarray],
    noisy: Any,
    released: Any,
    channel: Channel,
    prior: Prior,
    pairs: WordPairs,
    search: NeighborSearch,
) -> Gets:
    single = candidates_for(channel, released)
    gets = {
        "believes the release": share_right(texts, _split(released)),
        "released word": share_right(texts, _split(single.ids[:, 0])),
        "context": share_right(texts, read_texts(single, texts, pairs)),
        "document": _linked(texts, _split(released)),
    }
    if noisy is not None:
        vectors = candidates_from_vectors(STATED, noisy, prior, search)
        gets["noisy vector"] = share_right(texts, _split(vectors.ids[:, 0]))
        gets["noisy context"] = share_right(texts, read_texts(vectors, texts, pairs))
    return gets


def test_half_the_noise_moves_every_attacker(
    search: NeighborSearch, prior: Prior, pairs: WordPairs, channel: Channel
) -> None:
    """And with all of the noise, each is above chance: one in 60 words, or one text in 200."""
    texts = _texts(2)
    sound, broken = (
        _attacked(
            texts, *_released(texts, _noise(made, 3, search), search), channel, prior, pairs, search
        )
        for made in (STATED, Laplace(2.0))
    )
    for name, (share, low, _) in broken.items():
        assert share - 6 * (share - low) / 1.96 > sound[name][0], name
    for name, (share, low, _) in sound.items():
        chance = 1 / TEXTS if name == "document" else 1 / SIZE
        assert share - 6 * (share - low) / 1.96 > chance, name


def test_noise_that_words_share_tells_which_words_are_equal(search: NeighborSearch) -> None:
    """Each text has a word that comes six times: with the same noise, it always comes out alike."""
    texts = _texts(4)
    for text in texts:
        text[::2] = text[0]
    alike = []
    for shared in (False, True):
        _, released = _released(texts, _noise(STATED, 5, search, shared), search)
        alike.append(np.mean([len(set(text[::2].tolist())) == 1 for text in _split(released)]))
    assert alike[0] < 0.05
    assert alike[1] == 1


def test_a_key_that_two_ids_share_links_releases(search: NeighborSearch) -> None:
    """The same noise for two releases of a text: each is found by the other."""
    texts = _texts(6)
    first, again, other = (
        _split(_released(texts, _noise(STATED, seed, search), search)[1]) for seed in (7, 7, 8)
    )
    assert _linked(first, again)[0] == 1
    share, _, high = _linked(first, other)
    assert share + 6 * (high - share) / 1.96 < 1


def test_a_perfect_mechanism_leaves_every_attacker_at_chance(
    search: NeighborSearch, prior: Prior, pairs: WordPairs, channel: Channel
) -> None:
    """Uniform words: who reads them gets what who sees no word gets, one in 60, or one text in 200.

    Six standard errors of 2,400 words; more than 9 of 200 texts are found once in 10^6.
    """
    texts = _texts(9)
    released = np.random.default_rng(10).integers(0, SIZE, TEXTS * LENGTH)
    gets = _attacked(texts, None, released, channel, prior, pairs, search)
    assert gets.pop("document")[0] < 10 / TEXTS
    for name, (share, _, _) in gets.items():
        assert abs(share - 1 / SIZE) < 6 * np.sqrt(1 / SIZE / (TEXTS * LENGTH)), name
