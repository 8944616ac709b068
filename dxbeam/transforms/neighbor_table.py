"""The neighbour table and close radii of a vocabulary, as a pipeline.

Each worker takes a few hundred words, searches the whole vocabulary for their neighbours, and
writes a piece of the table, unless it finds that piece. One worker joins the pieces at the end, a
piece at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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


class WriteNeighborTable(beam.PTransform):
    """Writes neighbors.npy and close_radius.npy next to the words and vectors at a prefix.

    PBegin -> PCollection[int], one element: the number of words, once both files are complete.

    Args:
      uri: where ``artifact.write_words_and_vectors`` put its files, as every worker sees it.
      shape: N and n.
      depth: K, neighbours per word.
      pieces: the folder of the table's pieces, which stay there.
      search_threads: threads a search uses in each worker process.
      backend: how neighbours are found exactly, one of ``choose_backend.NAMES``.
    """

    def __init__(
        self,
        uri: str,
        shape: WordsAndVectors,
        depth: int,
        pieces: str,
        search_threads: int = 1,
        backend: str = AUTO,
    ):
        super().__init__()
        check_name(backend)
        self._search_piece = _SearchPiece(uri, shape, depth, pieces, search_threads, backend)
        self._uri = uri
        self._shape = shape

    def expand(self, begin: pvalue.PBegin) -> pvalue.PCollection:
        """Spreads words over workers, then joins."""
        pieces = (
            begin
            | "Pieces" >> beam.Create(range(0, self._shape.words, WORDS_PER_PIECE), reshuffle=False)
            | "Spread" >> beam.Reshuffle()
            | "Search" >> beam.ParDo(self._search_piece)
        )
        return (
            begin
            | "Once" >> beam.Create([self._uri])
            | "Join"
            >> beam.Map(_join, pvalue.AsIter(pieces), self._shape.words).with_output_types(int)
        )


@beam.typehints.with_output_types(Piece)
class _SearchPiece(beam.DoFn):
    def __init__(
        self,
        uri: str,
        shape: WordsAndVectors,
        depth: int,
        pieces: str,
        search_threads: int,
        backend: str,
    ):
        self._uri = uri
        self._shape = shape
        self._depth, self._pieces = depth, pieces
        self._search_threads, self._backend = search_threads, backend
        self._shared = Shared()
        self._counted = Metrics.counter("dxbeam", "table_words")

    def setup(self) -> None:
        faiss.omp_set_num_threads(self._search_threads)
        threadpoolctl.threadpool_limits(self._search_threads)
        self._words: NeighborSearch = self._shared.acquire(
            lambda: NeighborSearch(
                artifact.open_draft(self._uri, self._shape.digest),
                self._search_threads,
                self._backend,
            ),
            tag=self._shape.digest,
        )
        self._pieces_done = whole_pieces(self._pieces, self._shape.words, self._depth)

    def process(self, first: int) -> Iterator[Piece]:
        if first in self._pieces_done:
            yield self._pieces_done[first]
            return
        ids = np.arange(first, first + rows_of(first, self._shape.words))
        neighbors, radii = self._words.neighbor_table(ids, self._depth)
        self._counted.inc(len(ids))
        yield write_piece(self._pieces, first, neighbors, radii)


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
