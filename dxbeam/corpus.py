"""Corpus files -> documents and rejected records, a split at a time.

A split is what one worker reads: a byte range of a plain file, a row group of a Parquet file, or
every k-th run of lines of a compressed file. Sanitizing a mebibyte of text takes tens of seconds
and decompressing one takes milliseconds, so splits are small, and up to 16 workers may decompress
the same file, each for the lines that are its own.

Whatever is wrong with a record or a file comes out as ``Rejected``, which says where and why and
never quotes the record.
"""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

import io
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dxbeam import given_vectors, storage
from dxbeam.documents import Document, Rejected, position_id, why_unusable
from dxbeam.errors import ConfigurationError, CorpusError

FORMATS = ("jsonl", "parquet", "text")
UNITS = ("line", "file")

_SPLIT_BYTES = 1 << 20
_LARGEST_SHARING = 16  # workers that decompress one file
_LINES_A_RUN = 8
_ROWS_A_READ = 64
_COMPRESSIONS = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd"}


@dataclass(frozen=True)
class CorpusFormat:
    """How the files of a corpus are to be read.

    Attributes:
      name: "jsonl", "parquet" or "text".
      text_field: the field or column that holds the text (jsonl, parquet).
      id_field: the one that holds the document's id; a record without it gets an id from its file
        and position.
      keep_fields: further fields that are released as they are.
      group_by: a field whose values are counted apart in the metrics, or None.
      document_per: whether a document of a text corpus is a "line" or a "file".
      largest_document: documents of more bytes than this are rejected without being read.
      vector_dimensions: n, where ``text_field`` holds a vector of n numbers and no text; it is
        passed on as text, see given_vectors.py.
    """

    name: str
    text_field: str = "text"
    id_field: str = "id"
    keep_fields: tuple[str, ...] = ()
    group_by: str | None = None
    document_per: str = "line"
    largest_document: int = 256 << 20
    vector_dimensions: int | None = None

    def __post_init__(self) -> None:
        if self.name not in FORMATS:
            raise ConfigurationError(
                f"--input_format is one of {', '.join(FORMATS)}, not {self.name!r}"
            )
        if self.document_per not in UNITS:
            raise ConfigurationError(
                f"--document_per is one of {', '.join(UNITS)}, not {self.document_per!r}"
            )
        if self.name == "text" and self.vector_dimensions:
            raise ConfigurationError(
                "plain text holds no vectors; use --input_format jsonl or parquet"
            )
        if self.name == "text" and (self.keep_fields or self.group_by):
            raise ConfigurationError(
                "plain text has no fields: leave --keep_fields and --group_by out, or use "
                "--input_format jsonl"
            )
        if {self.text_field, self.id_field} & set(self.keep_fields):
            raise ConfigurationError(
                f"--keep_fields names {self.text_field!r} or {self.id_field!r}: the text is never "
                "kept as it is, and the id always is"
            )


class CorpusFile(NamedTuple):
    """One file of a corpus: its path, its path below the corpus, its size in bytes."""

    path: str
    name: str
    size: int


class Split(NamedTuple):
    """What one worker reads of a file.

    Attributes:
      path: the file.
      name: its path below the corpus.
      start, stop: bytes [start, stop) of a plain file whose first line starts there; the row
        group ``start`` of a Parquet file, whose first row is ``stop``; or the ``start``-th of
        ``stop`` shares of a compressed file.
    """

    path: str
    name: str
    start: int
    stop: int


def matching_files(pattern: str) -> list[CorpusFile]:
    """The files of a corpus, in order of path.

    Raises:
      CorpusError: nothing matches, or all that matches is empty.
    """
    files = [CorpusFile(path, name_below(pattern, path), size) for path, size in _match(pattern)]
    if not files:
        raise CorpusError(f"--input {pattern}: no file matches; check the path and quote the glob")
    if not any(file.size for file in files):
        raise CorpusError(f"--input {pattern}: the corpus is empty ({len(files)} files of 0 bytes)")
    return files


def _match(pattern: str) -> list[tuple[str, int]]:
    try:
        return storage.match(pattern)
    except OSError as error:
        raise CorpusError(
            f"--input {pattern}: cannot be listed ({type(error).__name__}); check the path"
        ) from None


