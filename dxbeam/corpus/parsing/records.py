"""A record with fields (a JSON object, a row of a table) -> a document, or why it is rejected.

Whatever is wrong with a record is said by ``Rejected``: where and why, never what the record holds.
"""

from __future__ import annotations

import json
import math
from typing import Any

from dxbeam.corpus.parsing import given_vectors
from dxbeam.corpus.settings import ReadSettings
from dxbeam.documents import Document, Rejected, id_as_text, text_problem

_SINGLE_VALUE = (str, int, float, type(None))
_AS_JSON = json.JSONEncoder(ensure_ascii=False).encode


def document_of(record: dict[str, Any], where: str, settings: ReadSettings) -> Document | Rejected:
    """The document of a record, whose id is ``where``, FILE:NUMBER, if the record has none."""
    text, own_id = record.get(settings.text_field), record.get(settings.id_field)
    if text is None:
        return Rejected(where, f"there is no field {settings.text_field!r}, or it is null")
    if settings.vector_dimensions:
        try:
            text = given_vectors.encode(text, settings.vector_dimensions)
        except ValueError as error:
            return Rejected(where, f"the field {settings.text_field!r} cannot be used: {error}")
    if not isinstance(text, str):
        return Rejected(where, f"the field {settings.text_field!r} is not a string")
    name = where if own_id is None else id_as_text(own_id)
    if not isinstance(name, str):
        return Rejected(
            where, f"the field {settings.id_field!r} is neither a string nor an integer"
        )
    fields = {name: record[name] for name in settings.keep_fields if name in record}
    if not all(isinstance(value, _SINGLE_VALUE) for value in fields.values()):
        return Rejected(where, "a kept field is neither a string, a number, a boolean nor null")
    if any(isinstance(value, float) and not math.isfinite(value) for value in fields.values()):
        return Rejected(where, "a kept field is not a finite number, which JSON cannot hold")
    group = record.get(settings.group_by) if settings.group_by else ""
    if not isinstance(group, _SINGLE_VALUE):
        return Rejected(where, "the group is neither a string, a number, a boolean nor null")
    level = record.get(settings.epsilon_by) if settings.epsilon_by else ""
    if not isinstance(level, _SINGLE_VALUE):
        return Rejected(
            where,
            f"the field {settings.epsilon_by!r} is neither a string, a number, a boolean nor null",
        )
    document = Document(
        id=name,
        text=text,
        fields=_AS_JSON(fields),
        group="" if group is None else str(group),
        level="" if level is None else str(level),
    )
    return checked(document, where)


def wrong_kind(value: object, field: str, settings: ReadSettings) -> str | None:
    """What is wrong with the kind of value that a field has, or None if it can be used."""
    if field == settings.text_field:
        wanted, named = (list, "a list of numbers") if settings.vector_dimensions else (str, "text")
        return None if isinstance(value, wanted) else f"is not {named}"
    if field == settings.id_field:
        usable = value is None or isinstance(id_as_text(value), str)
        return None if usable else "is neither a string nor an integer"
    if isinstance(value, _SINGLE_VALUE):
        return None
    return "is a list or an object; strings, numbers, booleans and null can be used"


def checked(document: Document, where: str) -> Document | Rejected:
    """The document, or why it cannot be sanitized and written."""
    if (reason := text_problem(document.text)) is not None:
        return Rejected(where, reason)
    if any(text_problem(part) for part in (document.id, *document[2:])):
        return Rejected(where, "the id or a kept field holds characters that cannot be written")
    return document


def id_of(record: dict[str, Any], where: str, settings: ReadSettings) -> str | None:
    """The id of a record, whatever its text is; None if it cannot be used."""
    own_id = record.get(settings.id_field)
    name = where if own_id is None else id_as_text(own_id)
    return name if isinstance(name, str) and text_problem(name) is None else None
