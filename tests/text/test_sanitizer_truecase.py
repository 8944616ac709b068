"""Capitals in released texts come from what is released and from public text, never from texts."""

from __future__ import annotations

import pytest

import dxbeam
from dxbeam.errors import ConfigurationError
from dxbeam.language.model import language_model_of
from dxbeam.text.truecase import Truecase, truecased

KEY = bytes(32)
TEXTS = [
    "Mr. SMITH flew from New York to PARIS on Monday.\nThe doctor said: no! it was 3.14.",
    "all lower case, nothing else",
    "KEEP UP",
    "",
]


@pytest.fixture(scope="module")
def demo() -> tuple[dxbeam.Vocabulary, dxbeam.LanguageModel]:
    vocabulary = dxbeam.open_vocabulary("demo")
    return vocabulary, dxbeam.open_language_model("demo", vocabulary)


@pytest.mark.parametrize("unknown_words", ["noise", "mask", "drop", "keep"])
def test_the_original_has_no_influence(demo: tuple, unknown_words: str) -> None:
    """With one key, the release is that without capitals, rewritten: a function of it only."""
    vocabulary, model = demo
    plain = dxbeam.Configuration(
        dxbeam.Laplace(10.0), unknown_words=unknown_words, allow_unsound=True
    )
    cased = dxbeam.Configuration(
        dxbeam.Laplace(10.0), unknown_words=unknown_words, allow_unsound=True, truecase=Truecase()
    )
    without = dxbeam.Sanitizer(vocabulary, plain, KEY)
    capitals = dxbeam.Sanitizer(vocabulary, cased, KEY, model)
    assert model.casings is not None
    for number, text in enumerate(TEXTS):
        released = without.sanitize_text(text, str(number))
        assert capitals.sanitize_text(text, str(number)) == truecased(released, model.casings.forms)
    assert capitals.configuration.truecase == Truecase(model.digest)


def test_noise_does_not_depend_on_it() -> None:
    plain = dxbeam.Configuration(dxbeam.Laplace(10.0))
    cased = dxbeam.Configuration(dxbeam.Laplace(10.0), truecase=Truecase())
    assert plain.digest("v") == cased.digest("v")
    assert plain != cased


def test_what_does_not_go_together_is_refused(demo: tuple) -> None:
    vocabulary, model = demo
    cased = dxbeam.Configuration(dxbeam.Laplace(10.0), truecase=Truecase())
    with pytest.raises(ConfigurationError, match="needs a `language_model`"):
        dxbeam.Sanitizer(vocabulary, cased)
    with pytest.raises(ConfigurationError, match="knows capitals"):
        dxbeam.Sanitizer(vocabulary, cased, None, language_model_of([[0, 1]], vocabulary))
    other = dxbeam.Configuration(dxbeam.Laplace(10.0), truecase=Truecase("x"))
    with pytest.raises(ConfigurationError, match="names by its digest"):
        dxbeam.Sanitizer(vocabulary, other, None, model)
    with pytest.raises(ConfigurationError, match="leave one out"):
        dxbeam.Configuration(dxbeam.Laplace(10.0), bag=dxbeam.BagOfWords(5), truecase=Truecase())
    with pytest.raises(ConfigurationError, match="truecase is"):
        dxbeam.Configuration(dxbeam.Laplace(10.0), truecase=True)  # type: ignore[arg-type]
