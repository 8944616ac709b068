"""New random numbers for the draws of a page."""

from __future__ import annotations

import secrets

import numpy as np

from dxbeam.mechanisms import Mechanism
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.randomness import Random, draws_a_word, fill

DRAWS = 8
"""So many draws a page holds."""

_RESAMPLING = RankResampling(1.0).draws()


def new_keys(count: int) -> list[bytes]:
    """Keys from the operating system, which nobody keeps."""
    return [secrets.token_bytes(32) for _ in range(count)]


def drawn(mechanism: Mechanism, dimensions: int, words: int, keys: list[bytes]) -> Random:
    """The random numbers of each draw: uint64 [K, B, draws], those of rank resampling last."""
    columns = draws_a_word(mechanism.draws(dimensions) + _RESAMPLING)
    random = np.empty((len(keys), words, columns), np.uint64)
    for key, rows in zip(keys, random, strict=True):
        fill(key, 0, rows)
    return random
