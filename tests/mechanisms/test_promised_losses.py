"""What is promised against what happens: exact losses of every mechanism in every mode.

Four words and the unknown word on a line, whose distributions are exact; documents of up to three
words are all enumerated. The numbers of a promise are read from its sentences, as a reader would.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dxbeam.audit.references.table import REFERENCES
from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms import MECHANISMS, Mechanism, make_mechanism
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.configuration import UNKNOWN_WORDS, Configuration
from tests.support.promised_cases import PARAMETERS

pytestmark = pytest.mark.slow  # all of them together

Floats = npt.NDArray[np.float64]
Document = tuple[int, ...]

PLACES = np.array([-2.0, -0.5, 0.25, 3.0])
WORDS, PAD = len(PLACES), len(PLACES)
EPSILON = 1.5
AS = [0, 1, 2, 3, 2]
"""The words, and the one that is nearest to the unknown word's vector."""
ORDERS = {1: [(0, 1, 2, 3)], 3: [(0, 1, 2, 3), (2, 0, 1, 3), (2, 1, 0, 3)]}
"""Places of the words in the chains from this many words."""
TOLERANCE = 1e-6

ORDERED_ONLY = ("fluent",)
"""Mechanisms that read words in their order, and cannot be used with bags."""

CASES = [pytest.param(*case, id=f"{case[0]} {case[1] or ''}") for case in PARAMETERS]


@cache
def _vocabulary(dimensions: int) -> Vocabulary:
    vectors = np.zeros((WORDS, dimensions), np.float32)
    vectors[:, 0] = PLACES
    return Vocabulary([f"w{i}" for i in range(WORDS)], vectors)


@dataclass(frozen=True)
class Word:
    """A mechanism's exact distribution, and its distance written down a second time."""

    mechanism: Mechanism
    vocabulary: Vocabulary

    @cached_property
    def distribution(self) -> Floats:
        """P(released | original), [5, 4]; the last row is the unknown word's."""
        reference = REFERENCES[self.mechanism.name].reference(self.mechanism, self.vocabulary)
        assert reference.released is not None
        ids = [*range(WORDS), UNKNOWN]
        places = self.vocabulary.vectors_of(np.array(ids))
        return np.array([reference.released(i, x) for i, x in zip(ids, places, strict=True)])

    @cached_property
    def euclidean(self) -> Floats:
        places = np.append(PLACES, PLACES.mean())
        return np.abs(places[:, None] - places)

    @cached_property
    def metric(self) -> Floats:
        made: Any = getattr(self.mechanism, "source", self.mechanism)
        apart, n = self.euclidean, self.vocabulary.dimensions
        clip = getattr(made, "clip", None) or math.inf
        short = np.clip(np.append(PLACES, PLACES.mean()), -clip, clip)
        clipped = np.abs(short[:, None] - short)
        if getattr(made, "importance", None) is not None:
            limit = made.gamma(WORDS) if made.name == "tem" else np.inf
            rho = np.append(made.importance.of(self.vocabulary), 0.0)
            return np.minimum(apart, limit) + (1 - np.eye(WORDS + 1)) * (
                (rho[:, None] + rho) / made.epsilon
            )
        match made.name:
            case "mahalanobis":  # all of the covariance is along the line
                return np.asarray(apart / math.sqrt(1 - made.covariance_weight * (1 - n)))
            case "tem":
                return np.minimum(apart, made.gamma(WORDS))
            case "gaussian" if made.clip is None:
                return np.where(apart <= made.distance, apart, np.inf)
            case "coordinate_laplace":
                return np.asarray(clipped / math.sqrt(n))
            case "gaussian" | "trlaplace":
                return clipped
            case "custext" | "cluster_response":  # {0, 1} and {2, 3}, the unknown word as 2
                return np.array(
                    [[i != j if (i < 2) == (j < 2) else np.inf for i in AS] for j in AS], np.float64
                )
            case "diffractor" | "diffractor_tem":
                steps = [np.abs(np.subtract.outer(order, order)) for order in ORDERS[made.orders]]
                if getattr(made, "shape", "line") == "ring":
                    steps = [np.minimum(each, WORDS - each) for each in steps]
                return np.minimum(np.max(steps, axis=0), getattr(made, "gamma", np.inf))[AS][:, AS]
        return apart


