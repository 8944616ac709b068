"""The files of a corpus: which there are, how they are opened and decompressed."""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

import contextlib
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import pyarrow as pa

from dxbeam import storage
from dxbeam.corpus.iceberg import address, snapshots
from dxbeam.errors import CorpusError
from dxbeam.storage.bigquery import tables

DAMAGE = (OSError, EOFError, zlib.error, pa.ArrowException)
"""What is raised by reading a file that is missing, cut off, damaged or not readable."""

_COMPRESSIONS = {".gz": "gzip", ".gzip": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_BUFFER = 1 << 18


class CorpusFile(NamedTuple):
    """One file of a corpus: its path, its path below the corpus, its size in bytes.

    A table of BigQuery is one. A data file of a table of Iceberg is called as the table is, as its
    path may hold values of columns.
    """

    path: str
    name: str
    size: int


def matching_files(pattern: str) -> list[CorpusFile]:
    """The files of a corpus, in order of path; CorpusError: none, or all are empty.

    The pattern is a glob, local or in a store, or the address of a table.
    """
    if address.is_table(pattern):
        return _data_files(pattern)
    if tables.is_table(pattern):
        return [_table(pattern)]
    place = storage.without_file_scheme(pattern)
    if storage.is_local(place) and not place.endswith("/") and Path(place).is_dir():
        raise CorpusError(
            f"`input` {pattern}: this is a folder; name the files in it: '{place}/*', or "
            f"'{place}/**' with those of the folders below"
        )
    files = [CorpusFile(path, name_below(pattern, path), size) for path, size in _match(pattern)]
    if not files:
        raise CorpusError(f"`input` {pattern}: no file matches; {_what_to_do(place)}")
    if not any(file.size for file in files):
        raise CorpusError(f"`input` {pattern}: the corpus is empty ({len(files)} files of 0 bytes)")
    return files


def _data_files(place: str) -> list[CorpusFile]:
    """The data files of one snapshot of a table."""
    snapshot = snapshots.open_snapshot(place)
    at = snapshot.address
    return [
        CorpusFile(str(at._replace(file=number)), at.table, int(task.file.file_size_in_bytes))
        for number, task in enumerate(snapshot.tasks)
    ]


def _table(place: str) -> CorpusFile:
    """A table of BigQuery, whose snapshot is taken when a run begins to read it."""
    table = tables.table_of("input", place)
    described = tables.described(table)
    if not (described.num_rows or described.streaming_buffer or described.num_rows is None):
        raise CorpusError(f"`input` {place}: the table is empty")
    return CorpusFile(place, table.name, max(1, int(described.num_bytes or 0)))


def pinned(pattern: str) -> str:
    """A glob as it is; of a table of Iceberg the address with its snapshot, which never changes."""
    if not address.is_table(pattern):
        return pattern
    return str(snapshots.open_snapshot(pattern).address)


def _what_to_do(pattern: str) -> str:
    if pattern.startswith("~"):
        return "~ is not expanded here, so write the path out"
    if re.search(r"[,{]", pattern):
        return "this is one glob, not a list: put the files into one folder, or run once for each"
    return "check the path and quote the glob"


def _match(pattern: str) -> list[tuple[str, int]]:
    try:
        return storage.match(pattern)
    except OSError as error:
        raise CorpusError(
            f"`input` {pattern}: cannot be listed ({type(error).__name__}); check the path"
        ) from None


def name_below(pattern: str, path: str) -> str:
    """The path of a matched file below the part of the glob that has no wildcard."""
    literal = storage.without_file_scheme(pattern)
    for wildcard in "*?[{":
        literal = literal.split(wildcard)[0]
    directory = literal.rpartition("/")[0]
    return path[len(directory) :].lstrip("/") if path.startswith(directory) else path


def text_bytes(files: Iterable[CorpusFile]) -> int:
    """About how many bytes files hold; those of compressed ones count three times."""
    return sum(file.size * (3 if is_compressed(file.path) else 1) for file in files)


def is_compressed(path: str) -> bool:
    """Whether a file is decompressed when it is read."""
    return _compression(path) is not None


def _compression(path: str) -> str | None:
    return next((name for end, name in _COMPRESSIONS.items() if path.endswith(end)), None)


def without_compression_suffix(path: str) -> str:
    """``a.jsonl`` of ``a.jsonl.gz``; other paths as they are."""
    return next((path.removesuffix(end) for end in _COMPRESSIONS if path.endswith(end)), path)


@contextlib.contextmanager
def open_decompressed(path: str) -> Iterator[BinaryIO]:
    """The content of a file, decompressed as its suffix says; raises one of ``DAMAGE``."""
    with storage.open_read(path) as raw:
        yield decompressed(raw, path)


def decompressed(raw: BinaryIO, path: str) -> BinaryIO:
    """The content of an open file, decompressed as the suffix of its path says."""
    compression = _compression(path)
    if compression == "gzip":  # reads on after a member, and skips zeros that follow it
        return _buffered(gzip.GzipFile(fileobj=raw, mode="rb"))
    if compression:
        return _buffered(pa.CompressedInputStream(pa.PythonFile(raw, "r"), compression))
    return raw if isinstance(raw, io.BufferedReader) else _buffered(raw)


def _buffered(raw: Any) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(raw, _BUFFER))


@contextlib.contextmanager
def damage_as_corpus_error() -> Iterator[None]:
    """Around reading: any of ``DAMAGE`` becomes a CorpusError that says so."""
    try:
        yield
    except DAMAGE as error:
        raise CorpusError(
            f"it cannot be read to its end ({type(error).__name__}): it is missing, truncated, "
            "damaged or not readable for this user"
        ) from None


def check_first_readable(
    files: Sequence[CorpusFile], check: Callable[[CorpusFile], object], *, allow_unreadable: bool
) -> None:
    """Checks the first file; where files may be unreadable, the first one that is not.

    ``check`` raises CorpusError for a file that cannot be read.
    """
    refusal = None
    for file in files:
        try:
            check(file)
            return
        except CorpusError as error:
            refusal = refusal or CorpusError(f"{file.path}: {error}")
            if not allow_unreadable:
                break
    if refusal:
        raise refusal
