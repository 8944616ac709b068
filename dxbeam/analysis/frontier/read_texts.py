"""Settings that read texts with a language model: what they release, and what attackers get.

Decoders and ``fluent`` release words that depend on those around them, so they are measured on
texts. The words are drawn and decoded by the code that releases corpora; each text is taken for one
sentence.

Who attacks. What a decoder releases is a guess at the originals from what the mechanism drew, so
one attacker takes the released text at its word. Another sees what was drawn, noisy vectors or
words, and reads it with context: no decoder's text tells more. Of ``fluent`` the attacker knows the
law exactly, as all that a word was drawn after is released (attackers/fluent_texts.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.analysis.attackers.channel import Channel
from dxbeam.analysis.attackers.context import (
    Candidates,
    Flags,
    candidates_for,
    read_texts,
    share_right,
)
from dxbeam.analysis.attackers.draws import draw
from dxbeam.analysis.attackers.fluent_texts import candidates_of_fluent
from dxbeam.analysis.attackers.noisy_context import candidates_from_vectors
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.attackers.word_pairs import WordPairs
from dxbeam.analysis.evaluate.language_scores import RARE
from dxbeam.analysis.frontier.compute import Estimate, Point
from dxbeam.analysis.measure.proportions import outcomes
from dxbeam.analysis.measure.read_words import model_of, released_by_reading
from dxbeam.analysis.measure.settings import Setting
from dxbeam.mechanisms.fluent import Fluent
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.text.decoding.reader import breaks_of_runs


class Drawn(NamedTuple):
    """Words of texts, and what became of them.

    Attributes:
      noisy: float64 [T, n], their noisy vectors; None where there are none.
      chosen: int64 [T], what the mechanism chose.
      released: int64 [T].
    """

    noisy: Floats | None
    chosen: Ids
    released: Ids


def release_texts(
    setting: Setting, ids: Ids, sizes: Sequence[int], random: Random, search: NeighborSearch
) -> Drawn:
    """Releases texts, each as one sentence.

    Args:
      setting: of one epsilon, that reads texts.
      ids: int64 [T], their words, one text after the other.
      sizes: how many words each has.
      random: uint64 [T, draws or more].
      search: the vocabulary.
    """
    mechanism, reading = setting.make(), setting.reading
    assert reading is not None
    numbers = random[:, : mechanism.draws(search.vocabulary.dimensions)]
    breaks = breaks_of_runs([(0, size) for size in sizes])
    released = released_by_reading(mechanism, reading, ids, numbers, breaks, search)
    if reading.decoder is None:
        return Drawn(None, released, released)
    drawn = draw(mechanism, None, ids, numbers, search)
    return Drawn(drawn.noisy, drawn.chosen, released)


def point_of_texts(
    setting: Setting,
    texts: Sequence[Ids],
    random: Random,
    prior: Prior,
    channel: Channel | None,
    following: WordPairs,
    search: NeighborSearch,
) -> tuple[Point, Drawn]:
    """What a setting leaves of texts and what attackers get, and what was released.

    Intervals are over texts.

    Args:
      setting: of one epsilon, that reads texts.
      texts: int64 arrays of ids, none empty.
      random: uint64 [T, draws or more], for all their words.
      prior: of both attackers.
      channel: of the drawn words, where these are what a decoder reads; else None.
      following: which words follow which, as attackers know it.
      search: the vocabulary.
    """
    mechanism, ids = setting.make(), np.concatenate(texts)
    ends = np.cumsum([len(text) for text in texts])[:-1]
    drawn = release_texts(setting, ids, [len(text) for text in texts], random, search)
    released = np.split(drawn.released, ends)
    rare = prior.shares < RARE
    close = np.where(outcomes(ids, drawn.released[:, None], search)[:, 0] <= 1, ids, -1)
    documents = _shares("unchanged", released, texts, rare)
    believed, noisy_vector = documents.pop("unchanged"), None
    if isinstance(mechanism, Fluent) and setting.reading and setting.reading.decoder is None:
        candidates = candidates_of_fluent(
            mechanism, model_of(setting.reading, search), released, prior, search
        )
        documents |= by_context(candidates, texts, following, rare, "")
        recovered = documents["single"]
    else:
        recovered = documents["context"] = believed
        documents["context_rare"] = documents["unchanged_rare"]
        if drawn.noisy is not None:
            candidates = candidates_from_vectors(mechanism, drawn.noisy, prior, search)
        else:
            assert channel is not None
            candidates = candidates_for(channel, drawn.chosen)
        documents |= by_context(candidates, texts, following, rare, "noisy_")
        if drawn.noisy is not None:
            noisy_vector = documents["noisy_single"]
    assert believed is not None
    assert recovered is not None
    useful = Estimate(*share_right(texts, np.split(close, ends)))
    name, epsilon, parameters = mechanism.name, mechanism.epsilon, setting.parameters_text
    estimates = useful, believed, recovered, noisy_vector, documents
    return Point(name, parameters, None, epsilon, len(ids), *estimates), drawn


def by_context(
    candidates: Candidates, texts: Sequence[Ids], following: WordPairs, rare: Flags, seen: str
) -> dict[str, Estimate | None]:
    """What who reads word by word and who reads with context get of texts, and of rare words.

    Args:
      candidates: for the words of all texts, one after the other.
      texts: int64 arrays of ids.
      following: which words follow which.
      rare: bool [N], which words are.
      seen: how the columns of these attackers begin: "" or "noisy_".
    """
    first = np.split(candidates.ids[:, 0], np.cumsum([len(text) for text in texts])[:-1])
    in_context = read_texts(candidates, texts, following)
    single = _shares(f"{seen}single", first, texts, rare)
    return single | _shares(f"{seen}context", in_context, texts, rare)


def _shares(
    name: str, guesses: Sequence[Ids], texts: Sequence[Ids], rare: Flags
) -> dict[str, Estimate | None]:
    of_rare = None
    if any(rare[text].any() for text in texts):
        of_rare = Estimate(*share_right(texts, guesses, rare))
    return {name: Estimate(*share_right(texts, guesses)), f"{name}_rare": of_rare}


def unchanged_rare(texts: Sequence[Ids], released: Ids, rare: Flags) -> Estimate:
    """The share of the rare words of texts that came out unchanged; at least one is in them."""
    ends = np.cumsum([len(text) for text in texts])[:-1]
    return Estimate(*share_right(texts, np.split(released, ends), rare))
