"""Distributions of the exponential family against exact enumeration, by chi-square.

False-alarm rate 1e-6 a test; broken copies show that the checks can fail.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dxbeam.mechanisms import Mechanism, make_mechanism
from dxbeam.mechanisms.public.word_distribution import WordDistribution
from dxbeam.mechanisms.published.truncated_gumbel import TruncatedGumbel, candidate_counts
from dxbeam.mechanisms.sampling.exponential_choice import (
    DRAWS,
    PROPOSAL_TAIL,
    ChoiceSizes,
    choose,
)
from dxbeam.space.artifact import artifact
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from tests.support import vocabularies
from tests.support.choice_sizes import WithSizes
from tests.support.distributions import (
    ALPHA,
    Floats,
    Ids,
    border,
    chi_square_p,
    exact_draw,
    judge,
    random_numbers,
)
from tests.support.vocabularies import with_neighbors

pytestmark = pytest.mark.slow

ROWS = 20_000
WORDS = 180
ORIGINALS = (0, 50, WORDS - 1, UNKNOWN)


def gaps(words: Vocabulary, original: int) -> Floats:
    """Distances from a word to all words, computed another way than the mechanism's."""
    vector = words.unknown_vector if original == UNKNOWN else words.vectors[original]
    return np.linalg.norm(words.vectors.astype(np.float64) - np.float64(vector), axis=1)


def softmax(scores: Floats) -> Floats:
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


def santext(words: Vocabulary, original: int, epsilon: float) -> Floats:
    return softmax(-epsilon / 2 * gaps(words, original))


def tem(words: Vocabulary, original: int, epsilon: float, beta: float = 0.001) -> Floats:
    """Algorithm 1 as it is written: words within gamma, and one candidate for all others."""
    apart = gaps(words, original)
    gamma = 2 / epsilon * np.log((1 - beta) * (len(words) - 1) / beta)
    within = apart <= gamma
    others = int((~within).sum())
    scores = np.append(-apart[within], -gamma + 2 / epsilon * np.log(others) if others else -np.inf)
    shares = softmax(epsilon / 2 * scores)
    distribution = np.zeros(len(words))
    distribution[within] = shares[:-1]
    distribution[~within] = shares[-1] / max(others, 1)
    return distribution


def santext_plus(words: Vocabulary, original: int, epsilon: float, p: float = 0.3) -> Floats:
    """A common word is replaced with probability p; the last 90 % are sensitive."""
    first = len(words) // 10
    distribution = np.zeros(len(words))
    distribution[first:] = softmax(-epsilon / 2 * gaps(words, original)[first:])
    if 0 <= original < first:
        distribution *= p
        distribution[original] += 1 - p
    return distribution


def truncated_gumbel(words: Vocabulary, original: int, epsilon: float) -> Floats:
    apart = gaps(words, original)
    order = np.argsort(apart, kind="stable")
    chances = -np.diff(candidate_counts(len(words)), append=0.0)
    distribution = np.zeros(len(words))
    for k, chance in enumerate(chances, start=1):
        distribution[order[:k]] += chance * softmax(-epsilon / 2 * apart[order[:k]])
    return distribution


DISTRIBUTIONS = {
    "santext": santext,
    "tem": tem,
    "santext_plus": santext_plus,
    "truncated_gumbel": truncated_gumbel,
}


def check(
    release: Callable[[Ids, Any, NeighborSearch], Ids],
    distribution: Callable[[int], Floats],
    words: Vocabulary,
    draws: int,
) -> None:
    search, p_values = NeighborSearch(words), {}
    for original in ORIGINALS:
        random = random_numbers(ROWS, draws, seed=original + 20)
        released = release(np.full(ROWS, original), random, search)
        counts = np.bincount(released, minlength=len(words))
        p_values[str(original)] = chi_square_p(counts, distribution(original))
    judge(p_values)


def check_mechanism(mechanism: Mechanism, words: Vocabulary, name: str) -> None:
    check(
        mechanism.release,
        lambda original: DISTRIBUTIONS[name](words, original, mechanism.epsilon),
        words,
        mechanism.draws(words.dimensions),
    )


