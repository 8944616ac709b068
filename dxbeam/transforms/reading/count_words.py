"""CountWords: a corpus -> how often each word of a vocabulary occurs in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam import pvalue
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.tokenization import words
from dxbeam.transforms.reading.sources import ReadDocuments
from dxbeam.transforms.with_vocabulary import WithVocabulary


class WordCounts(NamedTuple):
    """What ``CountWords`` returns.

    Attributes:
      counts: PCollection of one array, int64 [N + 1]: how often each word of the vocabulary occurs,
        and last how many words of the corpus are not in it. It is computed from raw text.
      left_out: PCollection[int] of one, how many records could not be read.
    """

    counts: pvalue.PCollection
    left_out: pvalue.PCollection


class CountWords(beam.PTransform):
    """Counts the words of a corpus: PBegin -> WordCounts."""

    def __init__(self, read: ReadDocuments, vocabulary: VocabularyHandle):
        super().__init__()
        self._read = read
        self._vocabulary = vocabulary

    def expand(self, begin: pvalue.PBegin) -> WordCounts:
        """Counts per bundle, and adds the counts up."""
        reading = begin | "Read" >> self._read
        counts = (
            reading.documents
            | "Count" >> beam.ParDo(_Count(self._vocabulary))
            | "AddUp" >> beam.CombineGlobally(_Sum(self._vocabulary.words))
        )
        return WordCounts(counts, reading.rejected | "LeftOut" >> beam.combiners.Count.Globally())


class _Count(WithVocabulary):
    def start_bundle(self) -> None:
        self._counts = np.zeros(len(self._vocabulary) + 1, np.int64)

    def process(self, document: Any) -> None:
        ids = self._vocabulary.ids_of(words(document.text))
        ids[ids == UNKNOWN] = len(self._vocabulary)
        np.add.at(self._counts, ids, 1)

    def finish_bundle(self) -> Iterator[WindowedValue]:
        yield GlobalWindows.windowed_value(self._counts)


class _Sum(beam.CombineFn):
    def __init__(self, words: int):
        self._words = words

    def create_accumulator(self) -> Any:
        return np.zeros(self._words + 1, np.int64)

    def add_input(self, accumulator: Any, counts: Any) -> Any:
        return accumulator + counts

    def merge_accumulators(self, accumulators: Any) -> Any:
        return np.sum(list(accumulators), axis=0)

    def extract_output(self, accumulator: Any) -> Any:
        return accumulator
