"""The truncated exponential mechanism: all words beyond a distance gamma are alike.

Carvalho, Vasiloudis, Feyisetan: TEM: high utility metric differential privacy on text (2021),
algorithm 1. Words within gamma have the score -d; one more candidate stands for the k others, with
the score -gamma + (2 / epsilon) ln k, and if it is drawn one of them is, uniformly. That is the
exponential mechanism with the score -min(d, gamma): each of the others has the share
exp(-epsilon gamma / 2). (Published code has ln(N / (N - k)) for ln k, which is another
distribution.)

Proof. min(d, gamma) is a metric, so the proof of santext.py holds with it: the exponent is at most
epsilon min(d(x, x'), gamma), and never more than epsilon gamma. With public weights of words the
same holds in another metric, and never more than epsilon gamma plus two weights: importance.py. A
public base measure changes no bound: base_measure.py. What is lost in one vocabulary may be
less (exact_constant.py); gamma is then that of the guaranteed epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import EUCLIDEAN, Guarantee, at_most, pure
from dxbeam.mechanisms.constants.exact_constant import ExactConstant
from dxbeam.mechanisms.parameters import ADDED_LATER, checked_epsilon, checked_share, settle
from dxbeam.mechanisms.public.base_measure import BaseMeasure
from dxbeam.mechanisms.public.importance import Importance
from dxbeam.mechanisms.public.weighed_choice import WeighedChoice
from dxbeam.mechanisms.sampling.exponential_choice import ROUNDED_CHOICE


@dataclass(frozen=True)
class TEM(WeighedChoice):
    """Word to word, by distances up to gamma; ``WeighedChoice`` says what parameters it shares.

    Attributes:
      beta: probability, at most, that for a word of the vocabulary one at gamma or beyond is
        released (for unknown words it may be larger: no word is at their own place); from it
        follows gamma = (2 / epsilon) ln((1 - beta) (N - 1) / beta) (section 4 of the paper). With a
        base measure it says nothing but how large gamma is.
    """

    epsilon: float
    beta: float = 0.001
    importance: Importance | None = field(default=None, metadata=ADDED_LATER, kw_only=True)
    base: BaseMeasure | None = field(default=None, metadata=ADDED_LATER, kw_only=True)
    constant: ExactConstant | None = field(default=None, metadata=ADDED_LATER, kw_only=True)

    name: ClassVar[str] = "tem"

    def __post_init__(self) -> None:
        settle(self, epsilon=checked_epsilon(self.epsilon))
        meaning = "the largest probability that a word of the vocabulary becomes one beyond gamma"
        beta = checked_share("beta", self.beta, meaning)
        if not 0 < beta < 0.5:
            raise ConfigurationError(f"beta must be above 0 and below 0.5, not {beta:g}: {meaning}")
        settle(self, beta=beta)
        self._check_public_values()

    def gamma(self, words: int) -> float:
        """The distance from which on words are alike, in units of the embedding."""
        odds = (1 - self.beta) * max(words - 1, 1) / self.beta
        return max(0.0, 2 / self.epsilon * math.log(odds))

    def guarantee(self) -> Guarantee:
        """Pure epsilon * min(Euclidean distance, gamma), for every pair; with weights more."""
        odds = (1 - self.beta) / self.beta
        promise = pure(
            self.epsilon,
            "Carvalho et al. 2021, theorem 1; proof in dxbeam/mechanisms/tem.py",
            EUCLIDEAN.limited(
                f"but at most gamma = (2 / {self.epsilon:.12g}) ln({at_most(odds)} (N - 1)), N "
                "being the number of its words"
            ),
            arithmetic=ROUNDED_CHOICE,
        )
        return self._with_public_values(replace(promise, far_odds=odds))
