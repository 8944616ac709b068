"""How often an approximate index finds the nearest word of a noisy vector.

It is measured on queries as the mechanism makes them: words with noise, which are far from every
word, where graph indexes such as HNSW find the nearest word in 10 to 40 % of cases.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dxbeam.mechanisms.sampling.noise import laplace, laplace_draws
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary

RECALL_EPSILONS = (1.0, 5.0, 10.0, 20.0)

_QUERIES = 1000


def measure_recall(exact: Vocabulary, index: Any) -> dict[str, float]:
    """How often the index finds the nearest word of 1,000 noisy queries, by epsilon as text.

    ``exact`` is the vocabulary without an index.
    """
    # A measurement, not a release: these numbers protect nothing, so a fixed seed may draw them.
    generator = np.random.default_rng(0)
    ids = generator.integers(0, len(exact), _QUERIES)
    shape = (_QUERIES, laplace_draws(exact.dimensions))
    approximate = Vocabulary(exact.words, exact.vectors, index=index)
    recall = {}
    for epsilon in RECALL_EPSILONS:
        random = generator.integers(0, 2**64, shape, dtype=np.uint64)
        noisy = exact.vectors_of(ids) + laplace(random, exact.dimensions, epsilon)
        neighbors = NeighborSearch(approximate).nearest(noisy)
        recall[f"{epsilon:g}"] = float(np.mean(neighbors == NeighborSearch(exact).nearest(noisy)))
    return recall
