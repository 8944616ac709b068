"""Whether a rare word survives: a name, an illness, a number.

A release is most telling where it is read for a few words. A list of them is released again and
again, and each attacker counted on these words only. Its prior is what it is everywhere else, from
public text in which these words are rare, so it guesses one only where the evidence is strong.
"""

from __future__ import annotations

import numpy as np

from dxbeam.analysis.attackers.channel import Channel
from dxbeam.analysis.attackers.draws import draw
from dxbeam.analysis.attackers.single_words import attack_all
from dxbeam.analysis.attackers.success import Success
from dxbeam.mechanisms import Mechanism
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch


def rare_in(counts: Ids, most: int) -> Ids:
    """Words of the vocabulary that a text holds so often at most: int64 [N] -> int64 [R]."""
    return np.flatnonzero(counts <= most)


def survival(
    mechanism: Mechanism,
    rank_c: float | None,
    words: Ids,
    repeats: int,
    random: Random,
    channel: Channel,
    search: NeighborSearch,
) -> dict[str, Success]:
    """How often each attacker recovers words of a list that are released again and again.

    The share is one over words of the list, each counted alike. For a given list the releases are
    independent, and Clopper-Pearson intervals are conservative.

    Args:
      mechanism: with its epsilon.
      rank_c: of rank resampling; None for none.
      words: int64 [R], the list.
      repeats: how often each is released.
      random: uint64 [R * repeats, draws_needed or more].
      channel: of mechanism and rank resampling together, with the prior all attackers have.
      search: the vocabulary.
    """
    drawn = draw(mechanism, rank_c, np.repeat(words, repeats), random, search)
    return attack_all(mechanism, drawn, channel, search)
