"""Public weights of words: the law, its bound, and what is refused.

Laws are compared with exact enumeration by chi-square, false-alarm rate 1e-6 a test; broken copies
show that the checks can fail.
"""

from __future__ import annotations

import dataclasses
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms import MECHANISMS, make_mechanism
from dxbeam.mechanisms.public.importance import (
    LARGEST_WEIGHT,
    FrequencyWeights,
    Importance,
    WordWeights,
)
from dxbeam.mechanisms.public.word_distribution import (
    Favoured,
    WordDistribution,
    public_factors,
)
from dxbeam.mechanisms.sampling.exponential_choice import (
    DRAWS,
    IMPORTANCE_DRAWS,
    PROPOSAL_TAIL,
    ChoiceSizes,
    choose,
)
from dxbeam.mechanisms.santext import SanText
from dxbeam.mechanisms.tem import TEM
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.configuration import Configuration
from tests.support import vocabularies
from tests.support.choice_sizes import WithSizes
from tests.support.distributions import Floats, Ids, chi_square_p, judge, random_numbers

ROWS = 10_000


def vocabulary(words: int, n: int = 3) -> Vocabulary:
    vectors = np.random.default_rng(words).normal(size=(words, n))
    return Vocabulary([f"w{i}" for i in range(words)], vectors.astype(np.float32))


def listed(words: int) -> WordWeights:
    """Every third word has a weight, up to 8."""
    return WordWeights({f"w{i}": 8.0 * (i % 9 + 1) / 9 for i in range(0, words, 3)})


def distances_prime(
    words: Vocabulary, original: int, epsilon: float, rho: Floats, cap: float = np.inf
) -> Floats:
    """d' from a word to all words, computed another way than the mechanism's."""
    vector = words.unknown_vector if original == UNKNOWN else words.vectors[original]
    apart = np.linalg.norm(words.vectors.astype(np.float64) - np.float64(vector), axis=1)
    own = 0.0 if original == UNKNOWN else rho[original]
    prime = epsilon * np.minimum(apart, cap) + rho + own
    if original != UNKNOWN:
        prime[original] = 0.0
    return np.asarray(prime)


def law(
    words: Vocabulary, original: int, epsilon: float, rho: Floats, cap: float = np.inf
) -> Floats:
    weights = np.exp(-distances_prime(words, original, epsilon, rho, cap) / 2)
    return np.asarray(weights / weights.sum())