def gumbel_of(number: int) -> type[TruncatedGumbel]:
    """The mechanism with this many rounds."""

    class FewRounds(TruncatedGumbel):
        rounds = number

    return FewRounds


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 20.0])
@pytest.mark.parametrize("name", sorted(DISTRIBUTIONS))
def test_released_words_have_the_enumerated_distribution(name: str, epsilon: float) -> None:
    check_mechanism(make_mechanism(name, epsilon=epsilon), with_neighbors(WORDS, 3), name)


@pytest.mark.parametrize(
    ("around", "rounds"), [(1, 64), (5, 64), (5, 1), (1, 0)], ids=["1", "5", "1 round", "none"]
)
@pytest.mark.parametrize("name", ["santext", "tem", "santext_plus"])
def test_rejection_has_no_influence_on_the_distribution(
    name: str, around: int, rounds: int
) -> None:
    """With few words around, nearly all are drawn of the envelope; with few rounds, by all N."""
    words, replaced = with_neighbors(WORDS, 3), {"p": 1.0} if name == "santext_plus" else {}
    mechanism = WithSizes(make_mechanism(name, epsilon=2.0), ChoiceSizes(around, rounds))
    check(
        mechanism.release,
        lambda original: DISTRIBUTIONS[name](words, original, 2.0, **replaced),
        words,
        mechanism.draws(words.dimensions),
    )


@pytest.mark.parametrize("rounds", [0, 1])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_rejection_has_no_influence_on_the_distribution_of_the_first_neighbours(
    rounds: int, epsilon: float
) -> None:
    mechanism = gumbel_of(rounds)(epsilon)
    check_mechanism(mechanism, with_neighbors(WORDS, 3), "truncated_gumbel")


@pytest.mark.parametrize("rounds", [0, 1, 64])
@pytest.mark.parametrize("name", ["santext", "santext_plus", "truncated_gumbel"])
def test_batches_have_no_influence_however_a_word_is_drawn(name: str, rounds: int) -> None:
    mechanism: Any = gumbel_of(min(rounds, 8))(1.0)
    if name != "truncated_gumbel":
        mechanism = WithSizes(make_mechanism(name, epsilon=1.0), ChoiceSizes(5, rounds))
    search = NeighborSearch(with_neighbors(2500, 50))
    ids = np.random.default_rng(0).integers(UNKNOWN, 2500, 500)
    random = random_numbers(500, mechanism.draws(50), seed=3)
    whole = mechanism.release(ids, random, search)
    order = np.random.default_rng(1).permutation(500)
    assert np.array_equal(mechanism.release(ids[order], random[order], search), whole[order])
    for size in (1, 7, 100):
        parts = [
            mechanism.release(ids[i : i + size], random[i : i + size], search)
            for i in range(0, 50 if size == 1 else 500, size)
        ]
        made = np.concatenate(parts)
        assert np.array_equal(made, whole[: len(made)])


@pytest.mark.parametrize(
    "distribution",
    [
        WordDistribution(1000.0),
        WordDistribution(3e5, first=60),
        WordDistribution(1e-6),
        WordDistribution(2.0, cap=1e-9),
    ],
)
def test_extreme_distributions_release_words_that_may_be_released(
    distribution: WordDistribution,
) -> None:
    search = NeighborSearch(with_neighbors(WORDS, 3))
    ids = np.array([0, 59, 60, UNKNOWN] * 200)
    chosen = choose(ids, random_numbers(800, DRAWS, seed=1), distribution, search)
    assert chosen.min() >= distribution.first
    if distribution.rate >= 1000:  # so steep that the nearest of the words that may be released is
        for original in (0, 59, 60, UNKNOWN):
            apart = gaps(search.vocabulary, original)[distribution.first :]
            assert set(chosen[ids == original]) == {distribution.first + int(apart.argmin())}


def rows_at(shares: dict[str, Fraction], where: int = 0) -> Any:
    """Random numbers of one word, with these uniform numbers in the first round and at the end."""
    row = random_numbers(1, DRAWS, seed=7)
    proposed, accepted = (
        exact_draw(shares.get(name, Fraction(1, 2))) for name in ("which", "whether")
    )
    row[0, :3] = proposed[0], where, accepted[0]
    row[0, PROPOSAL_TAIL.start - 1] = proposed[0]
    row[0, PROPOSAL_TAIL.start :] = np.concatenate([proposed[1:], accepted[1:]])
    return row