def _word(name: str, parameters: dict[str, Any]) -> Word:
    made = make_mechanism(name, **{"epsilon": EPSILON, **parameters})
    return Word(made, _vocabulary(1 if name in ("vickrey", "mahalanobis_published") else 2))


@dataclass(frozen=True)
class Said:
    """The numbers in the sentences of a guarantee; those that are not named are infinite."""

    epsilon: float
    delta: float
    euclidean: float
    cap: float

    @classmethod
    def by(cls, promise: Guarantee) -> Said:
        """Reads them."""
        said = " ".join([promise.sentence, *promise.caveats])

        def number(pattern: str, other: float) -> float:
            found = re.findall(pattern, said)
            assert len(found) <= 1
            return float(found[0]) if found else other

        factor = number(r"at most exp\(([-+.e0-9]+) \* d", math.inf)
        return cls(
            factor,
            number(r"up to a probability of ([-+.e0-9]+[0-9])", 0.0),
            number(r"exponent is at most ([-+.e0-9]+) times the (?:same|Euclidean)", math.inf),
            number(r"exponent is at most ([-+.e0-9]+) for any two", math.inf),
        )

    def kept(self, p: Floats, q: Floats, own: float, euclidean: float) -> bool:
        """Whether two distributions at these distances are no further apart than is said."""
        times = self.euclidean * euclidean if euclidean else 0.0
        exponent = min(self.epsilon * own if own else 0.0, times, self.cap)
        return _kept(p, q, exponent, self.delta)


def _kept(p: Floats, q: Floats, exponent: float, delta: float) -> bool:
    if delta == 0:
        with np.errstate(divide="ignore", invalid="ignore"):
            losses = np.abs(np.log(p) - np.log(q))
        return bool(np.nanmax(losses, initial=0.0) <= exponent + TOLERANCE)
    if math.isinf(exponent):
        return True
    factor = math.exp(exponent)
    slacks = (np.maximum(a - factor * b, 0).sum() for a, b in ((p, q), (q, p)))
    return max(slacks) <= delta + 1e-9


# Ordered text: words 0 to 3, and the strings "odd" and "strange" --------------------------------

ODD, STRANGE = WORDS, WORDS + 1
ROW = [*range(WORDS), PAD, PAD]


def _ordered(word: Word, rule: str) -> Floats:
    """P(what stands at a word's place | word), [6, 8]: a word, <unk>, nothing, odd or strange."""
    distribution = np.zeros((WORDS + 2, WORDS + 4))
    distribution[:, :WORDS] = word.distribution[ROW]
    if rule != "noise":
        distribution[[ODD, STRANGE]] = 0
        column = {"mask": [4, 4], "drop": [5, 5], "keep": [6, 7]}[rule]
        distribution[[ODD, STRANGE], [WORDS + c - 4 for c in column]] = 1
    return distribution


def _covered(promise: Guarantee, sensitive: int) -> list[int]:
    """The words that the sentence is about."""
    [named] = re.findall(
        r"any two original (.*?)(?: in the same place)? x and x'", promise.sentence
    )
    first = {"words": 0, "sensitive words": sensitive}[named.removesuffix(" of the vocabulary")]
    outside = [] if named.endswith("of the vocabulary") else [ODD, STRANGE]
    return [*range(first, WORDS), *outside]


def test_every_mechanism_is_here() -> None:
    assert {name for name, _ in PARAMETERS} == set(MECHANISMS)