def check(made: Any, words: Vocabulary, rows: int = ROWS) -> None:
    rho = made.importance.of(words)
    cap = made.gamma(len(words)) if isinstance(made, TEM) else np.inf
    search, p_values = NeighborSearch(words), {}
    for original in (0, len(words) // 2, UNKNOWN):
        random = random_numbers(rows, made.draws(words.dimensions), seed=original + 9)
        released = made.release(np.full(rows, original), random, search)
        counts = np.bincount(released, minlength=len(words))
        expected = law(words, original, made.epsilon, rho, cap)
        p_values[str(original)] = chi_square_p(counts, expected)
    judge(p_values)


@pytest.mark.parametrize("words", [5, 300, 3000])
@pytest.mark.parametrize(
    "made",
    [
        SanText(2.0, importance=FrequencyWeights(6.0)),
        SanText(0.5, importance=listed(5)),
        TEM(3.0, 0.4, importance=FrequencyWeights(6.0)),
    ],
    ids=["frequency", "listed", "tem"],
)
def test_released_words_have_the_enumerated_distribution(made: Any, words: int) -> None:
    if isinstance(made.importance, WordWeights):
        made = dataclasses.replace(made, importance=listed(words))
    check(made, vocabulary(words))


@pytest.mark.parametrize(
    ("around", "rounds"), [(1, 64), (5, 1), (1, 0)], ids=["1", "1 round", "none"]
)
def test_rejection_has_no_influence_on_the_distribution(around: int, rounds: int) -> None:
    made = SanText(2.0, importance=listed(120))
    check(WithSizes(made, ChoiceSizes(around, rounds)), vocabulary(120))


def test_batches_have_no_influence_and_threads_share_nothing() -> None:
    made, words = SanText(1.0, importance=listed(3000)), vocabulary(3000)
    ids = np.random.default_rng(0).integers(UNKNOWN, 3000, 600)
    random = random_numbers(600, made.draws(3), seed=3)
    whole = made.release(ids, random, NeighborSearch(words))
    search = NeighborSearch(words)
    parts = [made.release(ids[i : i + 7], random[i : i + 7], search) for i in range(0, 600, 7)]
    assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("importance", [None, FrequencyWeights(5.0)])
def test_without_weights_nothing_changes(importance: Importance | None) -> None:
    """The draws of releases from before there were weights are as they were."""
    made = SanText(1.0, importance=importance)
    assert made.draws(3) == (DRAWS if importance is None else IMPORTANCE_DRAWS)
    recorded = Configuration(made).as_dict()["mechanism"]
    assert ("importance" in recorded) == (importance is not None)


def test_two_words_at_one_place_are_two_words() -> None:
    """However many others share its vector, a word's own probability is not lowered."""
    words = vocabularies.of(np.ones((300, 2)))
    weights = WordWeights({words.words[i]: 12.0 for i in range(300)})
    released = SanText(1.0, importance=weights).release(
        np.full(500, 250), random_numbers(500, IMPORTANCE_DRAWS, seed=1), NeighborSearch(words)
    )
    assert (released == 250).mean() > 0.95  # exactly 1 / (1 + 299 e^-12) = 0.998


def test_d_prime_is_a_metric_and_bounds_every_ratio() -> None:
    words, epsilon = vocabulary(40), 1.3
    for made in (
        SanText(epsilon, importance=listed(40)),
        TEM(epsilon, 0.4, importance=FrequencyWeights(5.0)),
    ):
        rho = made.importance.of(words) if made.importance else np.zeros(40)
        cap = made.gamma(40) if isinstance(made, TEM) else np.inf
        every = [*range(40), UNKNOWN]
        prime = np.array([distances_prime(words, w, epsilon, rho, cap) for w in every])
        prime = np.column_stack([prime, np.append(prime[-1], 0.0)])
        through = (prime[:, :, None] + prime[None]).min(axis=1)
        assert (prime <= through + 1e-12).all()
        logs = np.log([law(words, w, epsilon, rho, cap) for w in every])
        for i, j in itertools.permutations(range(41), 2):
            assert (logs[i] - logs[j]).max() <= prime[i, j] + 1e-12


# --- What breaks the law. -------------------------------------------------------------------------


def forgets_the_original(self: Favoured, weights: Floats, words: Ids, others: Ids) -> Floats:
    return np.where(others == words[:, None], weights, weights * self.factors[others])


def forgets_the_others(self: Favoured, weights: Floats, words: Ids, others: Ids) -> Floats:
    return np.where(others == words[:, None], weights, weights * self.factors[words][:, None])


def lowers_the_word_itself(self: Favoured, weights: Floats, words: Ids, others: Ids) -> Floats:
    return weights * self.factors[others] * self.factors[words][:, None]


def whole_weights(self: Favoured, weights: Floats, words: Ids, others: Ids) -> Floats:
    factors = (self.factors[others] * self.factors[words][:, None]) ** 2
    return np.where(others == words[:, None], weights, weights * factors)


def proposes_alike(self: Favoured, random: Any, tail: Any) -> Ids:
    return (random % np.uint64(len(self.order))).astype(np.int64)


def proposes_by_rank(self: Favoured, random: Any, tail: Any) -> Ids:
    inner = np.argsort(self.order)
    return np.asarray(inner[right_draw(self, random, tail)])


right_draw = Favoured.draw


@pytest.mark.parametrize(
    ("method", "mistake"),
    [
        ("times_factors", forgets_the_original),
        ("times_factors", forgets_the_others),
        ("times_factors", lowers_the_word_itself),
        ("times_factors", whole_weights),
        ("draw", proposes_alike),
        ("draw", proposes_by_rank),
    ],
)
def test_the_check_finds_a_broken_copy(
    monkeypatch: pytest.MonkeyPatch, method: str, mistake: Callable[..., Any]
) -> None:
    monkeypatch.setattr(Favoured, method, mistake)
    made = WithSizes(SanText(1.0, importance=listed(120)), ChoiceSizes(around=5))
    with pytest.raises(AssertionError, match="p ="):
        check(made, vocabulary(120))


def test_a_weight_of_the_unknown_word_would_change_no_probability(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As it cannot be released itself, the weight cancels; so it has none, and promises more."""
    words, made = vocabulary(60), SanText(1.0, importance=listed(60))
    search = NeighborSearch(words)
    public = public_factors(made.distribution(words), search)
    assert public is not None
    factors = np.append(public.factors[:-1], np.exp(-4.0))
    heavy = public._replace(factors=factors, leaving=factors)
    monkeypatch.setitem(search._computed, ("public factors", listed(60), None, 1.0), heavy)
    random = random_numbers(ROWS, made.draws(3), seed=3)
    released = made.release(np.full(ROWS, UNKNOWN), random, search)
    rho = listed(60).of(words)
    counts = np.bincount(released, minlength=60)
    assert chi_square_p(counts, law(words, UNKNOWN, 1.0, rho)) > 1e-6


def test_rare_words_among_the_weighted_ones_can_be_released() -> None:
    """The tail reaches the words of the smallest factors, whatever stands before them."""
    words = vocabulary(300)
    weights = WordWeights({f"w{i}": LARGEST_WEIGHT for i in range(200)})
    distribution = WordDistribution(0.01, importance=weights)
    row = random_numbers(1, IMPORTANCE_DRAWS, seed=1)
    row[0, :2] = 0  # the smallest of all shares, and then the smallest of all places
    row[0, PROPOSAL_TAIL.start :] = 0
    [came] = choose(np.array([250]), row, distribution, NeighborSearch(words))
    assert came < 200


# --- Values, and what is refused. -----------------------------------------------------------------


def test_frequency_falls_with_the_logarithm_of_the_rank() -> None:
    weights = FrequencyWeights(8.0).of(vocabulary(100))
    assert weights[0] == 8.0
    assert weights[9] == pytest.approx(4.0)
    assert weights[99] == pytest.approx(0.0)
    assert FrequencyWeights(8.0).of(vocabulary(1)).tolist() == [8.0]


def test_equal_lists_are_one_value_and_pickle() -> None:
    first, second = WordWeights({"b": 1.0, "a": 2.0}), WordWeights({"a": 2, "c": 0.0, "b": 1})
    assert first == second
    assert hash(first) == hash(second)
    assert first.digest != WordWeights({"a": 2.0, "b": 1.5}).digest
    made = SanText(2.0, importance=first)
    assert pickle.loads(pickle.dumps(made)) == made


def test_the_largest_weight_counts_where_casing_makes_one_word_of_several() -> None:
    words = Vocabulary(["the", "a"], np.eye(2, dtype=np.float32), lowercase=True)
    assert WordWeights({"The": 1.0, "the": 3.0, "THE": 2.0}).of(words).tolist() == [3.0, 0.0]


def test_the_sentence_names_the_metric_and_the_price() -> None:
    promise: Guarantee = SanText(
        2.0, importance=WordWeights({"the": 10.0}, "stop_words")
    ).guarantee()
    assert "at most exp(2 * d(x, x'))" in promise.sentence
    assert (
        "the sum of the Euclidean distance between the words' vectors in the vocabulary, and, for "
        "two different words, of (rho(x) + rho(x')) / 2, rho being the public weights of importance"
    ) in promise.sentence
    said = " ".join(promise.caveats)
    assert "a word with a weight costs its weight more, 10 at most" in said
    assert "weights computed from the private corpus void the guarantee" in said
    assert promise.euclidean_epsilon is None
    capped = TEM(2.0, importance=FrequencyWeights(3.0)).guarantee()
    bare = TEM(2.0).guarantee()
    assert capped.one_word(500)[0] == pytest.approx(bare.one_word(500)[0] + 6.0)


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_mechanisms_without_a_proof_refuse_weights_and_say_why(name: str) -> None:
    weights = FrequencyWeights(2.0)
    if name in ("santext", "tem"):
        assert make_mechanism(name, epsilon=2.0, importance=weights).epsilon == 2.0
        return
    reason = "no finite bound" if hasattr(MECHANISMS[name], "noise") else "no form of it"
    with pytest.raises(ConfigurationError, match=f"santext or tem, not with {name}: .*{reason}"):
        make_mechanism(name, epsilon=2.0, importance=weights)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"the": -1.0}, "from 0 to 100, not -1"),
        ({"the": float("nan")}, "not nan"),
        ({"the": 101}, "not 101"),
        ({"the": "secret"}, "not of type str"),
        ({"the": True}, "from 0 to 100"),
        ({"the": 0.0}, "no word has a weight above 0"),
        ({}, "no word has a weight above 0"),
        ([1.0], "is a mapping"),
    ],
)
def test_what_are_no_weights_is_refused(weights: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        WordWeights(weights)


def test_weights_of_other_words_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="none of the 1 words with a weight"):
        WordWeights({"elsewhere": 1.0}).of(vocabulary(5))
    with pytest.raises(ConfigurationError, match=r"read_importance gives.*of type float"):
        SanText(2.0, importance=3.0)  # type: ignore[arg-type]


def test_a_weight_counts_for_every_casing_and_the_sentence_says_so() -> None:
    """A lower-case vocabulary has one word for "US" and "us", so the weight of one is the other's.

    A reader who took "us" for a word without a weight would find epsilon d exceeded.
    """
    weights = WordWeights({"US": 10.0})
    vectors = np.array([[0.0], [1.0]], np.float32)
    words = Vocabulary(["us", "they"], vectors, lowercase=True)
    rho = weights.of(words)
    assert rho.tolist() == [10.0, 0.0]
    scores = -(np.array([[0.0, 1.0], [1.0, 0.0]]) + (1 - np.eye(2)) * (rho + rho[:, None])) / 2
    law = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    loss = float(np.abs(np.log(law[0]) - np.log(law[1])).max())
    assert 5 < loss <= 1.0 + 10.0, "beyond epsilon d, within the price of the weight"
    [said] = [c for c in SanText(1.0, importance=weights).guarantee().caveats if "price" in c]
    assert "every casing of a word has the largest weight that is listed for any of them" in said


def test_two_lists_of_one_size_are_two_configurations() -> None:
    """As many words and as large a weight: with one digest they would share noise."""
    lists = [{"a": 2.0, "b": 1.0}, {"a": 2.0, "c": 1.0}, {"a": 2.0, "b": 0.5}, {"b": 2.0, "a": 1.0}]
    made = [Configuration(SanText(1.0, importance=WordWeights(each))) for each in lists]
    assert len({each.digest("") for each in made}) == len(lists)
    numbered = {each.as_dict()["mechanism"]["importance"]["sha256"] for each in made}
    assert len(numbered) == len(lists)
