"""The base measure that loses least for a public prior: Blahut and Arimoto's algorithm.

Words x come from a public prior p, and P(y | x) = q(y) exp(-h(x, y)) / Z(x) is released. Of all q,
the one that minimises I(X; Y) + E[h(X, Y)] makes the sum over x of p(x) exp(-h(x, y)) / Z(x) at
most 1 for every y, and 1 wherever q(y) > 0 (Berger 1971; Blahut: Computation of channel capacity
and rate-distortion functions, 1972). Each iteration multiplies q(y) by that sum, c(y):

    Z(x) = sum over y of q(y) exp(-h(x, y)),    c(y) = sum over x of p(x) exp(-h(x, y)) / Z(x),

and is nowhere worse than the one before. The logarithm of the largest c(y) bounds how far the
objective is from the smallest possible (Blahut 1972, theorem 8). Everything is public: the prior,
the vocabulary and h.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.constants.exponents import Exponents
from dxbeam.mechanisms.constants.scan import Say, all_sums, worker_threads
from dxbeam.space.search.neighbors import Floats

_SMALLEST = 1e-12
"""Words whose share is smaller at the end are never released."""


class OptimalBase(NamedTuple):
    """What was found.

    Attributes:
      shares: q, float64 [N], sums to 1.
      iterations: how many were done.
      gap: how far, at most, the objective of the last q but one is from the smallest possible, in
        nats.
    """

    shares: Floats
    iterations: int
    gap: float


def optimal_base(
    exponents: Exponents,
    prior: Floats,
    iterations: int = 20,
    seconds: float = 600.0,
    gap: float = 1e-3,
    threads: int | None = None,
    say: Say = lambda _: None,
) -> OptimalBase:
    """The base measure of least loss, nearly, for a prior p, float64 [N], above 0.

    ``exponents`` are without a base measure and without words that are never released. No iteration
    is begun after ``seconds``, or once the objective is ``gap`` nats from the smallest possible. An
    invalid prior is a ConfigurationError.
    """
    if prior.shape != (exponents.outputs,) or not (prior > 0).all() or not np.isfinite(prior).all():
        raise ConfigurationError("the prior needs a number above 0 for every word")
    prior = prior / prior.sum()
    shares, started, done, left = prior.copy(), time.monotonic(), 0, np.inf
    with worker_threads(threads) as pool:
        while done < iterations and left > gap and time.monotonic() - started < seconds:
            sums = all_sums(exponents, pool, base=shares)
            grown = all_sums(exponents, pool, base=prior / sums)
            done, left = done + 1, float(np.log(grown.max()))
            shares = shares * grown
            shares /= shares.sum()
            objective = -float(prior @ np.log(sums))
            say(f"iteration {done}: {objective:.6f} nats, {left:.4f} above the least at most")
    shares[shares < _SMALLEST] = 0.0
    return OptimalBase(shares / shares.sum(), done, left)