@pytest.mark.parametrize("rule", UNKNOWN_WORDS)
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_of_ordered_text_every_sentence_holds(
    name: str, parameters: dict[str, Any], rule: str
) -> None:
    word = _word(name, parameters)
    settings = Configuration(word.mechanism, unknown_words=rule, allow_unsound=True)
    promise = settings.guarantee()
    distribution = _ordered(word, rule)
    if not promise.sound:
        assert promise.sentence == "Nothing is guaranteed for a word."
        assert not any("exponent" in caveat or "factor" in caveat for caveat in promise.caveats)
        return
    said, metric, apart = Said.by(promise), word.metric, word.euclidean
    covered = _covered(promise, round(WORDS * 0.5) if name == "santext_plus" else 0)
    for x, y in itertools.combinations(covered, 2):
        i, j = ROW[x], ROW[y]
        assert said.kept(distribution[x], distribution[y], metric[i, j], apart[i, j]), (x, y)
    others = sorted(set(range(WORDS + 2)) - set(covered))
    assert bool(others) == bool(promise.unprotected) == ("nothing is promised" in promise.sentence)
    for x in others:
        worst = any(
            not said.kept(
                distribution[x], distribution[y], metric[ROW[x], ROW[y]], apart[ROW[x], ROW[y]]
            )
            for y in range(WORDS + 2)
        )
        assert worst, "a word is left out for a reason"

    # Two documents of two words that differ in covered words alone: "the exponents add up".
    assert "the exponents add up" in promise.composition
    assert ("slacks" in promise.composition) == (said.delta > 0)
    assert "one text under several ids" in promise.composition
    for x, y in itertools.combinations(itertools.product(range(WORDS + 2), repeat=2), 2):
        changed = [(a, b) for a, b in zip(x, y, strict=True) if a != b]
        if {a for pair in changed for a in pair} <= set(covered):
            p, q = (np.outer(distribution[d[0]], distribution[d[1]]).ravel() for d in (x, y))
            cost = sum(said.epsilon * metric[ROW[a], ROW[b]] for a, b in changed)
            assert _kept(p, q, cost, said.delta * len(changed)), (x, y)


# Bags ------------------------------------------------------------------------------------------

DOCUMENTS = [
    bag
    for length in range(4)
    for bag in itertools.combinations_with_replacement(range(WORDS + 1), length)
]


def _filled(document: Document, n: int) -> Document:
    return document + (PAD,) * (n - len(document))


def _distribution_of(document: Document, n: int, distribution: Floats) -> Floats:
    """The distribution of the bag of n words, over all sorted outputs."""
    total: Counter[Document] = Counter()
    draws = list(itertools.combinations(_filled(document, n), n))
    for draw in draws:
        for outputs in itertools.product(range(WORDS), repeat=n):
            mass = math.prod(distribution[w, o] for w, o in zip(draw, outputs, strict=True))
            total[tuple(sorted(outputs))] += mass / len(draws)
    every = itertools.combinations_with_replacement(range(WORDS), n)
    return np.array([total[output] for output in every])


def _cost(x: Document, y: Document, n: int, metric: Floats) -> float:
    """d_n, by trying every matching."""
    shorter, longer = sorted((_filled(x, n), _filled(y, n)), key=len)
    alone = [float(metric.max())] * (len(longer) - len(shorter))
    return min(
        sum(sorted([*metric[list(shorter), list(chosen)], *alone])[-n:])
        for chosen in set(itertools.permutations(longer, len(shorter)))
    )


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize(("name", "parameters"), CASES)
def test_of_bags_every_sentence_holds(name: str, parameters: dict[str, Any], n: int) -> None:
    if name in ORDERED_ONLY:
        with pytest.raises(ConfigurationError, match="order"):
            Configuration(make_mechanism(name, epsilon=1.0), bag=BagOfWords(n))
        return
    word = _word(name, parameters)
    settings = Configuration(word.mechanism, bag=BagOfWords(n), allow_unsound=True)
    promise, of_a_word = settings.guarantee(), word.mechanism.guarantee()
    if not of_a_word.sound or of_a_word.unprotected:
        assert promise.sentence == "Nothing is guaranteed for a document."
        assert promise.composition == "nothing to compose"
        assert not any("exponent" in caveat or "factor" in caveat for caveat in promise.caveats)
        return
    said, metric, apart = Said.by(promise), word.metric, word.euclidean
    assert said.delta == pytest.approx(n * of_a_word.delta)
    assert f"any two documents at most epsilon * {n} * D" in promise.composition
    distributions = {
        document: _distribution_of(document, n, word.distribution) for document in DOCUMENTS
    }
    for x, y in itertools.combinations(DOCUMENTS, 2):
        own, euclidean = _cost(x, y, n, metric), _cost(x, y, n, apart)
        assert said.kept(distributions[x], distributions[y], own, euclidean), (x, y)
        largest = said.epsilon * float(metric.max())
        assert _kept(distributions[x], distributions[y], n * largest, said.delta)
        if len(y) == len(x) + 1 and not Counter(x) - Counter(y):
            assert _kept(distributions[x], distributions[y], largest, said.delta), (x, y)
        old, new = (list((a - b).elements()) for a, b in _both_ways(x, y))
        if len(old) == len(new) == 1:
            cost = said.epsilon * metric[old[0], new[0]]
            assert _kept(distributions[x], distributions[y], cost, said.delta), (x, y)


