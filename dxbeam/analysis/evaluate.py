"""Compares a corpus with a release of it, as Beam transforms.

What is computed of each document is computed by whichever worker takes it, and sums are added up.
Classifiers alone need all documents in one place: some 20 kilobytes each, of hashes and no text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.utils.shared import Shared

from dxbeam.analysis import document_scores
from dxbeam.analysis.classification import (
    ORIGINAL,
    RELEASED,
    Classified,
    Example,
    Question,
    classify,
)
from dxbeam.analysis.document_scores import DocumentScores, Sums, TextPair, score_document
from dxbeam.analysis.text_features import FeatureMaker
from dxbeam.space import artifact
from dxbeam.space.artifact import VocabularyHandle
from dxbeam.space.vocabulary import Vocabulary


class PairWithFields(TextPair, Protocol):
    """A document before and after, with what the corpus says about it.

    Attributes:
      fields: the kept fields of the original, by name.
      group: the group of the original.
    """

    @property
    def fields(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def group(self) -> str: ...  # noqa: D102


Over = tuple[bool, str]
"""What a sum is over: whether of a group, and of which."""

ALL: Over = (False, "")


class ScoreDocuments(beam.PTransform):
    """Adds scores up: PCollection[PairWithFields] -> PCollection[tuple[Over, Sums]].

    One element for all documents and, where groups are asked for, one for each group.

    Args:
      vocabulary: the handle of the artifact, or None.
      by_group: whether to add up groups, too.
    """

    def __init__(self, vocabulary: VocabularyHandle | None, by_group: bool):
        super().__init__()
        self._score = _Score(vocabulary, by_group)

    def expand(self, pairs: pvalue.PCollection) -> pvalue.PCollection:
        """Scores each document and combines per key."""
        return pairs | "Score" >> beam.ParDo(self._score) | "AddUp" >> beam.CombinePerKey(_AddUp())


class Classify(beam.PTransform):
    """Trains and tests classifiers: PCollection[PairWithFields] -> PCollection[Classified].

    All documents come together on one worker, as features.

    Args:
      question: what is classified.
      vocabulary: the handle of the artifact, or None.
      function_words: public words, for features of style.
    """

    def __init__(
        self,
        question: Question,
        vocabulary: VocabularyHandle | None,
        function_words: Sequence[str],
    ):
        super().__init__()
        self._question = question
        self._describe = _Describe(question, vocabulary, function_words)

    def expand(self, pairs: pvalue.PCollection) -> pvalue.PCollection:
        """Makes features everywhere, and classifies once."""
        examples = pairs | "Describe" >> beam.ParDo(self._describe)
        return (
            pairs.pipeline
            | "Once" >> beam.Create([self._question])
            | "Classify" >> beam.FlatMap(_classified, pvalue.AsIter(examples))
        )


def _classified(question: Question, examples: Iterable[Example]) -> list[Classified]:
    return classify(list(examples), Question(*question))


def hash_of(own_id: str) -> int:
    """64 bits that follow from a document's id."""
    return int.from_bytes(hashlib.sha256(own_id.encode()).digest()[:8], "big")


class _WithVocabulary(beam.DoFn):
    def __init__(self, vocabulary: VocabularyHandle | None):
        self._handle = vocabulary
        self._shared = Shared()  # made here, so that the threads of a process share one

    def setup(self) -> None:
        handle = self._handle
        self._vocabulary: Vocabulary | None = handle and self._shared.acquire(
            lambda: artifact.open_vocabulary(handle), tag=handle.digest
        )


class _Score(_WithVocabulary):
    def __init__(self, vocabulary: VocabularyHandle | None, by_group: bool):
        super().__init__(vocabulary)
        self._by_group = by_group

    def process(self, pair: PairWithFields) -> Iterator[tuple[Over, DocumentScores]]:
        scores = score_document(pair, hash_of(pair.id), self._vocabulary)
        yield ALL, scores
        if self._by_group:
            yield (True, pair.group), scores


class _AddUp(beam.CombineFn):
    def create_accumulator(self) -> Sums:
        return document_scores.no_documents()

    def add_input(self, accumulator: Sums, scores: DocumentScores) -> Sums:
        return accumulator.with_document(scores)

    def merge_accumulators(self, accumulators: Iterable[Sums]) -> Sums:
        merged = document_scores.no_documents()
        for sums in accumulators:
            merged = merged.plus(sums)
        return merged

    def extract_output(self, accumulator: Sums) -> Sums:
        return accumulator


class _Describe(_WithVocabulary):
    def __init__(
        self,
        question: Question,
        vocabulary: VocabularyHandle | None,
        function_words: Sequence[str],
    ):
        super().__init__(vocabulary)
        self._question = question
        self._function_words = function_words

    def setup(self) -> None:
        super().setup()
        self._maker = FeatureMaker(self._question.models, self._vocabulary, self._function_words)

    def process(self, pair: PairWithFields) -> Iterator[Example]:
        label = pair.fields.get(self._question.field)
        if label is not None:
            texts = {
                ORIGINAL: self._maker.features(pair.original, pair.original_words),
                RELEASED: self._maker.features(pair.released, pair.released_words),
            }
            yield Example(hash_of(pair.id), str(label), texts)
