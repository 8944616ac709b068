"""A corpus read as workers read it, without Beam."""

from __future__ import annotations

from pathlib import Path

from dxbeam.corpus import reading
from dxbeam.corpus.files import matching_files
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.splits import number_splits
from dxbeam.documents import Document, Rejected


def read(pattern: Path | str, read_as: CorpusFormat) -> list[Document | Rejected]:
    """All records: split by split, numbered by what was counted in any order.

    Raises:
      CorpusError: a file cannot be read to its end.
    """
    results: list[Document | Rejected] = []
    for file in matching_files(str(pattern)):
        splits = list(reading.splits(file, read_as))
        counted = [(split, reading.count_records(split, read_as)) for split in reversed(splits)]
        for split in number_splits(counted):
            results += reading.read(split, read_as)
    return results
