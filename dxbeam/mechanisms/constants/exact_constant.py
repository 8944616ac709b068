"""epsilon as what is guaranteed: the constant of one vocabulary in place of the worst case.

The worst case of the exponential mechanism, exp(epsilon d), is reached where Z(x') / Z(x) is as
large as it may be anywhere. In one vocabulary the loss of two strings is at most h(x, x') +
|log Z(x) - log Z(x')|, and a scan of all pairs (dxbeam/mechanisms/constants) finds the largest
constant c in [1/2, 1] with

    loss(x, x') <= 2 c h(x, x')  for all x, x'.

So exponents of s h instead of h, with s c(s) <= 1, keep the promise exp(2 h(x, x')): words are
drawn with the *nominal* epsilon s epsilon, and epsilon is what is guaranteed. Public weights of
importance are scaled with it, as they are part of h. gamma of tem is a property of the metric
min(d, gamma), so it stays what the guaranteed epsilon makes it. All this is true of one vocabulary
only, with its base measure, its weights and its other parameters: they are compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dxbeam.errors import ConfigurationError, described
from dxbeam.guarantees import Guarantee, at_most
from dxbeam.space.vocabulary.words import Vocabulary

EXACT, WORST_CASE = "exact", "worst_case"
CONSTANTS = (WORST_CASE, EXACT)

FORMAT, VERSION = "dxbeam-constant", 1
"""Of a scan's record."""

_ROUNDING = 1e-12


@dataclass(frozen=True)
class ExactConstant:
    """What a scan found: a nominal epsilon for each guaranteed one.

    Attributes:
      vocabulary: ``content_digest`` of the vocabulary that was scanned.
      levels: (guaranteed epsilon, nominal epsilon), from the smallest to the largest.
      settings: the mechanism that was scanned: its name and parameters but epsilon, as JSON.
      scan: SHA-256 of the scan's record.

    Raises:
      ConfigurationError: a nominal epsilon that no scan gives: it is never below the guaranteed
        one, and never above twice as much, as c is at least 1/2.
    """

    vocabulary: str
    levels: tuple[tuple[float, float], ...]
    settings: Mapping[str, Any] = field(compare=False, repr=False)
    scan: str = ""

    def __post_init__(self) -> None:
        for epsilon, nominal in self.levels:
            if not epsilon * (1 - _ROUNDING) <= nominal <= 2 * epsilon * (1 + _ROUNDING):
                raise ConfigurationError(
                    f"`constant` exact: no scan gives a nominal epsilon of {nominal:g} for "
                    f"{epsilon:g}: it is at least as large, and at most twice; run dxbeam "
                    "scan-constant"
                )

    def nominal(self, epsilon: float) -> float:
        """The epsilon by which words are drawn; refused unless the scan solved for this one."""
        for guaranteed, nominal in self.levels:
            if guaranteed == epsilon:
                return nominal
        listed = ", ".join(f"{guaranteed:g}" for guaranteed, _ in self.levels)
        raise ConfigurationError(
            f"`constant` exact: the scan solved for epsilon = {listed}, and not for {epsilon:g}; "
            "run dxbeam scan-constant with this epsilon"
        )

    def check(self, vocabulary: Vocabulary) -> None:
        """Refuses every vocabulary but the one that was scanned."""
        if vocabulary.content_digest != self.vocabulary:
            raise ConfigurationError(
                "`constant` exact: the scan was of another vocabulary, and its constant is true "
                "only of that one; run dxbeam scan-constant with this vocabulary"
            )

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON; what was scanned are the mechanism's other parameters."""
        return {
            "kind": EXACT,
            "vocabulary": self.vocabulary,
            "nominal_epsilon": {f"{epsilon!r}": nominal for epsilon, nominal in self.levels},
            "scan": self.scan,
        }


def constant_of(record: Mapping[str, Any]) -> ExactConstant:
    """The constant of a record; refused unless the record keeps its guaranteed epsilons."""
    try:
        if (record["format"], record["version"]) != (FORMAT, VERSION):
            raise ValueError
        levels = tuple(
            sorted(
                (float(each["epsilon"]), float(each["nominal_epsilon"]))
                for each in record["levels"]
            )
        )
        kept = all(
            float(each["nominal_epsilon"]) * float(each["constant"])
            <= float(each["epsilon"]) * (1 + _ROUNDING)
            for each in record["levels"]
        )
        if not (kept and levels):
            raise ValueError
        content = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()
        return ExactConstant(
            str(record["vocabulary"]),
            levels,
            dict(record["mechanism"]),
            hashlib.sha256(content).hexdigest(),
        )
    except (KeyError, TypeError, ValueError):
        raise ConfigurationError(
            "this is not a record of dxbeam scan-constant, or one whose numbers do not fit together"
        ) from None


def checked_constant(constant: object, epsilon: float, settings: Mapping[str, Any]) -> None:
    """Refuses what is neither None nor an ExactConstant of this very mechanism at this epsilon.

    ``settings`` is what ``recorded_settings`` says of the mechanism.
    """
    if constant is None:
        return
    if not isinstance(constant, ExactConstant):
        raise ConfigurationError(
            "constant is what dxbeam.read_constant gives, an ExactConstant, and this is "
            f"{described(constant)}"
        )
    constant.nominal(epsilon)
    if dict(constant.settings) != dict(settings):
        raise ConfigurationError(
            "`constant` exact: the scan was of another mechanism, or of other parameters, base "
            "measure or weights; run dxbeam scan-constant with these"
        )


def with_constant(promise: Guarantee, epsilon: float, constant: ExactConstant | None) -> Guarantee:
    """The same guarantee, saying how it comes about."""
    if constant is None:
        return promise
    nominal = constant.nominal(epsilon)
    return promise.with_caveats(
        f"The constant is that of the vocabulary {constant.vocabulary[:12]} alone: words are drawn "
        f"with the nominal epsilon {nominal:.12g}, whose worst case over all vocabularies would be "
        f"{at_most(nominal / epsilon)} times as much. A scan of all pairs of its words and the "
        f"unknown word (SHA-256 {constant.scan[:12]}) found no larger loss, with a bound on "
        "rounding."
    )
