"""Checks of privacy parameters, shared by mechanisms and resampling."""

from __future__ import annotations

import math
from dataclasses import Field, field, fields
from numbers import Real
from typing import Any

from dxbeam.errors import ConfigurationError, check_type

ADDED_LATER = {"added later": True}
"""Metadata of a mechanism's parameter that is None by default and came after the first releases.

It is recorded only where it is given, so that releases without it keep their digests and noise.
"""

_CHOICES = "choices"


def choice(*choices: str, default: str | None = None) -> Any:
    """A parameter that is one of these names, as a field of a mechanism's dataclass.

    With the default None it counts as added later.
    """
    metadata = {_CHOICES: choices, **(ADDED_LATER if default is None else {})}
    return field(default=default, metadata=metadata)


def choices_of(parameter: Field[Any]) -> tuple[str, ...]:
    """The names that a parameter may have; none for one that is a number."""
    names: tuple[str, ...] = parameter.metadata.get(_CHOICES, ())
    return names


def is_added_later(parameter: Field[Any]) -> bool:
    """Whether it is recorded only where it is given."""
    return ADDED_LATER.items() <= parameter.metadata.items()


def recorded(mechanism: Any) -> dict[str, Any]:
    """A mechanism's name and every parameter, ready for JSON; one added later where it is given."""
    return {
        "name": mechanism.name,
        **{
            each.name: value.as_dict() if hasattr(value, "as_dict") else value
            for each in fields(mechanism)
            if (value := getattr(mechanism, each.name)) is not None or not is_added_later(each)
        },
    }


def recorded_settings(mechanism: Any) -> dict[str, Any]:
    """The same without epsilon and constant: what a scan for its constant depends on."""
    return {
        name: value
        for name, value in recorded(mechanism).items()
        if name not in ("epsilon", "constant")
    }


def settle(parameters: object, **values: Any) -> None:
    """Gives fields of a frozen dataclass the values that were checked."""
    for name, value in values.items():
        object.__setattr__(parameters, name, value)


SMALLEST_EPSILON = 1e-3
LARGEST_EPSILON = 1e4
SMALLEST_RANK_C = 1e-10
SMALLEST_DELTA = 1e-15


def checked_epsilon(epsilon: float) -> float:
    """Epsilon as a float; refused if it is no number or no useful promise can come of it.

    Raises:
      ConfigurationError: epsilon is 0, negative, NaN, infinite, or outside the limits above.
    """
    written, epsilon = epsilon, _as_float(epsilon)
    if not math.isfinite(epsilon) or epsilon <= 0:
        raise ConfigurationError(
            f"epsilon must be a positive, finite number, not {_shown(written)}; it is the privacy "
            "loss per unit of distance between word vectors, and 5 to 20 is usual for GloVe"
        )
    if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        meaning = "only noise" if epsilon < SMALLEST_EPSILON else "the original text"
        raise ConfigurationError(
            f"epsilon = {epsilon:g} is outside {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}: it "
            f"would release {meaning}; 5 to 20 is usual for GloVe"
        )
    return epsilon


def checked_rank_c(c: float) -> float:
    """The rank resampling parameter as a float; refused unless positive, finite and not tiny.

    Below SMALLEST_RANK_C ranks could not be told apart in float64.
    """
    written, c = c, _as_float(c)
    if not math.isfinite(c) or c < SMALLEST_RANK_C:
        raise ConfigurationError(
            f"rank_c must be a positive, finite number, not {_shown(written)}; leave it out for no "
            "rank resampling, and smaller values spread more (0.02 to 0.05 is usual)"
        )
    return c


def checked_positive(name: str, value: float, meaning: str) -> float:
    """A parameter as a float; refused unless positive and finite."""
    written, value = value, _as_float(value)
    if not math.isfinite(value) or value <= 0:
        raise ConfigurationError(
            f"{name} must be a positive, finite number, not {_shown(written)}: {meaning}"
        )
    return value


def checked_share(name: str, value: float, meaning: str) -> float:
    """A parameter as a float; refused unless between 0 and 1."""
    written, value = value, _as_float(value)
    if not 0 <= value <= 1:
        raise ConfigurationError(
            f"{name} must be between 0 and 1, not {_shown(written)}: {meaning}"
        )
    return value


def checked_whole(name: str, value: float, smallest: int, largest: int, meaning: str) -> int:
    """A parameter as an int; refused unless a whole number within these limits."""
    written, value = value, _as_float(value)
    if not (smallest <= value <= largest and value.is_integer()):
        raise ConfigurationError(
            f"{name} must be a whole number from {smallest} to {largest}, not {_shown(written)}: "
            f"{meaning}"
        )
    return int(value)


def checked_choice(name: str, value: object, choices: tuple[str, ...], meaning: str) -> str:
    """A parameter as it is; refused unless one of these names."""
    if not (isinstance(value, str) and value in choices):
        shown = value if isinstance(value, str) else _shown(value)
        raise ConfigurationError(
            f"{name} must be one of {', '.join(choices)}, not {shown}: {meaning}"
        )
    return value


def checked_delta(delta: float) -> float:
    """Delta as a float; refused unless a probability that a guarantee can bear."""
    written, delta = delta, _as_float(delta)
    if not SMALLEST_DELTA <= delta < 0.5:
        raise ConfigurationError(
            f"delta must be at least {SMALLEST_DELTA:g} and below 0.5, not {_shown(written)}; it "
            "is the probability that the guarantee's factor is exceeded, and 1e-6 or less is usual"
        )
    return delta


def _shown(value: object) -> str:
    """A number as it was given; of anything else its type."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return str(value) if is_number else f"a {type(value).__name__}"


def _as_float(value: object) -> float:
    """A number as a float, so that 10 and 10.0 are one configuration; NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real):  # NumPy's numbers are Real too
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def parse_parameters(text: str) -> dict[str, str]:
    """``"delta=1e-6,clip=5"`` as a mapping; refused in another form, or with a name twice."""
    check_type(text, str, "`parameters` are one text, as in 'delta=1e-6,clip=5'")
    parameters: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals and value) or name in parameters:
            raise ConfigurationError(
                f"`parameters` {text}: write it as name=value,name=value, each name once"
            )
        parameters[name] = value
    return parameters