def parts(draw: Callable[[Fraction], int], words: int) -> list[Fraction]:
    """How long the part of (0, 1] is that gives each word, by bisection for every border."""
    found, start = [Fraction(0)] * words, Fraction(0)
    while start < 1:
        word = draw(start + start / 2**60)
        stop = start
        stop = border(lambda share, word=word, low=stop: share <= low or draw(share) == word)  # type: ignore[misc]
        found[word] += stop - start
        start = stop
    return found


def exact_distribution(words: Vocabulary, original: int, epsilon: float) -> list[Fraction]:
    """SanText's probabilities to 2^-100, of the distances that float64 has."""
    with localcontext() as context:
        context.prec = 60
        half = Decimal(epsilon) / 2
        apart = [Decimal(float(gap)) for gap in gaps(words, original)]
        weights = [(-half * gap).exp() for gap in apart]
        return [Fraction(weight / sum(weights)) for weight in weights]


TOLERANCE = 2.0**-28


@pytest.mark.parametrize("way", ["nearest words", "all words"])
def test_rare_words_come_with_their_exact_probability(way: str) -> None:
    """What ``choose`` gives for every uniform number, in probabilities from 1 to 2^-800."""
    words = vocabularies.line_vocabulary([0, 0.3, 1, 2.5, 2.5, 7, 12, 20, 31, 44, 57])
    search = NeighborSearch(words)
    sizes = ChoiceSizes(rounds=0 if way == "all words" else 64)
    for original, epsilon in ((0, 2.0), (3, 20.0)):
        distribution = exact_distribution(words, original, epsilon)

        def draw(share: Fraction, original: int = original, epsilon: float = epsilon) -> int:
            ids, row = np.array([original]), rows_at({"which": share})
            return int(choose(ids, row, WordDistribution(epsilon / 2), search, sizes)[0])

        for share, exact in zip(parts(draw, len(words)), distribution, strict=True):
            assert abs(share / exact - 1) < TOLERANCE


