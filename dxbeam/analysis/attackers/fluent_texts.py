"""The attacker that reads texts released by ``fluent``: it knows language model and law exactly.

Each released word is drawn from P(y_t | x_t, y_<t), and the words before it are public, so

    P(x_t | y)  is proportional to  prior(x_t) q(y_t | y_<t) w(x_t, y_t) / Z(x_t, y_<t)

for one word, as q does not depend on x_t; and for a text, whose original words depend on each other
by which follow which, these are the likelihoods that context.py reads on from. With weights
w(x, y) = exp(-rate min(d, gamma)) = far + excess(x, y),

    Z(x, y_<t) = far sum(q) + sum over near y of excess(x, y) q(y),

a product of the sparse matrix of excesses with q.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.sparse import csr_array

from dxbeam.analysis.attackers.channel import most_probable
from dxbeam.analysis.attackers.context import CANDIDATES, Candidates
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.language.model import LanguageModel
from dxbeam.mechanisms.fluent import Fluent
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary

_PLACES_AT_ONCE = 32
_WORDS_AT_ONCE = 256


def candidates_of_fluent(
    mechanism: Fluent,
    model: LanguageModel,
    released: Sequence[Ids],
    prior: Prior,
    search: NeighborSearch,
    count: int = CANDIDATES,
) -> Candidates:
    """The most probable words at each place of texts, given all that was released.

    Args:
      mechanism: with its epsilon.
      model: its language model, opened.
      released: texts, int64 arrays of ids, each of one sentence.
      prior: what is believed of a single word beforehand.
      search: the vocabulary.
      count: how many words; all of a smaller vocabulary.
    """
    apart = search.computed_once(("apart", mechanism.gamma), _apart(mechanism.gamma, search))
    rate, words = mechanism.epsilon / 2, model.words
    far = float(np.exp(-rate * mechanism.gamma))
    excess = csr_array((np.exp(-rate * apart.data) - far, apart.indices, apart.indptr), apart.shape)
    starts = [np.array([model.start, model.start])] * len(released)
    before = [np.concatenate(pair)[:-1] for pair in zip(starts, released, strict=True)]
    prefixes = np.concatenate([np.column_stack([text[:-1], text[1:]]) for text in before])
    every, count = np.concatenate(released), min(count, words)
    ids, posterior = np.empty((len(every), count), np.int64), np.empty((len(every), count))
    for start in range(0, len(every), _PLACES_AT_ONCE):
        part = slice(start, start + _PLACES_AT_ONCE)
        q = np.array([expected(model, *prefix) for prefix in prefixes[part].tolist()])
        sums = far * q.sum(axis=1) + (excess @ q.T).T.T  # [N, B]
        drawn = excess[every[part]].toarray() + far  # as near to it as it is to them
        joint = prior.shares * drawn / sums.T
        ids[part] = [most_probable(row, count) for row in joint]
        posterior[part] = np.take_along_axis(joint, ids[part], axis=1)
        posterior[part] /= joint.sum(axis=1, keepdims=True)
    return Candidates(ids, posterior, prior.shares[ids])


def expected(model: LanguageModel, first: int, second: int) -> Floats:
    """q(y | first, second) for all words of the vocabulary: float64 [N]."""
    shares = model.probabilities(second)
    if model.order == 3:
        shares = shares * float(model.backoff2(first, second))
        words, corrections = model.successors2(first, second)
        shares[words] += corrections
    return shares[: model.words]


def _apart(gamma: float, search: NeighborSearch) -> Callable[[Vocabulary], csr_array]:
    """How far apart all words are that are nearer than gamma: float64 [N, N], sparse."""

    def of(vocabulary: Vocabulary) -> csr_array:
        ids = np.arange(len(vocabulary))
        near, apart = [], []
        for start in range(0, len(ids), _WORDS_AT_ONCE):
            words, distances = search.within.of(ids[start : start + _WORDS_AT_ONCE], gamma)
            near += [each.astype(np.int32) for each in words]
            apart += distances
        ends = np.concatenate([[0], np.cumsum([len(each) for each in near])])
        return csr_array((np.concatenate(apart), np.concatenate(near), ends), (len(ids),) * 2)

    return of
