"""Mechanisms over public orders: exact distributions down to the rarest words, and exact losses.

False-alarm rate 1e-6 a test.
"""

from __future__ import annotations

import dataclasses
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.diffractor import Diffractor
from dxbeam.mechanisms.diffractor_tem import DiffractorTEM
from dxbeam.mechanisms.sampling.noise import TAIL_DRAWS
from dxbeam.mechanisms.sampling.order_choice import DRAWS
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.word_order import word_order
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitizer
from tests.support import vocabularies
from tests.support.distributions import (
    border,
    chi_square_p,
    exact_draw,
    judge,
    random_numbers,
)

pytestmark = pytest.mark.slow  # all of them together

ROWS = 20_000
SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("diffractor", {"epsilon": 0.3}),
    ("diffractor", {"epsilon": 2.0, "orders": 2}),
    ("diffractor_tem", {"epsilon": 0.7}),
    ("diffractor_tem", {"epsilon": 0.7, "gamma": 2, "orders": 2}),
    ("diffractor_tem", {"epsilon": 0.9, "shape": "line"}),
    ("diffractor_tem", {"epsilon": 0.2, "gamma": 40, "shape": "line"}),
    ("diffractor_tem", {"epsilon": 0.2, "gamma": 150}),
    ("diffractor_tem", {"epsilon": 0.5, "gamma": 1}),
]


def by_place(mechanism: Any, words: int, place: int, exp: Any = np.exp) -> Any:
    """P(place | place), by enumeration; ``exp`` says in which arithmetic."""
    epsilon, steps = mechanism.epsilon, np.abs(np.arange(words) - place)
    if mechanism.name == "diffractor":
        step = exp(-epsilon)
        weights = exp(-epsilon * steps) * (1 - step) / (1 + step)
        if words > 1:
            weights[[0, -1]] = exp(-epsilon * steps[[0, -1]]) / (1 + step)
    elif mechanism.shape == "ring":
        weights = exp(-epsilon * np.minimum(np.minimum(steps, words - steps), mechanism.gamma))
    else:
        weights = exp(-epsilon / 2 * np.minimum(steps, mechanism.gamma))
    return weights / weights.sum()


EXACT = np.frompyfunc(lambda value: Decimal(float(value)).exp(), 1, 1)
"""exp in as many digits as the context has."""


@cache
def search_of(words: int) -> NeighborSearch:
    return NeighborSearch(vocabularies.random_vocabulary(words))


@cache
def order_from(words: int, start: int) -> Any:
    return word_order(search_of(words).vocabulary, start)