def test_rare_words_among_the_far_ones_come_with_their_exact_probability() -> None:
    """A round proposes far words together; each is then accepted with a separate share."""
    sizes = ChoiceSizes(around=4)
    places = [0, 0.3, 1, 2.5, 2.5, 7, 12, 20, 31]
    words = vocabularies.line_vocabulary(places)
    search = NeighborSearch(words)
    distribution = exact_distribution(words, 0, 20.0)

    def chosen(shares: dict[str, Fraction], word: int) -> int:
        # The number from which this word is proposed.
        where = -(-word * 2**64 // len(places)) + 2**40
        row = rows_at(shares, where)
        return int(choose(np.array([0]), row, WordDistribution(10.0), search, sizes)[0])

    tiny = Fraction(1, 2**950)
    near = parts(lambda share: chosen({"which": share, "whether": tiny}, 8), len(places))
    assert float(near[8]) < 1e-9, "all that is proposed from among all words"
    for word in range(4, len(places)):
        kept = border(
            lambda share, word=word: chosen({"which": tiny, "whether": share}, word) == word  # type: ignore[misc]
        )
        share = near[8] / len(places) * kept
        assert abs(share / near[1] / (distribution[word] / distribution[1]) - 1) < TOLERANCE


def test_every_word_can_be_released_at_any_epsilon() -> None:
    """At epsilon 20, 88.6 % of the demo vocabulary's words had but one outcome, themselves."""
    demo = artifact.open_vocabulary(artifact.handle("demo"))
    search, original, distribution = NeighborSearch(demo), 1000, WordDistribution(10.0)
    ids = np.arange(len(demo))
    tiny = Fraction(1, 2**950)
    far = np.repeat(rows_at({"which": tiny, "whether": tiny}), len(demo), axis=0)
    far[:, 1] = -(-ids.astype(object) * 2**64 // len(demo)) + 2**40
    came = set(choose(np.full(len(demo), original), far, distribution, search).tolist())
    near = search.nearest_neighbors(np.array([original]), 129)[0]
    weights = np.exp(-10 * gaps(demo, original))
    beyond = len(demo) * weights[near[-1]]
    for place in range(128, -1, -1):
        share = beyond + weights[near[place:]].sum() - weights[near[place]] / 2
        total = beyond + weights[near].sum()
        row = rows_at({"which": Fraction(float(share / total))})
        came.add(int(choose(np.array([original]), row, distribution, search)[0]))
    assert came == set(ids.tolist())


@pytest.mark.parametrize("words", [100, 300])
def test_long_vectors_are_as_far_apart_as_they_are(words: int) -> None:
    """Equal vectors of length 1e8, where |w|^2 + |x|^2 - 2 w.x is rounding only."""
    vector = np.random.default_rng(5).normal(size=300)
    vector *= 1e8 / np.linalg.norm(vector)
    search = NeighborSearch(vocabularies.of(np.repeat(vector[None], words, axis=0)))
    random = random_numbers(ROWS, DRAWS, seed=2)
    sizes = ChoiceSizes(around=5, rounds=0)
    released = choose(np.full(ROWS, 7), random, WordDistribution(5.0), search, sizes)
    counts = np.bincount(released, minlength=words)
    assert chi_square_p(counts, np.full(words, 1 / words)) > ALPHA


@dataclasses.dataclass(frozen=True)
class Broken:
    """A distribution with one mistake."""

    mistake: str
    rate: float
    cap: float = np.inf
    first: int = 0
    importance: None = None
    base: None = None
    scale: float = 1.0

    def weights(self, lengths: Floats, smallest: Any) -> Floats:
        lengths, smallest = np.minimum(lengths, self.cap), np.minimum(smallest, self.cap)
        if self.mistake == "squares":
            lengths, smallest = lengths**2, smallest**2
        rate = self.rate * {"twice": 2, "10 %": 1.1}.get(self.mistake, 1)
        return np.asarray(np.exp(-rate * (lengths - smallest)))


@pytest.mark.parametrize("mistake", ["squares", "twice", "10 %"])
def test_the_check_finds_a_wrong_distribution(mistake: str) -> None:
    words = with_neighbors(WORDS, 3)
    distribution: Any = Broken(mistake, 2.5)
    with pytest.raises(AssertionError, match="p ="):
        check(
            lambda ids, random, search: choose(ids, random, distribution, search),
            lambda original: santext(words, original, 5.0),
            words,
            DRAWS,
        )


def test_the_check_finds_rejection_that_keeps_what_it_should_reject() -> None:
    words = with_neighbors(WORDS, 3)

    def never_rejects(ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        random[:, 2 : PROPOSAL_TAIL.start - 1 : 3] = 0  # the numbers that decide on acceptance
        return choose(ids, random, WordDistribution(1.0), search, ChoiceSizes(around=5))

    with pytest.raises(AssertionError, match="p ="):
        check(never_rejects, lambda original: santext(words, original, 2.0), words, DRAWS)


def test_the_check_finds_the_published_share_of_far_words_in_tem() -> None:
    """ln(N / (N - k)) in place of ln k. A large beta, so that far words are released at all."""
    words, epsilon, beta = with_neighbors(WORDS, 3), 4.0, 0.4

    def published(original: int) -> Floats:
        apart = gaps(words, original)
        gamma = 2 / epsilon * np.log((1 - beta) * (len(words) - 1) / beta)
        within = apart <= gamma
        score = -gamma + 2 / epsilon * np.log(len(words) / within.sum())
        shares = softmax(epsilon / 2 * np.append(-apart[within], score))
        distribution = np.zeros(len(words))
        distribution[within] = shares[:-1]
        distribution[~within] = shares[-1] / max(int((~within).sum()), 1)
        return distribution

    mechanism = make_mechanism("tem", epsilon=epsilon, beta=beta)
    draws = mechanism.draws(3)
    check(mechanism.release, lambda word: tem(words, word, epsilon, beta), words, draws)
    # A sample tells the two distributions apart, whichever of them it was drawn of.
    with pytest.raises(AssertionError, match="p ="):
        check(mechanism.release, published, words, draws)
