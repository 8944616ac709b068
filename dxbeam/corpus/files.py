"""Corpus files -> documents and rejected records, a split at a time.

A split is what one worker reads: a byte range of a plain file, a row group of a Parquet file, or
every k-th run of lines of a compressed file. Sanitizing a mebibyte of text takes tens of seconds
and decompressing one takes milliseconds, so splits are small, and up to 16 workers may decompress
the same file, each for the lines that are its own.

A document without an id is named by the number of its record in its file, never by a place in
bytes, whose differences would be the lengths of texts. So the splits of a file are counted first:
``count_records`` of each, then ``numbered`` of all. Counting reads every file to its end, so that
one that is cut off or damaged is known before anything is sanitized; it is left out whole, as any
part of it would depend on how it is divided.

Whatever is wrong with a record comes out as ``Rejected``, which says where and why and never quotes
the record.
"""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

import contextlib
import gzip
import io
import itertools
import json
import math
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dxbeam import storage
from dxbeam.corpus import given_vectors
from dxbeam.documents import (
    REPEATED_ID,
    Document,
    Rejected,
    UnreadableFile,
    check_fields,
    position_id,
    text_problem,
)
from dxbeam.errors import ConfigurationError, CorpusError, RunError

FORMATS = ("jsonl", "parquet", "text")
UNITS = ("line", "file")

_SPLIT_BYTES = 1 << 20
_LARGEST_SHARING = 16  # workers that decompress one file
_LINES_A_RUN = 8
_ROWS_A_READ = 64
_FIRST_RECORDS = 1000  # among which a field that is named must stand
_FILES_TOLD = 5
_COMPRESSIONS = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_NOT_PLAIN_TEXT = (".jsonl", ".ndjson", ".json", ".parquet")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DAMAGE = (OSError, EOFError, zlib.error, pa.ArrowException)


@dataclass(frozen=True)
class CorpusFormat:
    """How the files of a corpus are to be read.

    Attributes:
      name: "jsonl", "parquet" or "text".
      text_field: the field or column that holds the text (jsonl, parquet).
      id_field: the one that holds the document's id; a record without it gets an id from its file
        and its number there.
      keep_fields: further fields that are released as they are.
      group_by: a field whose values are counted apart in the metrics, or None.
      document_per: whether a document of a text corpus is a "line" or a "file".
      largest_document: documents of more bytes than this are rejected without being read.
      vector_dimensions: n, where ``text_field`` holds a vector of n numbers and no text; it is
        passed on as text, see given_vectors.py.

    Raises:
      ConfigurationError: one of them cannot be used; see ``documents.check_fields`` for names.
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
        if self.document_per == "file" and self.name != "text":
            raise ConfigurationError(
                f"--document_per file is for --input_format text, and this is {self.name}; leave "
                "it out"
            )
        if self.largest_document < 1:
            raise ConfigurationError(
                f"--largest_document must be a positive number of bytes, as "
                f"{self.largest_document} is not"
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
        check_fields(self.text_field, self.id_field, self.keep_fields, self.group_by)

    @property
    def needed_fields(self) -> tuple[str, ...]:
        """Fields that the corpus must have; "id" is the one that it may lack."""
        named = () if self.id_field == "id" else (self.id_field,)
        group = (self.group_by,) if self.group_by else ()
        return tuple(dict.fromkeys((self.text_field, *named, *self.keep_fields, *group)))


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
      start, stop: bytes [start, stop) of a plain file, whose lines are those that start there; the
        row group ``start`` of a Parquet file; or the ``start``-th of ``stop`` shares of a
        compressed file.
      first: the number in its file, from 1, of the first record of the range or row group; 1 for
        every share of a compressed file, as each reads it from its start.
    """

    path: str
    name: str
    start: int
    stop: int
    first: int = 1


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


