"""A document, a rejected record, an unreadable file, and the rules for ids and fields."""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dxbeam.errors import ConfigurationError, RunError

RELEASED_FIELDS = ("id", "text", "vector")
"""Fields that a release makes itself, so that no kept field may have such a name."""

REPEATED_ID = "another record has this id; make ids unique"
"""Why a record is rejected whose id stands more than once, whatever the texts are."""


class Document(NamedTuple):
    """One unit of text.

    Attributes:
      id: names the document; its noise is keyed by it, and it is released as it is.
      text: what is sanitized.
      fields: a JSON object of the other fields that were asked to be kept, released as they are.
      group: the value whose metrics are counted apart ("" where nothing was asked for).
    """

    id: str
    text: str
    fields: str = "{}"
    group: str = ""


class Rejected(NamedTuple):
    """A record that could not be used: where it lies and why. Never any of its text."""

    where: str
    reason: str


class UnreadableFile(NamedTuple):
    """A file that cannot be read to its end: its path below the corpus and why."""

    file: str
    reason: str


def position_id(file: str, number: int) -> str:
    """The id of a document that has none of its own; it says nothing about any text.

    Args:
      file: the file's path below the corpus, so that a corpus may be moved as a whole.
      number: the record's number in the file, from 1: its line, blank ones counted, or its row.
    """
    return f"{file}:{number}"


def field_names(listed: str) -> tuple[str, ...]:
    """The names in a list such as ``"label, stars"``.

    Raises:
      ConfigurationError: this is no text.
    """
    if not isinstance(listed, str):
        raise ConfigurationError(
            "names of fields are given as one text, separated by commas, and this is a "
            f"{type(listed).__name__}"
        )
    return tuple(name for name in map(str.strip, listed.split(",")) if name)


def check_fields(
    text_field: str, id_field: str, keep_fields: Sequence[str], group_by: str | None
) -> None:
    """Refuses uses of fields that would let the text out, or write two fields of one name.

    Args:
      text_field: where the text lies, or the vector.
      id_field: where the id lies.
      keep_fields: what is to be released as it is.
      group_by: by which values metrics are counted apart, or None.

    Raises:
      ConfigurationError: one of them may not be named so.
    """
    if not all((text_field, id_field, *keep_fields)):
        raise ConfigurationError("the name of a field is empty; give each field its name")
    if id_field == text_field:
        raise ConfigurationError(
            f"id_field names {text_field!r}, the field that is sanitized: ids are released as they "
            "are; choose another field"
        )
    for name in keep_fields:
        if name in (text_field, id_field):
            raise ConfigurationError(
                f"keep_fields names {name!r}: the text is never kept as it is, and the id always "
                "is; leave it out"
            )
        if name in RELEASED_FIELDS:
            raise ConfigurationError(
                f"keep_fields names {name!r}, which is what the release calls a field of its own; "
                "rename the field in the corpus, or leave it out"
            )
    if len(set(keep_fields)) < len(keep_fields):
        raise ConfigurationError("keep_fields names a field twice; name each once")
    if group_by == text_field:
        raise ConfigurationError(
            f"group_by names {group_by!r}, the field that is sanitized: it would be written into "
            "the metrics; choose another field"
        )


def why_unusable(text: object) -> str | None:
    """Why ``text`` cannot be sanitized and written again, or None if it can."""
    if not isinstance(text, str):
        return "the text is not a string"
    if "\0" in text:
        return "the text holds a null byte, so it is probably not text; remove it from the record"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "the text holds half of a surrogate pair, so it is not valid Unicode"
    return None


def why_rejected(document: Document) -> str | None:
    """Why a document that a program made cannot be sanitized and written, or None if it can.

    Raises:
      ConfigurationError: it is no Document.
    """
    if not isinstance(document, Document):
        raise ConfigurationError(
            f"documents are given as Document(id, text), and this is a {type(document).__name__}"
        )
    if (reason := why_no_id(document.id)) is not None:
        return reason
    if (reason := why_unusable(document.text)) is not None:
        return reason
    if document.fields != "{}" and not _are_kept_fields(document.fields):
        return "the document's fields are no JSON object of other fields than the id and the text"
    return None


def why_no_id(own_id: object) -> str | None:
    """Why this cannot be the id of a document, or None if it can."""
    if not isinstance(own_id, str):
        return "the id is not a string"
    return "the id holds characters that cannot be written" if why_unusable(own_id) else None


def place(own_id: object) -> str:
    """How a dead letter names a document of which only the id is known."""
    if isinstance(own_id, str):
        return own_id.encode("utf-8", "replace").decode()
    return str(own_id) if isinstance(own_id, int) else "a document without an id"


def _are_kept_fields(fields: object) -> bool:
    if not isinstance(fields, str) or why_unusable(fields):
        return False
    try:
        kept = json.loads(fields)
    except (ValueError, RecursionError):
        return False
    return isinstance(kept, dict) and not set(RELEASED_FIELDS) & set(kept)


@dataclass(frozen=True)
class DeadLetterCap:
    """How many records a run may reject and still be released.

    Attributes:
      limit: a number of records, or of percent of all records.
      percent: which of the two.
    """

    limit: float
    percent: bool = False

    def check(self, dead_letters: int, records: int) -> None:
        """Fails the run if more records were rejected.

        Raises:
          RunError: so it is.
        """
        allowed = self.limit * records / 100 if self.percent else self.limit
        if dead_letters > allowed:
            raise RunError(
                f"{dead_letters:,} of {records:,} records went to the dead letters, more than "
                f"`max_dead_letters` {self} allows, so nothing is released; the dead letters say "
                "where and why"
            )

    def __str__(self) -> str:
        return f"{self.limit:g}%" if self.percent else f"{self.limit:g}"


def dead_letter_cap(given: str | None) -> DeadLetterCap | None:
    """The cap that ``"100"`` or ``"0.5%"`` stands for; None for none.

    Raises:
      ConfigurationError: it is neither a whole number nor a percentage up to 100.
    """
    if given is None:
        return None
    number = given.removesuffix("%").strip()
    try:
        if given.endswith("%"):
            cap = DeadLetterCap(float(number), percent=True)
            if 0 <= cap.limit <= 100:
                return cap
        elif number.isascii() and number.isdigit():
            return DeadLetterCap(int(number))
    except ValueError:
        pass
    raise ConfigurationError(
        f"`max_dead_letters` {given}: give a number of records, such as 100, or a percentage of "
        "them, such as 0.5%"
    )
