"""An epsilon for each document, by a separate public field: a consent level, a document class.

An epsilon that depends on the word it protects promises nothing (docs/guides/budgets-per-word.md).
One that depends on a public field does: a document's noise is drawn with the epsilon of its level,
and for two documents of one level the guarantee is that of this epsilon. The field is not
protected: it must be known or knowable by everybody, and must not be computed from the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dxbeam.errors import ConfigurationError, described
from dxbeam.mechanisms.parameters import checked_epsilon


@dataclass(frozen=True)
class EpsilonByField:
    """Which epsilon a document has.

    Attributes:
      field: the public field.
      epsilons: the epsilon of each of its values, as pairs in the order of the values; a mapping
        may be given.
      otherwise: the epsilon of all other values, and of documents without one; None for such
        documents to be rejected.

    Raises:
      ConfigurationError: no field or value is named, or an epsilon is none.
    """

    field: str
    epsilons: tuple[tuple[str, float], ...]
    otherwise: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.field, str) or not self.field:
            raise ConfigurationError(f"`epsilon_by` needs a field's name, not {self.field!r}")
        pairs = self.epsilons.items() if isinstance(self.epsilons, Mapping) else self.epsilons
        try:
            pairs = tuple(pairs)
            checked = {str(value): _checked(value, epsilon) for value, epsilon in pairs}
        except (TypeError, ValueError):
            raise ConfigurationError(
                "`epsilon_by` needs a mapping of values to epsilons, such as {'low': 5.0, 'high': "
                f"10.0}}, and this is {described(self.epsilons)}"
            ) from None
        if len(checked) < len(pairs):
            raise ConfigurationError(
                "`epsilon_by` names a value twice, as text; give each value one epsilon"
            )
        if not checked:
            raise ConfigurationError("`epsilon_by` names no value; give each value its epsilon")
        object.__setattr__(self, "epsilons", tuple(sorted(checked.items())))
        if self.otherwise is not None:
            object.__setattr__(self, "otherwise", checked_epsilon(self.otherwise))

    def epsilon_of(self, level: str) -> float | None:
        """The epsilon of a document of this level; None if it has none."""
        return dict(self.epsilons).get(level, self.otherwise)

    @property
    def every(self) -> tuple[float, ...]:
        """All epsilons, from the smallest to the largest."""
        others = () if self.otherwise is None else (self.otherwise,)
        return tuple(sorted({*(epsilon for _, epsilon in self.epsilons), *others}))

    @property
    def largest(self) -> float:
        """That by which a release as a whole is accounted for."""
        return self.every[-1]

    @property
    def problem(self) -> str:
        """Why a document without an epsilon is rejected; never the field's value."""
        return f"the field {self.field!r} has no value for which an epsilon is given"

    @property
    def caveat(self) -> str:
        """What a guarantee with the largest epsilon says of the others."""
        listed = ", ".join(f"{epsilon:.12g} for {value!r}" for value, epsilon in self.epsilons)
        others = (
            "documents with another value are not released"
            if self.otherwise is None
            else f"{self.otherwise:.12g} for all other documents"
        )
        return (
            f"The sentence holds for every document with the largest epsilon. Epsilon depends on "
            f"the public field {self.field!r}: {listed}; {others}. Between two documents of one "
            "value the bound is that of a release with its epsilon alone, and with one key a "
            "document's text is the very text of that release: a copy, which tells nothing more. "
            "The field is not protected: its values must be public and must not be computed from "
            "the text."
        )

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "field": self.field,
            "epsilons": dict(self.epsilons),
            "otherwise": self.otherwise,
        }


def _checked(value: object, epsilon: float) -> float:
    try:
        return checked_epsilon(epsilon)
    except ConfigurationError as error:
        raise ConfigurationError(f"`epsilon_by`, value {value}: {error}") from None


def parse_epsilon_by(text: str, otherwise: float | None = None) -> EpsilonByField:
    """``"consent:low=5,high=10"`` as a value; ``otherwise`` is the epsilon of all other values."""
    if not isinstance(text, str):
        raise ConfigurationError(
            f"`epsilon_by` is one text, as in 'consent:low=5,high=10', and this is "
            f"{described(text)}; EpsilonByField takes a mapping"
        )
    field, _, listed = text.rpartition(":")
    epsilons: dict[str, float] = {}
    for part in listed.split(","):
        value, equals, number = (piece.strip() for piece in part.rpartition("="))
        try:
            if not (equals and value) or value in epsilons:
                raise ValueError
            epsilons[value] = float(number)
        except ValueError:
            raise ConfigurationError(
                f"`epsilon_by` {text}: write it as FIELD:VALUE=EPSILON,VALUE=EPSILON, each value "
                "once"
            ) from None
    return EpsilonByField(field.strip(), tuple(epsilons.items()), otherwise)
