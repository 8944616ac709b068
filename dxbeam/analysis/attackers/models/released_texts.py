"""What attackers with a model guess of released texts: trained, brought, or behind an endpoint.

All know which words follow which in public text, and have released some of it themselves under the
same setting. Where the setting's channel is not known, it is estimated from these pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.analysis.attackers.channel import Channel
from dxbeam.analysis.attackers.context import Candidates, candidates_for
from dxbeam.analysis.attackers.models.endpoint import EXAMPLES, Asking, reconstructed
from dxbeam.analysis.attackers.models.learned import (
    TRAINING_WORDS,
    SequenceModel,
    learn,
    read_with_context,
)
from dxbeam.analysis.attackers.models.pairs import Pairs, candidates_of_pairs, estimated_from
from dxbeam.analysis.attackers.models.with_model import (
    GUESSES,
    PUBLIC_WORDS,
    among,
    best_weight,
    by_masks,
    judged,
    right_of,
)
from dxbeam.analysis.attackers.models.word_model import WordModel
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.attackers.word_pairs import WordPairs
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch

SEED = 0
"""Of training; what is released and attacked differs by its own numbers."""

MakeCandidates = Callable[[Ids | Floats], Candidates]
"""Of released words, int64 [T], or of noisy vectors, float64 [T, n]."""


class Public(NamedTuple):
    """What attackers know.

    Attributes:
      prior: how frequent words are.
      following: which words follow which.
      texts: public text, int64 arrays of ids, from which both were learnt.
    """

    prior: Prior
    following: WordPairs
    texts: Sequence[Ids]


class Attackers(NamedTuple):
    """Who attacks, besides those that need no model.

    Attributes:
      learned: whether one trains a network.
      model: the model that another brings, or None.
      asking: asks the endpoint of a third, or None.
      public_words: how many words of public text they release to learn from.
    """

    learned: bool = False
    model: WordModel | None = None
    asking: Asking | None = None
    public_words: int = TRAINING_WORDS


class Column(NamedTuple):
    """What one attacker guessed.

    Attributes:
      name: of the column.
      originals: the texts.
      guesses: for each of them; None for one that it could not read.
    """

    name: str
    originals: Sequence[Ids]
    guesses: Sequence[Ids | None]

    def read(self) -> tuple[list[int], list[Ids], list[Ids]]:
        """Which texts it read, their originals and its guesses."""
        which = [number for number, guess in enumerate(self.guesses) if guess is not None]
        guesses = [guess for guess in self.guesses if guess is not None]
        return which, [self.originals[number] for number in which], guesses


class Guesses(NamedTuple):
    """The best word at each place of texts; None for an attacker that was not asked.

    Attributes:
      learned: of the one that trains a network.
      model: of the one that brings a model.
      masked: by the model only, with each released word hidden: int64 [T, 10], the best first.
      asked: of the one that asks an endpoint; None for a text without an answer.
    """

    learned: list[Ids] | None = None
    model: list[Ids] | None = None
    masked: list[Ids] | None = None
    asked: list[Ids | None] | None = None

    def columns(self, originals: Sequence[Ids]) -> Iterator[Column]:
        """What was guessed, next to the originals of the same texts."""
        if self.learned is not None:
            yield Column("learned", originals, self.learned)
        if self.model is not None:
            yield Column("model", originals, self.model)
        if self.masked is not None:
            for count in GUESSES:
                yield Column(f"masked_{count}", originals, among(originals, self.masked, count))
        if self.asked is not None:
            yield Column("endpoint", originals, self.asked)


def guess_released(
    released: Ids,
    sizes: Sequence[int],
    rehearsed: Pairs,
    channel: Channel | None,
    public: Public,
    attackers: Attackers,
    search: NeighborSearch,
) -> Guesses:
    """Trains and asks models, and reads texts.

    Args:
      released: int64 [T], the released words, one text after the other.
      sizes: how many words each text has.
      rehearsed: what the attackers have released themselves.
      channel: of single words; None to estimate it from their pairs.
      public: what they know.
      attackers: who attacks.
      search: the vocabulary.

    Raises:
      ConfigurationError: PyTorch is not installed, and a network is to be trained.
    """
    learned = model = masked = None
    if attackers.learned or attackers.model is not None:
        own = candidates_of_pairs(rehearsed, channel, public.prior, search)
        candidates = _of_released(channel or estimated_from(rehearsed, public.prior, search))
    if attackers.learned:
        trained = learn_from(rehearsed, own, candidates, public, search)
        learned = trained.guesses(released, sizes)
    if attackers.model is not None:
        model = guess_with_model(
            released, sizes, rehearsed, own, candidates, public, attackers.model
        )
        masked = by_masks(_by_text(released, sizes), attackers.model)
    asked = None
    if attackers.asking is not None:
        asked = _asked(released, sizes, rehearsed, attackers.asking, search)
    return Guesses(learned, model, masked, asked)


def guess_with_model(
    seen: Ids | Floats,
    sizes: Sequence[int],
    rehearsed: Pairs,
    own: Candidates,
    candidates: MakeCandidates,
    public: Public,
    model: WordModel,
) -> list[Ids]:
    """What the attacker with a language model guesses, of released words or of noisy vectors.

    It guesses the released words themselves where these are right more often in its own pairs.

    Args:
      seen: of the texts, one after the other.
      sizes: how many words each text has.
      rehearsed: what the attacker has released itself, on whose first words the weight is chosen.
      own: candidates of these pairs.
      candidates: makes candidates of what is seen.
      public: what it knows.
      model: that a user brings.
    """
    tried, _ = rehearsed.divided(PUBLIC_WORDS)
    first = own.of(slice(len(tried.seen)))
    tried_sizes = [len(text) for text in tried.originals]
    rehearsal = judged(first, tried_sizes, public.following, model)
    weight = best_weight(tried.originals, rehearsal)
    words = _words(seen)
    if words is not None:
        unread = _by_text(tried.released, tried_sizes)
        read = rehearsal.guesses(weight)
        if right_of(tried.originals, unread) > right_of(tried.originals, read):
            return _by_text(words, sizes)
    return judged(candidates(seen), sizes, public.following, model).guesses(weight)


def _asked(
    released: Ids, sizes: Sequence[int], rehearsed: Pairs, asking: Asking, search: NeighborSearch
) -> list[Ids | None]:
    """What an endpoint guesses; the first texts, as many as may be asked for."""
    vocabulary = search.vocabulary

    pieces_seen = _by_text(rehearsed.released, [len(text) for text in rehearsed.originals])
    pairs = zip(pieces_seen, rehearsed.originals, strict=True)
    examples = [
        (vocabulary.words_of(after), vocabulary.words_of(before)) for after, before in pairs
    ][:EXAMPLES]
    texts = [vocabulary.words_of(text) for text in _by_text(released, sizes)]
    guesses = reconstructed(texts, examples, asking)
    return [None if guess is None else vocabulary.ids_of(guess) for guess in guesses]


class Trained(NamedTuple):
    """An attacker that has learnt.

    Attributes:
      candidates: makes candidates of what it sees.
      following: which words follow which.
      model: the network.
    """

    candidates: MakeCandidates
    following: WordPairs
    model: SequenceModel

    def guesses(self, seen: Ids | Floats, sizes: Sequence[int]) -> list[Ids]:
        """The best word at each place of texts.

        Args:
          seen: released words or noisy vectors, one text after the other.
          sizes: how many words each text has.
        """
        read = read_with_context(self.candidates(seen), sizes, self.following, _words(seen))
        return self.model.guesses(read)


def _of_released(channel: Channel) -> MakeCandidates:
    def candidates(seen: Ids | Floats) -> Candidates:
        return candidates_for(channel, np.asarray(seen, np.int64))

    return candidates


def learn_from(
    rehearsed: Pairs,
    own: Candidates,
    candidates: MakeCandidates,
    public: Public,
    search: NeighborSearch,
) -> Trained:
    """Learns from what was seen of public text.

    Args:
      rehearsed: public text, and what was seen of it.
      own: candidates of these pairs.
      candidates: makes candidates of what is seen.
      public: what the attacker knows.
      search: the vocabulary.
    """
    originals, seen = rehearsed
    sizes = [len(text) for text in originals]
    read = read_with_context(own, sizes, public.following, _words(seen))
    model = learn(originals, read, search.vocabulary.vectors, SEED)
    return Trained(candidates, public.following, model)


def _words(seen: Ids | Floats) -> Ids | None:
    """The released words, where these are what is seen."""
    return np.asarray(seen, np.int64) if seen.ndim == 1 else None


def _by_text(words: Ids, sizes: Sequence[int]) -> list[Ids]:
    return np.split(words, np.cumsum(sizes)[:-1])
