"""Words drawn with probability proportional to exp(-rate * min(d, cap)), without N distances.

With public weights rho of words (importance.py) the probability of a word y other than the original
x is lower by the factor exp(-(rho(x) + rho(y)) / 2), and with a public base measure q
(base_measure.py) that of every word by q(y), of which more below.

The exponential mechanism (McSherry, Talwar: Mechanism design via differential privacy, 2007) over
a vocabulary wants every distance from the original word. Rejection needs a few: with the first
words around it, at exact distances, and D the distance of the last of them,

    e(w) = exp(-rate * min(d(w), cap))  for these words,   exp(-rate * min(D, cap))  for all words,

added up, is nowhere below the distribution wanted, as every other word is at D or beyond. A word
is drawn in proportion to e; one that came of the second part is accepted with probability
exp(-rate * (min(d, cap) - min(D, cap))) unless it belongs to the first, and after a rejection all
starts anew. What is accepted has exactly the distribution wanted. A word has random numbers for a
fixed number of rounds; what is still open after the last is drawn by all N distances. Rejections do
not depend on what is accepted, so this changes nothing in the distribution.

With public weights all of this stays, but for two things. What is drawn from among all words is
proposed not uniformly but in proportion to exp(-rho(y) / 2), by binary search in one public table
of N sums; so the weights of near words and the bound of all others, times exp(-rho(x) / 2), are
nowhere below the distribution wanted, and words are accepted with the same probability as before,
however many have a weight. And x itself, whose probability the weights do not lower, must be among
the first words: it is the very first.

How near to the distribution floating point comes, u = 2^-53 being the unit roundoff. Every word's
probability is within a factor 1 +- 2^-28 of the exact one, down to probabilities of 2^-900, for up
to 2^20 words and rate * distance up to 2^17:

- A uniform number is relatively exact down to 2^-960 (noise.py), and rare words are where it is
  small: sums run from the far words, all of them together, to the nearest one, so what was
  added up before a word is at most N + 129 times its own weight. The borders of its part of (0, 1]
  are off by a share of 3 u of themselves (the number, its product with the sum), and its length by
  one more rounding of the sum: by 7 (N + 129) u of the word's probability. The same holds for the
  sums over all N words, which run in the order of the weights' binary exponents, so that no addend
  is more than twice a later one.
- Distances are roots of sums of squares of differences, off by a share of 2^-49, so a weight is off
  by a share of rate * distance * 2^-49. Where all N are needed they are those of matrix products in
  float64, |w|^2 + |x|^2 - 2 w.x, off by at most E = (n + 4) u (|w| + |x|)^2 in the square; where
  rate * E / distance is above 2^-36, the vectors' difference is taken instead.
- A rejection is what is not accepted, so by the same shares it changes all words' probabilities
  alike. Rounds share the tails of their uniform numbers, one tail for what is proposed and one for
  whether it is accepted. Two rounds are not independent only where the earlier one's number is in
  the very part of 2^-64 that holds one of the 131 borders it is compared with: a share of
  64 * 131 * 2^-64 < 2^-50 of any word's probability.
- A base measure is divided by its largest value, so its factors are at most 1, and at least
  exp(-600) or 0. It is proposed by the same table as the weights are.
- With public weights, of at most 100, the first words and all words together are sorted by weight
  before they are added up, and so are the N factors, so the same holds. These numbers have a
  separate tail; the N borders that they are compared with add a share of 64 N 2^-64 <= 2^-38.

Words that are rarer than 2^-900 may never come, all in all with a probability of N 2^-900.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dxbeam.mechanisms.public.word_distribution import WordDistribution, public_factors
from dxbeam.mechanisms.sampling.all_distances import by_all_distances
from dxbeam.mechanisms.sampling.envelopes import FAR, Envelopes, KeptEnvelopes
from dxbeam.mechanisms.sampling.noise import TAIL_DRAWS, below, uniform
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, distances

DRAWS_PER_ROUND = 3
ROUNDS = 64
DRAWS = ROUNDS * DRAWS_PER_ROUND + 1 + 2 * TAIL_DRAWS
"""Random numbers per word: of the rounds, of the draw from all words, and the two tails."""

IMPORTANCE_DRAWS = DRAWS + TAIL_DRAWS
"""The same with public weights: the tail of where, among all words, a word is proposed."""


def draws_of(*public: object) -> int:
    """Random numbers per word, with weights or a base measure, each None for none."""
    return DRAWS if all(each is None for each in public) else IMPORTANCE_DRAWS


PROPOSAL_TAIL = slice(DRAWS - 2 * TAIL_DRAWS, DRAWS - TAIL_DRAWS)
_ACCEPTANCE_TAIL = slice(DRAWS - TAIL_DRAWS, DRAWS)
_PLACE_TAIL = slice(DRAWS, IMPORTANCE_DRAWS)

ROUNDED_CHOICE = (
    "The proof is for exact arithmetic. In 64-bit floating point every word's probability is "
    "within a factor of 1 +- 4e-9 of the exact one, down to probabilities of 2^-900 (for up to a "
    "million words, and epsilon times distances up to 250,000)."
)
"""What a guarantee says of computed choices; the derivation is above."""

_DISTRIBUTIONS = 4  # whose envelopes are kept: one for each epsilon of a run, up to this many


@dataclass(frozen=True)
class ChoiceSizes:
    """Sizes that decide how fast words are drawn, and change nothing in which.

    Attributes:
      around: how many first words are at exact distances; measured: 45 to 110 us a word at any
        epsilon, and with 65 of them 24 to 280.
      rounds: of rejection, ``ROUNDS`` at most.
      kept_words: of how many distinct words the envelopes are kept.
    """

    around: int = 129
    rounds: int = ROUNDS
    kept_words: int = 1 << 16


SIZES = ChoiceSizes()


def choose(
    ids: Ids,
    random: Random,
    distribution: WordDistribution,
    search: NeighborSearch,
    sizes: ChoiceSizes = SIZES,
) -> Ids:
    """Draws a word around each word: int64 [B], row i depending only on row i of ids and random.

    ``random`` is uint64 [B, DRAWS] or wider, [B, IMPORTANCE_DRAWS] with weights or a base measure.
    UNKNOWN stands for the unknown word's vector. With a neighbour table it is fast.
    """
    around = min(sizes.around, len(search.vocabulary))
    kept = search.computed_once("envelopes", lambda _: lru_cache(_DISTRIBUTIONS)(KeptEnvelopes))
    envelopes_of = kept(around, distribution, search, sizes.kept_words)
    chosen = np.full(len(ids), UNKNOWN)
    for positions, envelopes, rows in envelopes_of.parts(ids):
        chosen[positions] = _choose(
            ids[positions], random[positions], envelopes, rows, distribution, search, sizes
        )
    return chosen


def _choose(
    ids: Ids,
    random: Random,
    envelopes: Envelopes,
    rows: Ids,
    distribution: WordDistribution,
    search: NeighborSearch,
    sizes: ChoiceSizes,
) -> Ids:
    """As ``choose``, with the envelope of word i in row ``rows[i]`` of the envelopes."""
    vocabulary = search.vocabulary
    candidates = len(vocabulary) - distribution.first
    proposal_tail, acceptance_tail = random[:, PROPOSAL_TAIL], random[:, _ACCEPTANCE_TAIL]
    chosen = np.full(len(ids), UNKNOWN)
    undecided, slow = np.arange(len(ids)), ids
    public = public_factors(distribution, search)

    def anywhere(numbers: Random, these: Ids) -> Ids:
        if public is None:
            return distribution.first + below(candidates, numbers)
        return public.draw(numbers, random[these, _PLACE_TAIL])

    for start in range(0, sizes.rounds * DRAWS_PER_ROUND, DRAWS_PER_ROUND):
        if start == sizes.rounds // 2 * DRAWS_PER_ROUND:
            slow = ids[undecided]
        row = rows[undecided]
        which, where, whether = (random[undecided, start + i] for i in range(DRAWS_PER_ROUND))
        target = uniform(which, proposal_tail[undecided]) * envelopes.sums[row, -1]
        place = (envelopes.sums.take(row, axis=0) < target[:, None]).sum(axis=1)
        drawn = envelopes.near[row, place].astype(np.int64)
        accepted = drawn != FAR
        far = np.flatnonzero(~accepted)
        drawn[far] = anywhere(where[far], undecided[far])
        outside = ~(envelopes.near.take(row[far], axis=0) == drawn[far, None]).any(axis=1)
        apart = distances(
            vocabulary.vectors.take(drawn[far], axis=0),
            vocabulary.vectors_of(ids[undecided[far]]),
        )
        share = distribution.weights(apart, envelopes.smallest[row[far]])
        kept = uniform(whether[far], acceptance_tail[undecided[far]]) * envelopes.bound[row[far]]
        accepted[far] = outside & (kept <= share)
        chosen[undecided[accepted]] = drawn[accepted]
        undecided = undecided[~accepted]
        if not len(undecided):
            return chosen
    last = uniform(random[undecided, PROPOSAL_TAIL.start - 1], proposal_tail[undecided])
    words, rows = np.unique(ids[undecided], return_inverse=True)
    near = search.nearest_neighbors(words, min(sizes.around, len(vocabulary)))
    chosen[undecided] = by_all_distances(words, rows, near, last, slow, distribution, search)
    return chosen
