"""What attackers with a model get of texts (attackers/models), as the frontier has it.

They release pieces of public text under the setting by the code that releases the texts, with other
random numbers, learn from them, and read the texts. All see what is released. One that is trained
and one that brings a language model see noisy vectors, too, which no release shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dxbeam.analysis.attackers.channel import Channel
from dxbeam.analysis.attackers.context import Candidates, share_right
from dxbeam.analysis.attackers.draws import draw
from dxbeam.analysis.attackers.models.learned import pieces
from dxbeam.analysis.attackers.models.pairs import Pairs
from dxbeam.analysis.attackers.models.released_texts import (
    Attackers,
    Column,
    Guesses,
    Public,
    guess_released,
    guess_with_model,
    learn_from,
)
from dxbeam.analysis.attackers.models.with_model import PUBLIC_WORDS
from dxbeam.analysis.attackers.noisy_context import candidates_from_vectors
from dxbeam.analysis.evaluate.language_scores import RARE
from dxbeam.analysis.frontier.compute import Estimate
from dxbeam.analysis.frontier.read_texts import Drawn, release_texts
from dxbeam.analysis.measure.settings import Setting
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch

NOISY_SHARE = 3
"""Noisy vectors take longer to look up, so this part of the training words is read from them."""

_AT_ONCE = 10_000


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
            drawn = draw(setting.make(), rank_c, ids, random(len(ids)), search)
            parts.append(Drawn(drawn.noisy, drawn.chosen, drawn.released))
    noisy = [part.noisy for part in parts if part.noisy is not None]
    return Drawn(
        np.concatenate(noisy) if noisy else None,
        np.concatenate([part.chosen for part in parts]),
        np.concatenate([part.released for part in parts]),
    )


def noisy_guesses(
    setting: Setting,
    noisy: Floats,
    sizes: Sequence[int],
    rehearsed: Pairs,
    public: Public,
    attackers: Attackers,
    search: NeighborSearch,
) -> Guesses:
    """What attackers with a model read of noisy vectors; those that ask an endpoint see none.

    Args:
      setting: whose noise has a known density.
      noisy: float64 [T, n], of texts, one after the other.
      sizes: how many words each text has.
      rehearsed: pieces of public text, and their noisy vectors.
      public: what the attackers know.
      attackers: who attacks.
      search: the vocabulary.
    """
    mechanism = setting.make()

    def candidates(seen: Ids | Floats) -> Candidates:
        vectors = np.asarray(seen, np.float64)
        return candidates_from_vectors(mechanism, vectors, public.prior, search)

    learned = model = None
    own = candidates(rehearsed.seen)
    if attackers.learned:
        learned = learn_from(rehearsed, own, candidates, public, search).guesses(noisy, sizes)
    if attackers.model is not None:
        model = guess_with_model(noisy, sizes, rehearsed, own, candidates, public, attackers.model)
    return Guesses(learned, model)


def estimates_with_models(
    setting: Setting,
    rank_c: float | None,
    texts: Sequence[Ids],
    drawn: Drawn,
    channel: Channel | None,
    public: Public,
    attackers: Attackers,
    random: Callable[[int], Random],
    search: NeighborSearch,
) -> dict[str, Estimate]:
    """The share of words of texts, and of rare ones, that attackers with a model get.

    Args:
      setting: of one epsilon.
      rank_c: of rank resampling; None for none.
      texts: int64 arrays of ids, none empty.
      drawn: what became of their words; without noisy vectors, nobody reads any.
      channel: of single words; None for a setting that reads texts.
      public: what attackers know.
      attackers: who attacks.
      random: gives the random numbers of B further words.
      search: the vocabulary.
    """
    sizes, rare = [len(text) for text in texts], public.prior.shares < RARE
    estimates: dict[str, Estimate] = {}

    def counted(column: Column) -> None:
        name, (_, originals, guesses) = column.name, column.read()
        if originals:
            estimates[name] = Estimate(*share_right(originals, guesses))
        if any(rare[text].any() for text in originals):
            estimates[f"{name}_rare"] = Estimate(*share_right(originals, guesses, rare))

    few = channel is not None and not attackers.learned
    originals = pieces(public.texts, PUBLIC_WORDS if few else attackers.public_words)
    rehearsed = Pairs(originals, release(setting, rank_c, originals, random, search).released)
    guesses = guess_released(drawn.released, sizes, rehearsed, channel, public, attackers, search)
    for column in guesses.columns(texts):
        counted(column)
    if drawn.noisy is not None and (attackers.learned or attackers.model is not None):
        words = attackers.public_words // NOISY_SHARE if attackers.learned else PUBLIC_WORDS
        fewer = pieces(public.texts, words)
        noisy = release(setting, rank_c, fewer, random, search).noisy
        assert noisy is not None
        guesses = noisy_guesses(
            setting, drawn.noisy, sizes, Pairs(fewer, noisy), public, attackers, search
        )
        for column in guesses.columns(texts):
            counted(column._replace(name=f"noisy_{column.name}"))
    return estimates


def _block_starts(ends: Ids) -> Ids:
    """Where blocks of about ``_AT_ONCE`` words begin: numbers of texts, the first left out."""
    return np.flatnonzero(np.diff(ends // _AT_ONCE)) + 1
