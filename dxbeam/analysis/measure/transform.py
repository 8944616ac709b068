"""Measures what settings do to words, as Beam transforms.

Words are dealt out in batches, each measured by whichever worker takes it, and the sums added up;
so a cluster measures vocabularies of millions of words. Random numbers follow from the seed, the
part and the number of the batch: however the work is divided, the result is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam import pvalue
from apache_beam.metrics import Metrics
from apache_beam.utils.shared import Shared

from dxbeam.analysis.measure import proportions
from dxbeam.analysis.measure.plan import Plan, Question, plan
from dxbeam.analysis.measure.plausible_deniability import Repeated, repeat
from dxbeam.analysis.measure.proportions import Sums
from dxbeam.analysis.measure.read_words import Texts, texts_of
from dxbeam.analysis.measure.settings import Setting
from dxbeam.analysis.measure.word_sample import WordSample
from dxbeam.randomness import Random
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.backends.choose_backend import AUTO, check_name
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.transforms.expected import Expected
from dxbeam.transforms.progress import Progress

BATCHES = "batches"
"""What progress is counted in."""

_RELEASES_PER_TASK = 256
_WORDS_OF_TEXTS = 1024  # a task, as reading some sentences at once takes less time for each

_ONCE, _AGAIN = 0, 1  # apart in the seed, so that no two measurements share noise


class Task(NamedTuple):
    """A batch of words to be measured under one setting.

    Attributes:
      part: a number under which results are added up.
      batch: which batch of the part this is.
      setting: what is measured.
      ids: the words.
      repeats: how often each word is released.
      texts: which of the words are read together; None for words that were drawn one by one.
    """

    part: int
    batch: int
    setting: Setting
    ids: list[int]
    repeats: int
    texts: Texts | None = None


def tasks(part: int, setting: Setting, ids: list[int], repeats: int = 1) -> Iterator[Task]:
    """All batches of a part."""
    step = max(1, _RELEASES_PER_TASK // repeats)
    for batch, start in enumerate(range(0, len(ids), step)):
        yield Task(part, batch, setting, ids[start : start + step], repeats)


def tasks_of(part: int, setting: Setting, sample: WordSample) -> Iterator[Task]:
    """All batches of a part that is a sample; texts are kept whole."""
    texts = texts_of(sample)
    if texts is None:
        yield from tasks(part, setting, sample.ids)
        return
    ends = np.cumsum(texts.sizes)
    first = start = 0
    for batch, numbers in enumerate(_some_texts(texts.sizes)):
        stop = int(ends[numbers - 1])
        part_texts = Texts(texts.sizes[first:numbers], texts.breaks[start:stop])
        yield Task(part, batch, setting, sample.ids[start:stop], 1, part_texts)
        first, start = numbers, stop


def _some_texts(sizes: Sequence[int]) -> Iterator[int]:
    """Behind which texts a batch ends."""
    words = 0
    for number, size in enumerate(sizes, 1):
        words += size
        if words >= _WORDS_OF_TEXTS or number == len(sizes):
            yield number
            words = 0


class SharedSearch:
    """The search of a vocabulary, which all steps that are given it share in each process.

    Args:
      vocabulary: the handle of the artifact.
      backend: how nearest words are found exactly, one of ``choose_backend.NAMES``; figures do
        not depend on it.
    """

    def __init__(self, vocabulary: VocabularyHandle, backend: str = AUTO):
        check_name(backend)
        self._vocabulary, self._backend = vocabulary, backend
        self._shared = Shared()

    def acquire(self) -> NeighborSearch:
        """Opens the vocabulary, or takes what another step has opened."""
        opened: NeighborSearch = self._shared.acquire(
            lambda: NeighborSearch(
                artifact.open_vocabulary(self._vocabulary), backend=self._backend
            ),
            tag=self._vocabulary.digest,
        )
        return opened


def spread(tasks: pvalue.PCollection, what: str) -> pvalue.PCollection:
    """Tasks, counted as work to be done and spread over workers."""
    return tasks | "Expected" >> Expected(what) | "Spread" >> beam.Reshuffle()


class MeasureShares(beam.PTransform):
    """Adds up what becomes of words: PCollection[Task] -> PCollection[tuple[int, Sums]].

    One element for each part, under its number.

    Args:
      search: of the vocabulary.
      seed: of the noise. The figures are of words, and nothing is released.
      threads: of one worker.
    """

    def __init__(self, search: SharedSearch, seed: int, threads: int = 1):
        super().__init__()
        self._measure = _MeasureShares(search, seed, threads)

    def expand(self, tasks: pvalue.PCollection) -> pvalue.PCollection:
        """Adds the sums up per part."""
        measured = spread(tasks, BATCHES) | "Measure" >> beam.ParDo(self._measure)
        return measured | "AddUp" >> beam.CombinePerKey(_AddUp())


class RepeatWords(beam.PTransform):
    """Releases words again and again: PCollection[Task] -> PCollection[tuple[int, Repeated]].

    An element for each word of each part, under the part's number; arguments as for MeasureShares.
    """

    def __init__(self, search: SharedSearch, seed: int, threads: int = 1):
        super().__init__()
        self._repeat = _RepeatWords(search, seed, threads)

    def expand(self, tasks: pvalue.PCollection) -> pvalue.PCollection:
        """Releases."""
        return spread(tasks, BATCHES) | "Repeat" >> beam.ParDo(self._repeat)


class Searching(beam.DoFn):
    """A step that needs the vocabulary.

    Args:
      search: opens it.
    """

    def __init__(self, search: SharedSearch):
        self._shared = search

    def setup(self) -> None:  # noqa: D102
        self._search = self._shared.acquire()


class PlanMeasurement(Searching):
    """Decides what is measured, a Plan for each WordSample.

    Args:
      question: what is wanted.
      search: of the vocabulary.
    """

    def __init__(self, question: Question, search: SharedSearch):
        super().__init__(search)
        self._question = question

    def process(self, sample: WordSample) -> Iterator[Plan]:  # noqa: D102
        yield plan(self._question, WordSample(*sample), self._search)


class Seeded(Searching):
    """A step that measures with random numbers, and says how far it is.

    Args:
      search: opens the vocabulary.
      seed: of the numbers. The figures are of words, and nothing is released.
    """

    def __init__(self, search: SharedSearch, seed: int):
        super().__init__(search)
        self._seed = seed

    def setup(self) -> None:  # noqa: D102
        super().setup()
        self._progress = Progress()

    def _numbers(self, *seed: int) -> Callable[[int, int], Random]:
        """Draws uint64 [rows, columns], again and again; the numbers follow from the seed."""
        generator = np.random.default_rng((self._seed, *seed))
        return lambda rows, columns: generator.integers(0, 2**64, (rows, columns), dtype=np.uint64)


class _Noisy(Seeded):
    def __init__(self, search: SharedSearch, seed: int, threads: int):
        super().__init__(search, seed)
        self._threads = threads
        self._words = Metrics.counter("dxbeam", "measured_words")

    def _random(self, task: Task, kind: int) -> Random:
        self._words.inc(len(task.ids))
        draws = task.setting.make().draws(self._search.vocabulary.dimensions)
        return self._numbers(kind, task.part, task.batch)(len(task.ids) * task.repeats, draws)


class _MeasureShares(_Noisy):
    def process(self, task: Task) -> Iterator[tuple[int, Sums]]:
        sums = proportions.measure(
            task.setting.make(),
            task.setting.epsilons,
            task.setting.rank_cs,
            np.array(task.ids, np.int64),
            self._random(task, _ONCE),
            self._search,
            self._threads,
            task.setting.reading,
            task.texts,
        )
        self._progress.count(**{BATCHES: 1})
        yield task.part, sums


class _RepeatWords(_Noisy):
    def process(self, task: Task) -> Iterator[tuple[int, Repeated]]:
        repeated = repeat(
            task.setting.make(),
            task.setting.epsilons,
            np.array(task.ids, np.int64),
            task.repeats,
            self._random(task, _AGAIN),
            self._search,
            self._threads,
            task.setting.reading,
        )
        self._progress.count(**{BATCHES: 1})
        for word in repeated:
            yield task.part, word


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
