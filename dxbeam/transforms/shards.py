"""Sanitized rows -> shards, safe against everything that an engine repeats.

Beam's own file sinks delete what lies at their target and then rename. An engine that repeats the
first step after the second, as Flink does when a worker is lost at that moment, has deleted what
nobody can write again. Here every bundle writes a piece under a name that no other has, below
``manifest.PIECES``; a committed piece is moved to the release under that same name, and moving it
again changes nothing. What is left of attempts that were given up, nobody names, and
``manifest.write`` deletes it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam import pvalue
from apache_beam.transforms.window import GlobalWindow, GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from dxbeam import manifest, storage
from dxbeam.corpus import FORMATS
from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.manifest import Shard

beam.coders.registry.register_coder(Shard, beam.coders.RowCoder)

_SUFFIXES = {"none": "", "gzip": ".gz", "zstd": ".zst"}
_ROW_GROUP = 8 << 20  # characters


class WriteShards(beam.PTransform):
    """Writes sanitized rows below a prefix: rows of id, text, fields -> PCollection[Shard].

    Args:
      prefix: directory or gs:// prefix of the release.
      output_format: "jsonl", "parquet" or "text" (the texts alone, a line each; line breaks
        within a text become spaces).
      keep_fields: names of the kept fields, for the Parquet schema; they are strings there.
      compression: "none", "gzip" or "zstd", for jsonl and text.
      num_shards: number of files, if there are as many rows; 0 writes a file a bundle, without a
        shuffle.
      run: the name under which the prefix was claimed; nothing is published once the claim was
        given up. None where nobody claims.

    Raises:
      ConfigurationError: no such format or compression, or a negative number of shards.
    """

    def __init__(
        self,
        prefix: str,
        output_format: str,
        keep_fields: tuple[str, ...] = (),
        compression: str = "none",
        num_shards: int = 0,
        run: str | None = None,
    ):
        super().__init__()
        if output_format not in FORMATS:
            raise ConfigurationError(
                f"--output_format is one of {', '.join(FORMATS)}, not {output_format!r}"
            )
        if compression not in _SUFFIXES:
            raise ConfigurationError(
                f"--compression is one of {', '.join(_SUFFIXES)}, not {compression!r}"
            )
        if num_shards < 0:
            raise ConfigurationError(f"--num_shards must not be negative, as {num_shards} is")
        self._prefix = prefix
        self._format = output_format
        self._keep_fields = keep_fields
        self._compression = compression
        self._num_shards = num_shards
        self._run = run

    def expand(self, rows: pvalue.PCollection) -> pvalue.PCollection:
        """Encodes, writes pieces, and moves and describes those that were committed."""
        encoded, open_file, suffix = self._encoded(rows)
        return encoded | "WritePieces" >> WritePieces(
            self._prefix, suffix, open_file, self._num_shards, self._run
        )

    def _encoded(self, rows: pvalue.PCollection) -> tuple[pvalue.PCollection, _OpenFile, str]:
        if self._format == "parquet":
            to_row = beam.Map(_parquet_row, self._keep_fields)
            names = ("id", "text", *self._keep_fields)
            schema = pa.schema([(name, pa.string()) for name in names])
            return rows | "ToParquetRow" >> to_row, OpenParquet(schema), ".parquet"
        encode = _json_line if self._format == "jsonl" else _text_line
        suffix = {"jsonl": ".jsonl", "text": ".txt"}[self._format] + _SUFFIXES[self._compression]
        return rows | "ToLine" >> beam.Map(encode).with_output_types(bytes), _Lines, suffix


class WritePieces(beam.PTransform):
    """Writes encoded elements as the shards of a release: -> PCollection[Shard].

    Args:
      prefix: directory or gs:// prefix of the release.
      suffix: of the files' names.
      open_file: a path -> a file that takes the elements.
      num_shards: number of files, if there are as many elements; 0 writes a file a bundle.
      run: the run that claimed the prefix, if it was claimed.
    """

    def __init__(
        self,
        prefix: str,
        suffix: str,
        open_file: _OpenFile,
        num_shards: int,
        run: str | None = None,
    ):
        super().__init__()
        self._run = run
        self._prefix = prefix
        self._suffix = suffix
        self._open_file = open_file
        self._num_shards = num_shards

    def expand(self, encoded: pvalue.PCollection) -> pvalue.PCollection:
        """Writes pieces, and moves and describes those that were committed."""
        encoded = encoded | "Globally" >> beam.WindowInto(GlobalWindows())
        where = (self._prefix, self._suffix, self._open_file)
        if self._num_shards:
            grouped = (
                encoded
                | "Deal" >> beam.ParDo(_Deal(self._num_shards))
                | "Gather" >> beam.GroupByKey()
            )
            pieces = grouped | "Write" >> beam.ParDo(_WriteGroup(*where))
        else:
            pieces = encoded | "Write" >> beam.ParDo(_WriteBundle(*where))
        return (
            pieces
            | "Commit" >> beam.Reshuffle()
            | "Publish" >> beam.Map(_publish, self._prefix, self._run).with_output_types(Shard)
        )


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
        self._characters += sum(len(value) for value in row.values() if value is not None)
        if self._characters >= _ROW_GROUP:
            self._write_group()

    def close(self) -> None:
        if self._rows:
            self._write_group()
        self._writer.close()
        self._file.close()

    def _write_group(self) -> None:
        self._writer.write_table(pa.Table.from_pylist(self._rows, self._schema))
        self._rows, self._characters = [], 0


class _Deal(beam.DoFn):
    """Deals elements to so many hands in turn."""

    def __init__(self, hands: int):
        self._hands = hands

    def start_bundle(self) -> None:
        self._next = uuid.uuid4().int % self._hands  # else small bundles would fill the first only

    def process(self, element: Any) -> Iterator[tuple[int, Any]]:
        self._next = (self._next + 1) % self._hands
        yield self._next, element


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
        manifest.check_claim(prefix, run)
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
    record = {"id": row.id, "text": row.text, **json.loads(row.fields)}
    return json.dumps(record, ensure_ascii=False).encode()


def _text_line(row: Any) -> bytes:
    encoded: bytes = " ".join(row.text.splitlines()).encode()
    return encoded


def _parquet_row(row: Any, keep_fields: tuple[str, ...]) -> dict[str, str | None]:
    return {"id": row.id, "text": row.text, **kept_columns(row.fields, keep_fields)}


def kept_columns(fields: str, keep_fields: tuple[str, ...]) -> dict[str, str | None]:
    """Kept fields as columns of strings; what is no string is written as JSON."""
    kept = json.loads(fields)
    values = {name: kept.get(name) for name in keep_fields}
    return {
        name: value if isinstance(value, (str, type(None))) else json.dumps(value)
        for name, value in values.items()
    }
