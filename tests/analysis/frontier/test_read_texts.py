"""Texts under decoders and ``fluent``: released as by the Sanitizer."""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.analysis.attackers.models.released_texts import Attackers, Public
from dxbeam.analysis.attackers.prior import uniform_prior
from dxbeam.analysis.attackers.word_pairs import learn_pairs
from dxbeam.analysis.frontier import texts_with_models
from dxbeam.analysis.frontier.read_texts import Drawn, release_texts
from dxbeam.analysis.measure.public_parameters import Known
from dxbeam.analysis.measure.settings import Setting, named_mechanisms
from dxbeam.errors import ConfigurationError
from dxbeam.language.model import language_model_of
from dxbeam.mechanisms.public.public_model import public_model
from dxbeam.randomness import draws_a_word, fill
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitizer
from tests.support import tiny
from tests.support.attacked import numbers

WORDS = tiny.vocabulary(200)
MODEL = language_model_of([[1, 2, 3, 4], [1, 2, 5], [7, 8, 9]] * 20, WORDS, 3)
NAMED = Known("model", public_model(MODEL))


@pytest.mark.parametrize(
    "text", ["laplace:decode=context", "santext:decode=prior:decode_loss=distance", "fluent"]
)
def test_texts_are_released_as_by_the_sanitizer(text: str) -> None:
    [named] = named_mechanisms(text, language_model=NAMED)
    setting, search = Setting(*named, (3.0,), ()), NeighborSearch(WORDS)
    assert setting.reading is not None
    mechanism, decoder = setting.make(), setting.reading.decoder
    sizes, ids = [5, 1, 9], np.random.default_rng(0).integers(0, 200, 15)
    keys = [(bytes([number] * 32), 0, size) for number, size in enumerate(sizes)]
    random = np.empty((15, draws_a_word(mechanism.draws(WORDS.dimensions))), np.uint64)
    start = 0
    for key, position, size in keys:
        fill(key, position, random[start : start + size])
        start += size
    configuration = Configuration(mechanism, decoder=decoder)
    sanitizer = Sanitizer(search, configuration, bytes(32), MODEL if decoder else None)
    drawn = release_texts(setting, ids, sizes, random, search)
    assert drawn.released.tolist() == sanitizer.release(keys, ids).tolist()


@pytest.mark.parametrize(
    ("text", "model", "said"),
    [
        ("laplace:decode=context", None, "name it with `language_model`"),
        ("laplace:decode=best", NAMED, "`decode`"),
        ("laplace:decode_loss=word", NAMED, "`decode_loss` is of use with `decode`"),
        ("fluent:decode=context", NAMED, "`decode` cannot be used with `mechanisms` fluent"),
        ("fluent:language_model=x", NAMED, "`mechanisms`: language_model has a separate flag"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, model: Known | None, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        named_mechanisms(text, language_model=model)


class _CutError(Exception):
    """Public text was cut into pieces."""


def test_as_much_public_text_is_released_as_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(texts: object, words: int) -> None:
        raise _CutError(words)

    monkeypatch.setattr(texts_with_models, "pieces", cut)
    text, [named] = np.arange(5), named_mechanisms("laplace")
    public = Public(uniform_prior(200), learn_pairs([text], 200), [text])
    with pytest.raises(_CutError, match="500"):
        texts_with_models.estimates_with_models(
            Setting(*named, (3.0,), ()), None, [text], Drawn(None, text, text), None, public,
            Attackers(learned=True, public_words=500), lambda rows: numbers(rows, 9, 0),
            NeighborSearch(WORDS),
        )  # fmt: skip
