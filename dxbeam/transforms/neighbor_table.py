"""The neighbour table and close radii of a vocabulary, as a pipeline.

Each worker takes a few hundred words, searches the whole vocabulary for their neighbours, and
writes a piece of the table, unless it finds that piece. One worker joins the pieces at the end, a
piece at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import apache_beam as beam
import faiss
import numpy as np
import threadpoolctl
from apache_beam import pvalue
from apache_beam.metrics import Metrics
from apache_beam.utils.shared import Shared

from dxbeam import storage
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact import manifest as artifact_manifest
from dxbeam.space.artifact.artifact import WordsAndVectors
from dxbeam.space.artifact.table_pieces import (
    WORDS_PER_PIECE,
    Piece,
    read_array,
    rows_of,
    whole_pieces,
    write_piece,
)
from dxbeam.space.search.backends.choose_backend import AUTO, check_name
from dxbeam.space.search.neighbors import NeighborSearch


class NeighborTable(NamedTuple):
    """A table that is to be made.

    Attributes:
      uri: where ``artifact.write_words_and_vectors`` put its files, as every worker sees it.
      shape: N and n.
      depth: K, neighbours per word.
      pieces: the folder of the table's pieces, which stay there.
      threads: that a search uses in each worker process.
      backend: how neighbours are found exactly, one of ``choose_backend.NAMES``.
    """

    uri: str
    shape: WordsAndVectors
    depth: int
    pieces: str
    threads: int = 1
    backend: str = AUTO

    def search(self) -> NeighborSearch:
        """A search in the words and vectors."""
        draft = artifact.open_draft(self.uri, self.shape.digest)
        return NeighborSearch(draft, self.threads, self.backend)


class WriteNeighborTable(beam.PTransform):
    """Writes neighbors.npy and close_radius.npy next to the words and vectors at a prefix.

    PBegin -> PCollection[int], one element: the number of words, once both files are complete.
    """

    def __init__(self, table: NeighborTable):
        super().__init__()
        check_name(table.backend)
        self._table = table

    def expand(self, begin: pvalue.PBegin) -> pvalue.PCollection:
        """Spreads words over workers, then joins."""
        words = self._table.shape.words
        pieces = (
            begin
            | "Pieces" >> beam.Create(range(0, words, WORDS_PER_PIECE), reshuffle=False)
            | "Spread" >> beam.Reshuffle()
            | "Search" >> beam.ParDo(_SearchPiece(self._table))
        )
        return (
            begin
            | "Once" >> beam.Create([self._table.uri])
            | "Join" >> beam.Map(_join, pvalue.AsIter(pieces), words).with_output_types(int)
        )


@beam.typehints.with_output_types(Piece)
class _SearchPiece(beam.DoFn):
    def __init__(self, table: NeighborTable):
        self._table, self._shared = table, Shared()
        self._counted = Metrics.counter("dxbeam", "table_words")

    def setup(self) -> None:
        table = self._table
        faiss.omp_set_num_threads(table.threads)
        threadpoolctl.threadpool_limits(table.threads)
        self._words: NeighborSearch = self._shared.acquire(table.search, tag=table.shape.digest)
        self._pieces_done = whole_pieces(table.pieces, table.shape.words, table.depth)

    def process(self, first: int) -> Iterator[Piece]:
        if first in self._pieces_done:
            yield self._pieces_done[first]
            return
        ids = np.arange(first, first + rows_of(first, self._table.shape.words))
        neighbors, radii = self._words.neighbor_table(ids, self._table.depth)
        self._counted.inc(len(ids))
        yield write_piece(self._table.pieces, first, neighbors, radii)


def _join(uri: str, pieces: Iterable[Piece], words: int) -> int:
    """Joins pieces in the order of their words into the two files of the artifact."""
    ordered = sorted(pieces)
    names = (artifact_manifest.NEIGHBORS, artifact_manifest.CLOSE_RADIUS)
    columns = zip(*((piece.neighbors, piece.radii) for piece in ordered), strict=True)
    for name, files in zip(names, columns, strict=True):
        with storage.open_write(storage.join(uri, name)) as target:
            written = 0
            for path in files:
                array = read_array(path)
                if not written:
                    artifact.write_header(target, array.dtype, (words, *array.shape[1:]))
                target.write(array.tobytes())
                written += len(array)
        assert written == words
    return words
