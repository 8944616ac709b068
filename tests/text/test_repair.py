"""The model that repairs grammar: what is refused, what is sent, and what an answer must be."""

from __future__ import annotations

import dataclasses
import json
import pickle
import socket
from pathlib import Path
from typing import Any

import pytest

from dxbeam.errors import ConfigurationError
from dxbeam.text.chat_model import ChatError, ChatModel, PatientModel
from dxbeam.text.repair import PROMPT, Repair, read_prompt
from tests.support import chat_stub

GOOD = Repair("m", "https://models.example:8443/v1")
VARIABLE = "DXBEAM_TEST_KEY"


@pytest.mark.parametrize(
    "change",
    [
        {"model": " "},
        {"prompt": ""},
        {"endpoint": "models.example/v1"},
        {"endpoint": "ftp://models.example/v1"},
        {"endpoint": "https:///v1"},
        {"endpoint": "https://models.example:port/v1"},
        {"endpoint": "https://me:hunter2@models.example/v1"},
        {"endpoint": "https://hunter2@models.example/v1"},
        {"endpoint": "https://models.example/v1?key=hunter2"},
        {"endpoint": "https://models.example/v1#hunter2"},
        {"api_key_variable": "sk-hunter2"},
        {"api_key_variable": ""},
        {"endpoint": "http://models.example/v1", "api_key_variable": "KEY"},
        {"failures": "ignore"},
    ],
)
def test_settings_that_cannot_be_used_are_refused_and_no_key_is_quoted(
    change: dict[str, Any],
) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        dataclasses.replace(GOOD, **change)
    assert "hunter2" not in str(refusal.value)


def test_the_manifest_names_host_model_and_prompt() -> None:
    assert GOOD.as_dict() == {
        "model": "m",
        "endpoint": "models.example:8443",
        "prompt_sha256": GOOD.as_dict()["prompt_sha256"],
        "failures": "keep",
    }
    other = dataclasses.replace(GOOD, prompt="Do as you like.")
    assert other.as_dict()["prompt_sha256"] != GOOD.as_dict()["prompt_sha256"]
    assert any("private corpus" in caveat for caveat in GOOD.caveats)


def test_what_is_sent_is_the_prompt_and_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "hunter2")
    with chat_stub.serve() as stub:
        model = ChatModel(Repair("m", stub.endpoint + "/", api_key_variable=VARIABLE))
        assert model.answer("w1 naïve 東京") == "Rewritten: w1 naïve 東京"
    assert [json.loads(body) for body in stub.bodies] == [
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": PROMPT},
                {"role": "user", "content": "w1 naïve 東京"},
            ],
        }
    ]
    assert stub.paths == ["/v1/chat/completions"]
    assert stub.headers[0]["Authorization"] == "Bearer hunter2"
    with pytest.raises(TypeError, match="holds a key"):
        pickle.dumps(model)


def test_a_key_that_is_not_there_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = dataclasses.replace(GOOD, api_key_variable=VARIABLE)
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(ConfigurationError, match="not set"):
        settings.api_key()
    monkeypatch.setenv(VARIABLE, "hunter2\nX-Other: header")
    with pytest.raises(ConfigurationError) as refusal:
        settings.api_key()
    assert "hunter2" not in str(refusal.value)
    assert GOOD.api_key() is None


@pytest.mark.parametrize(
    ("answer", "reason", "passing"),
    [
        ((500, {}, b"w1"), "HTTP 500", True),
        ((429, {}, b""), "HTTP 429", True),
        ((401, {}, b""), "HTTP 401", False),
        ((302, {"Location": "http://127.0.0.1:9/"}, b""), "HTTP 302", False),
        ((307, {"Location": "http://127.0.0.1:9/"}, b""), "HTTP 307", False),
        ((200, {}, b"w1"), "not a chat completion", False),
        ((200, {}, b"[]"), "not a chat completion", False),
        ((200, {}, b'{"choices": []}'), "not a chat completion", False),
        ((200, {}, b"\xff\xfe"), "not a chat completion", False),
        (chat_stub.completion("w1", "length"), "cut off", False),
        (chat_stub.completion(" \n"), "empty", False),
        (chat_stub.completion(None), "not a string", False),
        (chat_stub.completion("w1 \x00"), "null byte", False),
        (chat_stub.completion("w1 \ud800"), "surrogate", False),
    ],
)
def test_answers_that_are_none_are_told_without_their_text(
    answer: chat_stub.Answer, reason: str, passing: bool
) -> None:
    with chat_stub.serve(lambda _: answer) as stub, pytest.raises(ChatError) as failed:
        ChatModel(Repair("m", stub.endpoint)).answer("w1 w2")
    assert reason in str(failed.value)
    assert "w1" not in str(failed.value)
    assert failed.value.passing == passing
    assert pickle.loads(pickle.dumps(failed.value)).reason == failed.value.reason
    assert len(stub.bodies) == 1


def test_an_endpoint_that_nobody_listens_at() -> None:
    with chat_stub.serve() as stub:
        endpoint = stub.endpoint
    with pytest.raises(ChatError, match="no answer") as failed:
        ChatModel(Repair("m", endpoint)).answer("w1")
    assert failed.value.passing


def test_an_endpoint_that_never_answers_is_waited_for_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = Repair("m", f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
        model = PatientModel(settings, seconds=0.01)
        for _ in range(4):
            with pytest.raises(ChatError, match="no answer") as failed:
                model.answer("w1")
            assert (failed.value.passing, failed.value.endpoint) == (False, True)
        with pytest.raises(ChatError, match="was asked no more"):
            model.answer("w1")


def test_texts_that_a_model_refuses_do_not_speak_against_the_endpoint() -> None:
    answers = iter([(400, {}, b"")] * 9)
    with chat_stub.serve(lambda _: next(answers, chat_stub.completion("Good."))) as stub:
        model = PatientModel(Repair("m", stub.endpoint))
        for _ in range(9):
            with pytest.raises(ChatError, match="HTTP 400"):
                model.answer("w1")
        assert model.answer("w1") == "Good."


def test_prompts_from_files(tmp_path: Path) -> None:
    path = tmp_path / "prompt"
    path.write_text("Make it rhyme.\n")
    assert read_prompt(str(path)) == "Make it rhyme."
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match="UTF-8"):
        read_prompt(str(path))
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_prompt(str(tmp_path / "none"))
