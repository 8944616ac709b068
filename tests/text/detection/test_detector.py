"""Placeholders before words are noised: consent, guarantee, digest, and no raw text in errors."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError, RunError
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.release_decoding import why_not_decoded_again
from dxbeam.text.detection import detector, presidio, spacy_model
from dxbeam.text.detection.detector import DetectModel, Detector, detector_of
from dxbeam.text.detection.spans import Span
from dxbeam.text.plain_settings import configuration_of
from dxbeam.text.recorded_configuration import rebuilt
from dxbeam.text.sanitizer import Sanitizer
from tests.support import fake_recognizers, tiny

TEXT = "w1 bob@site.org, W2 w3: +44 20 7946 0018? w4"


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Detector]:
    yield fake_recognizers.install(monkeypatch)
    detector._open.cache_clear()


def _sanitizer(fake: Detector, **changes: Any) -> Sanitizer:
    settings = Configuration(Laplace(4.0), allow_unsound=True, detector=fake, **changes)
    return Sanitizer(tiny.vocabulary(), settings, tiny.KEY)


@pytest.mark.parametrize("unknown_words", ["noise", "mask", "drop", "keep"])
def test_placeholders_stand_for_what_is_recognised(fake: Detector, unknown_words: str) -> None:
    [result] = _sanitizer(fake, unknown_words=unknown_words).sanitize([Document("a", TEXT)])
    assert result.document
    assert re.fullmatch(r"\S+ <EMAIL>, \S+ \S+: <PHONE>\? \S+", result.document.text), (
        "gaps are as they were"
    )
    assert (result.tally.detected, result.tally.tokens, result.tally.unknown) == (2, 6, 0)


@pytest.mark.parametrize("text", ["bob@site.org", "bob@site.orgw1", "", "<EMAIL> +1 2", " w1 "])
def test_texts_of_placeholders_only(fake: Detector, text: str) -> None:
    released = _sanitizer(fake).sanitize_text(text)
    words = fake_recognizers.PATTERNS.values()
    gaps = re.sub("|".join(words), "@", text)
    assert re.sub(r"<(EMAIL|PHONE)>", "@", released).count("@") >= gaps.count("@")


def test_of_a_placeholder_only_its_kind_is_released(fake: Detector) -> None:
    """Two texts that differ within what is replaced have one layout, and neither is in it."""
    texts = ["w1 bob@site.org w2", "w1 alexandra@elsewhere.example w2"]
    released = [_sanitizer(fake).sanitize_text(text, "a") for text in texts]
    assert [len(text.split()) for text in released] == [3, 3]
    assert [text.split()[1] for text in released] == ["<EMAIL>"] * 2


@pytest.mark.parametrize("unknown_words", ["noise", "mask"])
def test_long_texts_are_released_as_short_ones(
    fake: Detector, monkeypatch: pytest.MonkeyPatch, unknown_words: str
) -> None:
    text = " ".join([TEXT, "odd", "word"] * 3000)
    sanitizer = _sanitizer(fake, unknown_words=unknown_words)
    [result] = sanitizer.sanitize([Document("a", text)])
    assert result.document
    assert result.tally.detected == 6000
    assert result.document.text.count("<EMAIL>,") == result.document.text.count("<PHONE>?") == 3000
    assert len(result.document.text.split()) == 8 * 3000


def test_it_needs_consent_and_names_what_has_no_promise(fake: Detector) -> None:
    with pytest.raises(ConfigurationError, match="`detect`: nothing is promised for e-mail") as no:
        Configuration(Laplace(4.0), detector=fake)
    assert "allow_unsound" in str(no.value)
    promise = Configuration(Laplace(4.0), detector=fake, allow_unsound=True).guarantee()
    assert "two original words that `detect` leaves in place" in promise.sentence
    assert "nothing is promised for e-mail addresses" in promise.sentence
    assert any("the same placeholders in the same places" in caveat for caveat in promise.caveats)
    unknown = Configuration(
        Laplace(4.0), None, "mask", detector=fake, allow_unsound=True
    ).guarantee()
    assert len(unknown.unprotected) == 2


def test_it_is_part_of_the_digest_and_of_the_record(fake: Detector) -> None:
    plain = Configuration(Laplace(4.0))
    settings = Configuration(Laplace(4.0), detector=fake, allow_unsound=True)
    assert settings.digest("v") != plain.digest("v")
    assert "detect" not in plain.as_dict()
    assert settings.as_dict()["detect"] == {
        "by": "presidio", "rule": "detect-1", "versions": dict(fake.versions), "model": None,
    }  # fmt: skip
    modelled = Configuration(
        Laplace(4.0),
        detector=Detector(fake.versions, DetectModel("m", "ab")),
        allow_unsound=True,
    )
    assert modelled.digest("v") != settings.digest("v")
    for each in (settings, modelled):
        again = rebuilt(each.as_dict())
        assert again is not None
        assert again.digest("v") == each.digest("v")
        assert again.guarantee() == each.guarantee()
    assert "placeholders" in str(why_not_decoded_again(settings))


def test_a_bag_has_no_places(fake: Detector) -> None:
    with pytest.raises(ConfigurationError, match="`bag_of_words` releases no places"):
        Configuration(
            Laplace(4.0), bag=BagOfWords(4, frozenset()), detector=fake, allow_unsound=True
        )


def test_it_is_pickled_as_names_and_opened_once(
    fake: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = tiny.counted(monkeypatch, detector, "_open")
    recognizers: list[int] = []
    monkeypatch.setattr(presidio, "open_recognizers", lambda: recognizers.append(1) or [])
    monkeypatch.setattr(detector, "_open", detector.cache(lambda of: _opening(of, opened)))
    copies = [pickle.loads(pickle.dumps(fake)) for _ in range(16)]
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda each: list(each.divide(TEXT)), copies))
    assert all(part == parts[0] for part in parts)
    assert len(opened) == 1


def _opening(of: Detector, opened: list[Any]) -> Any:
    opened.append(of)
    return lambda text: fake_recognizers.recognized(None, text)


def test_a_worker_with_another_version_is_refused(
    fake: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presidio, "versions", lambda: (("presidio-analyzer", "1"),))
    with pytest.raises(ConfigurationError, match="install the same versions of presidio-analyzer"):
        list(fake.divide("secret"))


def test_a_recogniser_that_fails_says_nothing_of_the_text(
    fake: Detector, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object, text: str) -> Iterator[Span]:
        raise ValueError(f"cannot parse {text}")
        yield

    monkeypatch.setattr(presidio, "recognized", fail)
    with pytest.raises(RunError, match=r"failed on a document \(ValueError\)") as error:
        _sanitizer(fake).sanitize_text("secret words")
    assert "secret" not in str(error.value)
    assert error.value.__cause__ is error.value.__context__ is None


REFUSED = {
    "no such detector": (("regex",), "`detect` is none or presidio, not 'regex'"),
    "no detector": ((None,), "`detect` is none or presidio, not None"),
    "a model without": (("none", "en_core_web_sm"), "only of use with `detect` presidio"),
    "no such model": (("presidio", "no_such_model"), "neither a folder nor an installed package"),
    "a path": (("presidio", "/none/../x"), "neither a folder nor an installed package"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_there_is_not_is_refused(
    fake: Detector, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    monkeypatch.setattr(spacy_model, "is_installed", lambda: True)
    arguments, sentence = REFUSED[case]
    with pytest.raises(ConfigurationError, match=sentence):
        detector_of(*arguments)


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presidio, "is_installed", lambda: False)
    with pytest.raises(ConfigurationError, match=r"pip install 'dxbeam\[detect\]'"):
        configuration_of(epsilon=5.0, detect="presidio", allow_unsound=True)


def test_no_object_of_another_kind_is_taken() -> None:
    with pytest.raises(ConfigurationError, match="detector is what detector_of returns"):
        Configuration(Laplace(4.0), detector="presidio")  # type: ignore[arg-type]
