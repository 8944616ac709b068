"""Sanitized rows -> shards, safe against everything that an engine repeats.

Beam's own file sinks delete what is at their target and then rename. An engine that repeats the
first step after the second, as Flink does when a worker is lost at that moment, has deleted what
nobody can write again. Here every bundle writes a piece under a name that no other has, below
``manifest.PIECES``; a committed piece is moved to the release under that same name, and moving it
again changes nothing. Pieces of bundles that were given up are never committed, and
``claim.complete`` deletes them.

Which document is in which file, and at which place, is released too. A bundle holds about a
mebibyte of raw text, so one file per bundle would show how long the texts are. Where their lengths
are not released (bags, vectors), a keyed hash of its id therefore decides in which file a document
is and at which place; the number of files follows from the number of documents only.

How rows become bytes is up to the format: see ``corpus.encoding``.
"""

from __future__ import annotations

import math
import operator
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam import pvalue
from apache_beam.transforms.window import GlobalWindow, GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from dxbeam import storage
from dxbeam.corpus.encoding import Encoding, OutputFile
from dxbeam.corpus.formats import FORMATS
from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.randomness import layout_order
from dxbeam.release import claim, manifest
from dxbeam.release.manifest import Shard

beam.coders.registry.register_coder(Shard, beam.coders.RowCoder)

DOCUMENTS_PER_FILE = 10_000
"""On average, where a keyed hash decides which file and no number of files is asked for."""

_NO_FIELDS = pa.schema([])


