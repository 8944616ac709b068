"""The real recognisers: what they find, that they log nothing and send nothing, a spaCy model."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from dxbeam.errors import ConfigurationError, RunError
from dxbeam.text.detection import detector
from dxbeam.text.detection.detector import detector_of

pytest.importorskip(
    "presidio_analyzer", reason="Presidio is not installed: pip install '.[detect]'"
)


@pytest.fixture(autouse=True)
def opened_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*_: object) -> None:
        raise AssertionError("recognisers use no network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    detector._open.cache_clear()
    yield
    detector._open.cache_clear()


def _written(text: str, model: str | None = None) -> str:
    found = detector_of("presidio", model)
    assert found
    return "".join(a + b for a, b in found.divide(text))


CASES = {
    "write to Jane.Doe@example.org, now": "write to <EMAIL>, now",
    "call +44 20 7946 0018 or (212) 555-0187!": "call <PHONE> or <PHONE>!",
    "card 4111 1111 1111 1111; not 4111 1111 1111 1112": "card <CARD>;",
    "pay DE89 3704 0044 0532 0130 00 today": "pay <ACCOUNT> today",
    "from 192.168.0.1 and 2001:db8::8a2e:370:7334": "from <IP> and <IP>",
    "see https://example.com/a?b=c and www.example.org": "see <URL> and <URL>",
    "nothing here, at 5 or 12:30": "nothing here, at 5 or 12:30",
    "": "",
}


@pytest.mark.parametrize("text", CASES)
def test_each_kind_is_found(text: str) -> None:
    assert _written(text).startswith(CASES[text])


def test_neighbouring_words_do_not_decide() -> None:
    """Presidio's own engine would be surer next to words such as "phone"."""
    for number in ("212 555 0187", "4111111111111111", "10.0.0.1", "12345678"):
        alone = _written(f"x {number} x")
        for word in ("phone", "card", "credit", "ip", "bank", "account", "url"):
            assert _written(f"{word} {number} {word}") == alone.replace("x", word)


def test_nothing_of_a_text_is_logged(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    """Presidio itself logs what it cannot validate as an account number."""
    from presidio_analyzer.predefined_recognizers import IbanRecognizer

    with caplog.at_level(logging.DEBUG):
        _written("secret DE89 3704 0044 0532 0130 00 secret@example.org +44 20 7946 0018")
        IbanRecognizer().validate_result("DE٣secret")
        logging.getLogger("presidio-analyzer").error("Failed to validate text %s", "secret")
    assert "secret" not in caplog.text


def test_a_model_of_spacy_finds_more(tmp_path: Path) -> None:
    import spacy

    blank = spacy.blank("en")
    ruler = blank.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "PERSON", "pattern": "Ada Lovelace"}])
    blank.to_disk(tmp_path / "model")
    text = "Ada Lovelace wrote to ada@example.org"
    assert _written(text, str(tmp_path / "model")) == "<PERSON> wrote to <EMAIL>"
    before = detector_of("presidio", str(tmp_path / "model"))
    (tmp_path / "model" / "meta.json").write_text("{}")
    after = detector_of("presidio", str(tmp_path / "model"))
    assert before
    assert after
    assert before.as_dict()["model"] != after.as_dict()["model"]
    detector._open.cache_clear()
    with pytest.raises(ConfigurationError, match="install the same versions") as refused:
        list(before.divide("secret"))
    with pytest.raises(ConfigurationError, match=r"cannot be opened by spaCy \(\w+\)"):
        list(after.divide("secret"))
    assert "secret" not in str(refused.value)


def test_a_model_that_fails_says_nothing_of_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import spacy

    spacy.blank("en").to_disk(tmp_path / "model")
    found = detector_of("presidio", str(tmp_path / "model"))

    def fail(_: object, text: str) -> None:
        raise ValueError(text)

    monkeypatch.setattr(spacy.language.Language, "__call__", fail)
    assert found
    with pytest.raises(RunError, match=r"failed on a document \(ValueError\)") as error:
        list(found.divide("secret"))
    assert not re.search("secret", str(error.value))
