"""Texts released by ``fluent``: what it reads, and that nothing else matters."""

from __future__ import annotations

import pytest

from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError
from dxbeam.language.model import language_model_of
from dxbeam.mechanisms.fluent import Fluent
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import Decoder
from dxbeam.text.recorded_configuration import rebuilt
from dxbeam.text.sanitizer import Sanitizer
from tests.support import tiny

WORDS = tiny.vocabulary(200)
MODEL = language_model_of([[1, 2, 3, 4], [1, 2, 5], [7, 8, UNKNOWN, 9]] * 20, WORDS, 3)
KEY = bytes(range(32))


def settings(**others: object) -> Configuration:
    return Configuration(Fluent(3.0, gamma=3.0, model=MODEL), **others)  # type: ignore[arg-type]


def released(documents: list[Document], configuration: Configuration) -> list[str]:
    results = list(Sanitizer(WORDS, configuration, KEY).sanitize(documents))
    assert all(result.document for result in results)
    return [result.document.text for result in results if result.document]


@pytest.mark.parametrize("rule", ["noise", "mask", "keep", "drop"])
def test_a_document_is_released_alike_beside_any_others(rule: str) -> None:
    """Long ones, which take several windows and searches, too."""
    texts = [*tiny.texts(12, seed=1), " ".join(tiny.texts(80, seed=2)), "w1 unheard, w2. w3!"]
    documents = [Document(str(number), text) for number, text in enumerate(texts)]
    configuration = settings(unknown_words=rule, allow_unsound=True)
    together = released(documents, configuration)
    for document, text in zip(documents, together, strict=True):
        assert released([document], configuration) == [text]
    assert released(documents[::-1], configuration) == together[::-1]


def test_only_released_words_and_gaps_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two documents that differ in one word are alike up to it, and from the next sentence on.

    Their noise is made equal, which in a release it never is.
    """
    monkeypatch.setattr("dxbeam.text.sanitizer.document_key", lambda *_: bytes(32))
    one, other = released(
        [Document("1", "w1 w2 w3 w4. w5 w6"), Document("2", "w1 w2 w190 w4. w5 w6")], settings()
    )
    before, after = [text.replace(".", "").split() for text in (one, other)]
    assert before[:2] == after[:2]
    assert before[4:] == after[4:]


def test_what_needs_another_order_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="order"):
        settings(bag=BagOfWords(5))
    with pytest.raises(ConfigurationError, match="decode"):
        settings(decoder=Decoder("context"))


def test_a_record_says_which_model_and_is_rebuilt() -> None:
    recorded = settings().as_dict()
    assert recorded["mechanism"]["model"] == {"order": 3, "sha256": MODEL.digest}
    again = rebuilt(recorded)
    assert again is not None
    assert again.guarantee() == settings().guarantee()
    assert "document" in again.guarantee().sentence
    other = language_model_of([[1, 2, 3]], WORDS, 3)
    assert Configuration(Fluent(3.0, 3.0, other)).digest("") != settings().digest("")
