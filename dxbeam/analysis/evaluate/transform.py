"""Compares a corpus with releases of it, as Beam transforms.

What is computed of each document is computed by whichever worker takes it, and sums are added up.
An original is looked at once, next to all that was released of it, and classifiers learn from the
originals once. Only classifiers need all documents of a release in one place: some 20 kilobytes
each, of hashes and no text, and two vectors where there is a sentence encoder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import apache_beam as beam
from apache_beam import pvalue
from threadpoolctl import ThreadpoolController

from dxbeam.analysis.corpora.learning_curve import end_of_curve, learning_curve
from dxbeam.analysis.evaluate import document_scores
from dxbeam.analysis.evaluate.classification import (
    MAJORITY,
    ORIGINAL,
    RELEASED,
    Classification,
    Classified,
    Example,
    Trained,
    classify,
    train_on_originals,
)
from dxbeam.analysis.evaluate.document_scores import (
    DocumentScorer,
    DocumentScores,
    Original,
    Released,
    Sums,
)
from dxbeam.analysis.evaluate.text_features import Described
from dxbeam.analysis.evaluate.with_vocabulary import WithVocabulary
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.transforms.expected import ExpectedInAll
from dxbeam.transforms.progress import Progress

DOCUMENTS = "documents"
"""What progress is counted in."""


class DocumentVersions(Original, Protocol):
    """A document before and after, with what the corpus says about it.

    Attributes:
      id: of all its versions.
      fields: the kept fields of the original, by name.
      group: the group of the original.
      released: by the number of the release, what was released of it.
    """

    @property
    def id(self) -> str: ...  # noqa: D102
    @property
    def fields(self) -> Mapping[str, Any]: ...  # noqa: D102
    @property
    def group(self) -> str: ...  # noqa: D102
    @property
    def released(self) -> Mapping[int, Released]: ...  # noqa: D102


Over = tuple[int, bool, str]
"""What a sum is over: of which release, whether of a group, and of which."""


def every_document(release: int) -> Over:
    """All documents of a release, by its number."""
    return release, False, ""


class ScoreDocuments(beam.PTransform):
    """Adds scores up: PCollection[DocumentVersions] -> PCollection[tuple[Over, Sums]].

    One element for all documents of a release and, where groups are asked for, one for each group.

    Args:
      vocabulary: the handle of the artifact, or None.
      by_group: whether to add up groups, too.
      expected: how many documents there are, about; for the time left.
      language_model: the handle of the model that says which words are rare and how likely texts
        are; None leaves both out.
    """

    def __init__(
        self,
        vocabulary: VocabularyHandle | None,
        by_group: bool,
        expected: int,
        language_model: LanguageModelHandle | None = None,
    ):
        super().__init__()
        self._expected = expected
        self._score = _Score(vocabulary, by_group=by_group, language_model=language_model)

    def expand(self, documents: pvalue.PCollection) -> pvalue.PCollection:
        """Scores each document and combines per key."""
        _ = documents.pipeline | "Expected" >> ExpectedInAll(DOCUMENTS, self._expected)
        scored = documents | "Score" >> beam.ParDo(self._score)
        return scored | "AddUp" >> beam.CombinePerKey(_AddUp())


class Classify(beam.PTransform):
    """Trains and tests classifiers.

    PCollection[Described] -> PCollection[tuple[int | None, Classified]], each with the number of
    the release, or None for what is reported of originals only. All documents of a release come
    together on one worker, as features.

    Args:
      questions: what is classified, by features that documents were described by.
      curve_of: the name of the question whose learning curve is wanted; "" for none.
    """

    def __init__(self, questions: Sequence[Classification], curve_of: str = ""):
        super().__init__()
        self._questions, self._curve_of = list(questions), curve_of

    def expand(self, documents: pvalue.PCollection) -> pvalue.PCollection:
        """Learns from originals, and then from each release."""
        examples = documents | "Examples" >> beam.FlatMap(_examples, self._questions).with_outputs(
            _OF_ORIGINALS, main="released"
        )
        every_question = documents.pipeline | "Asked" >> beam.Create(
            [(number, None) for number in range(len(self._questions))]
        )
        learnt = (
            # The second, so that a question without documents is refused.
            (examples[_OF_ORIGINALS], every_question)
            | "OriginalsAndAsked" >> beam.Flatten()
            | "AllOriginals" >> beam.GroupByKey()
            | "Learn"
            >> beam.FlatMap(_learnt, self._questions, self._curve_of).with_outputs(
                _TRAINED, main="classified"
            )
        )
        of_releases = (
            examples["released"]
            | "EachRelease" >> beam.GroupByKey()
            | "Classify"
            >> beam.FlatMap(
                _classified, self._questions, self._curve_of, pvalue.AsDict(learnt[_TRAINED])
            )
        )
        return (learnt["classified"], of_releases) | "AllClassified" >> beam.Flatten()


_OF_ORIGINALS, _TRAINED = "of originals", "trained"

_ALONE = (ORIGINAL, ORIGINAL)
"""The trial that needs no release."""


def _examples(document: Described, questions: Sequence[Classification]) -> Iterator[Any]:
    order, labels, original, released = document
    for number, question in enumerate(questions):
        if question.field not in labels:
            continue
        before = {kind: original[kind] for kind in question.models}
        example = Example(order, labels[question.field], {ORIGINAL: before})
        yield pvalue.TaggedOutput(_OF_ORIGINALS, (number, example))
        # Originals are tested by what is learnt from a release, and otherwise not looked at.
        tested = {ORIGINAL: before} if (RELEASED, ORIGINAL) in question.trials else {}
        for release, features in released.items():
            after = {kind: features[kind] for kind in question.models}
            yield (number, release), example._replace(texts={**tested, RELEASED: after})


def _learnt(
    numbered: tuple[int, Iterable[Example | None]],
    questions: Sequence[Classification],
    curve_of: str,
) -> Iterator[Any]:
    number, examples = numbered
    question = Classification(*questions[number])
    listed = [example for example in examples if example is not None]
    trained = train_on_originals(listed, question)
    yield pvalue.TaggedOutput(_TRAINED, (number, trained))
    for score in _scores(listed, question._replace(trials=(_ALONE,)), trained, curve_of):
        yield None, score


def _classified(
    numbered: tuple[tuple[int, int], Iterable[Example]],
    questions: Sequence[Classification],
    curve_of: str,
    trained: Mapping[int, Trained],
) -> Iterator[tuple[int, Classified]]:
    (number, release), examples = numbered
    question = Classification(*questions[number])
    trials = tuple(trial for trial in question.trials if trial != _ALONE)
    question, known = question._replace(trials=trials), Trained(*trained[number])
    for score in _scores(list(examples), question, known, curve_of):
        if score.model != MAJORITY:
            yield release, score


def _scores(
    examples: list[Example], question: Classification, trained: Trained, curve_of: str
) -> Iterator[Classified]:
    """What was learnt of all documents, and where it is asked for of fewer."""
    examples = [Example(*example) for example in examples]
    scores = classify(examples, question, trained)
    yield from scores
    if question.name == curve_of:
        yield from learning_curve(examples, question, trained)
        for score in scores:
            yield from end_of_curve(score, question)


def hash_of(own_id: str) -> int:
    """64 bits that follow from a document's id."""
    return int.from_bytes(hashlib.sha256(own_id.encode()).digest()[:8], "big")


class _Score(WithVocabulary):
    def __init__(
        self,
        vocabulary: VocabularyHandle | None,
        *,
        by_group: bool,
        language_model: LanguageModelHandle | None,
    ):
        super().__init__(vocabulary, language_model)
        self._by_group = by_group

    def setup(self) -> None:
        super().setup()
        self._threads = ThreadpoolController()
        self._progress = Progress()

    def process(self, document: DocumentVersions) -> Iterator[tuple[Over, DocumentScores]]:
        with self._threads.limit(limits=1):  # others would spin, at the cost of other workers
            seed = hash_of(document.id)
            scorer = DocumentScorer(document, seed, self._vocabulary, self._model)
            scored = {
                number: scorer.scores(released) for number, released in document.released.items()
            }
        self._progress.count(**{DOCUMENTS: 1})
        for number, scores in scored.items():
            yield every_document(number), scores
            if self._by_group:
                yield (number, True, document.group), scores


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
