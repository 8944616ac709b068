"""Delimited text, CSV and TSV: a row per document; the first row of a file names its columns.

A file in UTF-8 that is not compressed is divided between rows, which reading it once from its start
finds exactly. Any other is read from its start by up to 16 workers, each of which keeps some rows.

A row that cannot be divided into the columns is rejected. A file that ends within quotes cannot be
read to its end, as all rows after the open quote are doubtful.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO, cast

import pyarrow as pa

from dxbeam.corpus.encoding import Encoding
from dxbeam.corpus.files import (
    CorpusFile,
    check_first_readable,
    damage_as_corpus_error,
    open_decompressed,
)
from dxbeam.corpus.parsing import csv_rows, lines
from dxbeam.corpus.parsing.column_types import TYPES, as_text, typed
from dxbeam.corpus.parsing.csv_rows import Dialect, Row
from dxbeam.corpus.parsing.other_formats import not_csv
from dxbeam.corpus.parsing.records import document_of, id_of
from dxbeam.corpus.parsing.text_encodings import UTF_8, open_as_utf_8, starts_only, why_invalid
from dxbeam.corpus.settings import ReadSettings
from dxbeam.corpus.splits import Split
from dxbeam.documents import Document, Rejected, position_id
from dxbeam.errors import CorpusError

_LONGEST_HEADER = 1 << 20
_FIRST_BYTES = 64
_NO_LIMIT = 1 << 62


@dataclass(frozen=True)
class DelimitedText:
    """A format of delimited text; see ``formats.Format`` for what it offers.

    ``delimiter`` divides fields, unless the settings name another; always when writing.
    """

    SUFFIXES: tuple[str, ...]
    delimiter: str
    HAS_FIELDS: bool = True
    TAKES: tuple[str, ...] = ("encoding", "table")

    def check_first_records(
        self, files: Sequence[CorpusFile], settings: ReadSettings, allow_unreadable: bool
    ) -> None:
        """Refuses a corpus whose first file is of another format, or lacks a column."""

        def check(file: CorpusFile) -> None:
            with damage_as_corpus_error(), open_as_utf_8(file.path, settings.encoding) as content:
                self._header(content, settings)

        check_first_readable(files, check, allow_unreadable=allow_unreadable)

    def splits(self, file: CorpusFile, settings: ReadSettings) -> Iterator[Split]:
        """Divides a file among workers, between rows."""
        with damage_as_corpus_error(), open_as_utf_8(file.path, settings.encoding) as content:
            _, line = self._header(content, settings)
            if starts_only(file.path, settings.encoding):
                yield from lines.shares(file, settings)
                return
            start = stop = content.tell()
            for row in csv_rows.rows(content, self.dialect(settings), 0, line):
                stop += row.size
                if stop - start >= settings.division.split_bytes:
                    yield Split(file.path, file.name, start, stop, first_line=line)
                    start, line = stop, row.line + row.lines
            if stop > start:
                yield Split(file.path, file.name, start, stop, first_line=line)

    def share_of_file(self, file: CorpusFile, settings: ReadSettings, records: int) -> float:
        """Which share of a file its first records are, by bytes."""

        def read(content: BinaryIO) -> Iterator[tuple[bytes | None, int]]:
            _, line = self._header(content, settings)
            limit = settings.largest_document
            for row in csv_rows.rows(content, self.dialect(settings), limit, line):
                yield row.content, row.size

        return lines.share_of_file(file, settings, records, read)

    def count_records(self, split: Split, settings: ReadSettings) -> int:
        """Reads a split to its end and counts its rows.

        Of a file that every worker reads from its start only the first share is read, to find
        damage; its rows are numbered as they are read.
        """
        if not starts_only(split.path, settings.encoding):
            return sum(1 for _ in self._rows(split, self._columns(split.path, settings), settings))
        if not split.start:
            for _ in self._rows(split, self._columns(split.path, settings), settings):
                pass
        return 0

    def ids(self, split: Split, settings: ReadSettings) -> Iterator[str]:
        """The ids of all rows that can be divided into the columns."""
        columns = self._columns(split.path, settings)
        for number, row in self._rows(split, columns, settings):
            text = (row.content or b"").decode("utf-8", "replace")
            with contextlib.suppress(ValueError):
                record = self._record(text, columns, settings)
                name = id_of(record, position_id(split.name, number), settings)
                if name is not None:
                    yield name

    def records(
        self, split: Split, settings: ReadSettings
    ) -> Iterator[tuple[str, Document | Rejected]]:
        """``FILE:NUMBER`` and document of each row."""
        columns = self._columns(split.path, settings)
        for number, row in self._rows(split, columns, settings):
            where = position_id(split.name, number)
            yield where, self._document(row, where, columns, settings)

    def _document(
        self, row: Row, where: str, columns: Sequence[str], settings: ReadSettings
    ) -> Document | Rejected:
        if row.content is None:
            limit = f"{settings.largest_document:,}"
            return Rejected(where, f"the record is longer than {limit} bytes")
        try:
            record = self._record(row.content.decode("utf-8"), columns, settings)
        except UnicodeDecodeError as error:
            return Rejected(_with_line(where, row), why_invalid(error, settings.encoding))
        except ValueError as error:
            return Rejected(_with_line(where, row), f"not a row of the table: {error}")
        for name, kind in settings.table.types:
            if name in settings.keep_fields:
                try:
                    record[name] = typed(record[name], kind)
                except ValueError:
                    return Rejected(
                        _with_line(where, row), f"the column {name!r} does not hold a {kind}"
                    )
        if settings.vector_dimensions:
            with contextlib.suppress(ValueError, RecursionError):
                record[settings.text_field] = json.loads(record[settings.text_field] or "")
        return document_of(record, where, settings)

    def _record(self, row: str, columns: Sequence[str], settings: ReadSettings) -> dict[str, Any]:
        """The fields of a row by the names of the columns that are needed; ValueError: no such row.

        An empty field without quotes is null; as the text it is an empty text.
        """
        divided = csv_rows.fields(row, self.dialect(settings))
        if len(divided) != len(columns):
            many = "1 field" if len(divided) == 1 else f"{len(divided):,} fields"
            raise ValueError(f"it has {many} where the table has {len(columns):,} columns")
        needed = {settings.id_field, *settings.needed_fields}
        record = {
            name: value for name, value in zip(columns, divided, strict=True) if name in needed
        }
        record[settings.text_field] = record[settings.text_field] or ""
        return record

    def _rows(
        self, split: Split, columns: Sequence[str], settings: ReadSettings
    ) -> Iterator[tuple[int, Row]]:
        """Number and content of each row of a numbered split.

        A blank line is no row, but where there is one column: there it is an empty text. What a
        text holds must not decide how the rows that follow are numbered.
        """
        whole, number = starts_only(split.path, settings.encoding), split.first_record
        with open_as_utf_8(split.path, settings.encoding) as content:
            line, left = split.first_line, split.stop - split.start
            if whole:
                _, line = self._header(content, settings)
            else:
                content.seek(split.start)
            limit = settings.largest_document
            for row in csv_rows.rows(content, self.dialect(settings), limit, line):
                if row.content != b"" or len(columns) == 1:
                    if not whole or lines.is_in_share(split, number, settings):
                        yield number, row
                    number += 1
                left -= row.size
                if not whole and left <= 0:
                    return

    def _columns(self, path: str, settings: ReadSettings) -> list[str]:
        with open_as_utf_8(path, settings.encoding) as content:
            return self._header(content, settings)[0]

    def _header(self, content: BinaryIO, settings: ReadSettings) -> tuple[list[str], int]:
        """The columns of a file, and the number of the line that follows; the file is at it."""
        start = cast(Any, content).peek(_FIRST_BYTES)[:_FIRST_BYTES]
        if start.startswith(lines.BYTE_ORDER_MARK):
            content.read(len(lines.BYTE_ORDER_MARK))
        columns, line = list(settings.table.columns), 1
        # Without a header a file begins with a record: only what is no text may be refused by it.
        judged = not columns or b"\0" in start
        if judged and (hint := not_csv(start, settings.encoding)):
            raise CorpusError(f"it is not a table of delimited text: {hint}")
        if not columns:
            row = next(csv_rows.rows(content, self.dialect(settings), _LONGEST_HEADER), None)
            columns, line = self._names_in(row, settings), row.lines + 1 if row else 1
        self._check_columns(columns, settings)
        return columns, line

    def _names_in(self, row: Row | None, settings: ReadSettings) -> list[str]:
        try:
            text = (row.content or b"" if row else b"").decode("utf-8")
            names = csv_rows.fields(text, self.dialect(settings))
        except ValueError:
            raise CorpusError(
                "its first row cannot be read as names of columns; check `encoding` and "
                "`delimiter`, or name them with `columns` if there is no header"
            ) from None
        return [(name or "").strip() for name in names]

    def _check_columns(self, columns: list[str], settings: ReadSettings) -> None:
        for name in settings.needed_fields:
            if name not in columns:
                raise CorpusError(
                    f"it has no column {name!r} among {len(columns):,}; check the names of fields "
                    "and `delimiter`, or name the columns with `columns` if there is no header"
                )
        for name in (settings.id_field, *settings.needed_fields):
            if columns.count(name) > 1:
                raise CorpusError(f"it has several columns {name!r}; rename all but one")

    def dialect(self, settings: ReadSettings) -> Dialect:
        """How rows are divided into fields."""
        return Dialect(settings.table.delimiter or self.delimiter, settings.table.quotes)

    def kept_types(self, _pattern: str, settings: ReadSettings) -> dict[str, pa.DataType]:
        """The types that the settings give to kept columns."""
        return {name: TYPES[kind] for name, kind in settings.table.types}

    def encoding(self, kept: pa.Schema, compression: str) -> Encoding:
        """A header, then a row for each document: id, text and the kept fields."""
        header = csv_rows.as_row(["id", "text", *kept.names], self.delimiter)
        suffix = lines.with_compression(self.SUFFIXES[0], compression)
        return Encoding(
            suffix,
            partial(_row_of, tuple(kept.names), self.delimiter),
            partial(lines.LineFile, header=header),
            partial(_count_rows, self.delimiter),
        )


CSV = DelimitedText((".csv",), ",")
TSV = DelimitedText((".tsv", ".tab"), "\t")


def _with_line(where: str, row: Row) -> str:
    """Where a damaged row is: its number and the line that it starts in."""
    return f"{where} (line {row.line})"


def _row_of(kept: tuple[str, ...], delimiter: str, row: Any) -> bytes:
    fields = json.loads(row.fields)
    values = [row.id, row.text, *(as_text(fields.get(name)) for name in kept)]
    return csv_rows.as_row(values, delimiter)


def _count_rows(delimiter: str, path: str) -> int:
    with open_decompressed(path) as file:
        return sum(1 for _ in csv_rows.rows(file, Dialect(delimiter), 0)) - 1


def released_rows(path: str, delimiter: str) -> Iterator[dict[str, str | None]]:
    """The rows of a file that a release wrote, strictly; ValueError: no such file."""
    with open_decompressed(path) as file:
        header: list[str | None] | None = None
        for row in csv_rows.rows(file, Dialect(delimiter), _NO_LIMIT):
            divided = csv_rows.fields((row.content or b"").decode(UTF_8), Dialect(delimiter))
            if header is None:
                header = divided
                continue
            yield {str(name): value for name, value in zip(header, divided, strict=True)}
