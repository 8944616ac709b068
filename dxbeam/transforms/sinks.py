"""Shards, metrics and dead letters; the manifest last."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam import pvalue
from apache_beam.io import parquetio, textio
from apache_beam.io.filesystem import CompressionTypes

from dxbeam import manifest, storage
from dxbeam.artifact import VocabularyHandle
from dxbeam.configuration import Configuration
from dxbeam.corpus import FORMATS
from dxbeam.documents import Rejected
from dxbeam.errors import ConfigurationError
from dxbeam.manifest import Shard
from dxbeam.repair import Repair
from dxbeam.tally import Tally, total

NOT_COVERED = (
    "Computed from the original text: these figures are not covered by the guarantee of the "
    "release and do not belong with it."
)
DEAD_LETTERS, METRICS = "dead_letters", "metrics.json"

beam.coders.registry.register_coder(Shard, beam.coders.RowCoder)

_COMPRESSION_TYPES = {
    "none": CompressionTypes.UNCOMPRESSED,
    "gzip": CompressionTypes.GZIP,
    "zstd": CompressionTypes.ZSTD,
}
_SUFFIXES = {"none": "", "gzip": ".gz", "zstd": ".zst"}


class WriteShards(beam.PTransform):
    """Writes sanitized rows below a prefix: rows of id, text, fields -> PCollection[Shard].

    Args:
      prefix: directory or gs:// prefix of the release.
      output_format: "jsonl", "parquet" or "text" (the texts alone, a line each; line breaks
        within a text become spaces).
      keep_fields: names of the kept fields, for the Parquet schema; they are strings there.
      compression: "none", "gzip" or "zstd", for jsonl and text.
      num_shards: number of files; 0 writes a file a bundle, without a shuffle.

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

    def expand(self, rows: pvalue.PCollection) -> pvalue.PCollection:
        """Encodes, writes, and reads each file again for its digest."""
        path = storage.join(self._prefix, manifest.SHARD_PREFIX)
        if self._format == "parquet":
            fields = [("id", pa.string()), ("text", pa.string())]
            schema = pa.schema(fields + [(name, pa.string()) for name in self._keep_fields])
            names = (
                rows
                | "ToParquetRow" >> beam.Map(_parquet_row, self._keep_fields)
                | "Write"
                >> parquetio.WriteToParquet(
                    path,
                    schema,
                    row_group_buffer_size=8 << 20,
                    codec="zstd",
                    file_name_suffix=".parquet",
                    num_shards=self._num_shards,
                )
            )
        else:
            encode = _json_line if self._format == "jsonl" else _text_line
            suffix = {"jsonl": ".jsonl", "text": ".txt"}[self._format]
            names = (
                rows
                | "ToLine" >> beam.Map(encode).with_output_types(bytes)
                | "Write"
                >> textio.WriteToText(
                    path,
                    file_name_suffix=suffix + _SUFFIXES[self._compression],
                    num_shards=self._num_shards,
                    coder=beam.coders.BytesCoder(),
                    compression_type=_COMPRESSION_TYPES[self._compression],
                )
            )
        # A retried finalization finds its files in place and names none of them again, so the names
        # only say when to look, and what is there is taken for what was written.
        return (
            rows.pipeline
            | "Prefix" >> beam.Create([path])
            | "List" >> beam.FlatMap(_list_shards, pvalue.AsIter(names)).with_output_types(str)
            | "Spread" >> beam.Reshuffle()
            | "Describe" >> beam.Map(_describe, self._prefix).with_output_types(Shard)
        )


def _list_shards(prefix: str, written: Iterable[str]) -> list[str]:
    list(written)
    return [path for path, _ in storage.match(prefix + "-*")]


def _json_line(row: Any) -> bytes:
    record = {"id": row.id, "text": row.text, **json.loads(row.fields)}
    return json.dumps(record, ensure_ascii=False).encode()


