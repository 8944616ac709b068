"""Which epsilons a page can show: every number of four digits, or a grid of 60."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dxbeam.analysis.measure import proportions
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import Mechanism
from dxbeam.mechanisms.sampling.noise import Floats
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch

GRID, COARSE, COARSEST, FEWEST = 60, 12, 6, 5
"""Values of a grid, and of others for what takes more room or time: every fifth, and so on."""

LEAST, MOST = 0.001, 9999.0
"""Between these every number of four digits has a position."""

_PER_DECADE = 9000
_FIRST_EXPONENT = -3

_PILOT = tuple(float(f"{0.1 * 10 ** (step / 5):.2e}") for step in range(17))  # up to 158
_PILOT_WORDS = 64
_FEW, _MANY = 0.01, 0.99
"""Shares of words that stay at which a range begins, a third further down, and ends."""


def position(epsilon: float) -> int:
    """The position of an epsilon, rounded to four digits: they are counted from ``LEAST`` on."""
    digits, exponent = f"{epsilon:.3e}".split("e")
    place = (int(exponent) - _FIRST_EXPONENT) * _PER_DECADE
    return place + round(float(digits) * 1000) - 1000


def epsilon_at(place: int) -> float:
    """The epsilon at a position."""
    decade, digits = divmod(place, _PER_DECADE)
    return float(f"{digits + 1000}e{decade + _FIRST_EXPONENT - 3}")


def scales(mechanism: Any, first: int, last: int) -> Floats:
    """The noise's scale at each position, the last one included: float64 [last - first + 1].

    Most scales are a number divided by epsilon, which is then computed for all of them at once.
    """
    decades, digits = np.divmod(np.arange(first, last + 1), _PER_DECADE)
    powers = decades + (_FIRST_EXPONENT - 3)
    # Whole numbers times or over whole powers of ten: rounded once, as the written number is.
    epsilons = np.where(
        powers < 0,
        (digits + 1000) / 10.0 ** np.abs(powers),
        (digits + 1000) * 10.0 ** np.abs(powers),
    )
    some = epsilons[:: max(1, len(epsilons) // 16)]
    products = np.array([at(mechanism, epsilon).noise_scale * epsilon for epsilon in some.tolist()])
    if np.allclose(products, products[0], rtol=1e-14, atol=0):
        return np.asarray(products[0] / epsilons)
    return np.array([at(mechanism, epsilon).noise_scale for epsilon in epsilons.tolist()])


def at(mechanism: Any, epsilon: float) -> Any:
    """The same mechanism at another epsilon."""
    return replace(mechanism, epsilon=epsilon)


def grid(mechanism: Mechanism, ids: Ids, random: Random, search: NeighborSearch) -> list[float]:
    """60 epsilons, evenly spaced by ratio, over the range in which the words begin to stay.

    Args:
      mechanism: with any epsilon.
      ids: int64 [B], words of the vocabulary.
      random: uint64 [B, draws or more], one draw of them.
      search: the vocabulary.

    Raises:
      ConfigurationError: the mechanism is defined at no epsilon that was tried.
    """
    tried = [epsilon for epsilon in _PILOT if _is_defined(mechanism, epsilon, search)]
    if not tried:
        raise ConfigurationError(
            f"`mechanisms` {mechanism.name} is defined at no epsilon that was tried for this "
            "vocabulary; leave it out"
        )
    ids = ids[:_PILOT_WORDS]
    released = proportions.released_words(mechanism, tried, ids, random[:_PILOT_WORDS], search)
    stay = (released == ids[:, None]).mean(axis=0)
    first = int(np.searchsorted(np.maximum.accumulate(stay), _FEW, side="right"))
    last = int(np.searchsorted(np.maximum.accumulate(stay), _MANY))
    low = max(tried[min(first, len(tried) - 1)] / 3, tried[0])
    high = tried[min(last, len(tried) - 1)]
    if high <= low:
        low, high = tried[0], tried[-1]
    values: Floats = np.geomspace(low, high, GRID)
    return [float(f"{value:.2e}") for value in values]


def coarse(count: int) -> slice:
    """Some of the values of a grid, evenly, the last one among them."""
    return slice(GRID // count - 1, None, GRID // count)


def _is_defined(mechanism: Mechanism, epsilon: float, search: NeighborSearch) -> bool:
    try:
        at(mechanism, epsilon).draws(search.vocabulary.dimensions)
    except ConfigurationError:
        return False
    return True
