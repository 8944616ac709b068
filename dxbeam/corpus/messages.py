"""Messages of a stream: a JSON object each -> documents, and back; what is said of dead letters."""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from dxbeam.corpus.parsing.records import document_of
from dxbeam.corpus.settings import ReadSettings
from dxbeam.documents import Document, Rejected, check_fields, position_id
from dxbeam.errors import ConfigurationError

LARGEST_MESSAGE = 1_000_000
"""Bytes; Kafka's brokers refuse messages of more than 1,048,588 unless they are set otherwise."""

PROCESSING = "processing"
TIMES = {
    PROCESSING: "when a message is read",
    "log_append": "when the broker took it, for topics with message.timestamp.type=LogAppendTime",
    "create": "when it was made",
}
"""By which time messages are counted."""

_LONGEST_ID = 1_000


class Message(NamedTuple):
    """A message as a transport hands it over.

    Attributes:
      source: where it was: topic and partition, as ``topic/0``.
      number: its place there, such as Kafka's offset.
      time: when it was published, in seconds since 1970.
      value: its bytes; b"" for a message without any.
    """

    source: str
    number: int
    time: float
    value: bytes

    @property
    def where(self) -> str:
        """``SOURCE:NUMBER``, which is the document's id if the message has none."""
        return position_id(self.source, self.number)


@dataclass(frozen=True)
class MessageFormat:
    """How messages are read and written.

    Attributes:
      text_field: the field that holds the text.
      id_field: the field that holds the id. Messages without it are named by where they are.
      keep_fields: further fields that are released as they are.
      epsilon_by: the public field that decides which epsilon a message has, or None.
      largest: messages of more bytes are rejected, before they are read and before they are
        published.
      oldest: messages that were published more seconds than this before they are read are rejected;
        None for no limit.

    Raises:
      ConfigurationError: fields that may not be used so, or a limit that is no positive number.
    """

    text_field: str = "text"
    id_field: str = "id"
    keep_fields: tuple[str, ...] = ()
    epsilon_by: str | None = None
    largest: int = LARGEST_MESSAGE
    oldest: float | None = None

    def __post_init__(self) -> None:
        check_fields(self.text_field, self.id_field, self.keep_fields, None)
        if self.epsilon_by == self.text_field:
            raise ConfigurationError(
                f"`epsilon_by` names {self.epsilon_by!r}, which is sanitized: epsilon must depend "
                "on a public field; choose another"
            )
        if self.oldest is not None and not self.oldest > 0:
            raise ConfigurationError(
                f"`oldest_message` must be a positive number of seconds, not {self.oldest:g}"
            )

    def document(self, message: Message, now: float) -> Document | Rejected:
        """The document of a message, or where it is and why it cannot be used.

        ``now`` is the time, in seconds since 1970.
        """
        where = message.where
        if self.oldest is not None and now - message.time > self.oldest:
            return Rejected(where, f"the message is older than {self.oldest:g} seconds")
        if not message.value:
            return Rejected(where, "the message is empty")
        if len(message.value) > self.largest:
            return Rejected(where, f"the message has more than {self.largest:,} bytes")
        try:
            record: Any = json.loads(message.value.decode("utf-8"))
        except UnicodeDecodeError:
            return Rejected(where, "the message is not in UTF-8")
        except (ValueError, RecursionError):
            return Rejected(where, "the message is not valid JSON")
        if not isinstance(record, dict):
            return Rejected(where, "the message is not a JSON object")
        document = document_of(record, where, self._settings)
        if isinstance(document, Document) and len(document.id) > _LONGEST_ID:
            return Rejected(where, f"the id has more than {_LONGEST_ID:,} characters")
        return document

    @property
    def _settings(self) -> ReadSettings:
        return ReadSettings(
            "jsonl",
            self.text_field,
            self.id_field,
            self.keep_fields,
            epsilon_by=self.epsilon_by,
        )

    def released(self, document: Document) -> tuple[bytes, bytes] | Rejected:
        """Key and value of the message that releases a sanitized document.

        A function of the document only, so that a message which is published twice is equal in
        bytes. Its key is the id, so both go to one partition.
        """
        fields = {"id": document.id, "text": document.text}
        value = json.dumps({**fields, **json.loads(document.fields), **fields}, ensure_ascii=False)
        written, key = value.encode(), document.id.encode()
        if len(key) + len(written) > self.largest:
            return Rejected(
                document.id, f"the released message would have more than {self.largest:,} bytes"
            )
        return key, written


def dead_letter(rejected: Rejected) -> tuple[bytes, bytes]:
    """Key and value of the message that says where and why a message was rejected."""
    line = json.dumps(rejected._asdict(), ensure_ascii=False)
    return rejected.where.encode("utf-8", "replace"), line.encode("utf-8", "replace")
