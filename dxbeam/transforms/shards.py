"""Sanitized rows -> shards, safe against everything that an engine repeats.

Beam's own file sinks delete what lies at their target and then rename. An engine that repeats the
first step after the second, as Flink does when a worker is lost at that moment, has deleted what
nobody can write again. Here every bundle writes a piece under a name that no other has, below
``manifest.PIECES``; a committed piece is moved to the release under that same name, and moving it
again changes nothing. What is left of attempts that were given up, nobody names, and
``claim.complete`` deletes it.

Which document lies in which file, and where, is released too. A bundle holds about a mebibyte of
raw text, so a file a bundle would show how long the texts are. Where their lengths are not released
(bags, vectors) documents are therefore dealt by a keyed hash of their ids into a number of files
that follows from their number alone, and lie in each file in order of that hash.
"""

from __future__ import annotations

import json
import math
import operator
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, Protocol

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam import pvalue
from apache_beam.transforms.window import GlobalWindow, GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from dxbeam import storage
from dxbeam.corpus.files import FORMATS
from dxbeam.errors import ConfigurationError, CorpusError, OutputError
from dxbeam.randomness import layout_order
from dxbeam.release import claim, manifest
from dxbeam.release.manifest import Shard

beam.coders.registry.register_coder(Shard, beam.coders.RowCoder)

DOCUMENTS_A_FILE = 10_000
"""Documents of a file on average, where they are dealt and no number of files is asked for."""

_SUFFIXES = {"none": "", "gzip": ".gz", "zstd": ".zst"}
_ROW_GROUP = 8 << 20  # characters
_NO_FIELDS = pa.schema([])


class WriteShards(beam.PTransform):
    """Writes sanitized rows below a prefix: rows of id, text, fields -> PCollection[Shard].

    Args:
      prefix: directory or gs:// prefix of the release.
      output_format: "jsonl", "parquet" or "text" (the texts alone, a line each; line breaks
        within a text become spaces).
      kept: the kept fields and their types, for Parquet; see ``corpus.kept_schema``.
      compression: "none", "gzip" or "zstd", for jsonl and text.
      num_shards: number of files, if there are as many rows; see WritePieces for 0.
      run: the name under which the prefix was claimed; nothing is published once the claim was
        given up. None where nobody claims.
      layout_key: one element, by which rows are dealt into files; see WritePieces. None only where
        the lengths of the texts are released anyway.

    Raises:
      ConfigurationError: no such format or compression, a compression of Parquet, or a negative
        number of shards.
    """

    def __init__(
        self,
        prefix: str,
        output_format: str,
        kept: pa.Schema = _NO_FIELDS,
        compression: str = "none",
        num_shards: int = 0,
        run: str | None = None,
        layout_key: pvalue.PCollection | None = None,
    ):
        super().__init__()
        if output_format not in FORMATS:
            raise ConfigurationError(
                f"`output_format` is one of {', '.join(FORMATS)}, not {output_format!r}"
            )
        if compression not in _SUFFIXES:
            raise ConfigurationError(
                f"`compression` is one of {', '.join(_SUFFIXES)}, not {compression!r}"
            )
        if output_format == "parquet" and compression != "none":
            raise ConfigurationError(
                f"`compression` {compression} is for jsonl and text; Parquet is always compressed "
                "with zstd, so leave it out"
            )
        if num_shards < 0:
            raise ConfigurationError(f"`num_shards` must not be negative, as {num_shards} is")
        self._prefix = prefix
        self._format = output_format
        self._kept = kept
        self._compression = compression
        self._num_shards = num_shards
        self._run = run
        self._layout_key = layout_key

    def expand(self, rows: pvalue.PCollection) -> pvalue.PCollection:
        """Encodes, writes pieces, and moves and describes those that were committed."""
        return rows | "WritePieces" >> WritePieces(
            self._prefix, *self._encoding(), self._num_shards, self._run, self._layout_key
        )

    def _encoding(self) -> tuple[str, Callable[[Any], Any], _OpenFile]:
        if self._format == "parquet":
            schema = pa.schema([("id", pa.string()), ("text", pa.string()), *self._kept])
            return ".parquet", ToParquetRow("text", self._kept), OpenParquet(schema)
        encode = _json_line if self._format == "jsonl" else _text_line
        suffix = {"jsonl": ".jsonl", "text": ".txt"}[self._format] + _SUFFIXES[self._compression]
        return suffix, encode, _Lines


