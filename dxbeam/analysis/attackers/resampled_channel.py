"""Bayes on the released word where rank resampling followed: the product of two channels.

What the mechanism chose, x*, is replaced by its neighbour of rank i with probability
(1 - q) q^i / (1 - q^N), q = exp(-epsilon c). That law is known, so the joint distribution of
original and released word is

    prior(x) Pr[x -> z] = sum over x* of R(x* -> z) prior(x) Pr[x -> x*],

one row of the mechanism's own channel for each x* around which z may be. Ranks that hold at most
``LEFT_OUT`` together are left out, and of large vocabularies all beyond ``MOST_RANKS``. A word that
is seldom released near its own place comes mostly from far ranks, so posteriors are off by more
than what is left out: on a vocabulary of 300 words by up to 1e-4, and by up to 0.04 where
``MOST_LEFT_OUT`` is. tests/analysis/attackers/test_channels.py compares them with all ranks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import saxpy

from dxbeam.analysis.attackers.channel import Channel
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.parameters import checked_rank_c
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch

LEFT_OUT = 1e-6
"""Of the probability of what becomes of one chosen word."""

MOST_LEFT_OUT = 1e-3
"""The same where that takes more than ``MOST_RANKS``; with more left out, nothing is computed."""

MOST_RANKS = 2_000

_WORDS_PER_BLOCK = 4096

_SUMS_AT_ONCE = 1 << 27
"""Numbers in memory, 512 MiB: rows of most chosen words are computed again for each block."""


def ranks_needed(rank_c: float, epsilon: float, words: int) -> int:
    """How many ranks hold all but ``MOST_LEFT_OUT`` of what becomes of a word; N at most."""
    return _ranks(MOST_LEFT_OUT, epsilon * rank_c, words)


def ranks_followed(rank_c: float, epsilon: float, words: int, *, left_out: float = LEFT_OUT) -> int:
    """How many ranks the attacker follows: all but ``left_out``, as far as ``MOST_RANKS`` allow."""
    return min(MOST_RANKS, _ranks(left_out, epsilon * rank_c, words))


def _ranks(left_out: float, rate: float, words: int) -> int:
    return min(words, math.ceil(-math.log(left_out) / rate))


@dataclass(frozen=True, eq=False)
class ResampledChannel:
    """A channel followed by rank resampling.

    Attributes:
      chosen: the channel from original to chosen word.
      law: float64 [ranks], the probability of each rank.
      sources: int32 [N * ranks], the chosen words around which a word stands, one word after the
        other.
      ranks: int32 [N * ranks], the rank it has there.
      starts: int64 [N + 1], where each word's sources begin.
    """

    chosen: Channel
    law: Floats
    sources: npt.NDArray[np.int32]
    ranks: npt.NDArray[np.int32]
    starts: Ids

    @property
    def prior(self) -> Prior:
        """What is believed beforehand."""
        return self.chosen.prior

    def joint(self, outputs: Ids) -> Iterator[tuple[slice, Floats]]:
        """As ``Channel`` says.

        The chosen channel's row of a word around which several of the outputs stand is computed
        once for them. Each output adds up its own rows in the order of their words, in float32, so
        its row depends on no other output.
        """
        at_once = max(1, _SUMS_AT_ONCE // len(self.prior.shares))
        for start in range(0, len(outputs), at_once):
            block = outputs[start : start + at_once]
            parts = [slice(self.starts[output], self.starts[output + 1]) for output in block]
            sizes = [part.stop - part.start for part in parts]
            rows = np.repeat(np.arange(len(block)), sizes)
            sources = np.concatenate([self.sources[part] for part in parts]).astype(np.int64)
            chances = np.concatenate([self.law[self.ranks[part]] for part in parts])
            order = np.argsort(sources, kind="stable")
            words, first = np.unique(sources[order], return_index=True)
            ends = np.append(first, len(order))
            sums: Any = np.zeros((len(block), len(self.prior.shares)), np.float32)
            for part, joint in self.chosen.joint(words):
                for word, source in zip(range(part.start, part.stop), joint, strict=True):
                    row = source.astype(np.float32)
                    for place in order[ends[word] : ends[word + 1]]:
                        saxpy(row, sums[rows[place]], a=chances[place])
            yield slice(start, start + len(block)), sums


def resampled_channel(
    chosen: Channel,
    rank_c: float,
    epsilon: float,
    search: NeighborSearch,
    *,
    left_out: float = LEFT_OUT,
) -> ResampledChannel:
    """A channel followed by rank resampling.

    Args:
      chosen: the mechanism's own.
      rank_c: c.
      epsilon: the mechanism's.
      search: the vocabulary, with its neighbour table.
      left_out: of the probability of what becomes of one chosen word, where MOST_RANKS allow.

    Raises:
      ConfigurationError: c is out of range, or epsilon c so small that more than MOST_RANKS ranks
        of a larger vocabulary count.
    """
    rate, words = epsilon * checked_rank_c(rank_c), len(search.vocabulary)
    needed = ranks_needed(rank_c, epsilon, words)
    if needed > MOST_RANKS:
        raise ConfigurationError(
            f"`rank_c` {rank_c:g} at epsilon {epsilon:g} spreads words over {needed:,} ranks, and "
            f"the attacker follows at most {MOST_RANKS:,}; take a larger rank_c or epsilon"
        )
    needed = ranks_followed(rank_c, epsilon, words, left_out=left_out)
    near = np.concatenate(
        [
            search.nearest_neighbors(
                np.arange(first, min(first + _WORDS_PER_BLOCK, words)), needed
            ).astype(np.int32)
            for first in range(0, words, _WORDS_PER_BLOCK)
        ]
    )
    order = np.argsort(near, axis=None, kind="stable")
    starts = np.append(0, np.cumsum(np.bincount(near.ravel(), minlength=words)))
    law = np.exp(-rate * np.arange(needed))
    law *= -math.expm1(-rate) / -math.expm1(-rate * words)
    return ResampledChannel(
        chosen,
        law,
        (order // needed).astype(np.int32),
        (order % needed).astype(np.int32),
        starts,
    )
