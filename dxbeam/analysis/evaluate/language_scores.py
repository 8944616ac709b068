"""What a public language model says of texts: which words are rare, and how likely a text is.

The model is a judge here and reads what is released anyway. Perplexity is exp of the mean of
-ln p(word | the words before it in its sentence), of the vocabulary and the unknown word; a model
that also decoded the text finds it likelier than others do. It is gamed by text that says nothing
("the the the"), so it is next to shares of words that came back.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dxbeam.language.model import LanguageModel
from dxbeam.language.sentences import sentence_ends
from dxbeam.space.search.neighbors import Floats, Ids

RARE = 1e-4
"""Words that the model holds for less probable count as rare: about a quarter of running text."""


def is_rare(model: LanguageModel, ids: Ids) -> npt.NDArray[np.bool_]:
    """Which words of the vocabulary are rare: int64 [T] -> bool [T], False for unknown words."""
    return np.asarray((ids >= 0) & (model.prior[ids] < RARE))


def commonest(model: LanguageModel) -> int:
    """The most probable word of the vocabulary: its id."""
    return int(model.prior[: model.words].argmax())


def sentence_begins(gaps: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Where sentences begin: what is before, between and behind T words -> bool [T]."""
    begins = np.array([sentence_ends(gap) for gap in gaps[:-1]], bool)
    begins[:1] = True
    return begins


def losses(model: LanguageModel, ids: Ids, begins: npt.NDArray[np.bool_]) -> Floats:
    """-ln p of each word after the one before it, or at the start of its sentence: float64 [T].

    Args:
      model: of order 2; of a model of order 3 its pairs of words are used.
      ids: int64 [T], UNKNOWN for words outside the vocabulary.
      begins: bool [T], where sentences begin; the first word always does.
    """
    if not len(ids):
        return np.zeros(0)
    before = np.append(np.int64(model.start), ids[:-1])
    before[begins] = model.start
    stored = model.corrections(before[:, None], ids[:, None])[:, 0, 0]
    return -np.log(model.backoff(before) * model.continuation[ids] + stored)