def _both_ways(x: Document, y: Document) -> list[tuple[Counter[int], Counter[int]]]:
    return [(Counter(x), Counter(y)), (Counter(y), Counter(x))]


def test_slacks_that_add_up_to_one_promise_nothing() -> None:
    word = make_mechanism("gaussian", epsilon=EPSILON, delta=0.4)
    promise = BagOfWords(3).guarantee(word.guarantee())
    assert not promise.sound
    assert promise.sentence == "Nothing is guaranteed for a document."
    with pytest.raises(
        ConfigurationError, match=r"guarantees nothing with a delta of 0\.4 for each word"
    ):
        Configuration(word, bag=BagOfWords(3))
    assert BagOfWords(2).guarantee(word.guarantee()).delta == pytest.approx(0.8)


def test_the_word_movers_distance_of_documents_as_they_were_is_no_bound() -> None:
    """ "a" against "a a": their distance is 0, and bags of two words tell them apart."""
    word = _word("laplace", {})
    short, long = (_distribution_of(document, 2, word.distribution) for document in ((0,), (0, 0)))
    assert np.abs(np.log(short) - np.log(long)).max() > 1
    caveats = Configuration(word.mechanism, bag=BagOfWords(2)).guarantee().caveats
    [said] = [caveat for caveat in caveats if "Word Mover" in caveat]
    assert "only between documents of exactly 2 words, after stop words are removed" in said
    assert "documents as they were" in said


def test_a_cap_of_a_word_is_no_cap_of_a_document() -> None:
    """The largest loss of the clipped mechanism grows with the number of words."""
    made = make_mechanism("coordinate_laplace", epsilon=10.0, clip=1.0)
    assert Said.by(Configuration(made).guarantee()).cap == 20
    assert Said.by(Configuration(made, bag=BagOfWords(5)).guarantee()).cap == 100


def test_what_is_dropped_from_a_bag_is_named_in_the_main_sentence() -> None:
    made = make_mechanism("laplace", epsilon=2.0)
    dropped = Configuration(made, unknown_words="drop", bag=BagOfWords(5)).guarantee()
    assert "their stop words and words outside the vocabulary removed" in dropped.sentence
    assert dropped.unprotected == ()


@pytest.mark.parametrize("epsilon", [1.2345649, 0.1 + 0.2, 10.0, 1 / 3, 9.9999999, 4999.99999])
def test_printed_bounds_are_never_below_the_true_ones(epsilon: float) -> None:
    for weight in (0.2, 0.7, 1 / 3):
        made = make_mechanism("mahalanobis", epsilon=epsilon, covariance_weight=weight)
        said = Said.by(Configuration(made).guarantee())
        assert epsilon * (1 - 1e-12) <= said.epsilon <= epsilon * (1 + 1e-5)
        exact = epsilon / math.sqrt(1 - weight)
        assert exact * (1 - 1e-12) <= said.euclidean <= exact * (1 + 1e-5)


@pytest.mark.parametrize("bag", [None, BagOfWords(2)])
def test_the_distance_is_described_as_it_is(bag: BagOfWords | None) -> None:
    """What the tests above take for the distances of `gaussian` and `tem` is what is written."""
    for reach in (2.0, 0.1 + 0.2):
        gaussian = make_mechanism("gaussian", epsilon=2.0, delta=0.01, distance=reach)
        promise = Configuration(gaussian, bag=bag).guarantee()
        [written] = re.findall(r"or infinite where that is above ([0-9.]*[0-9])", promise.sentence)
        assert float(written) == pytest.approx(reach, rel=1e-11)
        assert any(f"{reach:.12g}" in caveat for caveat in promise.caveats)
    tem: Any = make_mechanism("tem", epsilon=1.7, beta=0.3)
    promise = Configuration(tem, bag=bag).guarantee()
    [numbers] = re.findall(r"gamma = \(2 / ([0-9.]+)\) ln\(([0-9.]+) \(N - 1\)\)", promise.sentence)
    epsilon, odds = map(float, numbers)
    for words in (2, 30, 10_000):
        gamma = 2 / epsilon * math.log(odds * (words - 1))
        assert tem.gamma(words) <= gamma <= tem.gamma(words) + 1e-5
