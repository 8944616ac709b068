"""Tables of pyarrow and pandas -> sanitized tables.

Batches of rows are sanitized by a pool of threads. The search, which takes nearly all of the time,
runs outside of Python's lock, and the secret key never leaves the process.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from dxbeam.documents import REPEATED_ID, Document, Rejected, id_as_text
from dxbeam.errors import ConfigurationError, described
from dxbeam.text.batch import Sanitized
from dxbeam.text.tally import Tally, total


class SanitizedTable(NamedTuple):
    """A table whose texts may be released.

    Attributes:
      table: of the kind that was given: the id if there is one, the sanitized text, and the columns
        that were to be kept.
      rejected: rows that could not be used and are not in it, by their numbers from 1, and why.
      tally: counts of words. They are computed from the raw texts, so the guarantee does not cover
        them.
    """

    table: Any
    rejected: tuple[Rejected, ...]
    tally: Tally


class Sanitizes(Protocol):
    """What is needed of a ``Sanitizer``."""

    def sanitize(self, documents: Any) -> Iterator[Sanitized]: ...  # noqa: D102


def sanitize_table(
    make: Callable[[], Sanitizes],
    table: Any,
    text: str,
    id: str | None,
    keep: Sequence[str],
    level: str | None,
    n_jobs: int,
    rows_at_once: int = 512,
) -> SanitizedTable:
    """As ``Sanitizer.sanitize_table``; ``make`` makes a sanitizer for one thread.

    ``level`` is the public column that decides which epsilon a row has, or None.
    """
    if type(n_jobs) is not int or n_jobs < 1:
        raise ConfigurationError(f"`n_jobs` is a number of threads from 1 on, not {n_jobs!r}")
    _check_columns(table, text, id, keep, level)
    documents = list(_documents(table, text, id, level))
    counted = Counter(document.id for document in documents if isinstance(document.id, str))
    repeated = {name for name, times in counted.items() if times > 1}
    usable = [
        place
        for place, document in enumerate(documents)
        if not (isinstance(document.id, str) and document.id in repeated)
    ]
    batches = [usable[at : at + rows_at_once] for at in range(0, len(usable), rows_at_once)]
    sanitizers = [make() for _ in range(min(n_jobs, max(1, len(batches))))]
    shares = [batches[number :: len(sanitizers)] for number in range(len(sanitizers))]

    def released(job: tuple[Sanitizes, list[list[int]]]) -> list[tuple[int, Sanitized]]:
        sanitizer, share = job
        return [
            result
            for places in share
            for result in zip(
                places, sanitizer.sanitize([documents[place] for place in places]), strict=True
            )
        ]

    with ThreadPoolExecutor(len(sanitizers)) as pool:
        jobs = zip(sanitizers, shares, strict=True)
        results = dict(itertools.chain.from_iterable(pool.map(released, jobs)))
    texts = {
        place: result.document.text for place, result in sorted(results.items()) if result.document
    }
    reasons = {place: result.rejected for place, result in results.items() if result.rejected}
    rejected = tuple(
        Rejected(f"row {place + 1}", reasons[place].reason if place in reasons else REPEATED_ID)
        for place in range(len(documents))
        if place not in texts
    )
    names = [*([id] if id else []), text, *keep]
    return SanitizedTable(
        _rows(table, list(texts), names, text, list(texts.values())),
        rejected,
        total(results[place].tally for place in texts),
    )


def _is_pandas(table: Any) -> bool:
    pandas = sys.modules.get("pandas")  # nobody has a DataFrame without it
    return pandas is not None and isinstance(table, pandas.DataFrame)


def _check_columns(
    table: Any, text: str, id_column: str | None, keep: Sequence[str], level: str | None
) -> None:
    if not (isinstance(table, pa.Table) or _is_pandas(table)):
        raise ConfigurationError(
            f"sanitize_table takes a pyarrow.Table or a pandas.DataFrame, and this is "
            f"{described(table)}"
        )
    if isinstance(keep, str):
        raise ConfigurationError(f"`keep` is a list of names of columns, such as [{keep!r}]")
    columns = list(table.columns) if _is_pandas(table) else table.column_names
    for name in (text, *([id_column] if id_column else []), *keep, *([level] if level else [])):
        if columns.count(name) != 1:
            raise ConfigurationError(
                f"the table has {columns.count(name) or 'no'} columns {name!r}, and one is needed"
            )
    if level == text:
        raise ConfigurationError(
            f"`epsilon_by` names {level!r}, the column that is sanitized: epsilon must depend on a "
            "public column; choose another"
        )
    if id_column == text or text in keep or id_column in keep or len(set(keep)) < len(keep):
        raise ConfigurationError(
            "the text, the id and the columns in `keep` are different columns, each named once"
        )


def _documents(
    table: Any, text: str, id_column: str | None, level: str | None
) -> Iterator[Document]:
    """The rows; those without an id of their own are named by their numbers."""
    texts = _values(table, text)
    ids = _values(table, id_column) if id_column else [None] * len(texts)
    levels = _values(table, level) if level else [""] * len(texts)
    for number, (one, name, value) in enumerate(zip(texts, ids, levels, strict=True), 1):
        row_id = f"row {number}" if name is None else id_as_text(name)
        yield Document(row_id, one, level="" if value is None else str(value))


def _values(table: Any, name: str) -> list[Any]:
    """A column, with None where pandas has NaN, NaT or NA."""
    column = table[name]
    if not _is_pandas(table):
        return list(column.to_pylist())
    return list(column.astype(object).where(column.notna(), None).tolist())


def _rows(table: Any, places: list[int], names: list[str], text: str, texts: list[str]) -> Any:
    """These rows and columns of a table, with other texts.

    The index and the attributes of a data frame, the metadata of a schema, and categories of other
    rows may hold what nobody asked to keep.
    """
    if _is_pandas(table):
        rows = table.iloc[places][names].reset_index(drop=True).assign(**{text: texts})
        rows.attrs = {}
        for name in names:
            if hasattr(rows[name], "cat"):
                rows[name] = rows[name].cat.remove_unused_categories()
        return rows
    chosen = table.select(names).take(pa.array(places, pa.int64()))
    chosen = chosen.set_column(names.index(text), text, pa.array(texts, pa.string()))
    return chosen.cast(pa.schema([_plain(field) for field in chosen.schema]))


def _plain(field: pa.Field) -> pa.Field:
    """A field without metadata and without a dictionary of values."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    return field.with_type(kind).remove_metadata()
