"""Documents, rejected records and unreadable files; the rules for ids, fields and dead letters."""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

from dxbeam.errors import ConfigurationError, RunError, check_type, described

RELEASED_FIELDS = ("id", "text", "vector")
"""Fields that every release has, so no kept field may have such a name."""

REPEATED_ID = "another record has this id; make ids unique"
"""Why all records with an id that occurs more than once are rejected, whatever their texts are."""


_LARGEST_ID = 10**4000  # Python writes out integers of at most 4,300 digits


class Document(NamedTuple):
    """One unit of text.

    Attributes:
      id: names the document. It is released as it is, and the noise depends on it. An integer
        stands for its digits, as in a corpus of JSON or Parquet.
      text: what is sanitized.
      fields: a JSON object of the fields to keep, which are released as they are.
      group: the value by which metrics are grouped; "" for no grouping.
      level: the value of the public field that decides which epsilon the document has; "" where one
        epsilon serves all.
    """

    id: str
    text: str
    fields: str = "{}"
    group: str = ""
    level: str = ""


class Rejected(NamedTuple):
    """A record that could not be used: where it is, and the reason. Never any of its text."""

    where: str
    reason: str


class UnreadableFile(NamedTuple):
    """A file that cannot be read to its end: its path below the corpus, and the reason."""

    file: str
    reason: str


def position_id(file: str, number: int) -> str:
    """The id that a document without one is given; it reveals nothing about any text.

    Args:
      file: the file's path below the corpus, so that a corpus may be moved as a whole.
      number: the record's number in the file, from 1: its line, blank ones counted, or its row.
    """
    return f"{file}:{number}"


def field_names(listed: str) -> tuple[str, ...]:
    """The names in a list such as ``"label, stars"``."""
    if not isinstance(listed, str):
        raise ConfigurationError(
            "names of fields are given as one text, separated by commas, and this is a "
            f"{type(listed).__name__}"
        )
    return tuple(name for name in map(str.strip, listed.split(",")) if name)


def check_fields(
    text_field: str, id_field: str, keep_fields: Sequence[str], group_by: str | None
) -> None:
    """Refuses fields that would release the text, or a release with two fields of one name."""
    if isinstance(keep_fields, str):
        raise ConfigurationError(
            f"`keep_fields` is a list of names, and this is one text; put it into a list: "
            f"[{keep_fields!r}]"
        )
    if not all((text_field, id_field, *keep_fields)):
        raise ConfigurationError("the name of a field is empty; give each field its name")
    if id_field == text_field:
        raise ConfigurationError(
            f"`id_field` names {text_field!r}, the field that is sanitized: ids are released as "
            "they are; choose another field"
        )
    for name in keep_fields:
        if name in (text_field, id_field):
            raise ConfigurationError(
                f"`keep_fields` names {name!r}: the text is never kept as it is, and the id always "
                "is; leave it out"
            )
        if name in RELEASED_FIELDS:
            raise ConfigurationError(
                f"`keep_fields` names {name!r}: the release has its own field with this name; "
                "rename the field in the corpus, or leave it out"
            )
    if len(set(keep_fields)) < len(keep_fields):
        raise ConfigurationError("`keep_fields` names a field twice; name each once")
    if group_by == text_field:
        raise ConfigurationError(
            f"`group_by` names {group_by!r}, the field that is sanitized: it would be written into "
            "the metrics; choose another field"
        )


def as_documents(documents: Iterable[Document | str], taken_by: str) -> Iterator[Document]:
    """Documents as they are, and plain strings as documents with new random ids.

    ``taken_by`` names the function in the error that refuses, at once, what holds no documents.
    """
    # All of these can be iterated over, or look as if they could, but not as documents.
    no_documents = (str, bytes, Document, Mapping)
    if isinstance(documents, no_documents) or not isinstance(documents, Iterable):
        raise ConfigurationError(
            f"{taken_by} takes an iterable of documents, such as a list of Document(id, text) or "
            f"of strings, and this is {described(documents)}; put a single one into a list"
        )
    return (with_random_id(one) if isinstance(one, str) else with_text_id(one) for one in documents)


