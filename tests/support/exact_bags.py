"""Bags of words of which everything is enumerated.

Five words on a line, Laplace noise in one dimension, the nearest word; bags are summed over all
draws and all outputs.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import optimize, stats

from dxbeam.space.vocabulary.words import Vocabulary

EPSILON = 1.5
POSITIONS = np.array([-3.0, -1.0, 0.0, 0.5, 4.0])
PAD = len(POSITIONS)  # the unknown word, at the mean of all
PLACES = np.append(POSITIONS, POSITIONS.mean())
LARGEST = float(np.ptp(PLACES))

Bag = tuple[int, ...]
Distribution = dict[Bag, float]


def _words() -> npt.NDArray[np.float64]:
    """P(output | word), [6, 5]: the mass of Laplace noise on each word's cell of the line."""
    edges = np.concatenate([[-np.inf], (POSITIONS[1:] + POSITIONS[:-1]) / 2, [np.inf]])
    return np.diff(stats.laplace.cdf(edges[None] - PLACES[:, None], scale=1 / EPSILON))


WORDS = _words()


def filled(document: Bag, n: int) -> Bag:
    return document + (PAD,) * (n - len(document))


@cache
def noised(bag: Bag) -> Distribution:
    """The distribution of the sorted outputs of the words of a bag."""
    distribution: Counter[Bag] = Counter()
    for outputs in itertools.product(range(5), repeat=len(bag)):
        distribution[tuple(sorted(outputs))] += math.prod(
            WORDS[word, output] for word, output in zip(bag, outputs, strict=True)
        )
    return distribution


def _mixed(draws: Iterable[Bag]) -> Distribution:
    distribution: Counter[Bag] = Counter()
    draws = list(draws)
    for draw in draws:
        for output, probability in noised(tuple(sorted(draw))).items():
            distribution[output] += probability / len(draws)
    return distribution


@cache
def without_replacement(document: Bag, n: int) -> Distribution:
    return _mixed(itertools.combinations(filled(document, n), n))


@cache
def with_replacement(document: Bag, n: int) -> Distribution:
    return _mixed(itertools.product(document, repeat=n))


def loss(first: Distribution, second: Distribution) -> float:
    return max(abs(math.log(first[output] / second[output])) for output in first)


def distance(x: Bag, y: Bag, n: int) -> float:
    """d_n by trying every matching."""
    shorter, longer = sorted((filled(x, n), filled(y, n)), key=len)
    alone = [LARGEST] * (len(longer) - len(shorter))
    return min(
        sum(sorted([*abs(PLACES[list(shorter)] - PLACES[list(chosen)]), *alone])[-n:])
        for chosen in itertools.permutations(longer, len(shorter))
    )


def movers(x: Bag, y: Bag) -> tuple[float, float]:
    """Word Mover's Distance, and its worst-case sibling W-infinity, between documents."""
    copies = math.lcm(len(x), len(y))
    costs = abs(
        np.repeat(PLACES[list(x)], copies // len(x))[:, None]
        - np.repeat(PLACES[list(y)], copies // len(y))[None]
    )
    rows, columns = optimize.linear_sum_assignment(costs)
    # On a line the matching in order is best for both.
    ordered = abs(
        np.sort(np.repeat(PLACES[list(x)], copies // len(x)))
        - np.sort(np.repeat(PLACES[list(y)], copies // len(y)))
    )
    return float(costs[rows, columns].mean()), float(ordered.max())


def line() -> Vocabulary:
    return Vocabulary([f"w{i}" for i in range(5)], POSITIONS.astype(np.float32)[:, None])


def p_value(released: Iterable[str], law: Distribution, count: int) -> float:
    """Chi-squared test of released bags against their law; rare ones are counted together."""
    seen = Counter(released)
    expected = {" ".join(f"w{word}" for word in bag): p * count for bag, p in law.items()}
    assert set(seen) <= set(expected)
    rare = [text for text, number in expected.items() if number < 5]
    groups = [[text] for text in expected if text not in rare] + ([rare] if rare else [])
    observed = [sum(seen[text] for text in group) for group in groups]
    wanted = [sum(expected[text] for text in group) for group in groups]
    return float(stats.chisquare(observed, wanted).pvalue)
