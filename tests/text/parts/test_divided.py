"""A document in parts, sanitized in any order and by anybody, is the document sanitized whole."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from dxbeam.documents import Document
from dxbeam.mechanisms.fluent import Fluent
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.santext import SanText
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.batch import Batch, Sanitized
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import Decoder
from dxbeam.text.parts import divided
from dxbeam.text.sanitizer import Sanitizer
from tests.support import decoded, fake_recognizers, tiny

WORDS = " ".join(f"w{(7 * i) % 61}{', ' if i % 11 else '. '}" for i in range(2300))
TEXTS = ["", "  ... ", "w1", "Strange", " w1 Strange, odd! w2 ", f"- {WORDS} odd - "]


def _laplace(rule: str) -> Callable[[], Sanitizer]:
    settings = Configuration(Laplace(5.0), unknown_words=rule, allow_unsound=True)
    return lambda: Sanitizer(decoded.vocabulary(), settings, tiny.KEY)


def _decoded(kind: str) -> Sanitizer:
    vocabulary = decoded.vocabulary()
    settings = Configuration(Laplace(5.0), decoder=Decoder(kind))
    return Sanitizer(vocabulary, settings, tiny.KEY, decoded.language_model(vocabulary))


def _fluent() -> Sanitizer:
    vocabulary = decoded.vocabulary()
    mechanism = Fluent(3.0, model=decoded.language_model(vocabulary))
    return Sanitizer(vocabulary, Configuration(mechanism), tiny.KEY)


SANITIZERS = {
    "noise": _laplace("noise"),
    "mask": _laplace("mask"),
    "drop": _laplace("drop"),
    "keep": _laplace("keep"),
    "choice": lambda: Sanitizer(decoded.vocabulary(), Configuration(SanText(5.0)), tiny.KEY),
    "prior": lambda: _decoded("prior"),
    "context": lambda: _decoded("context"),
    "fluent": _fluent,
}


def _in_parts(sanitizer: Sanitizer, document: Document, words: int) -> Sanitized:
    parts = list(enumerate(divided.divide(sanitizer, document, words)))
    random.Random(words).shuffle(parts)
    texts = {}
    for number, part in parts:
        batch = Batch(sanitizer)
        divided.add(batch, part)
        [result] = batch.finish()
        assert result.document
        texts[number] = result.document.text, result.tally
    return divided.joined(sanitizer, document, [texts[number] for number in sorted(texts)])


@pytest.mark.parametrize("name", SANITIZERS)
def test_parts_give_the_same_bytes_and_counts(name: str) -> None:
    sanitizer = SANITIZERS[name]()
    documents = [Document(f"d{number}", text) for number, text in enumerate(TEXTS)]
    for document, whole in zip(documents, sanitizer.sanitize(documents), strict=True):
        for words in (1000, 512) if len(document.text) > 100 else (1, 2):
            assert _in_parts(sanitizer, document, words) == whole


def test_placeholders_stay_in_their_places(monkeypatch: pytest.MonkeyPatch) -> None:
    detector = fake_recognizers.install(monkeypatch)
    settings = Configuration(Laplace(5.0), allow_unsound=True, detector=detector)
    sanitizer = Sanitizer(decoded.vocabulary(), settings, tiny.KEY)
    for text in ("bob@site.org", "w1, bob@site.org; w2 bob@site.org", " +44 20 7946 0018 w1."):
        document = Document("d", text)
        [whole] = sanitizer.sanitize([document])
        assert whole.tally.detected
        assert _in_parts(sanitizer, document, 1) == whole


def test_parts_have_the_size_that_is_asked_for() -> None:
    sanitizer = SANITIZERS["noise"]()
    [*first, last] = divided.divide(sanitizer, Document("d", "w1 " * 2300), 1000)
    assert [part.first for part in (*first, last)] == [0, 1000, 2000]
    assert "w1" not in repr(first)


def test_bags_are_not_divided() -> None:
    bag = Configuration(Laplace(5.0), bag=BagOfWords(10))
    assert divided.is_divisible(SANITIZERS["noise"]())
    assert not divided.is_divisible(Sanitizer(decoded.vocabulary(), bag, tiny.KEY))
