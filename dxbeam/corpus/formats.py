"""The formats of corpora and releases.

A format is a file: a module of this folder with the functions of ``Format``, which say how files
are divided among workers, how records are read, and how released rows are written. To add one,
write its file, name it in ``FORMATS``, and test what is particular to it in a separate file;
tests/corpus/test_formats.py checks what every format must do, for those named in ``FORMATS``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from dxbeam.corpus import bigquery, jsonl, parquet, plain_text
from dxbeam.corpus.delimited import CSV, TSV
from dxbeam.corpus.encoding import Encoding
from dxbeam.corpus.files import CorpusFile
from dxbeam.corpus.iceberg import address, table
from dxbeam.corpus.parsing.column_types import TYPES
from dxbeam.corpus.parsing.csv_rows import Dialect
from dxbeam.corpus.parsing.text_encodings import UTF_8, check_encoding
from dxbeam.corpus.settings import UNITS, ReadSettings, TableSettings
from dxbeam.corpus.splits import Split
from dxbeam.documents import Document, Rejected, check_fields
from dxbeam.errors import ConfigurationError
from dxbeam.storage.bigquery import tables


class Format(Protocol):
    """What the module of a format offers.

    Functions that read raise one of ``files.DAMAGE`` or ``CorpusError`` where a file cannot be read
    to its end.
    """

    @property
    def SUFFIXES(self) -> tuple[str, ...]:  # noqa: N802
        """How names of such files end, in lower case and without a suffix of compression."""

    @property
    def HAS_FIELDS(self) -> bool:  # noqa: N802
        """Whether records have named fields; where they have none, a file can be a document."""

    @property
    def TAKES(self) -> tuple[str, ...]:  # noqa: N802
        """Which of the settings "encoding" and "table" it takes."""

    def check_first_records(
        self, files: Sequence[CorpusFile], settings: ReadSettings, allow_unreadable: bool, /
    ) -> None:
        """Looks at the first records of a corpus for the fields that the settings name.

        Args:
          files: those that hold something.
          settings: how to read them.
          allow_unreadable: whether a file may be one that cannot be read.

        Raises:
          CorpusError: a field is missing.
        """

    def splits(self, file: CorpusFile, settings: ReadSettings, /) -> Iterator[Split]:
        """Divides a file into pieces of about a mebibyte; none knows its first record's number."""

    def share_of_file(self, file: CorpusFile, settings: ReadSettings, records: int, /) -> float:
        """Which share of a file its first records are, about, in (0, 1]."""

    def count_records(self, split: Split, settings: ReadSettings, /) -> int:
        """Reads a split to its end and counts the records that start in it."""

    def ids(self, split: Split, settings: ReadSettings, /) -> Iterator[str]:
        """The usable ids of a numbered split, of records too whose text cannot be used."""

    def records(
        self, split: Split, settings: ReadSettings, /
    ) -> Iterator[tuple[str, Document | Rejected]]:
        """Where each record of a numbered split is, and what it is; in order, each once."""

    def kept_types(self, pattern: str, settings: ReadSettings, /) -> dict[str, pa.DataType]:
        """The types of kept fields, as far as the files of a corpus say them."""

    def encoding(self, kept: pa.Schema, compression: str, /) -> Encoding:
        """How released rows are written.

        Args:
          kept: the kept fields and their types.
          compression: one of ``lines.COMPRESSIONS``.

        Raises:
          ConfigurationError: this format is not compressed so.
        """


DEFAULT_FORMAT = "jsonl"

FORMATS: dict[str, Format] = {
    "jsonl": jsonl,
    "parquet": parquet,
    "csv": CSV,
    "tsv": TSV,
    "text": plain_text,
}
"""Every format, by the name that --input_format and --output_format give it."""

ICEBERG, BIGQUERY = "iceberg", "bigquery"

TABLES: dict[str, Format] = {ICEBERG: table, BIGQUERY: bigquery}
"""What is read as a format is, and is no file: the address of the corpus says so."""

_TABLES_WRITTEN_AS = "parquet"


