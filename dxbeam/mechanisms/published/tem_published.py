"""The truncated exponential mechanism as published code has it: far draws return the original.

Carvalho et al. 2021, algorithm 1, as in the package pypantera 1.0.2: if the candidate that is
for all words beyond gamma is drawn, one of them should be released, and an error on the way there
is answered with the original word. Where a word has nothing within gamma, it is always released as
it is: 90.5 % of GloVe's words at epsilon = 10. tem.py is what holds. Kept for comparison, and run
with --allow_unsound only.

A word outside the vocabulary has no id that could be returned (published code lets it through); the
word nearest to the unknown word's vector is released for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dxbeam.guarantees import Guarantee, nothing
from dxbeam.mechanisms.parameters import settle
from dxbeam.mechanisms.tem import TEM
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch


@dataclass(frozen=True)
class TEMPublished:
    """TEM whose far draws return the original, without a guarantee.

    Attributes:
      epsilon: the published privacy parameter, which bounds nothing.
      beta: as for tem.
    """

    epsilon: float
    beta: float = 0.001
    name: ClassVar[str] = "tem_published"

    def __post_init__(self) -> None:
        checked = TEM(self.epsilon, self.beta)
        settle(self, epsilon=checked.epsilon, beta=checked.beta)

    def draws(self, dimensions: int) -> int:
        """Random numbers per word."""
        return TEM(self.epsilon, self.beta).draws(dimensions)

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """A word within gamma for each word, or itself: int64 [B] -> int64 [B]."""
        tem = TEM(self.epsilon, self.beta)
        released = tem.release(ids, random, search)
        apart = search.distances(ids, released[:, None])[:, 0]
        far = apart > tem.gamma(len(search.vocabulary))
        return np.where(far, search.stand_ins(ids), released)

    def guarantee(self) -> Guarantee:
        """None: a word beyond gamma of another is never released for it, but is for itself."""
        return nothing(
            "measured",
            "words beyond gamma are replaced by the original; "
            "dxbeam/mechanisms/published/tem_published.py",
            ("A word with no other within gamma is always released as it is.",),
        )
