"""How a corpus is to be read, as values: which fields, which unit, which limits."""

from __future__ import annotations

from dataclasses import dataclass

UNITS = ("line", "file")
"""What a document of a plain text corpus may be."""


@dataclass(frozen=True)
class TableSettings:
    """How files of delimited text, CSV and TSV, are divided into columns.

    Attributes:
      delimiter: one ASCII character; None for the usual one of the format.
      quotes: whether double quotes enclose fields.
      columns: the names of the columns, for files without a header; () where the first row of each
        file names them.
      types: the types of kept columns, by their names in ``column_types.TYPES``; a kept column that
        is not named here holds strings.
    """

    delimiter: str | None = None
    quotes: bool = True
    columns: tuple[str, ...] = ()
    types: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Division:
    """Sizes of what is read at once, which change nothing in what is read.

    Attributes:
      split_bytes: about how many bytes of a file one worker reads.
      records_per_run: of a file that every worker reads from its start, how many records in a row
        one of them keeps.
      rows_per_batch: how many rows of a Parquet file are held, as texts may be long.
      bytes_to_judge_by: how many bytes of a compressed file show how far it shrinks.
    """

    split_bytes: int = 1 << 20
    records_per_run: int = 8
    rows_per_batch: int = 64
    bytes_to_judge_by: int = 16 << 20


@dataclass(frozen=True)
class ReadSettings:
    """Settings that the files of a format are read with; ``formats.CorpusFormat`` checks them.

    Attributes:
      name: of the format, such as "jsonl"; one of ``formats.FORMATS`` or ``formats.TABLES``.
      text_field: the field or column that holds the text.
      id_field: the one that holds the document's id; a record without it gets an id from its file
        and its number there.
      keep_fields: further fields that are released as they are.
      group_by: a field for each value of which metrics are counted separately, or None.
      document_per: whether a document of a plain text corpus is a "line" or a "file".
      largest_document: documents of more bytes than this are rejected without being read.
      vector_dimensions: n, where ``text_field`` holds a vector of n numbers and no text; it is
        passed on as text, see given_vectors.py.
      epsilon_by: the public field that decides which epsilon a document has, or None.
      encoding: of files of text, as Python names it.
      table: how files of delimited text are divided into columns.
      division: how much is read at once.
    """

    name: str
    text_field: str = "text"
    id_field: str = "id"
    keep_fields: tuple[str, ...] = ()
    group_by: str | None = None
    document_per: str = "line"
    largest_document: int = 256 << 20
    vector_dimensions: int | None = None
    epsilon_by: str | None = None
    encoding: str = "utf-8"
    table: TableSettings = TableSettings()
    division: Division = Division()

    @property
    def needed_fields(self) -> tuple[str, ...]:
        """Fields that the corpus must have; "id" is the one that it may lack."""
        named = () if self.id_field == "id" else (self.id_field,)
        further = [name for name in (self.group_by, self.epsilon_by) if name]
        return tuple(dict.fromkeys((self.text_field, *named, *self.keep_fields, *further)))
