"""DrawTexts: a corpus -> the first words of some of its texts, in their order, as numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam import pvalue

from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.decoding.reader import breaks_of
from dxbeam.text.tokenization import split
from dxbeam.transforms.reading.sources import ReadDocuments
from dxbeam.transforms.with_vocabulary import WithVocabulary

MOST_WORDS = 200
"""Words of a text that are taken, the first ones."""


class DrawnText(NamedTuple):
    """A text of the corpus. It is raw text, in numbers.

    Attributes:
      order: a hash of the id and a seed; texts in this order are in random order.
      ids: its first words, UNKNOWN for those that are not in the vocabulary.
      breaks: where sentences start among them, as the gaps between words say.
    """

    order: int
    ids: list[int]
    breaks: list[int]


class DrawnTexts(NamedTuple):
    """Texts, and what they were drawn from.

    Attributes:
      texts: as many as it takes to have enough words of the vocabulary.
      known: words of the corpus that are in the vocabulary.
      unknown: those that are not.
    """

    texts: list[DrawnText]
    known: int
    unknown: int


class TextsOfCorpus(NamedTuple):
    """PCollection[DrawnTexts] of one; PCollection[int] of one, how many records cannot be read."""

    drawn: pvalue.PCollection
    left_out: pvalue.PCollection


class DrawTexts(beam.PTransform):
    """Draws texts until they have enough words of the vocabulary: PBegin -> TextsOfCorpus.

    They have ``words`` of them together at least, where the corpus has as many. What is drawn is
    private and must not be written anywhere.
    """

    def __init__(self, read: ReadDocuments, vocabulary: VocabularyHandle, words: int, seed: int):
        super().__init__()
        self._read = read
        self._number = _Number(vocabulary, seed)
        self._first = _First(words)

    def expand(self, begin: pvalue.PBegin) -> TextsOfCorpus:
        """Reads, and keeps the first texts in their random order."""
        reading = begin | "Read" >> self._read
        drawn = (
            reading.documents
            | "Number" >> beam.ParDo(self._number)
            | "Draw" >> beam.CombineGlobally(self._first)
        )
        return TextsOfCorpus(drawn, reading.rejected | beam.combiners.Count.Globally())


class _Number(WithVocabulary):
    def __init__(self, vocabulary: VocabularyHandle, seed: int):
        super().__init__(vocabulary)
        self._seed = seed

    def process(self, document: Any) -> Iterator[DrawnTexts]:
        gaps, words = split(document.text)
        ids = self._vocabulary.ids_of(words).tolist()
        unknown = ids.count(UNKNOWN)
        digest = hashlib.sha256(f"{self._seed}:{document.id}".encode()).digest()
        breaks = breaks_of(gaps[: len(words)])[:MOST_WORDS].tolist()
        text = DrawnText(int.from_bytes(digest[:8], "big"), ids[:MOST_WORDS], breaks)
        yield DrawnTexts([text] if _known(text) else [], len(ids) - unknown, unknown)


class _First(beam.CombineFn):
    """Keeps the first texts with enough words, and adds up what there is."""

    def __init__(self, words: int):
        self._words = words

    def create_accumulator(self) -> DrawnTexts:
        return DrawnTexts([], 0, 0)

    def add_input(self, accumulator: DrawnTexts, texts: DrawnTexts) -> DrawnTexts:
        every, known, unknown = DrawnTexts(*accumulator)
        every.extend(DrawnText(*text) for text in texts[0])
        if len(every) > 2 * self._words:  # each has a known word, so half of them are too many
            every = self._enough(every)
        return DrawnTexts(every, known + texts[1], unknown + texts[2])

    def merge_accumulators(self, accumulators: Iterable[DrawnTexts]) -> DrawnTexts:
        merged = self.create_accumulator()
        for accumulator in accumulators:
            merged = self.add_input(merged, accumulator)
        return merged

    def extract_output(self, accumulator: DrawnTexts) -> DrawnTexts:
        every, known, unknown = DrawnTexts(*accumulator)
        return DrawnTexts(self._enough([DrawnText(*text) for text in every]), known, unknown)

    def _enough(self, texts: list[DrawnText]) -> list[DrawnText]:
        kept, words = [], 0
        for text in sorted(texts):
            if words >= self._words:
                break
            kept.append(text)
            words += _known(text)
        return kept


def _known(text: DrawnText) -> int:
    return len(text.ids) - text.ids.count(UNKNOWN)