def _text_line(row: Any) -> bytes:
    encoded: bytes = " ".join(row.text.splitlines()).encode()
    return encoded


def _parquet_row(row: Any, keep_fields: tuple[str, ...]) -> dict[str, str | None]:
    kept = json.loads(row.fields)
    values = {name: kept.get(name) for name in keep_fields}
    return {
        "id": row.id,
        "text": row.text,
        **{
            name: value if isinstance(value, (str, type(None))) else json.dumps(value)
            for name, value in values.items()
        },
    }


def _describe(path: str, prefix: str) -> Shard:
    """Counts and digests a written file as it lies there."""
    digest, size = storage.sha256(path)
    if path.endswith(".parquet"):
        with storage.open_read(path) as file:
            documents = pq.ParquetFile(file).metadata.num_rows
    else:
        with storage.open_read(path, decompress=True) as file:
            documents = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    name = path[len(storage.join(prefix, "x")) - 1 :]
    return Shard(name, documents, size, digest)


class WriteMetrics(beam.PTransform):
    """Writes metrics and dead letters: -> PCollection[str], the files, once they are written.

    ``metrics.json`` holds counts and proportions; ``metrics.parquet`` a row per group, where
    groups were asked for; ``dead_letters-….jsonl`` where and why records were rejected.

    Args:
      directory: where to; a place apart from the release.
      rejected: PCollection[Rejected] of records that were not sanitized.
      by_group: whether to write ``metrics.parquet``.
      withheld: PCollection[Rejected] of documents that were sanitized and are not released, or
        None.
    """

    def __init__(
        self,
        directory: str,
        rejected: pvalue.PCollection,
        by_group: bool,
        withheld: pvalue.PCollection | None = None,
    ):
        super().__init__()
        self._directory = directory
        self._rejected = rejected
        self._by_group = by_group
        self._withheld = withheld

    def expand(self, tallies: pvalue.PCollection) -> pvalue.PCollection:
        """Takes one tally a group, PCollection[tuple[str, Tally]]."""
        rejected = pvalue.AsSingleton(count_all(self._rejected, "CountRejected"))
        withheld: Any = 0
        letters = self._rejected
        if self._withheld is not None:
            withheld = pvalue.AsSingleton(count_all(self._withheld, "CountWithheld"))
            letters = (self._rejected, self._withheld) | "AllLetters" >> beam.Flatten()
        metrics = (
            tallies.pipeline
            | "Once" >> beam.Create([self._directory])
            | "WriteMetrics"
            >> beam.Map(
                _write_metrics, pvalue.AsIter(tallies), rejected, withheld, self._by_group
            ).with_output_types(str)
        )
        files = (
            letters
            | "ToLine" >> beam.Map(_dead_letter).with_output_types(bytes)
            | "WriteDeadLetters"
            >> textio.WriteToText(
                storage.join(self._directory, DEAD_LETTERS),
                file_name_suffix=".jsonl",
                num_shards=1,
                coder=beam.coders.BytesCoder(),
            )
        )
        return (metrics, files) | "Files" >> beam.Flatten()


def count_all(elements: pvalue.PCollection, label: str) -> pvalue.PCollection:
    """One element: how many elements there are."""
    return elements | label >> beam.combiners.Count.Globally()


def _dead_letter(rejected: Rejected) -> bytes:
    return json.dumps(rejected._asdict(), ensure_ascii=False).encode("utf-8", "replace")


