"""How many different words and n-grams a text has, and how long documents are, before and after.

The share of different n-grams (distinct-n, Li et al. 2016) falls as a text grows. So it is taken of
each 1,000 n-grams in a row, documents in random order, and averaged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dxbeam.analysis.corpora.texts import TextPair
from dxbeam.analysis.evaluate.document_scores import STUDENT, Score
from dxbeam.analysis.theory.intervals import independent_mean_interval
from dxbeam.space.search.neighbors import Ids

STRETCH = 1_000
"""N-grams in a row; fewer where the whole corpus has fewer."""

LONGEST = 3

_FACTOR = np.uint64(0x9E3779B97F4A7C15)

STRETCHES = f"Student's t over stretches of {STRETCH:,} n-grams"


def diversity(texts: Sequence[TextPair]) -> Iterator[Score]:
    """Distinct-1 to distinct-3 and words a document, of the release and of the originals.

    Args:
      texts: documents in random order.
    """
    released, originals = [text.released for text in texts], [text.original for text in texts]
    for words, suffix in ((released, ""), (originals, "_original")):
        for n in range(1, LONGEST + 1):
            shares = _distinct(words, n)
            if shares:
                yield _mean(f"distinct_{n}{suffix}", shares, len(texts), STRETCHES)
        lengths = [float(len(text)) for text in words]
        yield _mean(f"words_per_document{suffix}", lengths, len(texts), STUDENT)


def _distinct(words: Sequence[Ids], n: int) -> list[float]:
    """The share of different n-grams in each stretch; the rest after the last one is left out."""
    codes = np.concatenate([_codes(text, n) for text in words])
    if not len(codes):
        return []
    length = min(STRETCH, len(codes))
    rows = codes[: len(codes) // length * length].reshape(-1, length)
    return [len(np.unique(row)) / length for row in rows]


def _codes(text: Ids, n: int) -> Ids:
    """A number for each n-gram; two of a stretch have the same one with a probability of 1e-13."""
    codes = np.zeros(max(0, len(text) - n + 1), np.uint64)
    for place in range(n if len(codes) else 0):
        codes = codes * _FACTOR + text[place : place + len(codes)].astype(np.uint64)
    return codes.astype(np.int64)


def _mean(metric: str, values: Sequence[float], documents: int, how: str) -> Score:
    mean = float(np.mean(values))
    if len(values) < 2:
        return Score(metric, mean, None, None, documents, how)
    deviation = float(np.std(values, ddof=1))
    low, high = independent_mean_interval(mean, deviation, len(values))
    return Score(metric, mean, max(0.0, low), high, documents, how)
