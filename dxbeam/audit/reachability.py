"""Attacks on what is released, to show what a release must not do.

Reachability. A released vector is the rounded sum of a word's vector and noise. In floating point
the sums are on a lattice: where the sum is smaller than its parts, its last bits are the word's.
So for each vocabulary word one can ask whether any noise at all leads from it to what was released,
and nothing of the noise's distribution is needed. On a coarse public grid every word leads
everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dxbeam.vectors.release import to_grid

Reals = npt.NDArray[np.floating]
Release = Callable[[Reals, Reals], Reals]
"""Projected words and noise, [..., m] each and of one float type -> what would be released."""


def add(words: Reals, noise: Reals) -> Reals:
    """A release of the sum as it is, in the float type of its parts."""
    return words + noise


def add_on_grid(step: float) -> Release:
    """A release of the sum rounded to multiples of ``step``, as vectors/release.py does it."""
    return lambda words, noise: to_grid(words + noise, step)


def reachable(released: Reals, words: Reals, release: Release) -> npt.NDArray[np.int64]:
    """The positions of words from which some noise of their float type leads to what was released.

    Coordinate by coordinate: the nearest float to the difference, and the floats on both sides of
    it, are tried; if none of them leads there, no float does. ``words`` are projected vectors [N,
    m].
    """
    left = np.arange(len(words))
    for coordinate in range(words.shape[1]):
        column, goal = words[left, coordinate], released[coordinate]
        nearest = (goal.astype(column.dtype) - column).astype(column.dtype)
        reached = np.zeros(len(left), bool)
        for noise in (nearest, np.nextafter(nearest, np.inf), np.nextafter(nearest, -np.inf)):
            reached |= release(column, noise.astype(column.dtype)) == goal
        left = left[reached]
    return left