def check_readable(
    files: Sequence[CorpusFile], corpus: CorpusFormat, allow_unreadable: bool = False
) -> None:
    """Looks, before work starts, at names, at whether local files open, and at the first records.

    Args:
      files: of the corpus.
      corpus: how they are to be read.
      allow_unreadable: whether a file may be one that cannot be opened.

    Raises:
      CorpusError: a file cannot be opened or is of another format, or none of the first records of
        the first file has a field that is named.
    """
    readable = []
    for file in files:
        if (reason := _another_format(file.path, corpus)) is not None:
            raise CorpusError(f"{file.path}: {reason}")
        if storage.is_local(file.path):
            try:
                storage.open_read(file.path).close()
            except OSError as error:
                if allow_unreadable:
                    continue
                raise CorpusError(
                    f"{file.path} cannot be read ({error.strerror}); mend it or leave it out"
                ) from None
        readable.append(file)
    with_content = [file for file in readable if file.size]
    if corpus.name == "jsonl" and with_content:
        _check_first_records(with_content[0], corpus)
    if corpus.name == "parquet":
        _check_first_columns(with_content, corpus, allow_unreadable)


def _another_format(path: str, corpus: CorpusFormat) -> str | None:
    """What of a file's name says that it is no plain text, or None."""
    plain = next((path.removesuffix(end) for end in _COMPRESSIONS if path.endswith(end)), path)
    kind = next((end for end in _NOT_PLAIN_TEXT if plain.lower().endswith(end)), None)
    if corpus.name != "text" or kind is None:
        return None
    proper = "parquet" if kind == ".parquet" else "jsonl"
    return (
        f"--input_format text would sanitize what stands around the texts of a {kind} file too; "
        f"use --input_format {proper}, or rename the file if it is plain text"
    )


def _check_first_records(file: CorpusFile, corpus: CorpusFormat) -> None:
    missing, found = set(corpus.needed_fields), False
    first = next(splits(file, corpus))._replace(start=0, stop=1)  # one share of a compressed file
    if not is_compressed(file.path):
        first = first._replace(stop=file.size)
    with contextlib.suppress(*_DAMAGE):  # whoever counts the records says it
        for _, line in itertools.islice(_lines(first, corpus.largest_document), _FIRST_RECORDS):
            record = _object(line)
            if record is not None:
                found = True
                missing -= set(record)
            if not missing:
                return
    for field in corpus.needed_fields:
        if found and field in missing:
            raise CorpusError(
                f"{file.path}: none of the records among its first {_FIRST_RECORDS:,} lines has a "
                f"field {field!r}; check the names of fields"
            )


def _check_first_columns(
    files: Sequence[CorpusFile], corpus: CorpusFormat, allow_unreadable: bool
) -> None:
    """Looks at the first Parquet file; where it may be unreadable, for the first that is not."""
    refusal = None
    for file in files:
        try:
            next(splits(file, corpus), None)
            return
        except CorpusError as error:
            refusal = refusal or CorpusError(f"{file.path}: {error}")
            if not allow_unreadable:
                break
    if refusal:
        raise refusal


def name_below(pattern: str, path: str) -> str:
    """The path of a matched file below the part of the glob that has no wildcard."""
    literal = storage.without_file_scheme(pattern)
    for wildcard in "*?[{":
        literal = literal.split(wildcard)[0]
    directory = literal.rpartition("/")[0]
    return path[len(directory) :].lstrip("/") if path.startswith(directory) else path


