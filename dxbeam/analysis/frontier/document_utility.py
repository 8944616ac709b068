"""What documents are still good for once a setting has released their words.

A task: logistic regression on TF-IDF weights of the released words learns a class label and is
tested on the original words of other documents (classification.py). And Word Mover's Distance of
each document to its release (word_movers.py). Both are of the words that the vocabulary knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.analysis.evaluate.classification import (
    LEAST_DOCUMENTS,
    MAJORITY,
    ORIGINAL,
    RELEASED,
    Classification,
    Example,
    check_classes,
    classify,
)
from dxbeam.analysis.evaluate.text_features import WORDS, Block
from dxbeam.analysis.evaluate.word_movers import movement
from dxbeam.analysis.frontier.compute import Estimate
from dxbeam.analysis.theory.intervals import independent_mean_interval
from dxbeam.errors import CorpusError
from dxbeam.space.search.neighbors import Ids
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.transforms.reading.labelled_documents import LabelledDocument


class DocumentUtility(NamedTuple):
    """What a setting leaves of documents.

    Attributes:
      task_accuracy: share of original documents whose class is learnt from released ones, with the
        interval of a bootstrap over documents.
      wmd: mean Word Mover's Distance of a document to its release, in units of the embedding, with
        Student's interval.
    """

    task_accuracy: Estimate
    wmd: Estimate


class TaskBaseline(NamedTuple):
    """What the task is measured against.

    Attributes:
      field: the field that holds the class.
      documents: how many there are.
      original: accuracy of what is learnt from original documents.
      majority: accuracy of always taking the commonest class.
    """

    field: str
    documents: int
    original: Estimate
    majority: Estimate


def task_baseline(documents: Sequence[LabelledDocument], field: str, words: int) -> TaskBaseline:
    """What is learnt without a release.

    Args:
      documents: in any order.
      field: the field that holds the class.
      words: N, of the vocabulary.

    Raises:
      CorpusError: the field is no class label, or too few documents have it.
    """
    question = _question(field, ORIGINAL)
    if len(documents) < LEAST_DOCUMENTS:
        raise CorpusError(
            f"`task` {field}: only {len(documents)} documents have this field and a word of the "
            f"vocabulary, and a classifier needs at least {LEAST_DOCUMENTS}; leave it out"
        )
    check_classes(len(documents), len({document.label for document in documents}), question)
    examples = [
        Example(document.order, document.label, {ORIGINAL: _counts(document.ids, words)})
        for document in documents
    ]
    accuracies = _accuracies(examples, question)
    return TaskBaseline(field, len(documents), accuracies[WORDS], accuracies[MAJORITY])


def document_utility(
    documents: Sequence[LabelledDocument], released: Ids, vocabulary: Vocabulary
) -> DocumentUtility:
    """Compares documents with a release of them.

    Args:
      documents: two or more, as ``task_baseline`` accepts them.
      released: int64 [B], a word for each word of the documents, one document after the other.
      vocabulary: its vectors.
    """
    examples, apart = [], []
    for document, output in zip(documents, _cut(documents, released), strict=True):
        features = {
            ORIGINAL: _counts(document.ids, len(vocabulary)),
            RELEASED: _counts(output, len(vocabulary)),
        }
        examples.append(Example(document.order, document.label, features))
        moved = movement(vocabulary, np.array(document.ids, np.int64), output)
        if moved.exact is not None:
            apart.append(moved.exact)
    accuracy = _accuracies(examples, _question("task", RELEASED))[WORDS]
    mean, deviation = float(np.mean(apart)), float(np.std(apart, ddof=1))
    low, high = independent_mean_interval(mean, deviation, len(apart))
    wmd = Estimate(mean, max(0.0, low), high)
    return DocumentUtility(accuracy, wmd)


def _question(field: str, trained_on: str) -> Classification:
    return Classification("task", "task", field, (WORDS,), ((trained_on, ORIGINAL),))


def _accuracies(examples: Sequence[Example], question: Classification) -> dict[str, Estimate]:
    return {
        score.model: Estimate(score.value, score.low, score.high)
        for score in classify(examples, question)
        if score.metric == "task_accuracy"
    }


def _counts(ids: Sequence[int] | Ids, words: int) -> dict[str, tuple[Block]]:
    places, counts = np.unique(np.asarray(ids, np.int64), return_counts=True)
    return {WORDS: (Block(places.astype(np.int32), counts.astype(np.float32), words),)}


def _cut(documents: Sequence[LabelledDocument], released: Ids) -> Iterator[Ids]:
    start = 0
    for document in documents:
        yield released[start : start + len(document.ids)]
        start += len(document.ids)
