"""Counts -> probabilities: interpolated Kneser-Ney smoothing with three discounts.

Chen and Goodman, "An Empirical Study of Smoothing Techniques for Language Modeling" (Harvard
TR-10-98, 1998), section 3. A count a is discounted by D(a): D1 if it is 1, D2 if it is 2, D3 from 3
on, their equations (26), each computed from how many n-grams are counted 1, 2, 3 and 4 times. Where
those numbers give no such discount (small texts), one discount D = n1 / (n1 + 2·n2) serves all
(Ney, Essen, Kneser 1994), or 1/2 where that has no value either.

Words of a model of order 3 are counted by what precedes them on the lower levels: a(y, z) is the
number of distinct x before (y, z), but after the start of a sentence, before which nothing is,
it is the count itself. On the lowest level a(z) is the number of distinct y before z.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.errors import ConfigurationError
from dxbeam.language.counts import Counts, summed
from dxbeam.language.sparse_rows import SparseRows, sparse_rows

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_DEFAULT_DISCOUNT = 0.5


class Smoothed(NamedTuple):
    """The numbers of a language model; see model.py for what they mean.

    Attributes:
      prior: float64 [N + 1].
      continuation: float64 [N + 1].
      backoff: float64 [N + 2].
      pairs: corrections of pairs: N + 2 contexts, N + 1 words.
      backoff2: float64 [S], for each entry of ``pairs``; None in order 2.
      triples: corrections of triples: a row for each entry of ``pairs``; None in order 2.
    """

    prior: Floats
    continuation: Floats
    backoff: Floats
    pairs: SparseRows
    backoff2: Floats | None = None
    triples: SparseRows | None = None


def discounts(counts: Ids) -> Floats:
    """What is taken off n-grams that are counted 0, 1, 2, and 3 or more times: float64 [4]."""
    once, twice, thrice, four = (int((counts == times).sum()) for times in (1, 2, 3, 4))
    if not once or not twice:
        return np.array([0.0, *[_DEFAULT_DISCOUNT] * 3])
    share = once / (once + 2 * twice)
    if thrice and four:
        each = [
            1 - 2 * share * twice / once,
            2 - 3 * share * thrice / twice,
            3 - 4 * share * four / thrice,
        ]
        if all(0 < discount < times for times, discount in enumerate(each, start=1)):
            return np.array([0.0, *each])
    return np.array([0.0, share, share, share])


def lowest_level(counts: Ids) -> Floats:
    """Probabilities of words by counts, what is taken off shared evenly: int64 [E] -> float64 [E].

    All are above 0, and they sum to 1.
    """
    taken = discounts(counts)[np.minimum(counts, 3)]
    total = counts.sum()
    shares: Floats = (counts - taken) / total + taken.sum() / total / len(counts)
    shares /= shares.sum()
    return shares


def smooth(counts: Counts, prune: int = 0) -> Smoothed:
    """Smooths counts; without words there is nothing to make a model of.

    Pairs and triples that occur ``prune`` times or less are left out; what they had goes to the
    lower level. Discounts and the lower levels are computed from all of them.
    """
    if not len(counts.codes):
        raise ConfigurationError("there are no words to make a language model of")
    size, start = counts.words + 2, counts.words + 1
    pair_codes, raw = summed(counts.codes % size**2, counts.counts)
    adjusted = raw
    if counts.order == 3:
        # (start, start, z) stands for the pair (start, z), which keeps its count.
        once = np.where(counts.codes // size % size == start, counts.counts, 1)
        adjusted = summed(counts.codes % size**2, once)[1]
    events = np.bincount(pair_codes % size, raw, counts.words + 1).astype(np.int64)
    before = np.bincount(pair_codes % size, minlength=counts.words + 1)
    kept = raw > prune
    backoff, pairs = _level(
        pair_codes // size, size, pair_codes % size, counts.words + 1, adjusted, kept
    )
    lower = (lowest_level(events), lowest_level(before), backoff, pairs)
    if counts.order == 2:
        return Smoothed(*lower)
    real = counts.codes // size % size != start
    codes, triple_counts = counts.codes[real], counts.counts[real]
    rows = np.searchsorted(pair_codes[kept], codes // size)
    # A triple is never counted more often than its first two words, so its row is there.
    rows = np.minimum(rows, max(0, int(kept.sum()) - 1))
    backoff2, triples = _level(
        rows,
        int(kept.sum()),
        codes % size,
        counts.words + 1,
        triple_counts,
        triple_counts > prune,
        _totals(codes // size, triple_counts),
    )
    return Smoothed(*lower, backoff2, triples)


def _totals(contexts: Ids, counts: Ids) -> Ids:
    """For each entry the sum of its context's counts; contexts are ascending."""
    _, numbers = np.unique(contexts, return_inverse=True)
    return np.bincount(numbers, counts).astype(np.int64)[numbers]


def _level(
    rows: Ids,
    contexts: int,
    columns: Ids,
    width: int,
    counts: Ids,
    kept: npt.NDArray[np.bool_],
    totals: Ids | None = None,
) -> tuple[Floats, SparseRows]:
    """The weights of the level below, one for each context, and the corrections to it."""
    totals = _totals(rows, counts) if totals is None else totals
    taken = discounts(counts)[np.minimum(counts, 3)]
    exact = ((counts - taken) / totals)[kept]
    corrections = rounded_down(exact)
    rows, columns = rows[kept], columns[kept]
    backoff = np.ones(contexts)
    backoff -= np.bincount(rows, corrections, contexts)
    starts = np.cumsum([0, *np.bincount(rows, minlength=contexts)])
    return backoff, sparse_rows(starts, columns, corrections, width)


def rounded_down(exact: Floats) -> npt.NDArray[np.float32]:
    """Corrections as they are stored, so that what is left for the level below stays above 0."""
    corrections = exact.astype(np.float32)
    above = corrections.astype(np.float64) > exact
    corrections[above] = np.nextafter(corrections[above], np.float32(0))
    return corrections