class WritePieces(beam.PTransform):
    """Writes rows with an id as the shards of a release: -> PCollection[Shard].

    Args:
      prefix: directory or gs:// prefix of the release.
      suffix: of the files' names.
      encode: a row -> what a file takes.
      open_file: a path -> a file that takes the encoded rows.
      num_shards: number of files, if there are as many rows. With 0 and a layout key a file for
        each ``DOCUMENTS_A_FILE`` of them; with 0 and none a file a bundle, without a shuffle.
      run: the run that claimed the prefix, if it was claimed.
      layout_key: PCollection[bytes], one element from ``randomness.layout_key``. With it, which
        rows share a file, and their order, follow from this key, the ids and their number, and
        from nothing else. The rows of a file are then held in memory, to sort them.
    """

    def __init__(
        self,
        prefix: str,
        suffix: str,
        encode: Callable[[Any], Any],
        open_file: _OpenFile,
        num_shards: int,
        run: str | None = None,
        layout_key: pvalue.PCollection | None = None,
    ):
        super().__init__()
        self._run = run
        self._prefix = prefix
        self._suffix = suffix
        self._encode = encode
        self._open_file = open_file
        self._num_shards = num_shards
        self._layout_key = layout_key

    def expand(self, rows: pvalue.PCollection) -> pvalue.PCollection:
        """Writes pieces, and moves and describes those that were committed."""
        rows = rows | "Globally" >> beam.WindowInto(GlobalWindows())
        where = (self._prefix, self._suffix, self._open_file)
        if self._layout_key is not None:
            groups = self._by_hash(rows, self._layout_key)
            pieces = groups | "Write" >> beam.ParDo(_WriteGroup(*where))
        elif self._num_shards:
            dealt = rows | "Deal" >> beam.ParDo(_Deal(self._encode, self._num_shards))
            groups = dealt | "Gather" >> beam.GroupByKey()
            pieces = groups | "Write" >> beam.ParDo(_WriteGroup(*where))
        else:
            encoded = rows | "Encode" >> beam.Map(self._encode)
            pieces = encoded | "Write" >> beam.ParDo(_WriteBundle(*where))
        return (
            pieces
            | "Commit" >> beam.Reshuffle()
            | "Publish" >> beam.Map(_publish, self._prefix, self._run).with_output_types(Shard)
        )

    def _by_hash(
        self, rows: pvalue.PCollection, layout_key: pvalue.PCollection
    ) -> pvalue.PCollection:
        """The encoded rows of each file, in their order; of each, so that all are written."""
        files = pvalue.AsSingleton(
            rows
            | "CountRows" >> beam.combiners.Count.Globally()
            | "CountFiles" >> beam.Map(_number_of_files, self._num_shards)
        )
        every_file = (
            rows.pipeline
            | "Once" >> beam.Create([None])
            | "EveryFile" >> beam.FlatMap(_no_row_for_each, files).with_output_types(_Dealt)
        )
        dealt = rows | "DealByHash" >> beam.ParDo(
            _DealByHash(self._encode), pvalue.AsSingleton(layout_key), files
        )
        return (
            (every_file, dealt)
            | "AllFiles" >> beam.Flatten()
            | "Gather" >> beam.GroupByKey()
            | "Sort" >> beam.MapTuple(_sorted)
        )


def _number_of_files(rows: int, num_shards: int) -> int:
    return min(num_shards, rows) if num_shards else math.ceil(rows / DOCUMENTS_A_FILE)