def with_random_id(text: str) -> Document:
    """A document with an id that no other document has, so that it shares noise with none."""
    return Document(secrets.token_hex(16), text)


def text_problem(text: object) -> str | None:
    """Why this text cannot be sanitized and written again, as a reason; None if it can."""
    if not isinstance(text, str):
        return "the text is not a string"
    if "\0" in text:
        return "the text holds a null byte, so it is probably not text; remove it from the record"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "the text holds half of a surrogate pair, so it is not valid Unicode"
    return None


def document_problem(document: Document) -> str | None:
    """Why this document cannot be sanitized and written, as a reason; None if it can.

    Raises:
      ConfigurationError: it is no Document.
    """
    check_type(document, Document, "a document is given as Document(id, text) or as a string")
    if (reason := id_problem(document.id)) is not None:
        return reason
    if (reason := text_problem(document.text)) is not None:
        return reason
    if document.fields != "{}" and not _are_kept_fields(document.fields):
        return "the document's fields are no JSON object of other fields than the id and the text"
    return None


def row_field(row: Any, name: str) -> Any:
    """A field of a row, which must have it."""
    try:
        return getattr(row, name)
    except AttributeError:
        raise ConfigurationError(
            f"rows need the fields `id` and `text`, and one of these has no field {name!r}; name "
            "the fields so before this step, in Beam YAML by MapToFields"
        ) from None


def id_as_text(own_id: Any) -> Any:
    """An integer as its decimal digits, whatever its type; anything else as it is.

    So the integer 7 and the text "7" are one id, wherever documents come from.
    """
    if isinstance(own_id, bool) or not isinstance(own_id, Integral):
        return own_id
    number = int(own_id)
    return str(number) if abs(number) < _LARGEST_ID else own_id


def with_text_id(document: Document) -> Document:
    """The document with its id as text."""
    own_id: Any = document.id if isinstance(document, Document) else ""
    return document if isinstance(own_id, str) else document._replace(id=id_as_text(own_id))


def id_problem(own_id: object) -> str | None:
    """Why this cannot be the id of a document, as a reason; None if it can."""
    own_id = id_as_text(own_id)
    if not isinstance(own_id, str):
        return "the id is neither a string nor an integer"
    return "the id holds characters that cannot be written" if text_problem(own_id) else None


def printable_id(own_id: object) -> str:
    """The id as a dead letter shows it, in valid Unicode; other values than ids are not shown."""
    own_id = id_as_text(own_id)
    if isinstance(own_id, str):
        return own_id.encode("utf-8", "replace").decode()
    return "a document without an id"


def _are_kept_fields(fields: object) -> bool:
    if not isinstance(fields, str) or text_problem(fields):
        return False
    try:
        kept = json.loads(fields)
    except (ValueError, RecursionError):
        return False
    return isinstance(kept, dict) and not set(RELEASED_FIELDS) & set(kept)


@dataclass(frozen=True)
class DeadLetterCap:
    """How many records, or which percentage of all, a run may reject and still release others."""

    limit: float
    percent: bool = False

    def check(self, dead_letters: int, records: int) -> None:
        """Fails the run if more records were rejected than the cap allows."""
        allowed = self.limit * records / 100 if self.percent else self.limit
        if dead_letters > allowed:
            raise RunError(
                f"{dead_letters:,} of {records:,} records went to the dead letters, more than "
                f"`max_dead_letters` {self} allows, so nothing is released; the dead letters say "
                "where and why"
            )

    def __str__(self) -> str:
        return f"{self.limit:g}%" if self.percent else f"{self.limit:g}"


def dead_letter_cap(text: str | None) -> DeadLetterCap | None:
    """The cap that a text such as ``"100"`` or ``"0.5%"`` stands for; None for no cap."""
    if text is None:
        return None
    number = text.removesuffix("%").strip()
    try:
        if text.endswith("%"):
            cap = DeadLetterCap(float(number), percent=True)
            if 0 <= cap.limit <= 100:
                return cap
        elif number.isascii() and number.isdigit():
            return DeadLetterCap(int(number))
    except ValueError:
        pass
    raise ConfigurationError(
        f"`max_dead_letters` {text}: give a number of records, such as 100, or a percentage of "
        "them, such as 0.5%"
    )
