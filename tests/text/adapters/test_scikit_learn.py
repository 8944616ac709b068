"""TextSanitizer within scikit-learn: pipelines, clones, copies, and what it refuses."""

from __future__ import annotations

import pickle

import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from dxbeam import Configuration, Laplace, RankResampling
from dxbeam.errors import ConfigurationError, CorpusError
from dxbeam.text.adapters.scikit_learn import TextSanitizer
from tests.support import tiny

ALMOST_NO_NOISE = Laplace(5000.0)
TEXTS = ["w1 w2 w3", "w1 w3", "w7 w8 w9", "w8 w9"] * 5
LABELS = [0, 0, 1, 1] * 5


def test_a_pipeline_learns_from_released_texts() -> None:
    sanitizer = TextSanitizer(tiny.vocabulary(), ALMOST_NO_NOISE)
    model = make_pipeline(sanitizer, CountVectorizer(), LogisticRegression())
    assert model.fit(TEXTS, LABELS).score(TEXTS, LABELS) == 1.0
    assert model[:1].transform(TEXTS) == TEXTS


def test_parameters_are_those_of_scikit_learn() -> None:
    words, settings = tiny.vocabulary(), Configuration(Laplace(5.0), RankResampling(0.1))
    sanitizer = TextSanitizer(words).set_params(configuration=settings)
    assert set(sanitizer.get_params()) == {"vocabulary", "configuration", "language_model"}
    assert clone(TextSanitizer("demo", settings)).configuration == settings
    assert "sanitizer_" not in vars(clone(TextSanitizer().fit()))


def test_no_two_calls_share_noise() -> None:
    sanitizer = TextSanitizer(tiny.vocabulary(), Laplace(1.0)).fit()
    text = " ".join(f"w{i}" for i in range(40))
    assert len({*sanitizer.transform([text] * 5), *sanitizer.transform([text] * 5)}) == 10


def test_a_copy_holds_no_key() -> None:
    fitted = TextSanitizer("demo").fit()
    copy = pickle.loads(pickle.dumps(fitted))
    assert set(vars(copy)) == {"vocabulary", "configuration", "language_model"}
    assert copy.transform([",", ""]) == [",", ""]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (["w1", "w2 \0"], CorpusError, "text 2 cannot be sanitized: .* null byte"),
        (pd.DataFrame({"text": ["w1"]}), ConfigurationError, "one column of texts"),
        ("w1", ConfigurationError, "an iterable of documents"),
    ],
)
def test_what_is_not_a_column_of_texts_is_refused(
    given: object, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        TextSanitizer(tiny.vocabulary()).transform(given)  # type: ignore[arg-type]
