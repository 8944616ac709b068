"""Which epsilons to look at: each mechanism has a separate range in which it does anything.

Laplace noise on 300 dimensions turns from "all distant" to "all original" between epsilon = 5 and
25, santext over the same words between 1.5 and 4. One grid for all shows a few points of either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dxbeam.analysis.measure import proportions
from dxbeam.analysis.measure.public_parameters import Reading
from dxbeam.analysis.measure.read_words import Texts
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import Mechanism, make_mechanism
from dxbeam.space.search.neighbors import Ids, NeighborSearch

POINTS = 40
LEAST, MOST = 0.01, 0.99
"""The share of original words at which a grid begins and ends."""

_PILOT_WORDS = 200
_PILOT_EPSILONS = tuple(0.02 * 10 ** (step / 12) for step in range(49))  # up to 200


def parse(text: str) -> list[float]:
    """``1:70`` or ``0.5:6:0.1`` (first, last, step), or ``1,2,5``, as increasing numbers.

    Raises:
      ConfigurationError: not of this form, not above 0, not in increasing order, or above 1,000.
    """
    wrong = ConfigurationError(
        f"`epsilons` {text} is neither a range, as 1:70 or 0.5:6:0.1, nor a list of increasing "
        "numbers above 0, as 1,2,5, nor auto"
    )
    try:
        numbers = [float(part) for part in text.replace(":", ",").split(",")]
    except ValueError:
        raise wrong from None
    if ":" in text:
        if len(numbers) not in (2, 3) or "," in text:
            raise wrong
        first, last, step = (*numbers, 1.0)[:3]
        if not (0 < first <= last < math.inf and 0 < step < math.inf):
            raise wrong
        if (last - first) / step > 1000:
            raise ConfigurationError(f"`epsilons` {text} are more than 1,000; take a larger step")
        numbers = [first + step * index for index in range(int((last - first) / step + 1e-9) + 1)]
    if not all(0 < a < math.inf for a in numbers) or sorted(set(numbers)) != numbers:
        raise wrong
    return [float(f"{number:.12g}") for number in numbers]


def automatic(
    mechanism: Mechanism,
    ids: Ids,
    search: NeighborSearch,
    reading: Reading | None = None,
    texts: Texts | None = None,
) -> list[float]:
    """An even grid over the range in which words begin to come out as themselves.

    200 words are tried at 49 values of epsilon; the grid runs from where 1 % come out as themselves
    to where 99 % do, as far as the mechanism is defined.

    Args:
      mechanism: with any epsilon.
      ids: int64 [B], the words that are measured, in random order.
      search: the vocabulary.
      reading: what texts are read with, or None.
      texts: where they are read together.
    """
    defined, original = _tried(mechanism, ids, search, reading, texts)
    first = int(np.searchsorted(original > LEAST, True)) or 1
    last = int(np.searchsorted(original > MOST, True))
    low, high = defined[min(first, len(defined)) - 1], defined[min(last, len(defined) - 1)]
    if high <= low:
        low, high = defined[0], defined[-1]
    step = _round((high - low) / POINTS)
    start = max(1, math.floor(low / step))
    grid = [float(f"{step * index:.12g}") for index in range(start, math.ceil(high / step) + 1)]
    return _defined(mechanism, grid, search.vocabulary.dimensions)


def by_shares(mechanism: Mechanism, ids: Ids, search: NeighborSearch, points: int) -> list[float]:
    """Few epsilons that tell a mechanism's whole range: spaced by what they leave, not evenly.

    At the k-th of K points about LEAST + (MOST - LEAST) (k / (K - 1))^2 of the words come out as
    themselves, as far as the mechanism gets there: closer together where few words do.

    Args:
      mechanism: with any epsilon.
      ids: int64 [B], the words that are measured, in random order.
      search: the vocabulary.
      points: K; fewer are returned where they would be equal to three digits.
    """
    defined, original = _tried(mechanism, ids, search, None, None)
    reached = np.maximum.accumulate(original) + 1e-9 * np.arange(len(defined))
    low, high = max(LEAST, reached[0]), min(MOST, reached[-1])
    targets = low + (high - low) * np.linspace(0, 1, points) ** 2
    epsilons = np.exp(np.interp(targets, reached, np.log(defined)))
    grid = sorted({float(f"{epsilon:.3g}") for epsilon in epsilons})
    return _defined(mechanism, grid, search.vocabulary.dimensions)


def _tried(
    mechanism: Mechanism,
    ids: Ids,
    search: NeighborSearch,
    reading: Reading | None,
    texts: Texts | None,
) -> tuple[list[float], npt.NDArray[np.float64]]:
    """Some epsilons in increasing order, and the share of original words at each of them."""
    generator = np.random.default_rng(0)  # a trial: nothing is released
    ids = ids[:_PILOT_WORDS]
    draws = mechanism.draws(search.vocabulary.dimensions)
    random = generator.integers(0, 2**64, (len(ids), draws), dtype=np.uint64)
    defined = _defined(mechanism, _PILOT_EPSILONS, search.vocabulary.dimensions)
    first = texts and Texts((), texts.breaks[:_PILOT_WORDS])
    sums = proportions.measure(
        mechanism, defined, [], ids, random, search, reading=reading, texts=first
    )
    return defined, np.asarray(sums.totals[0, :, 0] / max(1, sums.words))


def _defined(mechanism: Mechanism, epsilons: Sequence[float], dimensions: int) -> list[float]:
    """Those epsilons at which the mechanism can be used in this many dimensions."""
    kept = []
    for epsilon in epsilons:
        try:
            make_mechanism(mechanism.name, **{**vars(mechanism), "epsilon": epsilon}).draws(
                dimensions
            )
        except ConfigurationError:
            continue
        kept.append(epsilon)
    if not kept:
        raise ConfigurationError(f"{mechanism.name} is undefined at every epsilon that was tried")
    return kept


def _round(step: float) -> float:
    """The next of 1, 2, 5, 10, 20, … times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return float(
        next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step * (1 - 1e-9))
    )