def check_readable(files: Sequence[CorpusFile], corpus: CorpusFormat) -> None:
    """Opens local files, and looks at the schema of the first Parquet file, before work starts.

    Raises:
      CorpusError: a file cannot be opened, or the first Parquet file has the wrong schema.
    """
    for file in files:
        if storage.is_local(file.path):
            try:
                storage.open_read(file.path).close()
            except OSError as error:
                raise CorpusError(
                    f"{file.path} cannot be read ({error.strerror}); mend it or leave it out"
                ) from None
    if corpus.name == "parquet":
        first = next(splits(files[0], corpus), None)
        if isinstance(first, Rejected):
            raise CorpusError(f"{files[0].path}: {first.reason}")


def name_below(pattern: str, path: str) -> str:
    """The path of a matched file below the part of the glob that has no wildcard."""
    literal = storage.without_file_scheme(pattern)
    for wildcard in "*?[{":
        literal = literal.split(wildcard)[0]
    directory = literal.rpartition("/")[0]
    return path[len(directory) :].lstrip("/") if path.startswith(directory) else path


def splits(file: CorpusFile, corpus: CorpusFormat) -> Iterator[Split | Rejected]:
    """Divides a file among workers; Rejected if it is not what it should be."""
    path, name, size = file
    if corpus.name == "parquet":
        yield from _row_groups(path, name, corpus)
    elif corpus.name == "text" and corpus.document_per == "file":
        yield Split(path, name, 0, 1)
    elif _compression(path):
        shares = min(_LARGEST_SHARING, 1 + 3 * size // _SPLIT_BYTES)  # text shrinks about 3 times
        for share in range(shares):
            yield Split(path, name, share, shares)
    else:
        for start in range(0, size, _SPLIT_BYTES):
            yield Split(path, name, start, min(size, start + _SPLIT_BYTES))


def read(split: Split, corpus: CorpusFormat) -> Iterator[Document | Rejected]:
    """The documents of a split, and the records that cannot be used."""
    try:
        if corpus.name == "parquet":
            yield from _read_row_group(split, corpus)
        elif corpus.name == "text" and corpus.document_per == "file":
            yield _read_whole_file(split, corpus)
        else:
            for position, line in _lines(split, corpus.largest_document):
                result = _from_line(line, position_id(split.name, position), corpus)
                if result is not None:
                    yield result
    except (OSError, pa.ArrowException) as error:
        if not _compression(split.path) or split.start == 0:  # one report a file, not one a share
            yield Rejected(split.name, _unreadable(error))


def _unreadable(error: Exception) -> str:
    return (
        f"the file cannot be read to its end ({type(error).__name__}); it is missing, truncated, "
        "damaged or not readable for this user, and its remaining records are not in the release"
    )


def is_compressed(path: str) -> bool:
    """Whether a file is decompressed when it is read."""
    return _compression(path) is not None


def _compression(path: str) -> str | None:
    return next((name for end, name in _COMPRESSIONS.items() if path.endswith(end)), None)


def _open(path: str) -> BinaryIO:
    raw = storage.open_read(path)
    compression = _compression(path)
    if compression is None:
        return raw if isinstance(raw, io.BufferedReader) else _buffered(raw)
    # Arrow notices a truncated stream, gzip or zstd, and reads on after a concatenated one.
    return _buffered(pa.CompressedInputStream(pa.PythonFile(raw, "r"), compression))


def _buffered(raw: Any) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(raw, 1 << 18))


