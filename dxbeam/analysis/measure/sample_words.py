"""SampleWords: a vocabulary or a corpus -> the words that are measured."""

from __future__ import annotations

from typing import NamedTuple

import apache_beam as beam
from apache_beam import pvalue

from dxbeam.analysis.measure.word_sample import (
    BY_FREQUENCY,
    NOTHING_KNOWN,
    WordSample,
    sample_by_frequency,
    uniform_sample,
)
from dxbeam.errors import CorpusError
from dxbeam.transforms.reading.count_words import CountWords
from dxbeam.transforms.reading.draw_texts import DrawnTexts, DrawTexts


class SampledWords(NamedTuple):
    """What ``SampleWords`` returns.

    Attributes:
      sample: PCollection[WordSample] of one.
      left_out: PCollection[int] of one, how many records of the corpus could not be read.
    """

    sample: pvalue.PCollection
    left_out: pvalue.PCollection


class SampleWords(beam.PTransform):
    """Draws the words that are measured: Pipeline -> SampledWords.

    Args:
      words: how many.
      vocabulary: how many words the vocabulary has.
      seed: of the draw.
      corpus: counts its words, which are then drawn by frequency, or draws its texts, whose words
        are then measured in their places; None for words of the vocabulary, all alike.
    """

    def __init__(
        self, words: int, vocabulary: int, seed: int, corpus: CountWords | DrawTexts | None = None
    ):
        super().__init__()
        self._corpus = corpus
        self._uniform = uniform_sample(words, vocabulary, seed) if corpus is None else None
        self._drawn = words, seed

    def expand(self, begin: pvalue.PBegin) -> SampledWords:
        """Reads where there is a corpus, and draws."""
        if self._corpus is None:
            return SampledWords(
                begin | "Draw" >> beam.Create([self._uniform]),
                begin | "LeftOut" >> beam.Create([0]),
            )
        if isinstance(self._corpus, DrawTexts):
            texts = begin | "Texts" >> self._corpus
            return SampledWords(texts.drawn | "Draw" >> beam.Map(_of_texts), texts.left_out)
        counted = begin | "Count" >> self._corpus
        sample = counted.counts | "Draw" >> beam.Map(sample_by_frequency, *self._drawn)
        return SampledWords(sample, counted.left_out)


def _of_texts(drawn: DrawnTexts) -> WordSample:
    """Texts whose words are measured in their places.

    Raises:
      CorpusError: no word of the corpus is in the vocabulary.
    """
    texts, known, unknown = drawn
    if not known:
        raise CorpusError(NOTHING_KNOWN)
    ids, breaks, sizes = [], [], []
    for _, its_ids, its_breaks in texts:
        ids += its_ids
        breaks += its_breaks
        sizes.append(len(its_ids))
    return WordSample(BY_FREQUENCY, ids, known, unknown, sizes, breaks)