_Dealt = tuple[int, tuple[bytes, Any]]
"""The number of a file, and a row for it: its place in the order, and what is written."""


def _no_row_for_each(_: None, files: int) -> list[_Dealt]:
    """Names every file, so that their number does not depend on where hashes happen to fall."""
    return [(file, (b"", None)) for file in range(files)]


def _sorted(file: int, rows: Iterable[tuple[bytes, Any]]) -> tuple[int, list[Any]]:
    by_order = sorted((row for row in rows if row[0]), key=operator.itemgetter(0))
    return file, [encoded for _, encoded in by_order]


@beam.typehints.with_output_types(_Dealt)
class _DealByHash(beam.DoFn):
    """Deals rows by a keyed hash of their ids: file i takes the i-th range of hashes."""

    def __init__(self, encode: Callable[[Any], Any]):
        self._encode = encode

    def process(self, row: Any, layout_key: bytes, files: int) -> Iterator[_Dealt]:
        order = layout_order(layout_key, row.id)
        yield int.from_bytes(order, "big") * files >> 8 * len(order), (order, self._encode(row))


class _File(Protocol):
    """A file that is being written."""

    def write(self, element: Any) -> None: ...

    def close(self) -> None: ...


_OpenFile = Callable[[str], _File]


class _Lines:
    """Lines, compressed as the file's suffix says."""

    def __init__(self, path: str):
        self._file = storage.open_write(path, compress=True)

    def write(self, line: bytes) -> None:
        self._file.write(line + b"\n")

    def close(self) -> None:
        self._file.close()


class OpenParquet:
    """Opens Parquet files of a schema, for rows as dictionaries."""

    def __init__(self, schema: pa.Schema):
        self._schema = schema

    def __call__(self, path: str) -> _Parquet:
        """A new file at ``path``."""
        return _Parquet(path, self._schema)


class _Parquet:
    """Rows, a group of them at a time."""

    def __init__(self, path: str, schema: pa.Schema):
        self._file = storage.open_write(path)
        self._writer = pq.ParquetWriter(self._file, schema, compression="zstd")
        self._schema = schema
        self._rows: list[dict[str, Any]] = []
        self._characters = 0

    def write(self, row: dict[str, Any]) -> None:
        self._rows.append(row)
        self._characters += sum(len(value) for value in row.values() if isinstance(value, Sized))
        if self._characters >= _ROW_GROUP:
            self._write_group()

    def close(self) -> None:
        if self._rows:
            self._write_group()
        self._writer.close()
        self._file.close()

    def _write_group(self) -> None:
        columns = [
            _column(field, [row[field.name] for row in self._rows]) for field in self._schema
        ]
        self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))
        self._rows, self._characters = [], 0


def _column(field: pa.Field, values: list[Any]) -> pa.Array:
    """The Arrow column of values that were read from JSON."""
    try:
        if pa.types.is_temporal(field.type):  # which JSON holds as ISO 8601
            return pa.array(values, pa.string()).cast(field.type)
        if pa.types.is_integer(field.type) and not {*map(type, values)} <= {int, type(None)}:
            raise pa.ArrowInvalid("Arrow would cut decimals off")
        return pa.array(values, field.type)
    except (pa.ArrowException, OverflowError):
        raise CorpusError(
            f"--keep_fields {field.name}: a document's value is not {field.type}, the type of this "
            "column in the corpus's first Parquet file; give it one type in all files"
        ) from None


class _Deal(beam.DoFn):
    """Deals rows to so many hands in turn."""

    def __init__(self, encode: Callable[[Any], Any], hands: int):
        self._encode = encode
        self._hands = hands

    def start_bundle(self) -> None:
        self._next = uuid.uuid4().int % self._hands  # else small bundles would fill the first only

    def process(self, row: Any) -> Iterator[tuple[int, Any]]:
        self._next = (self._next + 1) % self._hands
        yield self._next, self._encode(row)