def _write_metrics(
    directory: str,
    tallies: Iterable[tuple[str, Tally]],
    rejected: int,
    withheld: int,
    by_group: bool,
) -> str:
    groups = sorted(tallies)
    whole = total(tally for _, tally in groups)
    content: dict[str, Any] = {
        "note": NOT_COVERED,
        "documents_in": whole.documents + rejected,
        "dead_letters": rejected + withheld,
        **whole.as_dict(),
    }
    if by_group:
        content["groups"] = {group: tally.as_dict() for group, tally in groups}
        rows = [{"group": group, **tally.as_dict()} for group, tally in groups]
        table = pa.Table.from_pylist(rows, _METRICS_SCHEMA)
        buffer = io.BytesIO()
        pq.write_table(table, buffer)
        _write(storage.join(directory, "metrics.parquet"), buffer.getvalue())
    path = storage.join(directory, METRICS)
    _write(path, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
    return path


_METRICS_SCHEMA = pa.schema(
    [("group", pa.string())]
    + [
        (name, pa.float64() if name.startswith(("share", "n_w")) else pa.int64())
        for name in Tally().as_dict()
    ]
)


def _write(path: str, content: bytes) -> None:
    with storage.open_write(path) as file:
        file.write(content)


class WriteManifest(beam.PTransform):
    """Writes release.json when all else is written: PCollection[Shard] -> PCollection[str].

    Args:
      prefix: of the release.
      configuration: what was run.
      vocabulary: with what words.
      key_kept: whether the key came from outside.
      facts: further entries of the manifest.
      tallies: PCollection[tuple[str, Tally]], one a group.
      rejected: PCollection[Rejected].
      fingerprint: PCollection[str], one element.
      written: PCollection[str] of files that must be complete before.
      repair: the language model that rewrote the texts, or None.
      repaired: PCollection[tuple[str, int]], what became of them, where there is one.
    """

    def __init__(
        self,
        prefix: str,
        configuration: Configuration,
        vocabulary: VocabularyHandle,
        key_kept: bool,
        facts: Mapping[str, Any],
        *,
        tallies: pvalue.PCollection,
        rejected: pvalue.PCollection,
        fingerprint: pvalue.PCollection,
        written: pvalue.PCollection,
        repair: Repair | None = None,
        repaired: pvalue.PCollection | None = None,
    ):
        super().__init__()
        self._write = _WriteManifest(
            prefix, configuration, vocabulary, key_kept, dict(facts), repair
        )
        self._repaired = repaired
        self._tallies = tallies
        self._rejected = rejected
        self._fingerprint = fingerprint
        self._written = written

    def expand(self, shards: pvalue.PCollection) -> pvalue.PCollection:
        """One element, whose side inputs are everything that must be there first."""
        return (
            shards.pipeline
            | "Once" >> beam.Create([None])
            | "Write"
            >> beam.ParDo(
                self._write,
                pvalue.AsIter(shards),
                pvalue.AsIter(self._tallies),
                pvalue.AsSingleton(count_all(self._rejected, "CountRejected")),
                pvalue.AsSingleton(self._fingerprint),
                pvalue.AsIter(self._written),
                pvalue.AsDict(self._repaired) if self._repaired is not None else {},
            )
        )


@beam.typehints.with_output_types(str)
class _WriteManifest(beam.DoFn):
    def __init__(
        self,
        prefix: str,
        configuration: Configuration,
        vocabulary: VocabularyHandle,
        key_kept: bool,
        facts: dict[str, Any],
        repair: Repair | None,
    ):
        self._prefix = prefix
        self._configuration = configuration
        self._vocabulary = vocabulary
        self._key_kept = key_kept
        self._facts = facts
        self._repair = repair

    def process(
        self,
        _: None,
        shards: Iterable[Shard],
        tallies: Iterable[tuple[str, Tally]],
        rejected: int,
        fingerprint: str,
        written: Iterable[str],
        repaired: Mapping[str, int],
    ) -> Iterator[str]:
        list(written)  # nothing to read: it is here so that metrics and dead letters come first
        content = manifest.compose(
            self._configuration,
            self._vocabulary,
            fingerprint,
            self._key_kept,
            total(tally for _, tally in tallies),
            rejected,
            shards,
            self._facts,
            self._repair,
            repaired,
        )
        manifest.write(self._prefix, content)
        yield storage.join(self._prefix, manifest.RELEASE)
