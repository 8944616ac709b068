"""Attackers that ask an endpoint: what is sent, how answers are read, and how much is asked."""

from __future__ import annotations

import json

import pytest

from dxbeam.analysis.attackers.models.asked_for import AskedFor
from dxbeam.analysis.attackers.models.endpoint import (
    Asking,
    AttackerEndpoint,
    guessed_values,
    in_place,
    reconstructed,
)
from dxbeam.errors import ConfigurationError, RunError
from dxbeam.text import chat_model
from tests.support import chat_stub


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ('["The", "film", "was"]', ["the", "film", "was"]),
        ('Sure:\n```json\n["the", "film", "was"]\n```', ["the", "film", "was"]),
        ("the film was", ["the", "film", "was"]),
        ('["a", "z", "c", "d"]', ["a", "z", "c"]),
        ('["z"]', ["a", "b", "c"]),
        ("[[1], {}]", None),
        ("[" * 100_000 + "]" * 100_000, ["a", "b", "c"]),
        ("", None),
    ],
)
def test_answers_are_read_leniently(answer: str, words: list[str] | None) -> None:
    assert in_place(answer, ["a", "b", "c"]) == words


def test_a_model_is_sent_released_words_and_examples_and_no_more_than_is_allowed() -> None:
    with chat_stub.serve(lambda _: chat_stub.completion('["x", "y"]')) as stub:
        asking = Asking(AttackerEndpoint("m", stub.endpoint), 2)
        texts = [["a", "b"], ["c", "d"], ["e", "f"]]
        guesses = reconstructed(texts, [(["after"], ["before"])], asking)
        assert guesses == [["x", "y"], ["x", "y"], None]
        assert [json.loads(text) for text in stub.texts] == [
            {"examples": [{"released": ["after"], "original": ["before"]}], "released": text}
            for text in texts[:2]
        ]
        assert asking.left == 0


def test_values_are_guessed_by_name() -> None:
    answers = iter(["author 2", "It was 'Author 1'.", "either author 1 or author 2", "nobody"])
    with chat_stub.serve(lambda _: chat_stub.completion(next(answers))) as stub:
        asking = Asking(AttackerEndpoint("m", stub.endpoint), 4)
        guesses = guessed_values(["t"] * 5, ["author 1", "author 2"], asking)
    assert guesses == ["author 2", "author 1", None, None, None]
    assert json.loads(stub.texts[0]) == {"text": "t", "values": ["author 1", "author 2"]}


def test_an_endpoint_that_answers_nothing_fails_in_a_sentence_without_a_text(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(chat_model.time, "sleep", lambda _: None)
    with chat_stub.serve(lambda text: (503, {}, text.encode())) as stub:
        asking = Asking(AttackerEndpoint("m", stub.endpoint), 9)
        said = "answered none of 9 requests; the last time: the endpoint had failed on 4 texts"
        with pytest.raises(RunError, match=said):
            reconstructed([["secret", "words"]] * 12, [], asking)
    assert len(stub.bodies) == 4 * 5
    assert "secret" not in caplog.text


def test_flags_are_named_in_what_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="`attacker_endpoint` is a URL"):
        AttackerEndpoint("m", "ftp://somewhere")
    with pytest.raises(ConfigurationError, match="`attacker_endpoint_key_env` is the name"):
        AttackerEndpoint("m", "https://host/v1", api_key_variable="sk-1!")
    asked = AskedFor(endpoint=AttackerEndpoint("m", "https://host/v1"), requests=10)
    assert asked.divided(3).requests == 3
    with pytest.raises(ConfigurationError, match="there are 11 settings or releases"):
        asked.divided(11)
    [sentence] = asked.cost(100, 200, 2)
    assert sentence.startswith("Up to 10 requests go to host, of up to 840 words")
