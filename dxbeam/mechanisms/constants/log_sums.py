"""log Z(x) of every string, Z(x) = sum over y of q(y) exp(-h(x, y)).

h is symmetric, so a block of exponentials serves rows and columns: half of all pairs are enough.
Words that cannot be released have no term in Z, which may therefore be small beyond
float64; their rows are added up from the largest term.
"""

from __future__ import annotations

import numpy as np

from dxbeam.mechanisms.constants.exponents import COLUMNS, ROUNDOFF, ROWS, Exponents
from dxbeam.space.search.neighbors import Floats


def error_of(exponents: Exponents) -> float:
    """How far a log Z may be from the exact one.

    Each term is off by a factor of exp(error) and a few roundings, each sum by K + 16 roundings.
    """
    return exponents.error + 2 * (exponents.outputs + 32) * ROUNDOFF


def partial_sums(exponents: Exponents, rows: slice, base: Floats | None = None) -> Floats:
    """What a range of the K words that can be released, with all later ones, adds to the sums Z.

    ``base``, float64 [K], is in place of q; None for q. float64 [K - rows.start], from the first
    row on.
    """
    base = np.exp(exponents.log_base) if base is None else base
    sums = np.zeros(exponents.outputs - rows.start)
    for block in exponents.blocks(rows.start, ROWS, rows.stop):
        left = exponents.vectors(block)
        here = sums[block.start - rows.start : block.stop - rows.start]
        here += _terms(exponents, block, block, left, left) @ base[block]
        for columns in exponents.blocks(block.stop, COLUMNS, exponents.outputs):
            terms = _terms(exponents, block, columns, left, exponents.vectors(columns))
            here += terms @ base[columns]
            sums[columns.start - rows.start : columns.stop - rows.start] += base[block] @ terms
    return sums


def _terms(
    exponents: Exponents, rows: slice, columns: slice, left: Floats, right: Floats
) -> Floats:
    terms = exponents.block(rows, columns, left, right)
    return np.asarray(np.exp(np.negative(terms, out=terms), out=terms))


def other_log_sums(exponents: Exponents, rows: slice) -> Floats:
    """Log Z of sources that cannot be released: a range of sources -> float64 [rows]."""
    left = exponents.vectors(rows)
    largest, sums = np.full(len(left), -np.inf), np.zeros(len(left))
    for columns in exponents.blocks(0, COLUMNS, exponents.outputs):
        terms = exponents.block(rows, columns, left, exponents.vectors(columns))
        np.subtract(exponents.log_base[columns], terms, out=terms)
        before, largest = largest, np.maximum(largest, terms.max(axis=1))
        sums *= np.exp(before - largest)
        sums += np.exp(terms - largest[:, None]).sum(axis=1)
    return np.asarray(largest + np.log(sums))