def splits(file: CorpusFile, corpus: CorpusFormat) -> Iterator[Split]:
    """Divides a file among workers; only the first split knows the number of its first record.

    Raises:
      CorpusError: the file cannot be read, or is not what it should be; says why.
    """
    path, name, size = file
    if (reason := _another_format(path, corpus)) is not None:
        raise CorpusError(reason)
    if corpus.name == "parquet":
        for group in range(_row_groups(path, corpus)):
            yield Split(path, name, group, group + 1)
    elif corpus.document_per == "file":
        yield Split(path, name, 0, 1)
    elif is_compressed(path):
        shares = min(_LARGEST_SHARING, 1 + 3 * size // _SPLIT_BYTES)  # text shrinks about 3 times
        for share in range(shares):
            yield Split(path, name, share, shares)
    else:
        for start in range(0, size, _SPLIT_BYTES):
            yield Split(path, name, start, min(size, start + _SPLIT_BYTES))


def count_records(split: Split, corpus: CorpusFormat) -> int:
    """Reads a split to its end, and counts the records that start in it.

    A compressed file is read by its first share alone, and its lines are not counted, as whoever
    reads it counts for himself.

    Raises:
      CorpusError: the split cannot be read to its end.
    """
    with _reading():
        if corpus.name == "parquet":
            return sum(batch.num_rows for batch in _batches(split, set(corpus.needed_fields)))
        whole = is_compressed(split.path) or corpus.document_per == "file"
        if whole and split.start:
            return 0
        with _open(split.path) as file:
            if whole:
                while file.read(_SPLIT_BYTES):
                    pass
                return 0
            # A line starts at the start of the file and after each line end.
            file.seek(max(0, split.start - 1))
            unread = split.stop - 1 - file.tell()
            lines = 1 if split.start == 0 else 0
            while unread and (block := file.read(min(unread, _SPLIT_BYTES))):
                lines += block.count(b"\n")
                unread -= len(block)
            return lines


def numbered(counted: Iterable[tuple[Split, int]]) -> Iterator[Split]:
    """The splits of one file, each with the number of its first record.

    Args:
      counted: all splits of the file, in any order, and what ``count_records`` found in each.
    """
    first = 1
    for split, records in sorted(counted):
        yield split._replace(first=first)
        first += records


def ids(split: Split, corpus: CorpusFormat) -> Iterator[str]:
    """The ids of the records of a split, of those too whose text cannot be used.

    So what becomes of other records with the same id says nothing of that text. A record that
    is no JSON object, or too long to be read, has no id. Lines of plain text are left out:
    their ids are their own, as their numbers are.

    Raises:
      CorpusError: the split cannot be read to its end.
    """
    with _reading():
        if corpus.name == "jsonl":
            for number, line in _lines(split, corpus.largest_document):
                record = _object(line)
                if record is not None:
                    yield from _id_of(record, position_id(split.name, number), corpus)
        elif corpus.name == "parquet":
            for number, row in _rows(split, {corpus.id_field}):
                if row is not None:
                    yield from _id_of(row, position_id(split.name, number), corpus)


def read(
    split: Split, corpus: CorpusFormat, repeated: Container[str] = ()
) -> Iterator[Document | Rejected]:
    """The documents of a split, and the records that cannot be used.

    Args:
      split: what to read.
      corpus: how.
      repeated: ids that stand more than once in the corpus; all their records are rejected, as a
        rule that kept the first would depend on how the corpus is divided, and one that looked at
        the texts would tell whether they are equal.

    Raises:
      CorpusError: the split cannot be read to its end.
    """
    with _reading():
        for where, result in _results(split, corpus):
            if isinstance(result, Document) and result.id in repeated:
                yield Rejected(where, REPEATED_ID)
            else:
                yield result


def _results(split: Split, corpus: CorpusFormat) -> Iterator[tuple[str, Document | Rejected]]:
    """Where each record lies, and what it is."""
    if corpus.document_per == "file":
        yield split.name, _read_whole_file(split, corpus)
    elif corpus.name == "parquet":
        for number, row in _rows(split, {corpus.id_field, *corpus.needed_fields}):
            where = position_id(split.name, number)
            yield where, _from_row(row, where, corpus)
    else:
        for number, line in _lines(split, corpus.largest_document):
            where = position_id(split.name, number)
            if number == 1 and line is not None:
                line = line.removeprefix(_BYTE_ORDER_MARK)
            result = _from_line(line, where, corpus)
            if result is not None:
                yield where, result


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Says of a file that cannot be read why, in a sentence."""
    try:
        yield
    except _DAMAGE as error:
        raise CorpusError(
            f"it cannot be read to its end ({type(error).__name__}): it is missing, truncated, "
            "damaged or not readable for this user"
        ) from None


def refuse_unreadable(files: Sequence[UnreadableFile]) -> None:
    """Fails the run if files could not be read.

    Raises:
      RunError: says which, and why.
    """
    if files:
        raise RunError(
            f"{name_unreadable(files)}; nothing is released: mend or remove what is wrong, or add "
            "--allow_unreadable_files to release the rest"
        )


def say_left_out(files: Iterable[Mapping[str, str]]) -> str:
    """The end of a sentence on a release: the files of ``release.json`` that are not in it."""
    unreadable = [UnreadableFile(**file) for file in files]
    return f"; {name_unreadable(unreadable)} and are left out" if unreadable else ""


def name_unreadable(files: Sequence[UnreadableFile]) -> str:
    """How many files could not be read, and which and why, a few of them."""
    told = [f"{file}: {reason}" for file, reason in sorted(files)[:_FILES_TOLD]]
    more = [f"{len(files) - _FILES_TOLD:,} more"] if len(files) > _FILES_TOLD else []
    many = "1 file" if len(files) == 1 else f"{len(files):,} files"
    return f"{many} could not be read ({'; '.join([*told, *more])})"


def is_compressed(path: str) -> bool:
    """Whether a file is decompressed when it is read."""
    return _compression(path) is not None


def _compression(path: str) -> str | None:
    return next((name for end, name in _COMPRESSIONS.items() if path.endswith(end)), None)


@contextlib.contextmanager
def _open(path: str) -> Iterator[BinaryIO]:
    """The content of a file, decompressed; a truncated stream raises one of ``_DAMAGE``."""
    compression = _compression(path)
    with storage.open_read(path) as raw:
        if compression == "gzip":  # reads on after a member, and passes over zeros that follow it
            yield _buffered(gzip.GzipFile(fileobj=raw, mode="rb"))
        elif compression:
            yield _buffered(pa.CompressedInputStream(pa.PythonFile(raw, "r"), compression))
        else:
            yield raw if isinstance(raw, io.BufferedReader) else _buffered(raw)


def _buffered(raw: Any) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(raw, 1 << 18))


def _lines(split: Split, limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Number and content of each line of a split; None for a line longer than ``limit``."""
    compressed = is_compressed(split.path)
    with _open(split.path) as file:
        position = 0
        if not compressed and split.start:
            file.seek(split.start - 1)  # so that a line that starts right at the split is seen
            position = split.start - 1 + _skip_line(file)
        for number in itertools.count(split.first):
            if not compressed and position >= split.stop:
                return
            line, size = _read_line(file, limit)
            if not size:
                return
            if not compressed or (number - 1) // _LINES_A_RUN % split.stop == split.start:
                yield number, line
            position += size


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


def _object(line: bytes | None) -> dict[str, Any] | None:
    """The JSON object of a line, where it can be made out, even if its text cannot be used."""
    try:
        text = (line or b"").removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "replace")
        record = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _id_of(record: dict[str, Any], where: str, corpus: CorpusFormat) -> Iterator[str]:
    """The id of a record, if it is one that can be used."""
    own_id = record.get(corpus.id_field)
    if _is_id(own_id):
        found = where if own_id is None else str(own_id)
        if text_problem(found) is None:
            yield found


