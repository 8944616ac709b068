"""The attacker that knows the law of ``fluent``, against a posterior written another way."""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.analysis.attackers.fluent_texts import candidates_of_fluent
from dxbeam.analysis.attackers.prior import prior_from_counts
from dxbeam.language.model import language_model_of
from dxbeam.mechanisms.fluent import Fluent
from dxbeam.mechanisms.public.public_model import public_model
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN
from tests.support import tiny


@pytest.mark.parametrize("order", [2, 3])
def test_the_posterior_of_each_word_is_exact(order: int) -> None:
    words = tiny.vocabulary(60)
    sentences = [[1, 2, 3, 4], [1, 2, 5], [7, 8, UNKNOWN, 9], [2, 3, 1]] * 5
    model = language_model_of(sentences, words, order)
    made = Fluent(1.5, gamma=2.5, model=public_model(model))
    prior = prior_from_counts("public text", np.arange(1, 61))
    texts = [np.array([1, 2, 3]), np.array([30]), np.array([7, 8, 9, 40])]
    found = candidates_of_fluent(made, model, texts, prior, NeighborSearch(words), 60)
    vectors = words.vectors.astype(np.float64)
    apart = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    weights = np.exp(-made.epsilon * np.minimum(apart, made.gamma) / 2)
    row = 0
    for text in texts:
        before = [model.start, model.start]
        for word in text.tolist():
            q = model.probabilities(before[1])
            if order == 3:
                q = q * float(model.backoff2(*before))
                after, corrections = model.successors2(*before)
                q[after] += corrections
            chances = weights * q[:60]
            posterior = prior.shares * chances[:, word] / chances.sum(axis=1)
            posterior /= posterior.sum()
            assert np.allclose(found.posterior[row], posterior[found.ids[row]], atol=1e-12)
            assert (np.diff(found.posterior[row]) <= 0).all()
            before = [before[1], word]
            row += 1
    assert row == len(found.ids)
