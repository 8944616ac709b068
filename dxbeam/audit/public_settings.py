"""Public settings that a mechanism is audited with.

The audit makes up its words, so they are those that any vocabulary has, or are fitted to each.
"""

from __future__ import annotations

from dxbeam.audit.cut_model import CutModel
from dxbeam.audit.fitted import OPTIMAL, Fitted, NumbersOfFile, OptimalBase
from dxbeam.audit.report import Public
from dxbeam.audit.subject import SMALL, STANDARD, Size
from dxbeam.errors import ConfigurationError
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.mechanisms.constants.exact_constant import CONSTANTS, EXACT
from dxbeam.mechanisms.parameters import checked_choice
from dxbeam.mechanisms.public.base_measure import FrequencyBase, checked_exponent
from dxbeam.mechanisms.public.importance import FrequencyWeights
from dxbeam.mechanisms.public.listed_words import FREQUENCY
from dxbeam.text.detection.detector import detector_of
from dxbeam.text.public.base_file import read_base
from dxbeam.text.public.importance_file import read_importance

_WHOSE = "whether epsilon is that of any vocabulary, or of each that the audit makes up"


def audited_public(
    importance: str | None,
    base: str | None,
    exponent: float | None,
    constant: str,
    model: LanguageModelHandle | None,
    detect: str,
) -> Public:
    """The settings that flags of these names ask for.

    Raises:
      ConfigurationError: weights of listed words, an exponent without a base, or no such constant
        or detector.
    """
    measure = _base(base, exponent)
    every = measure if isinstance(measure, FrequencyBase) else None
    fitted = Fitted(
        None if isinstance(measure, FrequencyBase) else measure,
        CutModel(model) if model else None,
        checked_choice("--constant", constant, CONSTANTS, _WHOSE) == EXACT,
    )
    weights = _importance(importance) if importance else None
    return Public(weights, every, fitted, detector_of(detect))


def sizes_of(samples: str) -> Size:
    """How large an audit's samples are, by name."""
    sizes = {"standard": STANDARD, "small": SMALL}
    if samples not in sizes:
        raise ConfigurationError(f"--samples is standard or small, not {samples}")
    return sizes[samples]


def _importance(source: str) -> FrequencyWeights:
    """The weights that a mechanism is audited with: those that every vocabulary has."""
    weights = read_importance(source) if source.partition("=")[0] == FREQUENCY else None
    if not isinstance(weights, FrequencyWeights):
        raise ConfigurationError(
            f"--importance {source}: the audit makes up its words, and no list names them; give "
            f"{FREQUENCY}, or {FREQUENCY}=LARGEST for another largest weight than 10"
        )
    return weights


def _base(
    source: str | None, exponent: float | None
) -> FrequencyBase | OptimalBase | NumbersOfFile | None:
    """The base measure that a mechanism is audited with."""
    if source is None:
        if exponent is not None:
            raise ConfigurationError("--base_exponent is only of use with --base; leave it out")
        return None
    tau = 1.0 if exponent is None else exponent
    if source == OPTIMAL:
        return OptimalBase(checked_exponent(tau))
    base = read_base(source, tau)
    return base if isinstance(base, FrequencyBase) else NumbersOfFile(base)
