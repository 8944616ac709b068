"""Exponentials and logarithms with the same bits on every processor.

NumPy's own differ in the last bit between processors (one value of twenty between AVX2 and
AVX-512). These are made of additions, multiplications, divisions, rounding and table look-ups of
float64 numbers, one NumPy call each, which IEEE 754 defines to the last bit.

Both err by a few units in the last place (tests/space/search/test_exact_arithmetic.py).
"""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np

from dxbeam.space.search.backends.backend import Floats

_PARTS = 32
_LOWEST = -708.0  # the exponential of what is below it is 0
_HIGHEST = 709.0
_COEFFICIENTS = tuple(1 / f for f in (720.0, 120.0, 24.0, 6.0, 2.0, 1.0))
_LOG_TERMS = tuple(2 / k for k in range(23, 0, -2))


def _constants() -> tuple[Floats, float, float]:
    """2^(j / 32), and ln 2 / 32 as the sum of a number with short bits and a small one."""
    with localcontext() as context:
        context.prec = 60
        two = Decimal(2)
        table = np.array([float(two ** (Decimal(j) / _PARTS)) for j in range(_PARTS)])
        step = two.ln() / _PARTS
        high = float(round(step * 2**38) / Decimal(2**38))  # times 2^15 it is exact
        return table, high, float(step - Decimal(high))


_TABLE, _HIGH, _LOW = _constants()
_LN2 = float(Decimal(2).ln())


def exp(x: Floats) -> Floats:
    """The exponential of each number: float64, of any shape; 0 below -708.

    Args:
      x: at most 709.
    """
    inside = np.clip(x, _LOWEST, _HIGHEST)
    count = np.rint(inside * (1 / (_HIGH + _LOW)))
    inside -= count * _HIGH
    inside -= count * _LOW
    power = np.full(inside.shape, 1 / 5040.0)
    for coefficient in _COEFFICIENTS:
        power *= inside
        power += coefficient
    power *= inside
    whole = count.astype(np.int64)
    first = _TABLE.take(whole & (_PARTS - 1))
    power *= first
    power += first
    whole >>= 5
    whole += 1023
    whole <<= 52
    power *= whole.view(np.float64)
    power[x < _LOWEST] = 0.0
    return np.asarray(power)


def log(x: Floats) -> Floats:
    """The natural logarithm of positive numbers: float64, of any shape."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < np.sqrt(0.5)
    mantissa = np.where(small, mantissa * 2, mantissa)
    share = (mantissa - 1) / (mantissa + 1)
    square = share * share
    total = np.zeros(share.shape)
    for term in _LOG_TERMS:
        total *= square
        total += term
    total *= share
    total += (exponent - small) * _LN2
    return np.asarray(total)
