"""A document, a rejected record, and the rule for ids."""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

from typing import NamedTuple


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


def position_id(file: str, position: int) -> str:
    """The id of a document that has none of its own.

    Args:
      file: the file's path below the corpus, so that a corpus may be moved as a whole.
      position: the record's byte offset (lines), row number (Parquet) or 0 (a file a document).
    """
    return f"{file}:{position}"


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
