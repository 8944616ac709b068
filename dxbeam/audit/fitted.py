"""What a mechanism gets anew for each vocabulary that the audit makes up."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from dxbeam.audit.cut_model import CutModel
from dxbeam.language.model import LanguageModel
from dxbeam.mechanisms.constants.exact_constant import constant_of
from dxbeam.mechanisms.constants.optimal_base import optimal_base
from dxbeam.mechanisms.constants.record import record_of
from dxbeam.mechanisms.constants.solve import exponents_of, solve
from dxbeam.mechanisms.public.base_measure import BaseMeasure, ListedBase
from dxbeam.space.vocabulary.words import Vocabulary

OPTIMAL = "optimal"

_FEW, _ITERATIONS, _OF_MANY = 1_000, 20, 1
"""The best base measure is sought in 20 iterations for at most 1,000 words, and in one for more, as
each iteration looks at all pairs."""


@dataclass(frozen=True)
class OptimalBase:
    """The base measure that loses least, nearly, for words by Zipf's law.

    Attributes:
      exponent: tau.
    """

    exponent: float = 1.0

    def __call__(self, mechanism: Any, vocabulary: Vocabulary) -> ListedBase:
        """That of a vocabulary at the mechanism's epsilon."""
        iterations = _ITERATIONS if len(vocabulary) <= _FEW else _OF_MANY
        prior = 1 / np.arange(1.0, len(vocabulary) + 1)
        exponents = exponents_of(mechanism, vocabulary)
        shares = optimal_base(exponents, prior, iterations, threads=1).shares
        listed = dict(zip(vocabulary.words, shares.tolist(), strict=True))
        return ListedBase(listed, self.exponent, OPTIMAL)

    def as_dict(self) -> dict[str, Any]:
        """What names it, ready for JSON."""
        return {"kind": OPTIMAL, "exponent": self.exponent}


@dataclass(frozen=True)
class NumbersOfFile:
    """The numbers of a file, spread over the words: the first word has the largest.

    Attributes:
      source: the base measure that the file holds.
    """

    source: ListedBase

    def __call__(self, mechanism: Any, vocabulary: Vocabulary) -> ListedBase:  # noqa: ARG002
        """That of a vocabulary: from the largest number to the smallest, in even steps."""
        numbers = np.sort(np.fromiter(self.source.listed.values(), float))[::-1]
        rows = np.linspace(0, len(numbers) - 1, len(vocabulary)).astype(np.int64)
        listed = dict(zip(vocabulary.words, numbers[rows].tolist(), strict=True))
        return dataclasses.replace(self.source, listed=listed)

    def as_dict(self) -> dict[str, Any]:
        """What names it, ready for JSON."""
        return {**self.source.as_dict(), "spread_over": "words that the audit makes up"}


@dataclass(frozen=True)
class Fitted:
    """What is made for each vocabulary; nothing by default.

    Attributes:
      base: makes the base measure of santext or tem.
      model: makes the language model that fluent reads.
      exact: whether epsilon is what is guaranteed by a scan of each vocabulary, as with
        ``--constant exact``.
    """

    base: Callable[[Any, Vocabulary], BaseMeasure] | None = None
    model: Callable[[Vocabulary], LanguageModel] | None = None
    exact: bool = False

    def mechanism(
        self, plain: Any, vocabulary: Vocabulary, epsilons: tuple[float, ...] = ()
    ) -> Any:
        """The mechanism over a vocabulary; the constant is solved for further epsilons too."""
        if self == Fitted():
            return plain
        return _fitted(self, plain, vocabulary, tuple(sorted({plain.epsilon, *epsilons})))

    def as_dict(self) -> dict[str, Any]:
        """What names it, ready for JSON."""
        named = {
            "base": self.base.as_dict()
            if isinstance(self.base, OptimalBase | NumbersOfFile)
            else None,
            "language_model": self.model.as_dict() if isinstance(self.model, CutModel) else None,
            "constant": "exact" if self.exact else None,
        }
        return {name: value for name, value in named.items() if value}


@lru_cache(16)
def _fitted(fitted: Fitted, plain: Any, vocabulary: Vocabulary, epsilons: tuple[float, ...]) -> Any:
    mechanism = plain
    if fitted.base is not None:
        mechanism = dataclasses.replace(mechanism, base=fitted.base(plain, vocabulary))
    if fitted.model is not None:
        mechanism = dataclasses.replace(mechanism, model=fitted.model(vocabulary))
    if not fitted.exact:
        return mechanism
    levels = [
        solve(dataclasses.replace(mechanism, epsilon=epsilon), vocabulary) for epsilon in epsilons
    ]
    constant = constant_of(record_of(mechanism, vocabulary, levels))
    return dataclasses.replace(mechanism, constant=constant)
