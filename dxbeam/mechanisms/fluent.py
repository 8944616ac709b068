"""The exponential mechanism with a public language model that reads what has been released.

Words are released in order. With x_t the original word and y_<t the words released before it,

    P(y_t | x_t, y_<t)  proportional to  q(y_t | y_<t) exp(-epsilon min(d(x_t, y_t), gamma) / 2),

q being a public n-gram model (dxbeam/language). So probable words come back, in an order that
reads like a text, and rare words are no better protected or exposed than by distance.

Proof. Fix the released prefix y_<t. Then q(. | y_<t) is a public function of y, the same for every
original word, and it cancels in the ratio of two weights:

    weight(y | x) / weight(y | x')  =  exp(epsilon (min(d(x', y), gamma) - min(d(x, y), gamma)) / 2)
                                    <= exp(epsilon min(d(x, x'), gamma) / 2),

as min(d, gamma) is a metric. Z, a sum of such weights, changes by as much at most. So each word's
probability changes by a factor of at most exp(epsilon min(d(x_t, x_t'), gamma)), whatever the
prefix. By the chain rule P(y | x) is the product of the factors of its places, so for every prefix
and for the whole document the factor is at most exp(sum of epsilon min(d(x_t, x_t'), gamma)). q may
be 0 for some words and need not add up to 1. The prefix is what the mechanism itself has released,
before any rank resampling, which is post-processing of the whole document. (McSherry and Talwar:
Mechanism design via differential privacy, 2007, theorem 6, for one word; adaptive composition for
the rest.)

No constant below the worst case (``--constant exact``) is known for it, and little is to be gained.
Z depends on the prefix, so a scan of one q says nothing of the next. Where the model is nearly sure
of a word x', Z(x') is near to q(x') and Z(x) to q(x') exp(-epsilon min(d, gamma) / 2), so the ratio
of P(x | x) to P(x | x') comes near to exp(epsilon min(d, gamma)). A model of film reviews (order 3,
33,849 words) holds "t" for that sure after "it isn": at epsilon = 2.5 the exponent for "ll" in
place of "t" is at least 0.99999 of what is promised. So the worst case stays.

What would break it: a model that reads raw words, before or after this one, or a model made from
the private corpus. Where a sentence starts is read from the public gaps between words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import EUCLIDEAN, Guarantee, pure
from dxbeam.language.uniform import uniform_model
from dxbeam.mechanisms.parameters import ADDED_LATER, checked_epsilon, checked_positive, settle
from dxbeam.mechanisms.public.public_model import PublicModel, public_model
from dxbeam.mechanisms.sampling.exponential_choice import ROUNDED_CHOICE
from dxbeam.mechanisms.sampling.fluent_choice import DRAWS, AllWords, choose_fluently, numbers_of
from dxbeam.mechanisms.sampling.near_words import NearWords
from dxbeam.mechanisms.sampling.released_before import STARTS, in_steps, words_before
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch

MODEL_MUST_BE_PUBLIC = (
    "The language model must be public; one made from the private corpus voids the guarantee."
)
READS_ON = (
    "A word is drawn after reading the words released before it, so it depends on what was drawn "
    "for them. The promise is therefore about the whole document: two documents that differ in one "
    "word, x in place of x', differ in the whole of what is released by a factor of at most "
    "exp(epsilon * d(x, x'))."
)
_ROWS_AT_ONCE = 512
_KEPT = 4
"""Epsilons whose near words and lists are kept, a few hundred MB each."""


LARGEST_GAMMA = 1e18
"""Beyond all distances of vectors in use; float32 holds its square."""

MAY_BE_FALSE = "Fluent text can state things that are false and that the original did not say."


@dataclass(frozen=True)
class Fluent:
    """Word to word, by distances up to gamma and by what a model says after the released words.

    Attributes:
      epsilon: privacy parameter per unit of Euclidean distance.
      gamma: distance from which on words are alike, in units of the embedding; a word's exponent is
        at most epsilon * gamma.
      model: a public language model of the vocabulary, or its handle. Without one all words are
        equally probable, which is ``tem`` with a gamma that does not depend on epsilon.
    """

    epsilon: float
    gamma: float = 6.0
    model: PublicModel | None = field(default=None, metadata=ADDED_LATER)
    name: ClassVar[str] = "fluent"

    def __post_init__(self) -> None:
        epsilon = checked_epsilon(self.epsilon)
        meaning = "the distance from which on words are alike"
        gamma = checked_positive("gamma", self.gamma, meaning)
        if gamma > LARGEST_GAMMA:
            raise ConfigurationError(f"gamma must be at most {LARGEST_GAMMA:g}: {meaning}")
        settle(self, epsilon=epsilon, gamma=gamma, model=public_model(self.model))

    def draws(self, dimensions: int) -> int:  # noqa: ARG002
        """Random numbers per word."""
        return DRAWS

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """A word for each word, as the first of a sentence: int64 [B] -> int64 [B]."""
        return self.release_in_order(ids, random, search, np.full((len(ids), 2), STARTS))

    def release_in_order(
        self, ids: Ids, random: Random, search: NeighborSearch, places: Ids
    ) -> Ids:
        """A word for each word, int64 [B], each read after the words released before it.

        ``places``, int64 [B, 2], says which those are (released_before.py). A row depends on its
        own row of the arguments and the rows it is read after.
        """
        prepared = search.computed_once("fluent", lambda _: lru_cache(_KEPT)(_prepared))
        every, near = prepared(self, search)
        near.keep(ids)
        chosen, numbers = np.empty(len(ids), np.int64), numbers_of(random)
        for rows in _in_parts(in_steps(places), near.at_once(ids, _ROWS_AT_ONCE)):
            first, second = (
                words_before(places[rows, column], chosen, every.model.start) for column in (0, 1)
            )
            chosen[rows] = choose_fluently(ids[rows], first, second, numbers[rows], near, every)
        return chosen

    def prepared(self, search: NeighborSearch) -> tuple[AllWords, NearWords]:
        """What a vocabulary's words are drawn by: all words, and those near to each."""
        vocabulary = search.vocabulary
        model = self.model.opened(vocabulary) if self.model else uniform_model(vocabulary)
        shares = np.asarray(model.continuation[: model.words])
        return AllWords(model), NearWords(self.epsilon / 2, self.gamma, shares, search)

    def guarantee(self) -> Guarantee:
        """Pure epsilon * min(Euclidean distance, gamma), for every pair of strings."""
        citation = "proof in dxbeam/mechanisms/fluent.py; McSherry and Talwar 2007, theorem 6"
        promise = pure(
            self.epsilon,
            citation,
            EUCLIDEAN.limited(f"but at most gamma = {self.gamma:.12g}"),
            caveats=() if self.model is None else (READS_ON, MODEL_MUST_BE_PUBLIC, MAY_BE_FALSE),
            arithmetic=ROUNDED_CHOICE,
        )
        return replace(promise, cap=self.epsilon * self.gamma)


def _in_parts(steps: Iterable[Ids], words: int) -> Iterator[Ids]:
    """Steps in parts of a few words: where gamma is large, each has the whole vocabulary near."""
    for rows in steps:
        for start in range(0, len(rows), words):
            yield rows[start : start + words]


def _prepared(mechanism: Fluent, search: NeighborSearch) -> tuple[AllWords, NearWords]:
    return mechanism.prepared(search)