def table_kind(place: str) -> str | None:
    """Which of ``TABLES`` a place names; None for files."""
    if tables.is_table(place):
        return BIGQUERY
    return ICEBERG if address.is_table(place) else None


def format_of(place: str, input_format: str) -> str:
    """How a corpus is read: as ``input_format`` says, and a table as what its address says."""
    kind = table_kind(place)
    if kind is None:
        return input_format
    if input_format not in (DEFAULT_FORMAT, kind):
        raise ConfigurationError(
            f"`input_format` {input_format} is of files, and `input` {place} is a table; leave it "
            "out"
        )
    return kind


@dataclass(frozen=True)
class CorpusFormat(ReadSettings):
    """How the files of a corpus are to be read; see ``ReadSettings`` for the attributes.

    Raises:
      ConfigurationError: one of them cannot be used; see ``documents.check_fields`` for names.
    """

    def __post_init__(self) -> None:
        if self.name not in (*FORMATS, *TABLES):
            raise ConfigurationError(
                f"`input_format` is one of {', '.join(FORMATS)}, not {self.name!r}"
            )
        if self.document_per not in UNITS:
            raise ConfigurationError(
                f"`document_per` is one of {', '.join(UNITS)}, not {self.document_per!r}"
            )
        if self.document_per == "file" and self.format.HAS_FIELDS:
            raise ConfigurationError(
                f"`document_per` file is for `input_format` text, and this is {self.name}; leave "
                "it out"
            )
        if self.largest_document < 1:
            raise ConfigurationError(
                f"`largest_document` must be a positive number of bytes, as "
                f"{self.largest_document} is not"
            )
        self._check_encoding()
        self._check_table()
        if not self.format.HAS_FIELDS:
            self._check_plain_text()
        check_fields(self.text_field, self.id_field, self.keep_fields, self.group_by)
        if self.epsilon_by == self.text_field:
            raise ConfigurationError(
                f"`epsilon_by` names {self.epsilon_by!r}, the field that is sanitized: epsilon "
                "must depend on a public field; choose another"
            )

    def _check_encoding(self) -> None:
        check_encoding(self.encoding)
        if self.encoding != UTF_8 and "encoding" not in self.format.TAKES:
            raise ConfigurationError(
                f"`encoding` is for files of text, and `input_format` {self.name} says its own; "
                "leave it out"
            )

    def _check_table(self) -> None:
        table = self.table
        if table != TableSettings() and "table" not in self.format.TAKES:
            raise ConfigurationError(
                "`delimiter`, `quotes`, `columns` and `column_types` are for `input_format` csv or "
                f"tsv, and this is {self.name}; leave them out"
            )
        if table.delimiter is not None:
            Dialect(table.delimiter)  # refuses what is no delimiter
        if len(set(table.columns)) < len(table.columns):
            raise ConfigurationError("`columns` names a column twice; give each its own name")
        typed = [name for name, _ in table.types]
        for name in typed:
            if name not in self.keep_fields or typed.count(name) > 1:
                raise ConfigurationError(
                    f"`column_types` names {name!r}, which `keep_fields` does not name, or twice; "
                    "kept columns can have a type, each one"
                )
        if not {kind for _, kind in table.types} <= set(TYPES):
            raise ConfigurationError(f"`column_types` are of {', '.join(TYPES)}")

    def _check_plain_text(self) -> None:
        if self.vector_dimensions:
            raise ConfigurationError(
                "plain text holds no vectors; use `input_format` jsonl or parquet"
            )
        if self.keep_fields or self.group_by or self.epsilon_by:
            raise ConfigurationError(
                "plain text has no fields: leave `keep_fields`, `group_by` and `epsilon_by` out, "
                "or use `input_format` jsonl"
            )

    @property
    def format(self) -> Format:
        """The module that reads such files."""
        return FORMATS[self.name] if self.name in FORMATS else TABLES[self.name]

    @property
    def written_as(self) -> str:
        """The format of a release for which none is named."""
        if self.name in TABLES:
            return _TABLES_WRITTEN_AS
        return DEFAULT_FORMAT if self.document_per == "file" else self.name
