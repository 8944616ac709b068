"""Messages: what can be read, what is published, and what a dead letter says."""

from __future__ import annotations

import json

import pytest

from dxbeam.corpus.messages import Message, MessageFormat, dead_letter
from dxbeam.documents import Document, Rejected
from dxbeam.errors import ConfigurationError

NOW = 1_000_000.0
SECRET = "zyzzogeton"


def _message(value: bytes, time: float = NOW) -> Message:
    return Message("raw/2", 17, time, value)


def test_a_message_is_named_by_its_field_or_by_where_it_is() -> None:
    messages = MessageFormat(keep_fields=("label",))
    named = messages.document(_message(b'{"id": 7, "text": "a b", "label": "x", "more": 1}'), NOW)
    assert named == Document("7", "a b", '{"label": "x"}')
    unnamed = messages.document(_message(b'{"text": "a b"}'), NOW)
    assert unnamed == Document("raw/2:17", "a b")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "the message is empty"),
        (b"\xff\xfe" + SECRET.encode(), "the message is not in UTF-8"),
        (SECRET.encode(), "the message is not valid JSON"),
        (b"[" * 100_000, "the message is not valid JSON"),
        (b'["zyzzogeton"]', "the message is not a JSON object"),
        (b'{"body": "zyzzogeton"}', "there is no field 'text', or it is null"),
        (b'{"text": ["zyzzogeton"]}', "the field 'text' is not a string"),
        (b'{"text": "zyzzogeton\\u0000"}', "the text holds a null byte"),
        (b'{"text": "zyzzogeton", "id": 1.5}', "the field 'id' is neither a string nor"),
        (b'{"text": "a", "id": "' + b"z" * 1001 + b'"}', "the id has more than 1,000 characters"),
        (b'{"text": "' + SECRET.encode() * 99 + b'"}', "the message has more than 900 bytes"),
    ],
)
def test_a_dead_letter_says_where_and_why_and_no_text(value: bytes, reason: str) -> None:
    largest = 900 if "900" in reason else 1_000_000
    rejected = MessageFormat(largest=largest).document(_message(value), NOW)
    assert isinstance(rejected, Rejected)
    assert rejected.where == "raw/2:17"
    assert rejected.reason.startswith(reason)
    key, letter = dead_letter(rejected)
    assert json.loads(letter) == rejected._asdict()
    assert SECRET.encode() not in key + letter


def test_old_messages_are_rejected_only_where_that_is_asked_for() -> None:
    value = b'{"text": "a"}'
    old = _message(value, NOW - 61)
    assert isinstance(MessageFormat().document(old, NOW), Document)
    assert isinstance(MessageFormat(oldest=60).document(old, NOW), Rejected)
    assert isinstance(MessageFormat(oldest=60).document(_message(value, NOW - 59), NOW), Document)


def test_what_is_published_depends_on_the_document_only() -> None:
    document = Document("m1", "α b", '{"label": 1}')
    assert MessageFormat().released(document) == (
        b"m1",
        '{"id": "m1", "text": "α b", "label": 1}'.encode(),
    )
    long = MessageFormat(largest=20).released(document)
    assert long == Rejected("m1", "the released message would have more than 20 bytes")


@pytest.mark.parametrize(
    "wrong",
    [
        {"keep_fields": ("text",)},
        {"id_field": "text"},
        {"epsilon_by": "text"},
        {"oldest": 0.0},
        {"oldest": -1.0},
    ],
)
def test_settings_that_cannot_be_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        MessageFormat(**wrong)  # type: ignore[arg-type]