@beam.typehints.with_output_types(str)
class _WriteBundle(beam.DoFn):
    """Writes the elements of a bundle to one file and emits its path."""

    def __init__(self, prefix: str, suffix: str, open_file: _OpenFile):
        self._prefix = prefix
        self._suffix = suffix
        self._open_file = open_file

    def start_bundle(self) -> None:
        self._file: _File | None = None

    def process(self, element: Any) -> None:
        if self._file is None:
            self._path = _new_piece(self._prefix, self._suffix)
            self._file = self._open_file(self._path)
        self._file.write(element)

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._file is not None:
            self._file.close()
            self._file = None
            window = GlobalWindow()
            yield WindowedValue(self._path, window.max_timestamp(), [window])


@beam.typehints.with_output_types(str)
class _WriteGroup(beam.DoFn):
    """Writes the elements of a group to one file and emits its path."""

    def __init__(self, prefix: str, suffix: str, open_file: _OpenFile):
        self._prefix = prefix
        self._suffix = suffix
        self._open_file = open_file

    def process(self, group: tuple[int, Iterable[Any]]) -> Iterator[str]:
        path = _new_piece(self._prefix, self._suffix)
        file = self._open_file(path)
        for element in group[1]:
            file.write(element)
        file.close()
        yield path


def _new_piece(prefix: str, suffix: str) -> str:
    name = f"{manifest.SHARD_PREFIX}-{uuid.uuid4().hex[:16]}{suffix}"
    return storage.join(prefix, manifest.PIECES, name)


def _publish(piece: str, prefix: str, run: str | None = None) -> Shard:
    """Moves a piece into the release, unless it is there, and describes it as it lies there."""
    if run is not None:
        claim.check(prefix, run)
    name = piece.rpartition("/")[2]
    path = storage.join(prefix, name)
    if storage.exists(piece):
        storage.move(piece, path)
    elif not storage.exists(path):
        raise OutputError(f"{piece} was lost before it could be published; run the job again")
    digest, size = storage.sha256(path)
    return Shard(name, _documents(path), size, digest)


def _documents(path: str) -> int:
    if path.endswith(".parquet"):
        with storage.open_read(path) as file:
            return int(pq.ParquetFile(file).metadata.num_rows)
    with storage.open_read(path, decompress=True) as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))


def _json_line(row: Any) -> bytes:
    own = {"id": row.id, "text": row.text}
    record = {**own, **json.loads(row.fields), **own}  # no kept field takes the place of these
    line = json.dumps(record, ensure_ascii=False)
    return _LINE_BREAK.sub(lambda found: f"\\u{ord(found[0]):04x}", line).encode()


_LINE_BREAK = re.compile("[\x85\u2028\u2029]")
"""What ends a line by Unicode's rules, and JSON does not ask to escape."""


def _text_line(row: Any) -> bytes:
    encoded: bytes = " ".join(row.text.splitlines()).encode()
    return encoded


class ToParquetRow:
    """A row of an id, a value and fields -> a dictionary of columns.

    Args:
      value: the name of what is released: its attribute and its column.
      kept: the kept fields and their types. In columns of strings what is no string is written as
        JSON.
      decode: the attribute -> what Arrow takes for it; None for the attribute itself.
    """

    def __init__(self, value: str, kept: pa.Schema, decode: Callable[[Any], Any] | None = None):
        self._value = value
        self._strings = {field.name: _holds_strings(field.type) for field in kept}
        self._decode = decode

    def __call__(self, row: Any) -> dict[str, Any]:
        """The columns of a row."""
        value, fields = getattr(row, self._value), json.loads(row.fields)
        kept = {
            name: _as_string(fields.get(name)) if strings else fields.get(name)
            for name, strings in self._strings.items()
        }
        released = self._decode(value) if self._decode else value
        return {**kept, "id": row.id, self._value: released}


def _holds_strings(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _as_string(value: Any) -> str | None:
    return value if isinstance(value, (str, type(None))) else json.dumps(value)
