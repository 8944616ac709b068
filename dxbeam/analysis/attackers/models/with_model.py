"""The attackers that ask a model: what was seen times what it expects, and what it expects only.

With a model. A candidate x of the released word z_t is worth

    ln q(x) + w (ln p_model(x | the text around) - ln prior(x)),

q being either p(x | z_t) of the released word only, or p(x | text) of the attacker with context.
The text around is that attacker's best guess, as the released one is mostly noise. A model of one
field misleads in another, and words that are guessed wrongly mislead it, so which q and which w
between 0 and 1 are taken is chosen on public text that the attacker has released itself. With w = 0
it is one of the two attackers that it starts from. Where the released words themselves are right
more often on that text, it guesses these.

By masks (Yue et al.: Differential privacy for text analytics via natural text sanitization, 2021,
section 4.3). Each released word is hidden and the model guesses it from the others. It knows
nothing of the mechanism: what it gets, the words around give away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.analysis.attackers.context import Candidates
from dxbeam.analysis.attackers.models.learned import read_with_context
from dxbeam.analysis.attackers.models.reads import Read
from dxbeam.analysis.attackers.models.word_model import WordModel
from dxbeam.analysis.attackers.word_pairs import WordPairs
from dxbeam.space.search.neighbors import Floats, Ids

PUBLIC_WORDS = 2_000
"""Words of public text that the weight is chosen on."""

GUESSES = (1, 5, 10)
"""How many guesses are counted of who guesses by masks."""

_WEIGHTS = (0.0, 0.125, 0.25, 0.5, 0.75, 1.0)


class Weight(NamedTuple):
    """How much the model counts.

    Attributes:
      in_context: whether q is that of the attacker with context.
      weight: w.
    """

    in_context: bool
    weight: float


WEIGHTS = [Weight(in_context, weight) for in_context in (True, False) for weight in _WEIGHTS]
"""Those that are tried; of equally good ones the first is taken."""


class Judged(NamedTuple):
    """Texts, and what the model says of their candidates.

    Attributes:
      read: the texts as the attacker with context reads them.
      ratios: float64 [T, k], ln p_model(x | the text around) - ln prior(x).
    """

    read: Read
    ratios: Floats

    def guesses(self, weight: Weight) -> list[Ids]:
        """The best word at each place of each text."""
        ids, posterior, _ = self.read.candidates
        chances = self.read.in_context if weight.in_context else posterior
        with np.errstate(divide="ignore"):  # what cannot have been stays last
            scores = np.log(chances) + weight.weight * self.ratios
        best = np.take_along_axis(ids, scores.argmax(axis=1)[:, None], axis=1)[:, 0]
        return [best[part] for part in self.read.parts()]


def judged(
    candidates: Candidates, sizes: Sequence[int], pairs: WordPairs, model: WordModel
) -> Judged:
    """Asks the model.

    Args:
      candidates: of the words of all texts, one text after the other.
      sizes: how many words each text has; none has none.
      pairs: which words follow which.
      model: that a user brings.
    """
    read = read_with_context(candidates, sizes, pairs)
    best = read.in_context.argmax(axis=1)[:, None]
    guessed = np.take_along_axis(candidates.ids, best, axis=1)[:, 0]
    logs = [model.log_chances(guessed[part], candidates.ids[part]) for part in read.parts()]
    return Judged(read, np.concatenate(logs) - np.log(candidates.priors))


def best_weight(originals: Sequence[Ids], public: Judged) -> Weight:
    """The weight with which most words of public text are got.

    Args:
      originals: texts, int64 arrays of ids.
      public: their releases.
    """
    return max(WEIGHTS, key=lambda weight: right_of(originals, public.guesses(weight)))


def right_of(originals: Sequence[Ids], guesses: Sequence[Ids]) -> int:
    """How many words of texts are guessed."""
    return sum(int((a == b).sum()) for a, b in zip(guesses, originals, strict=True))


def by_masks(released: Sequence[Ids], model: WordModel) -> list[Ids]:
    """The words that a model expects in each place: int64 [T, 10] for each text.

    Args:
      released: texts, int64 arrays of ids.
      model: that a user brings.
    """
    return [model.likeliest(text, max(GUESSES)) for text in released]


def among(originals: Sequence[Ids], ranked: Sequence[Ids], first: int) -> list[Ids]:
    """The original where it is among the first guesses, else -1: as guesses that can be counted."""
    return [
        np.where((guesses[:, :first] == text[:, None]).any(axis=1), text, -1)
        for text, guesses in zip(originals, ranked, strict=True)
    ]
