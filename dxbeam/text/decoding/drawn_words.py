"""What drawn words tell: candidates for the word behind each, and the channel P(z | x) given them.

A drawn word has one row of candidates whatever the document, so rows are kept once they were made.
"""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

from dxbeam.mechanisms import ChoosesWords
from dxbeam.mechanisms.channels.word_channel import WordChannel
from dxbeam.space.search.exact_arithmetic import log
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.space.search.offset_search import NOTHING
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.decoding.likelihoods import Likelihoods

_KEPT = 1 << 15
_AT_ONCE = 1 << 12


class ReleasedWords:
    """Reads words that were drawn or released.

    Args:
      channel: from original words to these.
      prior: float64 [N + 1], probabilities of the words and last of the unknown one.
      count: K, candidates a place.
      width: candidates are no further below the best one, in natural logarithms.
      at_once: words whose candidates are computed at once.
    """

    def __init__(
        self,
        channel: WordChannel,
        prior: Floats,
        count: int,
        width: float,
        *,
        at_once: int = _AT_ONCE,
    ):
        self._at_once = at_once
        self._channel = channel
        self._offsets = log(prior[:-1])
        self._count, self._width = min(count, len(self._offsets)), width
        self._lock = threading.Lock()  # of the rows, which several threads may share
        self._forget()

    def _forget(self) -> None:
        self._row = np.full(len(self._offsets), -1)
        self._words = np.empty((0, self._count), np.int64)
        self._logs = np.empty((0, 1 + self._count))

    def candidates(self, drawn: Ids, unknown: bool = True) -> Likelihoods:
        """Candidates of drawn words, int64 [T], and their likelihoods.

        ``unknown`` says whether the word may have been one outside the vocabulary.
        """
        with self._lock:
            missing = np.unique(drawn[self._row[drawn] < 0])
            if len(missing) + len(self._words) > max(_KEPT, len(missing)):
                self._forget()
                missing = np.unique(drawn)
            for start in range(0, len(missing), self._at_once):
                self._make(missing[start : start + self._at_once])
            rows = self._row[drawn]
            words, logs = self._words[rows], self._logs[rows]
        if not unknown:
            logs[:, 0] = -np.inf
        return Likelihoods(words, logs)

    def likelihoods(self, _: Ids, candidates: Likelihoods) -> Likelihoods:
        """The likelihoods of candidates, which are known already."""
        return candidates

    def _make(self, drawn: Ids) -> None:
        words = self._channel.likely(drawn, self._offsets, self._count)
        logs = self._channel.logs(drawn, np.maximum(words, 0))
        values = self._offsets[words] + logs
        values[words == NOTHING] = -np.inf
        order = np.lexsort((words, -values), axis=1)[:, : self._count]
        rows = np.arange(len(drawn))[:, None]
        words, logs, values = words[rows, order], logs[rows, order], values[rows, order]
        logs[values < values[:, :1] - self._width] = -np.inf
        logs[~np.isfinite(values)] = -np.inf
        words = np.where(np.isfinite(logs), words, len(self._offsets))
        order = np.argsort(words, axis=1)
        words, logs = words[rows, order], logs[rows, order]
        words = np.minimum(words, len(self._offsets) - 1)
        first = self._channel.logs(drawn, np.full((len(drawn), 1), UNKNOWN))
        self._row[drawn] = len(self._words) + np.arange(len(drawn))
        self._words = np.concatenate([self._words, words])
        self._logs = np.concatenate([self._logs, np.concatenate([first, logs], axis=1)])


class DrawnWords(ReleasedWords):
    """Reads the words that a mechanism draws by a known channel; see ``ReleasedWords``."""

    def __init__(
        self,
        mechanism: ChoosesWords,
        search: NeighborSearch,
        prior: Floats,
        count: int,
        width: float,
    ):
        super().__init__(mechanism.channel(search), prior, count, width)
        self._mechanism, self._search = mechanism, search

    def observe(self, ids: Ids, random: npt.NDArray[np.uint64]) -> Ids:
        """The drawn words: int64 [B], uint64 [B, draws] -> int64 [B]."""
        return self._mechanism.release(ids, random, self._search)
