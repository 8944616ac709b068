"""A corpus read as workers read it, without Beam, and files that are divided among many of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from dxbeam.corpus import reading
from dxbeam.corpus.files import CorpusFile, matching_files
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.settings import Division
from dxbeam.corpus.splits import Split, number_splits
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


def divide(monkeypatch: pytest.MonkeyPatch, split_bytes: int) -> None:
    """Divides the files that a pipeline reads into splits of about this many bytes."""
    splits, division = reading.splits, Division(split_bytes)

    def small(file: CorpusFile, corpus: CorpusFormat) -> Iterator[Split]:
        return splits(file, dataclasses.replace(corpus, division=division))

    monkeypatch.setattr(reading, "splits", small)
