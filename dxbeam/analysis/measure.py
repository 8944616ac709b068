"""MeasureShares: words -> shares of original, close and distant words, as a Beam transform.

Words are dealt out in batches, each measured by whichever worker takes it, and the sums added up;
so a cluster measures vocabularies of millions of words. Random numbers follow from the seed and
the number of the batch: however the work is divided, the result is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam import pvalue
from apache_beam.metrics import Metrics
from apache_beam.utils.shared import Shared

from dxbeam.analysis.every_epsilon import Ids
from dxbeam.analysis.proportions import Shares, Sums, measure, shares_of
from dxbeam.mechanisms import make_mechanism
from dxbeam.space import artifact
from dxbeam.space.artifact import VocabularyHandle
from dxbeam.space.neighbors import NeighborSearch

UNIFORM = "uniform over the vocabulary"
"""What the sampled words stand for: every word of the vocabulary counts alike."""

_WORDS_PER_BATCH = 256


class Setting(NamedTuple):
    """A mechanism and the grid it is measured on.

    Attributes:
      mechanism: its name.
      parameters: its parameters other than epsilon, as (name, value).
      epsilons: in increasing order.
      rank_cs: of rank resampling; without it is always measured as well.
    """

    mechanism: str
    parameters: tuple[tuple[str, str], ...]
    epsilons: tuple[float, ...]
    rank_cs: tuple[float, ...]

    def made(self) -> Any:
        """The mechanism at the first epsilon."""
        return make_mechanism(self.mechanism, epsilon=self.epsilons[0], **dict(self.parameters))


class Task(NamedTuple):
    """A batch of words to be measured under one setting."""

    setting: int
    batch: int
    ids: list[int]


def sample(words: int, vocabulary: int, seed: int) -> Ids:
    """Ids of different words, all equally likely: int64 [min(words, vocabulary)].

    Args:
      words: how many.
      vocabulary: N.
      seed: of the sample, which is of public words and protects nothing.
    """
    chosen = np.random.default_rng(seed).permutation(vocabulary)[:words]
    return np.sort(chosen)


def tasks(settings: Iterable[Setting], ids: Ids) -> list[Task]:
    """All batches of all settings."""
    return [
        Task(number, batch, ids[start : start + _WORDS_PER_BATCH].tolist())
        for number, _ in enumerate(settings)
        for batch, start in enumerate(range(0, len(ids), _WORDS_PER_BATCH))
    ]


class MeasureShares(beam.PTransform):
    """Measures every setting: PBegin -> PCollection[tuple[int, Sums]], one element per setting.

    Args:
      settings: what is measured.
      ids: int64 [k], the words.
      vocabulary: the handle of the artifact.
      seed: of the noise. The figures are of public words, and nothing is released.
      threads: of one worker.
    """

    def __init__(
        self,
        settings: list[Setting],
        ids: Ids,
        vocabulary: VocabularyHandle,
        seed: int,
        threads: int = 1,
    ):
        super().__init__()
        self._tasks = tasks(settings, ids)
        self._measure = _Measure(settings, vocabulary, seed, threads)

    def expand(self, begin: pvalue.PBegin) -> pvalue.PCollection:
        """Deals the batches out and adds the sums up per setting."""
        return (
            begin
            | "Batches" >> beam.Create(self._tasks)
            | "Spread" >> beam.Reshuffle()
            | "Measure" >> beam.ParDo(self._measure)
            | "AddUp" >> beam.CombinePerKey(_AddUp())
        )


class _Measure(beam.DoFn):
    def __init__(
        self, settings: list[Setting], vocabulary: VocabularyHandle, seed: int, threads: int
    ):
        self._settings = settings
        self._vocabulary = vocabulary
        self._seed = seed
        self._threads = threads
        self._shared = Shared()  # made here, so that the threads of a process share one
        self._words = Metrics.counter("dxbeam", "measured_words")

    def setup(self) -> None:
        self._search: NeighborSearch = self._shared.acquire(
            lambda: NeighborSearch(artifact.open_vocabulary(self._vocabulary)),
            tag=self._vocabulary.digest,
        )

    def process(self, task: Task) -> Iterator[tuple[int, Sums]]:
        task = Task(*task)
        setting = self._settings[task.setting]
        mechanism = setting.made()
        generator = np.random.default_rng((self._seed, task.setting, task.batch))
        draws = mechanism.draws(self._search.vocabulary.dimensions)
        random = generator.integers(0, 2**64, (len(task.ids), draws), dtype=np.uint64)
        ids = np.array(task.ids, np.int64)
        self._words.inc(len(ids))
        yield (
            task.setting,
            measure(
                mechanism,
                setting.epsilons,
                setting.rank_cs,
                ids,
                random,
                self._search,
                self._threads,
            ),
        )


class _AddUp(beam.CombineFn):
    def create_accumulator(self) -> Sums | None:
        return None

    def add_input(self, accumulator: Sums | None, sums: Sums) -> Sums:
        return sums if accumulator is None else accumulator.plus(sums)

    def merge_accumulators(self, accumulators: Iterable[Sums | None]) -> Sums | None:
        merged = None
        for sums in accumulators:
            if sums is not None:
                merged = self.add_input(merged, sums)
        return merged

    def extract_output(self, accumulator: Sums | None) -> Sums | None:
        return accumulator


def rows(setting: Setting, sums: Sums) -> Iterator[dict[str, Any]]:
    """The lines of proportions.parquet for a setting."""
    found: Iterable[Shares] = shares_of(sums, setting.made(), setting.epsilons, setting.rank_cs)
    for shares in found:
        row: dict[str, Any] = {
            "mechanism": setting.mechanism,
            "parameters": ",".join(f"{name}={value}" for name, value in setting.parameters),
            "weighting": UNIFORM,
            "epsilon": shares.epsilon,
            "rank_c": shares.rank_c,
            "words": shares.words,
        }
        for name in ("original", "close", "distant"):
            share, low, high = getattr(shares, name)
            row |= {name: share, f"{name}_low": low, f"{name}_high": high}
        yield row