def _lines(split: Split, limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Position and content of each line of a split; None for a line longer than ``limit``."""
    compressed = _compression(split.path) is not None
    with _open(split.path) as file:
        position = 0
        if not compressed and split.start:
            file.seek(split.start - 1)  # so that a line that starts right at the split is seen
            position = split.start - 1 + _skip_line(file)
        number = 0
        while compressed or position < split.stop:
            mine = not compressed or number // _LINES_A_RUN % split.stop == split.start
            line, size = _read_line(file, limit)
            if not size:
                return
            if mine:
                yield position, line
            position += size
            number += 1


def _read_line(file: BinaryIO, limit: int) -> tuple[bytes | None, int]:
    """A line without its end, and its size with it; (b"", 0) at the end of the file."""
    line = file.readline(limit + 1)
    if len(line) <= limit or line.endswith(b"\n"):
        return line.rstrip(b"\r\n"), len(line)
    return None, len(line) + _skip_line(file)


def _skip_line(file: BinaryIO) -> int:
    """Reads to the end of the line, holding a mebibyte of it at most; the bytes skipped."""
    skipped = 0
    while part := file.readline(1 << 20):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


def _from_line(line: bytes | None, where: str, corpus: CorpusFormat) -> Document | Rejected | None:
    """The document of a line; None for a blank line between JSON records."""
    if line is None:
        return Rejected(where, f"the record is longer than {corpus.largest_document:,} bytes")
    if where.endswith(":0"):
        line = line.removeprefix(b"\xef\xbb\xbf")
    if corpus.name == "jsonl" and not line.strip():
        return None
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        return Rejected(where, f"not valid UTF-8 at byte {error.start} of the record")
    if corpus.name == "text":
        return _checked(Document(where, text), where)
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return Rejected(where, "not valid JSON")
    if not isinstance(record, dict):
        return Rejected(where, "not a JSON object")
    return _from_record(record, where, corpus)


def _from_record(record: dict[str, Any], where: str, corpus: CorpusFormat) -> Document | Rejected:
    """The document of a JSON object or a Parquet row."""
    text, own_id = record.get(corpus.text_field), record.get(corpus.id_field)
    if text is None:
        return Rejected(where, f"there is no field {corpus.text_field!r}, or it is null")
    if corpus.vector_dimensions:
        try:
            text = given_vectors.encode(text, corpus.vector_dimensions)
        except ValueError as error:
            return Rejected(where, f"the field {corpus.text_field!r} cannot be used: {error}")
    if not isinstance(text, str):
        return Rejected(where, f"the field {corpus.text_field!r} is not a string")
    if not isinstance(own_id, (str, int, type(None))) or isinstance(own_id, bool):
        return Rejected(where, f"the field {corpus.id_field!r} is neither a string nor an integer")
    fields = {name: record[name] for name in corpus.keep_fields if name in record}
    if not all(isinstance(value, (str, int, float, type(None))) for value in fields.values()):
        return Rejected(where, "a kept field is neither a string, a number, a boolean nor null")
    if any(isinstance(value, float) and not math.isfinite(value) for value in fields.values()):
        return Rejected(where, "a kept field is not a finite number, which JSON cannot hold")
    group = record.get(corpus.group_by) if corpus.group_by else ""
    document = Document(
        id=where if own_id is None else str(own_id),
        text=text,
        fields=json.dumps(fields, ensure_ascii=False),
        group="" if group is None else str(group),
    )
    return _checked(document, where)


def _checked(document: Document, where: str) -> Document | Rejected:
    if (reason := why_unusable(document.text)) is not None:
        return Rejected(where, reason)
    if any(why_unusable(part) for part in (document.id, document.fields, document.group)):
        return Rejected(where, "the id or a kept field holds characters that cannot be written")
    return document


def _read_whole_file(split: Split, corpus: CorpusFormat) -> Document | Rejected:
    with _open(split.path) as file:
        content = file.read(corpus.largest_document + 1)
    if len(content) > corpus.largest_document:
        return Rejected(split.name, f"longer than {corpus.largest_document:,} bytes")
    try:
        return _checked(Document(split.name, content.decode("utf-8-sig")), split.name)
    except UnicodeDecodeError as error:
        return Rejected(split.name, f"not valid UTF-8 at byte {error.start}")


def _row_groups(path: str, name: str, corpus: CorpusFormat) -> Iterator[Split | Rejected]:
    try:
        with storage.open_read(path) as raw, pq.ParquetFile(raw) as file:
            reason = wrong_schema(file.schema_arrow, corpus)
            if reason is not None:
                yield Rejected(name, f"{reason}; its {file.metadata.num_rows:,} rows are left out")
                return
            row = 0
            for group in range(file.num_row_groups):
                yield Split(path, name, group, row)
                row += file.metadata.row_group(group).num_rows
    except (OSError, pa.ArrowException) as error:
        yield Rejected(name, _unreadable(error))


def wrong_schema(schema: pa.Schema, corpus: CorpusFormat) -> str | None:
    """What of a Parquet file's schema does not fit the corpus, or None."""
    needed = [
        corpus.text_field,
        *corpus.keep_fields,
        *([corpus.group_by] if corpus.group_by else []),
    ]
    for column in needed:
        if column not in schema.names:
            return f"the Parquet file has no column {column!r}"
    for column in corpus.keep_fields:
        if not _can_be_kept(schema.field(column).type):
            return (
                f"the Parquet column {column!r} holds {schema.field(column).type}, which cannot be "
                "kept; strings, numbers, booleans, dates and timestamps can"
            )
    kind = schema.field(corpus.text_field).type
    if corpus.vector_dimensions:
        if not _is_numbers(kind):
            return f"the Parquet column {corpus.text_field!r} holds {kind}, not lists of numbers"
        return None
    if not _is_string(kind):
        return f"the Parquet column {corpus.text_field!r} holds {kind}, not strings"
    return None


def kept_schema(pattern: str, corpus: CorpusFormat) -> pa.Schema:
    """The kept fields and their types, as far as the files say: those of a Parquet corpus.

    A column of nulls takes its type from the next file. Of all other corpora, and of files that
    cannot be read, fields are strings.
    """
    types = dict.fromkeys(corpus.keep_fields, pa.null())
    if corpus.name == "parquet":
        for file in matching_files(pattern):
            unknown = [name for name, kind in types.items() if pa.types.is_null(kind)]
            if not unknown:
                break
            try:
                with storage.open_read(file.path) as raw:
                    schema = pq.read_schema(raw)
            except (OSError, pa.ArrowException):
                continue  # reading the corpus says so
            types |= {name: schema.field(name).type for name in unknown if name in schema.names}
    string = pa.string()
    return pa.schema([(n, string if pa.types.is_null(k) else k) for n, k in types.items()])


def _can_be_kept(kind: pa.DataType) -> bool:
    scalar = ("null", "boolean", "integer", "floating", "date", "timestamp")
    return _is_string(kind) or any(getattr(pa.types, f"is_{name}")(kind) for name in scalar)


def _as_json(column: pa.Array) -> pa.Array:
    """Dates and timestamps of a kept column as ISO 8601, to the last digit; others as they are."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        zone = "%z" if kind.tz else ""
        return pc.strftime(column, format=f"%Y-%m-%dT%H:%M:%S{zone}")
    return column.cast(pa.string()) if pa.types.is_temporal(kind) else column


def _is_string(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_numbers(kind: pa.DataType) -> bool:
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(is_list(kind) for is_list in lists):
        return False
    return bool(pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))


def _read_row_group(split: Split, corpus: CorpusFormat) -> Iterator[Document | Rejected]:
    wanted = {corpus.text_field, corpus.id_field, *corpus.keep_fields}
    if corpus.group_by:
        wanted.add(corpus.group_by)
    with storage.open_read(split.path) as raw, pq.ParquetFile(raw, buffer_size=1 << 18) as file:
        columns = [name for name in file.schema_arrow.names if name in wanted]
        row = split.stop
        for batch in file.iter_batches(_ROWS_A_READ, row_groups=[split.start], columns=columns):
            for name in corpus.keep_fields:
                batch = batch.set_column(columns.index(name), name, _as_json(batch[name]))
            for index in range(batch.num_rows):
                where = position_id(split.name, row + index)
                try:
                    record = {name: batch[name][index].as_py() for name in columns}
                except UnicodeDecodeError:
                    yield Rejected(where, "a string of the row is not valid UTF-8")
                    continue
                yield _from_row(record, where, corpus)
            row += batch.num_rows


def _from_row(record: dict[str, Any], where: str, corpus: CorpusFormat) -> Document | Rejected:
    text = record[corpus.text_field]
    if isinstance(text, str) and len(text) > corpus.largest_document:
        return Rejected(where, f"the text is longer than {corpus.largest_document:,} bytes")
    return _from_record(record, where, corpus)
