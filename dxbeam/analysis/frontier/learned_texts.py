"""What the attacker gets that has learnt to invert a setting (attackers/learned.py), on texts.

It releases pieces of public text under the setting by the code that releases the texts, with other
random numbers, learns from them, and reads the texts. One sees what is released, another the noisy
vectors, which no release shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.analysis.attackers.channel import Channel
from dxbeam.analysis.attackers.context import Candidates, candidates_for, share_right
from dxbeam.analysis.attackers.draws import draw
from dxbeam.analysis.attackers.estimated_channel import estimated_channel
from dxbeam.analysis.attackers.learned import (
    TRAINING_WORDS,
    SequenceModel,
    learn,
    pieces,
    read_with_context,
)
from dxbeam.analysis.attackers.noisy_context import candidates_from_vectors
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.attackers.word_pairs import WordPairs
from dxbeam.analysis.evaluate.language_scores import RARE
from dxbeam.analysis.frontier.compute import Estimate
from dxbeam.analysis.frontier.read_texts import Drawn, release_texts
from dxbeam.analysis.measure.plan import Setting
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch

NOISY_SHARE = 3
"""Noisy vectors take longer to look up, so this part of the training words is read from them."""

_AT_ONCE = 10_000

_SEED = 0
"""Of training; what is released and attacked differs by its own numbers."""


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


class Trained(NamedTuple):
    """An attacker that has learnt.

    Attributes:
      candidates: makes candidates of what it sees, of released words or of noisy vectors.
      following: which words follow which.
      model: the network.
    """

    candidates: Callable[[Ids | Floats], Candidates]
    following: WordPairs
    model: SequenceModel

    def guesses(self, seen: Ids | Floats, sizes: Sequence[int]) -> list[Ids]:
        """The best word at each place of texts.

        Args:
          seen: released words or noisy vectors, one text after the other.
          sizes: how many words each text has.
        """
        released = seen if seen.ndim == 1 else None
        read = read_with_context(self.candidates(seen), sizes, self.following, released)
        return self.model.guesses(read)


def release(
    setting: Setting,
    rank_c: float | None,
    texts: Sequence[Ids],
    random: Callable[[int], Random],
    search: NeighborSearch,
) -> Drawn:
    """Releases texts under a setting, as corpora are released.

    Args:
      setting: of one epsilon.
      rank_c: of rank resampling; None for none.
      texts: int64 arrays of ids, none empty.
      random: gives the random numbers of B further words.
      search: the vocabulary.
    """
    parts: list[Drawn] = []
    ends = np.cumsum([len(text) for text in texts])
    for block in np.split(np.arange(len(texts)), _block_starts(ends)):
        some = [texts[i] for i in block]
        ids = np.concatenate(some)
        if setting.reading:
            sizes = [len(text) for text in some]
            parts.append(release_texts(setting, ids, sizes, random(len(ids)), search))
        else:
            drawn = draw(setting.made(), rank_c, ids, random(len(ids)), search)
            parts.append(Drawn(drawn.noisy, drawn.chosen, drawn.released))
    noisy = [part.noisy for part in parts if part.noisy is not None]
    return Drawn(
        np.concatenate(noisy) if noisy else None,
        np.concatenate([part.chosen for part in parts]),
        np.concatenate([part.released for part in parts]),
    )


def learn_released(
    originals: Sequence[Ids],
    released: Ids,
    channel: Channel | None,
    public: Public,
    search: NeighborSearch,
    seed: int,
) -> Trained:
    """Learns from what was released of public text.

    Args:
      originals: pieces of public text.
      released: int64 [T], what was released for their words.
      channel: of single words; None to estimate it from these pairs, where a setting reads texts.
      public: what the attacker knows.
      search: the vocabulary.
      seed: of the training.
    """
    if channel is None:
        channel = estimated_channel(np.concatenate(originals), released, public.prior, search)
    known = channel

    def candidates(seen: Ids | Floats) -> Candidates:
        return candidates_for(known, np.asarray(seen, np.int64))

    return _learnt(originals, released, candidates, public, search, seed)


def learn_noisy(
    setting: Setting,
    originals: Sequence[Ids],
    noisy: Floats,
    public: Public,
    search: NeighborSearch,
    seed: int,
) -> Trained:
    """Learns from noisy vectors of public text; arguments as ``learn_released``.

    Args:
      setting: whose noise has a known density.
      originals: pieces of public text.
      noisy: float64 [T, n], the noisy vectors of their words.
      public: what the attacker knows.
      search: the vocabulary.
      seed: of the training.
    """
    mechanism = setting.made()

    def candidates(seen: Ids | Floats) -> Candidates:
        vectors = np.asarray(seen, np.float64)
        return candidates_from_vectors(mechanism, vectors, public.prior, search)

    return _learnt(originals, noisy, candidates, public, search, seed)


def learned_estimates(
    setting: Setting,
    rank_c: float | None,
    texts: Sequence[Ids],
    drawn: Drawn,
    channel: Channel | None,
    public: Public,
    random: Callable[[int], Random],
    search: NeighborSearch,
) -> dict[str, Estimate]:
    """The share of words of texts, and of rare ones, that attackers get who have learnt.

    Args:
      setting: of one epsilon.
      rank_c: of rank resampling; None for none.
      texts: int64 arrays of ids, none empty.
      drawn: what became of their words; without noisy vectors, nobody reads any.
      channel: of single words; None for a setting that reads texts.
      public: what attackers know.
      random: gives the random numbers of B further words.
      search: the vocabulary.
    """
    sizes, rare = [len(text) for text in texts], public.prior.shares < RARE
    any_rare = any(rare[text].any() for text in texts)
    estimates: dict[str, Estimate] = {}

    def tried(name: str, trained: Trained, seen: Ids | Floats) -> None:
        guesses = trained.guesses(seen, sizes)
        estimates[name] = Estimate(*share_right(texts, guesses))
        if any_rare:
            estimates[f"{name}_rare"] = Estimate(*share_right(texts, guesses, rare))

    own = training_pieces(public, noisy=False)
    released = release(setting, rank_c, own, random, search)
    trained = learn_released(own, released.released, channel, public, search, _SEED)
    tried("learned", trained, drawn.released)
    if drawn.noisy is not None:
        fewer = training_pieces(public, noisy=True)
        noisy = release(setting, rank_c, fewer, random, search).noisy
        assert noisy is not None
        trained = learn_noisy(setting, fewer, noisy, public, search, _SEED)
        tried("noisy_learned", trained, drawn.noisy)
    return estimates


def _learnt(
    originals: Sequence[Ids],
    seen: Ids | Floats,
    candidates: Callable[[Ids | Floats], Candidates],
    public: Public,
    search: NeighborSearch,
    seed: int,
) -> Trained:
    sizes = [len(text) for text in originals]
    released = seen if seen.ndim == 1 else None
    read = read_with_context(candidates(seen), sizes, public.following, released)
    model = learn(originals, read, search.vocabulary.vectors, seed)
    return Trained(candidates, public.following, model)


def training_pieces(public: Public, noisy: bool) -> list[Ids]:
    """The pieces of public text that an attacker releases itself."""
    return pieces(public.texts, TRAINING_WORDS // (NOISY_SHARE if noisy else 1))


def _block_starts(ends: Ids) -> Ids:
    """Where blocks of about ``_AT_ONCE`` words begin: numbers of texts, the first left out."""
    return np.flatnonzero(np.diff(ends // _AT_ONCE)) + 1