class WriteShards(beam.PTransform):
    """Writes sanitized rows below a prefix: rows of id, text, fields -> PCollection[Shard].

    Args:
      prefix: directory or gs:// prefix of the release.
      output_format: one of ``corpus.formats.FORMATS``; of "text" only the texts are written, one
        per line, and line breaks within a text become spaces.
      kept: the kept fields and their types, for Parquet; see ``corpus.reading.kept_schema``.
      compression: "none", "gzip" or "zstd", for jsonl and text.
      num_shards: number of files, if there are as many rows; see WritePieces for 0.
      run: the name under which the prefix was claimed; nothing is published once the claim was
        given up. None where nobody claims.
      layout_key: one element, which decides in which file a row is; see WritePieces. None only
        where the lengths of the texts are released anyway.
      documents_per_file: see WritePieces.

    Raises:
      ConfigurationError: no such format or compression, a compression that the format does not
        take, or a negative number of shards.
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
        documents_per_file: int = DOCUMENTS_PER_FILE,
    ):
        super().__init__()
        if output_format not in FORMATS:
            raise ConfigurationError(
                f"`output_format` is one of {', '.join(FORMATS)}, not {output_format!r}"
            )
        encoding = FORMATS[output_format].encoding(kept, compression)
        self._pieces = WritePieces(
            prefix, encoding, num_shards, run, layout_key, documents_per_file
        )

    def expand(self, rows: pvalue.PCollection) -> pvalue.PCollection:
        """Encodes, writes pieces, and moves and describes those that were committed."""
        return rows | "WritePieces" >> self._pieces


class WritePieces(beam.PTransform):
    """Writes rows with an id as the shards of a release: -> PCollection[Shard].

    Args:
      prefix: directory or gs:// prefix of the release.
      encoding: how rows become files.
      num_shards: number of files, if there are as many rows. With 0 and a layout key, one for each
        ``documents_per_file`` of them; with 0 and no layout key, one for each bundle, without a
        shuffle.
      run: the run that claimed the prefix, if it was claimed.
      layout_key: PCollection[bytes], one element from ``randomness.layout_key``. With it, which
        rows share a file, and their order, follow from this key, the ids and their number, and
        from nothing else. The rows of a file are then held in memory, to sort them.
      documents_per_file: how many rows a file holds where their number is not asked for.
    """

    def __init__(
        self,
        prefix: str,
        encoding: Encoding,
        num_shards: int,
        run: str | None = None,
        layout_key: pvalue.PCollection | None = None,
        documents_per_file: int = DOCUMENTS_PER_FILE,
    ):
        super().__init__()
        if num_shards < 0:
            raise ConfigurationError(f"`num_shards` must not be negative, as {num_shards} is")
        self._prefix, self._run = prefix, run
        self._encoding, self._num_shards = encoding, num_shards
        self._layout_key, self._documents_per_file = layout_key, documents_per_file

    def expand(self, rows: pvalue.PCollection) -> pvalue.PCollection:
        """Writes pieces, and moves and describes those that were committed."""
        if not rows.windowing.is_default():
            rows = rows | "Globally" >> beam.WindowInto(GlobalWindows())
        if self._layout_key is not None:
            groups = self._by_hash(rows, self._layout_key)
            pieces = groups | "Write" >> beam.ParDo(_WriteGroup(self._prefix, self._encoding))
        elif self._num_shards:
            dealt = rows | "Deal" >> beam.ParDo(_Deal(self._encoding.encode, self._num_shards))
            groups = dealt | "Gather" >> beam.GroupByKey()
            pieces = groups | "Write" >> beam.ParDo(_WriteGroup(self._prefix, self._encoding))
        else:
            encoded = rows | "Encode" >> beam.Map(self._encoding.encode)
            pieces = encoded | "Write" >> beam.ParDo(_WriteBundle(self._prefix, self._encoding))
        return (
            pieces
            | "Commit" >> beam.Reshuffle()
            | "Publish"
            >> beam.Map(
                _publish, self._prefix, self._encoding.count_rows, self._run
            ).with_output_types(Shard)
        )

    def _by_hash(
        self, rows: pvalue.PCollection, layout_key: pvalue.PCollection
    ) -> pvalue.PCollection:
        """The encoded rows of each file, in their order; empty files are files too."""
        files = pvalue.AsSingleton(
            rows
            | "CountRows" >> beam.combiners.Count.Globally()
            | "CountFiles" >> beam.Map(_number_of_files, self._num_shards, self._documents_per_file)
        )
        every_file = (
            rows.pipeline
            | "Once" >> beam.Create([None])
            | "EveryFile" >> beam.FlatMap(_entry_for_each_file, files).with_output_types(_Dealt)
        )
        dealt = rows | "DealByHash" >> beam.ParDo(
            _DealByHash(self._encoding.encode), pvalue.AsSingleton(layout_key), files
        )
        return (
            (every_file, dealt)
            | "AllFiles" >> beam.Flatten()
            | "Gather" >> beam.GroupByKey()
            | "Sort" >> beam.MapTuple(_sorted)
        )


def _number_of_files(rows: int, num_shards: int, documents_per_file: int) -> int:
    return min(num_shards, rows) if num_shards else math.ceil(rows / documents_per_file)


_Dealt = tuple[int, tuple[bytes, Any]]
"""The number of a file, and a row for it: its place in the order, and what is written."""


def _entry_for_each_file(_: None, files: int) -> list[_Dealt]:
    """No row, for every file: a file is written even if no hash happens to fall into its range."""
    return [(file, (b"", None)) for file in range(files)]


def _sorted(file: int, rows: Iterable[tuple[bytes, Any]]) -> tuple[int, list[Any]]:
    """The rows of a file in order of their hashes, without the entry that is no row."""
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


class _Deal(beam.DoFn):
    """Deals rows to this many files in turn, beginning anywhere."""

    def __init__(self, encode: Callable[[Any], Any], files: int):
        self._encode = encode
        self._files = files

    def start_bundle(self) -> None:
        self._next = uuid.uuid4().int % self._files  # else small bundles would fill the first only

    def process(self, row: Any) -> Iterator[tuple[int, Any]]:
        self._next = (self._next + 1) % self._files
        yield self._next, self._encode(row)


@beam.typehints.with_output_types(str)
class _WriteBundle(beam.DoFn):
    """Writes the elements of a bundle to one file and emits its path."""

    def __init__(self, prefix: str, encoding: Encoding):
        self._prefix = prefix
        self._encoding = encoding

    def start_bundle(self) -> None:
        self._file: OutputFile | None = None

    def process(self, element: Any) -> None:
        if self._file is None:
            self._path = _new_piece(self._prefix, self._encoding.suffix)
            self._file = self._encoding.open_file(self._path)
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

    def __init__(self, prefix: str, encoding: Encoding):
        self._prefix = prefix
        self._encoding = encoding

    def process(self, group: tuple[int, Iterable[Any]]) -> Iterator[str]:
        path = _new_piece(self._prefix, self._encoding.suffix)
        file = self._encoding.open_file(path)
        for element in group[1]:
            file.write(element)
        file.close()
        yield path


def _new_piece(prefix: str, suffix: str) -> str:
    name = f"{manifest.SHARD_PREFIX}-{uuid.uuid4().hex[:16]}{suffix}"
    return storage.join(prefix, manifest.PIECES, name)


def _publish(
    piece: str, prefix: str, count_rows: Callable[[str], int], run: str | None = None
) -> Shard:
    """Moves a piece into the release, unless it is there, and describes it as it is there."""
    if run is not None:
        claim.check(prefix, run)
    name = piece.rpartition("/")[2]
    path = storage.join(prefix, name)
    if storage.exists(piece):
        storage.move(piece, path)
    elif not storage.exists(path):
        raise OutputError(f"{piece} was lost before it could be published; run the job again")
    digest, size = storage.sha256(path)
    return Shard(name, count_rows(path), size, digest)
