"""Exponents and losses of all pairs of words, by their definitions."""

from __future__ import annotations

import numpy as np

from dxbeam.mechanisms.constants.exponents import Exponents
from dxbeam.mechanisms.sampling.noise import Floats


def every_exponent(exponents: Exponents) -> Floats:
    """h of all sources and outputs, and of sources among themselves, by the definition: [M, M]."""
    vectors = exponents.vectors(slice(0, len(exponents.sources))).astype(np.longdouble)
    apart = np.sqrt(np.square(vectors[:, None] - vectors[None]).sum(axis=-1))
    h = exponents.rate * np.minimum(apart, exponents.cap)
    h += exponents.weights[:, None] + exponents.weights
    np.fill_diagonal(h, 0.0)
    return np.asarray(h)


def true_losses(exponents: Exponents) -> tuple[Floats, Floats]:
    """The largest |ln P(y | x) - ln P(y | x')| over y, and h(x, x'): longdouble [M, M]."""
    h = every_exponent(exponents)
    terms = exponents.log_base.astype(np.longdouble) - h[:, : exponents.outputs]
    largest = terms.max(axis=1)
    logs = largest + np.log(np.exp(terms - largest[:, None]).sum(axis=1))
    p = terms - logs[:, None]
    return np.abs(p[:, None, :] - p[None, :, :]).max(axis=-1), h
