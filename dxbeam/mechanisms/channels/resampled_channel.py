"""The channel of words that were resampled by rank: P(z | x) = sum over x* of P(x* | x) R(z | x*).

P(x* | x) is the mechanism's own channel, and R the law of ranks (resampling.py), known whatever the
mechanism: z is the neighbour of rank i of x* with probability (1 - q) q^i / (1 - q^N), where
q = exp(-epsilon c). Ranks that hold at most ``LEFT_OUT`` of it together are left out where there
are more than ``ALL_RANKS`` words. The sum runs over the words x* around which z is, about as many
as there are ranks.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.channels.word_channel import WordChannel
from dxbeam.space.search.exact_arithmetic import exp, log
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.space.search.offset_search import NOTHING

ALL_RANKS = 512
LEFT_OUT = 1e-6
MOST_RANKS = 2_000

_WORDS_PER_BLOCK = 4096
_MORE = 2  # times as many candidates are compared as are asked for


class ResampledWordChannel:
    """A channel followed by rank resampling, as ``WordChannel``.

    It holds, for each word, the words around which it is: N numbers for each rank, made once by a
    search for the neighbours of all words.

    Args:
      chosen: the mechanism's own channel.
      rate: epsilon c.
      search: the vocabulary.
      all_ranks: in a vocabulary of at most this many words every rank is followed.

    Raises:
      ConfigurationError: more than ``MOST_RANKS`` ranks count.
    """

    def __init__(
        self,
        chosen: WordChannel,
        rate: float,
        search: NeighborSearch,
        *,
        all_ranks: int = ALL_RANKS,
    ):
        self._chosen, self._words = chosen, len(search.vocabulary)
        self._follows_all = self._words <= all_ranks
        ranks = ranks_followed(rate, self._words, all_ranks=all_ranks)
        self._law: Floats = -rate * np.arange(ranks, dtype=np.float64)
        near = np.concatenate(
            [
                search.nearest_neighbors(np.arange(start, stop), ranks).astype(np.int32)
                for start, stop in _blocks(self._words)
            ]
        ).ravel()
        order = np.argsort(near, kind="stable")
        self._sources: npt.NDArray[np.int32] = (order // ranks).astype(np.int32)
        self._ranks: npt.NDArray[np.int32] = (order % ranks).astype(np.int32)
        self._starts = np.append(0, np.cumsum(np.bincount(near, minlength=self._words)))
        self._likely: dict[int, tuple[Ids, Floats]] = {}

    def likely(self, drawn: Ids, offsets: Floats, count: int) -> Ids:
        """As ``WordChannel`` says, but chosen among the most probable words of each x*.

        Where every rank is followed all words are returned.
        """
        if self._follows_all:
            return np.tile(np.arange(self._words), (len(drawn), 1))
        wide = min(self._words, _MORE * count)
        likely = np.full((len(drawn), wide), NOTHING)
        self._look_up(drawn, offsets, count)
        for row, word in enumerate(drawn.tolist()):
            sources, chances = self._around(word)
            rows = [self._likely[source] for source in sources.tolist()]
            words = np.concatenate([each for each, _ in rows])
            sizes = [len(each) for each, _ in rows]
            logs = np.concatenate([each for _, each in rows]) + np.repeat(chances, sizes)
            different, which = np.unique(words, return_inverse=True)
            weights = np.bincount(which, exp(logs - logs.max()))
            best = different[np.lexsort((different, -weights))[:wide]]
            likely[row, : len(best)] = best
        return likely

    def logs(self, drawn: Ids, words: Ids) -> Floats:
        """As ``WordChannel`` says, but for what left-out ranks hold."""
        result = np.empty(words.shape)
        for row, word in enumerate(drawn.tolist()):
            sources, chances = self._around(word)
            tiled = np.broadcast_to(words[row], (len(sources), words.shape[1]))
            every = self._chosen.logs(sources, tiled) + chances[:, None]
            largest = every.max(axis=0)
            finite = np.where(np.isfinite(largest), largest, 0.0)
            total = np.cumsum(exp(every - finite), axis=0)[-1]
            result[row] = np.where(total > 0, log(np.where(total > 0, total, 1.0)), -np.inf)
            result[row] += finite
        return result

    def _around(self, word: int) -> tuple[Ids, Floats]:
        """The words x* that may have become a word, int64 [S], and ln R up to a number, [S]."""
        part = slice(self._starts[word], self._starts[word + 1])
        return self._sources[part].astype(np.int64), self._law[self._ranks[part]]

    def _look_up(self, drawn: Ids, offsets: Floats, count: int) -> None:
        """Makes sure that the most probable words of each x* around drawn words are known."""
        every = {int(source) for word in drawn.tolist() for source in self._around(word)[0]}
        missing = np.array(sorted(every - self._likely.keys()), np.int64)
        for start, stop in _blocks(len(missing)):
            sources = missing[start:stop]
            words = self._chosen.likely(sources, offsets, count)
            values = offsets[words] + self._chosen.logs(sources, np.maximum(words, 0))
            for source, reached, value in zip(sources.tolist(), words, values, strict=True):
                there = (reached != NOTHING) & np.isfinite(value)
                self._likely[source] = reached[there].astype(np.int32), value[there]


def ranks_followed(rate: float, words: int, *, all_ranks: int = ALL_RANKS) -> int:
    """How many ranks count at the rate epsilon c; above ``MOST_RANKS``, a ConfigurationError."""
    if words <= all_ranks:
        return words
    needed = min(words, math.ceil(-math.log(LEFT_OUT) / rate))
    if needed > MOST_RANKS:
        raise ConfigurationError(
            f"the release was resampled over {needed:,} ranks (epsilon times rank_c is {rate:g}), "
            f"and at most {MOST_RANKS:,} can be followed back; it cannot be decoded"
        )
    return needed


def _blocks(words: int) -> list[tuple[int, int]]:
    starts = range(0, words, _WORDS_PER_BLOCK)
    return [(start, min(start + _WORDS_PER_BLOCK, words)) for start in starts]
