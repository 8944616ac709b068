"""A language model to the power of tau: q^tau, each distribution normalised again.

With tau above 1 what is probable becomes more so, with tau below 1 less. q = b p + c, b being the
weight of the lower level p and c >= 0 a correction, becomes

    (b p + c)^tau  =  b^tau p^tau + ((b p + c)^tau - (b p)^tau),

a multiple of the lower level's power and another correction, 0 where c is 0. So the power of a
model is a model with the same n-grams.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.language.kneser_ney import Smoothed
from dxbeam.language.sparse_rows import Floats, Ids, SparseRows

LARGEST_EXPONENT = 4.0


def check_exponent(exponent: float) -> None:
    """Refuses what is no number above 0 and up to LARGEST_EXPONENT."""
    if not 0 < exponent <= LARGEST_EXPONENT:
        raise ConfigurationError(
            f"`exponent` is a number above 0 and up to {LARGEST_EXPONENT:g}; 1 leaves the model "
            "as it is"
        )


def raised(numbers: Smoothed, exponent: float) -> Smoothed:
    """The numbers of q^exponent; ``check_exponent`` says which.

    Corrections are kept in float64: little is left for the lower level where tau is large.
    """
    check_exponent(exponent)
    if exponent == 1:
        return numbers
    words, whose = np.asarray(numbers.continuation), _rows(numbers.pairs)
    columns = np.asarray(numbers.pairs.columns, np.int64)
    lower = np.asarray(numbers.backoff)[whose] * words[columns]
    total = float((words**exponent).sum())
    pairs, backoff, sums = _power(
        numbers.pairs, whose, lower, exponent, np.asarray(numbers.backoff) ** exponent * total
    )
    levels = (_shares(np.asarray(numbers.prior), exponent), _shares(words, exponent))
    if numbers.triples is None or numbers.backoff2 is None:
        return Smoothed(*levels, backoff, pairs)
    # The pair (x, y) is a context of triples (x, y, z), whose lower level is what follows y.
    followed, last = columns[_rows(numbers.triples)], np.asarray(numbers.triples.columns, np.int64)
    entries = numbers.pairs.find(followed, last)
    stored = np.where(entries < 0, 0.0, numbers.pairs.values[np.maximum(entries, 0)])
    weights = np.asarray(numbers.backoff2)
    lower = np.asarray(numbers.backoff)[followed] * words[last] + stored
    lower *= weights[_rows(numbers.triples)]
    triples, backoff2, _ = _power(
        numbers.triples, _rows(numbers.triples), lower, exponent, weights**exponent * sums[columns]
    )
    return Smoothed(*levels, backoff, pairs, backoff2, triples)


def _rows(table: SparseRows) -> Ids:
    return np.repeat(np.arange(table.rows), np.diff(table.starts))


def _shares(shares: Floats, exponent: float) -> Floats:
    powers = shares**exponent
    return np.asarray(powers / powers.sum())


def _power(
    table: SparseRows, rows: Ids, lower: Floats, exponent: float, sums: Any
) -> tuple[SparseRows, Floats, Floats]:
    """A level of the power: corrections, weights of the lower level, sums before they are made 1.

    ``rows``, int64 [S], and ``lower``, float64 [S], are the row and the lower level's part of each
    correction; ``sums``, float64 [R], those of the powers of that part over all words.
    """
    added = (lower + table.values) ** exponent - lower**exponent
    both = sums + np.bincount(rows, added, table.rows)
    return dataclasses.replace(table, values=added / both[rows]), sums / both, both
