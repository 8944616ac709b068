"""Public settings that a mechanism is audited with.

The audit makes up its words, so they are those that any vocabulary has.
"""

from __future__ import annotations

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.public.base_measure import FREQUENCY as BASE_BY_FREQUENCY
from dxbeam.mechanisms.public.base_measure import FrequencyBase
from dxbeam.mechanisms.public.importance import FREQUENCY, FrequencyWeights
from dxbeam.text.public.importance_file import read_importance


def audited_importance(source: str) -> FrequencyWeights:
    """The weights that a mechanism is audited with: those that every vocabulary has."""
    weights = read_importance(source) if source.partition("=")[0] == FREQUENCY else None
    if not isinstance(weights, FrequencyWeights):
        raise ConfigurationError(
            f"--importance {source}: the audit makes up its words, and no list names them; give "
            f"{FREQUENCY}, or {FREQUENCY}=LARGEST for another largest weight than 10"
        )
    return weights


def audited_base(source: str | None, exponent: float | None) -> FrequencyBase | None:
    """The base measure that a mechanism is audited with: one that every vocabulary has."""
    if source is None:
        if exponent is not None:
            raise ConfigurationError("--base_exponent is only of use with --base; leave it out")
        return None
    if source != BASE_BY_FREQUENCY:
        raise ConfigurationError(
            f"--base {source}: the audit makes up its words, and no file names them; give "
            f"{BASE_BY_FREQUENCY}"
        )
    return FrequencyBase(1.0 if exponent is None else exponent)


WHOSE_EPSILON = "whether epsilon is that of any vocabulary, or of each that the audit makes up"