def _is_id(own_id: object) -> bool:
    return isinstance(own_id, (str, int, type(None))) and not isinstance(own_id, bool)


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
    if not _is_id(own_id):
        return Rejected(where, f"the field {corpus.id_field!r} is neither a string nor an integer")
    fields = {name: record[name] for name in corpus.keep_fields if name in record}
    if not all(isinstance(value, (str, int, float, type(None))) for value in fields.values()):
        return Rejected(where, "a kept field is neither a string, a number, a boolean nor null")
    if any(isinstance(value, float) and not math.isfinite(value) for value in fields.values()):
        return Rejected(where, "a kept field is not a finite number, which JSON cannot hold")
    group = record.get(corpus.group_by) if corpus.group_by else ""
    if not isinstance(group, (str, int, float, type(None))):
        return Rejected(where, "the group is neither a string, a number, a boolean nor null")
    document = Document(
        id=where if own_id is None else str(own_id),
        text=text,
        fields=json.dumps(fields, ensure_ascii=False),
        group="" if group is None else str(group),
    )
    return _checked(document, where)


def _checked(document: Document, where: str) -> Document | Rejected:
    if (reason := text_problem(document.text)) is not None:
        return Rejected(where, reason)
    if any(text_problem(part) for part in (document.id, document.fields, document.group)):
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


