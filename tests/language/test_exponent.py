"""Powers of language models, against the powers of all their distributions."""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.errors import ConfigurationError
from dxbeam.language.exponent import raised
from dxbeam.language.model import LanguageModel, language_model_of
from dxbeam.space.vocabulary.words import UNKNOWN
from tests.support import tiny


def _shares(model: LanguageModel, first: int, second: int) -> np.ndarray:
    shares = float(model.backoff2(first, second)) * model.probabilities(second)
    words, added = model.successors2(first, second)
    shares[words] += added
    return np.asarray(shares)


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("exponent", [0.5, 1.25, 3.0])
def test_every_distribution_is_the_power_of_what_it_was(order: int, exponent: float) -> None:
    rng = np.random.default_rng(1)
    sentences = [np.minimum(rng.geometric(0.2, 9) - 2, 19) for _ in range(150)]
    model = language_model_of(sentences, tiny.vocabulary(20), order)
    power = LanguageModel(20, "", raised(model.numbers, exponent))
    words = [UNKNOWN, *range(20)]
    for first, second in [
        (model.start, model.start),
        *((model.start, word) for word in words),
        *((one, other) for one in words for other in words),
    ]:
        expected = _shares(model, first, second) ** exponent
        expected /= expected.sum()
        np.testing.assert_allclose(_shares(power, first, second), expected, rtol=1e-9)
    for shares in (power.prior, power.continuation):
        assert shares.sum() == pytest.approx(1.0, abs=1e-12)


def test_one_leaves_a_model_as_it_is_and_others_are_refused() -> None:
    model = language_model_of([np.arange(5)], tiny.vocabulary(20))
    assert raised(model.numbers, 1.0) is model.numbers
    for exponent in (0.0, 4.5, float("nan")):
        with pytest.raises(ConfigurationError, match="up to 4"):
            raised(model.numbers, exponent)
