"""What the shards of a release really hold: counted again, a shard at a time."""

from __future__ import annotations

import hashlib
import itertools
import json
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from dxbeam import storage
from dxbeam.corpus.delimited import CSV, TSV, DelimitedText, released_rows
from dxbeam.corpus.files import DAMAGE, open_decompressed, without_compression_suffix
from dxbeam.corpus.formats import FORMATS
from dxbeam.errors import OutputError
from dxbeam.text.tokenization import FIRST, Splitter

_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class Contents:
    """What a shard holds.

    Attributes:
      format: a key of FORMATS, by the shard's name.
      documents: how many.
      bytes: of the file.
      fields: every field that a document has; empty for plain text.
      always: the fields that all documents have.
      tokens: words of the released texts, as the splitter divides them; 0 for vectors.
      ids: uint64 [documents], 64 bits of the SHA-256 of each id; empty for plain text.
    """

    format: str
    documents: int
    bytes: int
    fields: frozenset[str]
    always: frozenset[str]
    tokens: int
    ids: npt.NDArray[np.uint64]


def contents(path: str, splitter: Splitter = FIRST) -> Contents:
    """Reads a shard to its end; OutputError: it is not what its name says."""
    kind = _kind(path)
    _, size = storage.sha256(path)
    try:
        documents = tokens = 0
        fields: frozenset[str] = frozenset()
        always: frozenset[str] | None = None
        ids = array("Q")
        for record in _READERS[kind](path):
            documents += 1
            fields |= record.keys()
            always = frozenset(record) if always is None else always & record.keys()
            tokens += len(splitter.words(record.get("text", "")))
            if "id" in record:
                ids.append(_hash(record["id"]))
        if kind == "parquet":
            with storage.open_read(path) as file:
                fields = always = frozenset(pq.read_schema(file).names)
        if kind == "text":
            fields = always = frozenset()
    # A line or a row is not what a release has.
    except (*DAMAGE, pa.ArrowException, ValueError, TypeError, AttributeError, RecursionError):
        raise OutputError(f"{path} cannot be read as what its name says") from None
    return Contents(
        kind, documents, size, fields, always or frozenset(), tokens, np.array(ids, np.uint64)
    )


def first_records(path: str, count: int) -> list[dict[str, Any]]:
    """The first documents of a shard, with the fields "text" or "vector" of each and no other."""
    kind = _kind(path)
    try:
        if kind == "parquet":
            with storage.open_read(path) as raw:
                file = pq.ParquetFile(raw)
                columns = [name for name in ("text", "vector") if name in file.schema_arrow.names]
                batches = file.iter_batches(count, columns=columns)
                return next((batch.to_pylist()[:count] for batch in batches), [])
        return [
            {name: value for name, value in record.items() if name in ("text", "vector")}
            for record in itertools.islice(_READERS[kind](path), count)
        ]
    except (*DAMAGE, pa.ArrowException, ValueError, TypeError, AttributeError, RecursionError):
        raise OutputError(f"{path} cannot be read as what its name says") from None


def _kind(path: str) -> str:
    plain = without_compression_suffix(path)
    kind = next((name for name, form in FORMATS.items() if plain.endswith(form.SUFFIXES)), None)
    if kind is None:
        raise OutputError(f"{path}: a shard's name does not end like this")
    return kind


def _hash(own_id: str) -> int:
    return int.from_bytes(hashlib.sha256(own_id.encode()).digest()[:8], "little")


def _objects(path: str) -> Iterator[dict[str, Any]]:
    with open_decompressed(path) as file:
        for line in file:
            record = json.loads(line)
            if not line.endswith(b"\n") or not isinstance(record, dict):
                raise ValueError("no document")
            yield record


def _lines(path: str) -> Iterator[dict[str, Any]]:
    with open_decompressed(path) as file:
        for line in file:
            yield {"text": line.removesuffix(b"\n").decode()}


def _rows(path: str) -> Iterator[dict[str, Any]]:
    with storage.open_read(path) as raw:
        file = pq.ParquetFile(raw)
        columns = [name for name in ("id", "text") if name in file.schema_arrow.names]
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=columns):
            yield from batch.to_pylist()


def _table(form: DelimitedText, path: str) -> Iterator[dict[str, Any]]:
    yield from released_rows(path, form.delimiter)


_READERS: dict[str, Callable[[str], Iterator[dict[str, Any]]]] = {
    "jsonl": _objects,
    "parquet": _rows,
    "csv": partial(_table, CSV),
    "tsv": partial(_table, TSV),
    "text": _lines,
}
