"""Measures the curve that a calibration answers from, as Beam transforms.

The words of every sample are dealt into two halves, and each half is measured on the same grid of
epsilon and c, from separate noise (measure/transform.py).
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
from apache_beam import pvalue

from dxbeam import storage
from dxbeam.analysis.calibrate.compute import CHOICE, EACH, VERIFICATION
from dxbeam.analysis.measure.plan import grid_of
from dxbeam.analysis.measure.proportions import Sums
from dxbeam.analysis.measure.settings import Named, Setting
from dxbeam.analysis.measure.tables import Row, proportion_rows
from dxbeam.analysis.measure.transform import (
    MeasureShares,
    Searching,
    SharedSearch,
    Task,
    tasks_of,
)
from dxbeam.analysis.measure.word_sample import WordSample
from dxbeam.errors import CorpusError
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.backends.choose_backend import AUTO
from dxbeam.space.search.neighbors import NeighborSearch

CURVE = "calibration.parquet"
"""A row for every half, epsilon and c; with the counts of ``Sampled`` in its metadata."""

_SAMPLED = b"dxbeam.sampled"


class Grid(NamedTuple):
    """Which settings are tried.

    Attributes:
      mechanism: with its parameters.
      epsilons: in increasing order; None for the range in which the words begin to come out as
        themselves.
      rank_cs: of rank resampling, in increasing order; without it is always tried as well.
    """

    mechanism: Named
    epsilons: tuple[float, ...] | None
    rank_cs: tuple[float, ...]

    def setting(self, samples: Sequence[WordSample], search: NeighborSearch) -> Setting:
        """The grid, for all samples the same, so that answers can be compared."""
        epsilons = self.epsilons or {
            epsilon for sample in samples for epsilon in grid_of(self.mechanism, sample, search)
        }
        return Setting(*self.mechanism, tuple(sorted(epsilons)), self.rank_cs)


class Halves(NamedTuple):
    """What is measured.

    Attributes:
      setting: the grid.
      samples: the words, those that the answer is for last; each is measured half by half.
    """

    setting: Setting
    samples: list[WordSample]


class Sampled(NamedTuple):
    """What the words of a corpus were drawn from.

    Attributes:
      known: words of the corpus that are in the vocabulary.
      unknown: words of the corpus that are not.
      left_out: records that could not be read.
    """

    known: int
    unknown: int
    left_out: int


class MeasureCurve(beam.PTransform):
    """Writes CURVE: PCollection[list[WordSample]] of one -> PCollection[str], the file's name.

    Args:
      output: an empty directory or gs:// prefix.
      grid: which settings are tried.
      vocabulary: the handle of the artifact.
      seed: of the noise. The figures are of words, and nothing is released.
      threads: of one worker.
      left_out: PCollection[int] of one, how many records of the corpus could not be read.
      backend: how nearest words are found exactly, one of ``choose_backend.NAMES``.
    """

    def __init__(
        self,
        output: str,
        grid: Grid,
        vocabulary: VocabularyHandle,
        seed: int,
        threads: int,
        left_out: pvalue.PCollection,
        backend: str = AUTO,
    ):
        super().__init__()
        self._output = output
        words = SharedSearch(vocabulary, backend)
        self._plan = _Plan(grid, words)
        self._noise = words, seed, threads
        self._left_out = left_out

    def expand(self, samples: pvalue.PCollection) -> pvalue.PCollection:
        """Deals the words into halves, measures each, and writes when all are there."""
        halves = samples | "Plan" >> beam.ParDo(self._plan)
        sums = halves | "Batches" >> beam.FlatMap(_tasks) | MeasureShares(*self._noise)
        return halves | "Write" >> beam.Map(
            _write, self._output, pvalue.AsIter(sums), pvalue.AsSingleton(self._left_out)
        )


class _Plan(Searching):
    def __init__(self, grid: Grid, search: SharedSearch):
        super().__init__(search)
        self._grid = grid

    def process(self, samples: list[WordSample]) -> Iterator[Halves]:
        word_samples = [WordSample(*sample) for sample in samples]
        check_halves(word_samples)
        yield Halves(self._grid.setting(word_samples, self._search), word_samples)


def check_halves(samples: Sequence[WordSample]) -> None:
    """Refuses a single text, which has no other half.

    Raises:
      CorpusError: says what to do.
    """
    if any(len(sample.sizes) == 1 for sample in samples):
        raise CorpusError(
            "`input`: only one text was drawn, and one half of the texts chooses what the other "
            "verifies; name a corpus of several texts, or raise `words`"
        )


def _tasks(halves: Halves) -> Iterator[Task]:
    for number, (_, sample) in enumerate(_parts(halves.samples)):
        yield from tasks_of(number, halves.setting, sample)


def _parts(samples: Iterable[WordSample]) -> Iterator[tuple[str, WordSample]]:
    for sample in samples:
        yield from zip((CHOICE, VERIFICATION), WordSample(*sample).halves(), strict=True)


def curve(halves: Halves, sums: dict[int, Sums]) -> list[Row]:
    """The rows of CURVE.

    Args:
      halves: what was measured.
      sums: by the number of the part: the halves of the first sample, then of the second.
    """
    return [
        {"half": half, **row}
        for number, (half, sample) in enumerate(_parts(halves.samples))
        for row in proportion_rows(halves.setting, sample.weighting, sums[number], EACH)
    ]


def _write(halves: Halves, output: str, sums: Iterable[tuple[int, Sums]], left_out: int) -> str:
    table = pa.Table.from_pylist(curve(halves, dict(sums)))
    drawn = WordSample(*halves.samples[-1])
    sampled = Sampled(drawn.known, drawn.unknown, left_out)
    buffer = io.BytesIO()
    metadata = {_SAMPLED: json.dumps(sampled._asdict())}
    pq.write_table(table.replace_schema_metadata(metadata), buffer)
    path = storage.join(output, CURVE)
    storage.create_once(path, buffer.getvalue())
    return path


def read_curve(output: str) -> tuple[list[Row], Sampled]:
    """What ``MeasureCurve`` wrote."""
    table = pq.read_table(io.BytesIO(storage.read(storage.join(output, CURVE))))
    written: dict[str, Any] = json.loads(table.schema.metadata[_SAMPLED])
    return table.to_pylist(), Sampled(**written)
