"""The attacker that has learnt to invert a setting: a sequence model, trained on its own releases.

It takes public text, releases it under the stated setting with other random numbers, and so has as
many pairs of releases and originals as it likes. Of each released word, or noisy vector, it has
what the attacker with context has: candidates and their probability given the whole text, by a
model of which words follow which (context.py). A bidirectional recurrent network
(sequence_model.py) then reads the text as a sequence of mean candidate vectors and adds a score to
each candidate. So it can learn what pairs of words do not say: longer context, what the channel
does not know, and where the released word is best believed.

Training starts from the attacker with context, whose answers an untrained network repeats, and
stops where held-out public text is read best, be it at the start. So it is at least as good as that
attacker on text like the public one, up to chance. How good it is on private text is measured on
text that neither has seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dxbeam.analysis.attackers.context import Candidates, posteriors
from dxbeam.analysis.attackers.models.neural import neural
from dxbeam.analysis.attackers.models.reads import Read, rows_of
from dxbeam.analysis.attackers.word_pairs import WordPairs
from dxbeam.errors import CorpusError
from dxbeam.space.search.neighbors import Ids

TRAINING_WORDS = 60_000
"""Words of public text that are released to learn from."""

PIECE = 40
"""Words of a piece of public text, at most; pieces are cut by counting only."""

_HELD_OUT = 8
"""The last of eight equal parts is held out: pieces of one document share rare words, so that
every eighth piece would be read well by who knows the other pieces by heart."""

_LEAST_PIECES = 2 * _HELD_OUT


class SequenceModel(Protocol):
    """What training returns; ``sequence_model.py`` makes it."""

    def guesses(self, read: Read) -> list[Ids]:
        """The best word at each place of each text."""
        ...


def read_with_context(
    candidates: Candidates, sizes: Sequence[int], pairs: WordPairs, released: Ids | None = None
) -> Read:
    """What the network is shown.

    Args:
      candidates: of the words of all texts, one text after the other.
      sizes: how many words each text has; none has none.
      pairs: which words follow which.
      released: int64 [T], the released words, where they are what is seen.
    """
    read = Read(candidates, candidates.posterior, sizes, released)
    rows = [posteriors(rows_of(candidates, part), pairs) for part in read.parts()]
    return read._replace(in_context=np.concatenate(rows))


def pieces(texts: Sequence[Ids], words: int = TRAINING_WORDS) -> list[Ids]:
    """Public text in pieces, spread evenly over it, of about N words in all.

    Args:
      texts: int64 arrays of ids.
      words: how many are wanted.

    Raises:
      CorpusError: there is too little text.
    """
    every = [
        text[start : start + PIECE]
        for text in texts
        for start in range(0, len(text), PIECE)
        if len(text[start : start + PIECE]) > 1
    ]
    held = sum(map(len, every))
    kept = every[:: max(1, held // words)]
    if len(kept) < _LEAST_PIECES:
        raise CorpusError(
            f"the public text has {len(kept)} stretches of two or more known words, and an "
            f"attacker that learns needs {_LEAST_PIECES} at least; name a larger text"
        )
    return kept


def learn(originals: Sequence[Ids], read: Read, vectors: Any, seed: int) -> SequenceModel:
    """Trains a network on releases of public text; the last eighth says when to stop.

    Args:
      originals: the pieces, as ``pieces`` gives them.
      read: their releases.
      vectors: float32 [N, n], of the vocabulary.
      seed: of the order of pieces and of the network's first weights.

    Raises:
      ConfigurationError: PyTorch is not installed.
    """
    first = len(originals) - len(originals) // _HELD_OUT
    used, held = range(first), range(first, len(originals))
    training = (read.some(used), [originals[i] for i in used])
    stopping = (read.some(held), [originals[i] for i in held])
    model: SequenceModel = _network().trained(training, stopping, vectors, seed)
    return model


def check_installed() -> None:
    """Raises a ConfigurationError where PyTorch is not installed."""
    _network()


def _network() -> Any:
    return neural("dxbeam.analysis.attackers.models.sequence_model", "`attackers` learned")
