"""Which words follow which in public text: a bigram model.

Interpolated Kneser-Ney smoothing (Chen, Goodman: An empirical study of smoothing techniques for
language modeling, 1999, section 2.7): with c(a b) counted, T(a) the number of words that follow a,
and D = n1 / (n1 + 2 n2) of the numbers of pairs counted once and twice,

    P(b | a) = max(c(a b) - D, 0) / c(a) + D T(a) / c(a) Q(b),

Q(b) being the share of all distinct pairs that end in b. Q is mixed with the uniform distribution,
so that no word is impossible.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dxbeam.errors import CorpusError
from dxbeam.space.search.neighbors import Floats, Ids

UNIFORM_SHARE = 0.01
"""Of the uniform distribution in Q."""


class WordPairs(NamedTuple):
    """A bigram model over N words.

    Attributes:
      keys: int64, a N + b of every pair that was seen, in increasing order.
      discounted: float64, max(c(a b) - D, 0) / c(a) of these pairs.
      left: float64 [N], what remains for Q after each word; 1 after one that nothing follows.
      endings: float64 [N], Q.
    """

    keys: Ids
    discounted: Floats
    left: Floats
    endings: Floats

    def log_following(self, before: Ids, after: Ids) -> Floats:
        """Logarithms of P(after | before), for arrays of ids that broadcast."""
        before, after = np.broadcast_arrays(before, after)
        keys = before * len(self.endings) + after
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        seen = np.where(self.keys[place] == keys, self.discounted[place], 0.0)
        return np.asarray(np.log(seen + self.left[before] * self.endings[after]))


def learn_pairs(texts: Iterable[Ids], words: int) -> WordPairs:
    """Counts pairs of neighbouring words of public text.

    Args:
      texts: int64 arrays of ids, none unknown; no pair reaches from one to the next.
      words: N.

    Raises:
      CorpusError: there is no pair.
    """
    keys, counts = np.unique(
        np.concatenate([np.zeros(0, np.int64), *(text[:-1] * words + text[1:] for text in texts)]),
        return_counts=True,
    )
    if not len(keys):
        raise CorpusError(
            "no two words of the vocabulary follow each other in the public text, so there is no "
            "context to learn; name a larger text"
        )
    before, after = np.divmod(keys, words)
    once, twice = (int((counts == times).sum()) for times in (1, 2))
    discount = once / (once + 2 * twice) if once and twice else 0.5
    totals = np.bincount(before, counts, words)
    followers = np.bincount(before, minlength=words)
    discounted = np.maximum(counts - discount, 0) / totals[before]
    left = np.divide(discount * followers, totals, out=np.ones(words), where=totals > 0)
    endings = np.bincount(after, minlength=words) / len(keys)
    endings = (1 - UNIFORM_SHARE) * endings + UNIFORM_SHARE / words
    return WordPairs(keys, discounted, left, endings)