def _row_groups(path: str, corpus: CorpusFormat) -> int:
    """How many row groups a Parquet file has; refuses one without the columns that are needed."""
    with _reading(), storage.open_read(path) as raw, pq.ParquetFile(raw) as file:
        reason = wrong_schema(file.schema_arrow, corpus)
        if reason is not None:
            raise CorpusError(f"{reason}, for its {file.metadata.num_rows:,} rows")
        return int(file.num_row_groups)


def wrong_schema(schema: pa.Schema, corpus: CorpusFormat) -> str | None:
    """What of a Parquet file's schema does not fit the corpus, or None."""
    for column in corpus.needed_fields:
        if column not in schema.names:
            return f"the Parquet file has no column {column!r}"
    for column in (corpus.id_field, *corpus.needed_fields):
        if schema.names.count(column) > 1:
            return f"the Parquet file has several columns {column!r}"
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
            types |= {
                name: schema.field(name).type for name in unknown if schema.names.count(name) == 1
            }
    string = pa.string()
    return pa.schema([(n, string if pa.types.is_null(k) else k) for n, k in types.items()])


def _can_be_kept(kind: pa.DataType) -> bool:
    scalar = ("null", "boolean", "integer", "floating", "date", "timestamp")
    return _is_string(kind) or any(getattr(pa.types, f"is_{name}")(kind) for name in scalar)


def _as_json(column: pa.Array) -> pa.Array:
    """Dates and timestamps of a column as ISO 8601, to the last digit; others as they are."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return pc.strftime(column, format="%Y-%m-%dT%H:%M:%S" + ("%z" if kind.tz else ""))
    return column.cast(pa.string()) if pa.types.is_date(kind) else column


def _is_string(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_numbers(kind: pa.DataType) -> bool:
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(is_list(kind) for is_list in lists):
        return False
    return bool(pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))


def _batches(split: Split, columns: set[str]) -> Iterator[pa.RecordBatch]:
    """These columns of a row group, as far as the file has them, a few rows at a time."""
    with storage.open_read(split.path) as raw, pq.ParquetFile(raw, buffer_size=1 << 18) as file:
        wanted = [name for name in file.schema_arrow.names if name in columns]
        for batch in file.iter_batches(_ROWS_A_READ, row_groups=[split.start], columns=wanted):
            columns_as_json = [_as_json(column) for column in batch.columns]
            # Without columns, a batch still knows how many rows there are.
            yield pa.RecordBatch.from_arrays(columns_as_json, wanted) if wanted else batch


def _rows(split: Split, columns: set[str]) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Number and values of each row of a row group; None where a string is not valid UTF-8."""
    number = split.first
    for batch in _batches(split, columns):
        for index in range(batch.num_rows):
            row: dict[str, Any] | None
            try:
                row = {name: batch[name][index].as_py() for name in batch.schema.names}
            except UnicodeDecodeError:
                row = None
            yield number, row
            number += 1


def _from_row(row: dict[str, Any] | None, where: str, corpus: CorpusFormat) -> Document | Rejected:
    if row is None:
        return Rejected(where, "a string of the row is not valid UTF-8")
    text = row[corpus.text_field]
    if isinstance(text, str) and len(text) > corpus.largest_document:
        return Rejected(where, f"the text is longer than {corpus.largest_document:,} bytes")
    return _from_record(row, where, corpus)