def orders_of(words: int, count: int) -> list[Any]:
    return [order_from(words, number * words // count) for number in range(count)]


@pytest.mark.parametrize("words", [5, 300, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "parameters"), SETTINGS)
def test_released_words_have_the_enumerated_distribution(
    name: str, parameters: dict[str, Any], words: int
) -> None:
    """Of 3,000 words the far ones hold nearly all where gamma is small: a half of them that is a
    fifth too likely is found, and an epsilon that is a tenth off where the near ones hold more.
    """
    search, mechanism, p_values = search_of(words), made(name, parameters), {}
    rows = max(ROWS, 20 * words)  # of the far words, all alike, each is expected ten times or more
    vocabulary, orders = search.vocabulary, orders_of(words, mechanism.orders)
    apart = np.linalg.norm(vocabulary.vectors - np.asarray(vocabulary.unknown_vector), axis=1)
    for word in (0, words // 2, int(orders[0][-1]), int(orders[0][-2]), UNKNOWN):
        own = int(apart.argmin()) if word == UNKNOWN else word
        distribution = np.zeros(words)
        for order in orders:
            place = int(np.flatnonzero(order == own)[0])
            distribution[order] += by_place(mechanism, words, place) / len(orders)
        random = random_numbers(rows, mechanism.draws(2), seed=word + 2)
        released = mechanism.release(np.full(rows, word), random, search)
        p_values[str(word)] = chi_square_p(np.bincount(released, minlength=words), distribution)
    judge(p_values)


def made(name: str, parameters: dict[str, Any]) -> Any:
    return make_mechanism(name, **parameters)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("diffractor", {"epsilon": 40.0}),
        ("diffractor", {"epsilon": 0.01}),
        ("diffractor_tem", {"epsilon": 100.0, "gamma": 3, "shape": "line"}),
        ("diffractor_tem", {"epsilon": 90.0, "gamma": 3}),
    ],
)
def test_rare_words_come_with_their_exact_probability(
    name: str, parameters: dict[str, Any]
) -> None:
    """What is released for every uniform number, in probabilities from 1 to 2^-400.

    Words stand in the order of their ids; far ones share what is drawn of them together.
    """
    words, mechanism = 7, made(name, parameters)
    search = NeighborSearch(vocabularies.line_vocabulary(np.arange(words) ** 1.5))
    for place in (1, words - 1):
        with localcontext() as context:
            context.prec = 60
            shares = by_place(mechanism, words, place, EXACT)
            exact = [Fraction(share) for share in shares]
        found = [Fraction(0)] * words
        for up in (0, 1):
            for word, share in parts(mechanism, search, place, up):
                found[word] += share / 2
        if name == "diffractor_tem":
            steps = [abs(other - place) for other in range(words)]
            around = [min(each, words - each) for each in steps]
            steps = around if mechanism.shape == "ring" else steps
            far = [other for other in range(words) if steps[other] >= mechanism.gamma]
            together = sum(found[other] for other in far)
            for other in far:
                found[other] = together / len(far)
        for share, wanted in zip(found, exact, strict=True):
            assert abs(share / wanted - 1) < 2.0**-28


def parts(
    mechanism: Any, search: NeighborSearch, place: int, up: int
) -> list[tuple[int, Fraction]]:
    """Which word is released for which part of (0, 1], with this sign and the first far place."""
    found, start = [], Fraction(0)

    def released(share: Fraction) -> int:
        row = np.zeros((1, DRAWS), np.uint64)
        row[0, : 1 + TAIL_DRAWS] = exact_draw(share, bits=63)
        row[0, 0] |= np.uint64(up << 63)
        return int(mechanism.release(np.array([place]), row, search)[0])

    while start < 1:
        word, low = released(start + start / 2**60), start
        start = border(lambda share, word=word, low=low: share <= low or released(share) == word)  # type: ignore[misc]
        found.append((word, start - low))
    return found


@pytest.mark.parametrize("words", [1, 2, 3, 9, 10, 11])
def test_small_rings_and_lines_are_all_there(words: int) -> None:
    """Where gamma reaches all the way round, or just so."""
    search = NeighborSearch(vocabularies.line_vocabulary(np.arange(words) ** 1.5))
    for shape in ("ring", "line"):
        for gamma in (1, 2, 5, 6, 100):
            mechanism = DiffractorTEM(1.0, gamma, shape)
            random = random_numbers(ROWS, DRAWS, seed=words)
            released = mechanism.release(np.full(ROWS, words // 3), random, search)
            distribution = by_place(mechanism, words, words // 3)
            assert chi_square_p(np.bincount(released, minlength=words), distribution) > 1e-8


@pytest.mark.parametrize(("name", "parameters"), SETTINGS)
def test_the_loss_is_at_most_epsilon_for_each_step(name: str, parameters: dict[str, Any]) -> None:
    """And all of it is used: by the exact distributions of 60 places."""
    mechanism, words = made(name, parameters), 60
    logs = np.log([by_place(mechanism, words, place) for place in range(words)])
    steps = np.abs(np.subtract.outer(np.arange(words), np.arange(words))).astype(np.float64)
    if name == "diffractor_tem":
        if mechanism.shape == "ring":
            steps = np.minimum(steps, words - steps)
        steps = np.minimum(steps, mechanism.gamma)
    losses = np.abs(logs[:, None] - logs[None]).max(axis=2)
    assert (losses <= mechanism.epsilon * steps + 1e-9).all()
    tight = name == "diffractor" or mechanism.shape == "ring"
    assert np.allclose(losses, mechanism.epsilon * steps) == tight


def test_the_share_of_words_that_stay_is_a_hyperbolic_tangent() -> None:
    search = NeighborSearch(vocabularies.random_vocabulary(300, 5))
    ids = np.tile(np.arange(300), 200)
    random = random_numbers(len(ids), DRAWS, seed=6)
    for epsilon in (0.5, 2.0):
        kept = (Diffractor(epsilon).release(ids, random, search) == ids).mean()
        assert kept == pytest.approx(np.tanh(epsilon / 2), abs=0.01)


@pytest.mark.parametrize("mechanism", [Diffractor(2.0, 3), DiffractorTEM(2.0)])
def test_every_sentence_says_that_steps_are_not_meaning(mechanism: Any) -> None:
    promise = Configuration(mechanism).guarantee()
    assert "number of steps" in promise.sentence
    assert "which is not a distance in meaning" in promise.sentence
    assert promise.euclidean_epsilon is None, "no multiple of Euclidean distance bounds it"
    assert any("places in a list" in caveat for caveat in promise.caveats)


def test_an_order_is_drawn_independently_of_the_word() -> None:
    """By a random number of its own: the same orders for other words."""
    search = NeighborSearch(vocabularies.random_vocabulary(50, 3))
    random = random_numbers(2000, DRAWS, seed=7)
    random[:, 0] = 2**62  # no steps, whatever the order
    for word in (0, 30):
        released = Diffractor(9.0, 5).release(np.full(2000, word), random, search)
        assert (released == word).all()


def test_two_orders_never_share_steps() -> None:
    """With one key and id, equal steps along two orders would tell where they started."""
    words, text = vocabularies.random_vocabulary(5, 2), " ".join(["w1"] * 400)
    steps = []
    for order in ([0, 1, 2, 3, 4], [0, 2, 4, 1, 3]):
        vocabulary = dataclasses.replace(words, orders=np.array([order], np.int32))
        sanitizer = Sanitizer(vocabulary, Diffractor(1.0), bytes(range(32)))
        released = vocabulary.ids_of(sanitizer.sanitize_text(text, "a").split())
        places = np.argsort(order)
        steps.append(np.sign(places[released] - places[1]))
    inner = (steps[0] != 0) & (steps[1] != 0)
    equal = int((steps[0] == steps[1])[inner].sum())
    assert 0.3 < equal / inner.sum() < 0.7  # 1 where steps are shared; 6 standard deviations


@pytest.mark.parametrize("name", ["diffractor", "diffractor_tem"])
def test_several_orders_are_named_in_the_metric(name: str) -> None:
    """The steps that count are those of the order in which they are most."""
    one, three = (make_mechanism(name, epsilon=1.0, orders=k).guarantee() for k in (1, 3))
    assert "number of steps between the words in the public order of the words" in one.sentence
    assert "that of 3 public orders of the words in which it is largest" in three.sentence
