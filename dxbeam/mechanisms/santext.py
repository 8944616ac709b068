"""A word drawn with probability proportional to exp(-epsilon d / 2): the exponential mechanism.

Yue, Du, Wang, Li, Sun, Chow: Differential privacy for text analytics via natural text sanitization
(2021), SanText, with Euclidean distance.

Proof. Replacing x by x' changes each weight exp(-epsilon d(x, w) / 2) by a factor of at most
exp(epsilon d(x, x') / 2) (triangle inequality), and so their sum by at most as much. With public
weights of words the same holds in another metric: importance.py. A public base measure changes no
bound: base_measure.py. What is lost in one vocabulary may be less: exact_constant.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from dxbeam.guarantees import Guarantee, pure
from dxbeam.mechanisms.constants.exact_constant import ExactConstant
from dxbeam.mechanisms.parameters import ADDED_LATER, checked_epsilon, settle
from dxbeam.mechanisms.public.base_measure import BaseMeasure
from dxbeam.mechanisms.public.importance import Importance
from dxbeam.mechanisms.public.weighed_choice import WeighedChoice
from dxbeam.mechanisms.sampling.exponential_choice import ROUNDED_CHOICE


@dataclass(frozen=True)
class SanText(WeighedChoice):
    """Word to word, by distances only; ``WeighedChoice`` says what its parameters are."""

    epsilon: float
    importance: Importance | None = field(default=None, metadata=ADDED_LATER, kw_only=True)
    base: BaseMeasure | None = field(default=None, metadata=ADDED_LATER, kw_only=True)
    constant: ExactConstant | None = field(default=None, metadata=ADDED_LATER, kw_only=True)

    name: ClassVar[str] = "santext"

    def __post_init__(self) -> None:
        settle(self, epsilon=checked_epsilon(self.epsilon))
        self._check_public_values()

    def guarantee(self) -> Guarantee:
        """Pure epsilon * Euclidean distance, for every pair of strings; with weights more."""
        citation = "Yue et al. 2021, theorem 1; McSherry and Talwar 2007, theorem 6"
        return self._with_public_values(pure(self.epsilon, citation, arithmetic=ROUNDED_CHOICE))
