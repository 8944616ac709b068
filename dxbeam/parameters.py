"""Checks of privacy parameters, shared by mechanisms and resampling."""

from __future__ import annotations

import math

from dxbeam.errors import ConfigurationError

SMALLEST_EPSILON = 1e-3
LARGEST_EPSILON = 1e4


def check_epsilon(epsilon: float) -> None:
    """Refuses an epsilon that is not a number, or of which no useful promise can come.

    Raises:
      ConfigurationError: epsilon is 0, negative, NaN, infinite, or outside the limits above.
    """
    if not _is_number(epsilon) or not math.isfinite(epsilon) or epsilon <= 0:
        raise ConfigurationError(
            f"epsilon must be a positive, finite number, not {epsilon}; it is the privacy loss "
            "per unit of distance between word vectors, and 5 to 20 is usual for GloVe"
        )
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        meaning = "only noise" if epsilon < SMALLEST_EPSILON else "the original text"
        raise ConfigurationError(
            f"epsilon = {epsilon:g} is outside {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}: it "
            f"would release {meaning}; 5 to 20 is usual for GloVe"
        )


def check_rank_c(c: float) -> None:
    """Refuses a rank resampling parameter that is not a positive, finite number.

    Raises:
      ConfigurationError: c is 0, negative, NaN or infinite.
    """
    if not _is_number(c) or not math.isfinite(c) or c <= 0:
        raise ConfigurationError(
            f"rank_c must be a positive, finite number, not {c}; leave it out for no rank "
            "resampling, and smaller values spread more (0.02 to 0.05 is usual)"
        )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
