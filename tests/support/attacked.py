"""Settings to be attacked: a small vocabulary, random numbers, channels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dxbeam.analysis.attackers.channel import Channel
from dxbeam.analysis.attackers.draws import Draws, draw, draws_needed
from dxbeam.analysis.attackers.make_channel import make_channel, pair_draws
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.mechanisms import Mechanism
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support.vocabularies import random_vocabulary


def tabled(words: int, dimensions: int, seed: int = 0) -> NeighborSearch:
    """Random words with a neighbour table of 20."""
    made = random_vocabulary(words, dimensions, seed)
    table, radii = NeighborSearch(made).neighbor_table(np.arange(words), 20)
    return NeighborSearch(
        Vocabulary(made.words, made.vectors, False, neighbor_ids=table, close_radius=radii)
    )


def numbers(rows: int, draws: int, seed: int) -> Any:
    """uint64 [rows, draws]."""
    return np.random.default_rng(seed).integers(0, 2**64, (rows, draws), dtype=np.uint64)


def zipf(words: int, seed: int = 0) -> Prior:
    """A few words are common and many are rare, in random order."""
    shares = 1 / np.arange(1, words + 1)
    return Prior("zipf", np.random.default_rng(seed).permutation(shares / shares.sum()))


def channel_of(
    mechanism: Mechanism,
    rank_c: float | None,
    prior: Prior,
    search: NeighborSearch,
    pairs: int = 20_000,
    seed: int = 100,
) -> Channel:
    """Exact, or estimated from pairs drawn with a separate seed."""
    draws = pair_draws(mechanism, search.vocabulary.dimensions)
    parts: Iterator[Any] = (numbers(5_000, draws, seed + i) for i in range(pairs // 5_000))
    return make_channel(mechanism, rank_c, prior, parts, search)


def drawn(
    mechanism: Mechanism,
    rank_c: float | None,
    prior: Prior,
    words: int,
    search: NeighborSearch,
    seed: int = 1,
) -> Draws:
    """Words drawn from the prior, each released once."""
    ids = prior.draw(numbers(1, words, seed)[0])
    draws = draws_needed(mechanism, rank_c, search.vocabulary.dimensions)
    return draw(mechanism, rank_c, ids, numbers(words, draws, seed + 1), search)


def chained(texts: int, length: int, words: int, share: float, seed: int) -> list[np.ndarray]:
    """Texts in which a word is followed by the next one with this probability, else by any."""
    generator = np.random.default_rng(seed)
    rows = generator.integers(0, words, (texts, length))
    for place in range(1, length):
        follows = generator.random(texts) < share
        rows[follows, place] = (rows[follows, place - 1] + 1) % words
    return list(rows)
