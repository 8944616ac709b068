"""The exact sensitivity of a projection, as a pipeline: all pairs of words, spread over workers.

Everything here is public: it looks at the vocabulary and the projection, never at the corpus.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import apache_beam as beam
import threadpoolctl
from apache_beam import pvalue
from apache_beam.utils.shared import Shared

from dxbeam import storage
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.vectors.projections import Projection
from dxbeam.vectors.sensitivity import ROWS_PER_BLOCK, LargestRatio, PairScan, sensitivity_of_scan

Part = tuple[float, float, int, int]
"""The fields of a ``LargestRatio``."""

_OPENED = Shared()
"""One for all steps of a process, so that it opens the vocabulary once."""


def _vocabulary(handle: VocabularyHandle) -> Vocabulary:
    opened: Vocabulary = _OPENED.acquire(
        lambda: artifact.open_vocabulary(handle), tag=handle.digest
    )
    return opened


class WriteExactSensitivity(beam.PTransform):
    """Scans all pairs of words and writes what was found: PBegin -> PCollection[str], the file.

    It is in JSON, see ``Sensitivity.as_dict``.
    """

    def __init__(
        self, vocabulary: VocabularyHandle, projection: Projection, path: str, threads: int = 1
    ):
        super().__init__()
        self._vocabulary, self._projection = vocabulary, projection
        self._path, self._threads = path, threads

    def expand(self, begin: pvalue.PBegin) -> pvalue.PCollection:
        """Spreads blocks of rows, scans each, and writes the pair that is stretched most."""
        rows = self._vocabulary.words + 1  # the unknown word's too
        parts = (
            begin
            | "Blocks" >> beam.Create(range(0, rows, ROWS_PER_BLOCK), reshuffle=False)
            | "Spread" >> beam.Reshuffle()
            | "Scan" >> beam.ParDo(_Scan(self._vocabulary, self._projection, self._threads))
        )
        return (
            begin
            | "Once" >> beam.Create([self._path])
            | "Write"
            >> beam.Map(
                _write, pvalue.AsIter(parts), self._vocabulary, self._projection
            ).with_output_types(str)
        )


@beam.typehints.with_output_types(Part)
class _Scan(beam.DoFn):
    def __init__(self, vocabulary: VocabularyHandle, projection: Projection, threads: int):
        self._vocabulary = vocabulary
        self._projection = projection
        self._threads = threads
        self._shared = Shared()

    def setup(self) -> None:
        threadpoolctl.threadpool_limits(self._threads)
        self._scan: PairScan = self._shared.acquire(
            lambda: PairScan(_vocabulary(self._vocabulary), self._projection),
            tag=self._vocabulary.digest,
        )
        self._largest = LargestRatio()  # what this worker has found before spares it work

    def process(self, start: int) -> Iterator[Part]:
        self._largest = self._scan.scan(start, self._largest)
        bound, ratio, first, second = self._largest
        yield bound, ratio, first, second


def _write(
    path: str, parts: Iterable[Part], vocabulary: VocabularyHandle, projection: Projection
) -> str:
    results = (LargestRatio(*part) for part in parts)
    exact = sensitivity_of_scan(results, _vocabulary(vocabulary), projection)
    with storage.open_write(path) as file:
        file.write((json.dumps(exact.as_dict(), indent=2, ensure_ascii=False) + "\n").encode())
    return path
