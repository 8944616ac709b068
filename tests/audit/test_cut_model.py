"""Language models cut to fewer words, and widened to more."""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.audit.cut_model import cut
from dxbeam.language.model import LanguageModel, language_model_of
from dxbeam.space.vocabulary.words import UNKNOWN
from tests.support import tiny


def _model(order: int) -> LanguageModel:
    rng = np.random.default_rng(0)
    sentences = [rng.geometric(0.2, 9) - 2 for _ in range(200)]
    ids = [np.minimum(each, 29) for each in sentences]
    return language_model_of(ids, tiny.vocabulary(30), order)


def _shares(model: LanguageModel, first: int, second: int) -> np.ndarray:
    shares = float(model.backoff2(first, second)) * model.probabilities(second)
    words, added = model.successors2(first, second)
    shares[words] += added
    return shares


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("words", [3, 12, 30, 40])
def test_kept_words_are_as_probable_after_one_another_as_before(order: int, words: int) -> None:
    whole = _model(order)
    small = LanguageModel(words, "", cut(whole.numbers, words))
    assert small.order == order
    kept, now = min(words, 30), [*range(min(words, 30)), UNKNOWN]
    starts = [(whole.start, small.start)]
    known = [(word, word) for word in range(kept)]
    for (first, new_first), (second, new_second) in [
        (starts[0], starts[0]),
        *((starts[0], one) for one in known[:3]),
        *((one, other) for one in known[:5] for other in known[:5]),
    ]:
        before, after = _shares(whole, first, second), _shares(small, new_first, new_second)
        assert after.sum() == pytest.approx(1.0, abs=1e-12)
        assert (after > 0).all()
        if words <= 30:  # else rare words share what is left
            np.testing.assert_allclose(after[now[:-1]], before[now[:-1]], rtol=1e-5)
            assert after[UNKNOWN] == pytest.approx(1 - before[:kept].sum(), rel=1e-4)


def test_nothing_in_particular_follows_words_that_the_model_lacks() -> None:
    small = LanguageModel(40, "", cut(_model(2).numbers, 40))
    np.testing.assert_array_equal(small.probabilities(35), small.continuation)
    assert (small.continuation[30:40] == small.continuation[:30].min()).all()
