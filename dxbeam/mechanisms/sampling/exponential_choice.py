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

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dxbeam.mechanisms.sampling.envelopes import FAR, Envelopes, KeptEnvelopes
from dxbeam.mechanisms.sampling.noise import TAIL_DRAWS, uniform
from dxbeam.mechanisms.sampling.word_distribution import WordDistribution, public_factors
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary, distances

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

ROWS_PER_PRODUCT = 64
"""Words are multiplied this many at a time, or fewer where N is large, the last ones filled up with
zeros: BLAS may sum in another order for a matrix of another shape, and what is released for a word
must not depend on the words next to it."""

_DISTRIBUTIONS = 4  # whose envelopes are kept: one for each epsilon of a run, up to this many
_WORDS_PER_BLOCK = 4096
_DISTANCES_AT_ONCE = 1 << 23  # float64: 64 MiB
_KEPT_PRODUCTS = 1 << 23  # float64: 64 MiB
_ROUNDOFF = 2.0**-53
_LARGEST_ERROR = 2.0**-36
"""Of an exponent, where a distance comes of matrix products."""


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
    """Draws a word around each word.

    Args:
      ids: int64 [B]; UNKNOWN stands for the unknown word's vector.
      random: uint64 [B, DRAWS] or wider; [B, IMPORTANCE_DRAWS] where the distribution has weights.
      distribution: what is drawn.
      search: the vocabulary; with a neighbour table it is fast.
      sizes: how much is computed at once and kept.

    Returns:
      int64 [B]; row i depends only on row i of ``ids`` and ``random``.
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
            return distribution.first + _below(candidates, numbers)
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
    chosen[undecided] = _by_all_distances(words, rows, near, last, slow, distribution, search)
    return chosen


def _below(count: int, random: Random) -> Ids:
    """Numbers in 0 … count - 1, each with probability 1/count but for 2^-64: uint64 -> int64."""
    high = (random >> np.uint64(32)) * np.uint64(count)
    low = ((random & np.uint64(0xFFFFFFFF)) * np.uint64(count)) >> np.uint64(32)
    result: Ids = ((high + low) >> np.uint64(32)).astype(np.int64)
    return result


def _by_all_distances(
    words: Ids,
    rows: Ids,
    near: Ids,
    shares: Floats,
    slow: Ids,
    distribution: WordDistribution,
    search: NeighborSearch,
) -> Ids:
    """The inverse distribution function, of all N probabilities.

    Args:
      words: int64 [K], distinct.
      rows: int64 [B], which of the words each is.
      near: int64 [K, k], the first words around each, at exact distances.
      shares: float64 [B], uniform numbers.
      slow: int64 [C], words for which many rounds were rejected.
      distribution: what is drawn.
      search: the vocabulary.
    """
    near_distances = search.distances(words, near)
    vectors = search.vocabulary.vectors_of(words)
    slow = np.setdiff1d(slow, words)
    squares = search.computed_once("squares", _squares)[distribution.first :]
    public = public_factors(distribution, search)
    drawn = np.empty(len(rows), np.int64)
    size = min(ROWS_PER_PRODUCT, max(4, _DISTANCES_AT_ONCE // len(squares)))
    for block in np.split(np.arange(len(words)), range(size, len(words), size)):
        products = _products_of(words[block], slow, size, distribution.first, search)
        for row, product in zip(block, products, strict=True):
            apart = _distances_from_products(
                product, vectors[row], squares, distribution, search.vocabulary
            )
            allowed = near[row] >= distribution.first
            apart[near[row][allowed] - distribution.first] = near_distances[row][allowed]
            never = None if public is None or public.staying is None else public.staying == 0
            smallest = apart.min() if never is None else apart[~never].min()
            weights = distribution.weights(apart, smallest)
            if public is not None:
                every, word = np.arange(len(weights)), words[row : row + 1]
                weights = public.times_factors(weights[None], word, every)[0]
            # Nearly from the smallest to the largest; numpy sorts 16-bit numbers in linear time.
            order = np.argsort(np.frexp(weights)[1].astype(np.int16), kind="stable")
            sums = np.cumsum(weights[order])
            these = np.flatnonzero(rows == row)
            place = np.searchsorted(sums, shares[these] * sums[-1])
            drawn[these] = distribution.first + order[place]
    return drawn


def _distances_from_products(
    product: Floats,
    vector: Floats,
    squares: Floats,
    distribution: WordDistribution,
    vocabulary: Vocabulary,
) -> Floats:
    """Distances of all words that may be drawn from one vector, float64 [N - first].

    Args:
      product: their scalar products with the vector, float64 [N - first].
      vector: float64 [n].
      squares: their squared lengths, float64 [N - first].
      distribution: what is drawn.
      vocabulary: the words.
    """
    square = np.square(vector).sum()
    apart = np.sqrt(np.maximum(squares + square - 2 * product, 0.0))
    # (|w| + |x|)^2 <= 2 |w|^2 + 2 |x|^2, and a distance is no nearer than its square allows.
    error = distribution.rate * 2 * (len(vector) + 4) * _ROUNDOFF * (squares + square)
    for inexact in _blocks(np.flatnonzero(error > _LARGEST_ERROR * apart)):
        apart[inexact] = distances(vocabulary.vectors[distribution.first + inexact], vector)
    return np.asarray(apart)


def _blocks(ids: Ids) -> list[Ids]:
    return np.split(ids, range(_WORDS_PER_BLOCK, len(ids), _WORDS_PER_BLOCK))


def _products_of(
    words: Ids, slow: Ids, size: int, first: int, search: NeighborSearch
) -> Sequence[Floats]:
    """Products of each word's vector with those from ``first`` on, float64 [N - first] each.

    A word of which all rounds were rejected at one epsilon may have the same fate at the next, so
    those of the first such words are kept, and rows that are left are filled with slow words.
    """
    kept: dict[int, Floats] = search.computed_once(("products", first), lambda _: {})
    numbers = words.tolist()
    if all(number in kept for number in numbers):
        return [kept[number] for number in numbers]
    others = [number for number in slow.tolist() if number not in kept][: size - len(words)]
    both = np.concatenate([words, np.array(others, np.int64)])
    padded = np.zeros((size, search.vocabulary.dimensions))
    padded[: len(both)] = search.vocabulary.vectors_of(both)
    products = _products(padded, search.vocabulary, first)
    for number, product in zip(both.tolist(), products, strict=False):
        if number not in kept and (1 + len(kept)) * product.size <= _KEPT_PRODUCTS:
            kept[number] = product.copy()
    return list(products[: len(words)])


def _products(queries: Floats, vocabulary: Vocabulary, first: int) -> Floats:
    products = np.empty((len(queries), len(vocabulary) - first))
    for start in range(first, len(vocabulary), _WORDS_PER_BLOCK):
        words = vocabulary.vectors[start : start + _WORDS_PER_BLOCK].astype(np.float64)
        products[:, start - first : start - first + len(words)] = queries @ words.T
    return products


def _squares(vocabulary: Vocabulary) -> Floats:
    blocks = np.array_split(vocabulary.vectors, len(vocabulary) // _WORDS_PER_BLOCK + 1)
    return np.concatenate([np.square(block, dtype=np.float64).sum(axis=1) for block in blocks])
