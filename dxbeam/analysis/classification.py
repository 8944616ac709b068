"""What a classifier learns from text before and after: a task of its users, or an attack on it.

Documents are split into five parts by a hash of their ids, whole documents and each into one part.
What is tested on a part was trained on the four others, so every document is tested once, by a
model that never saw it, before or after. Intervals are of a bootstrap over the documents that were
tested, with the models as they are: 500 times, each document counts as often as a Poisson
distribution of mean 1 says. Where a document is given in pieces, an example each, all of this is
about whole documents: its pieces lie in one part and count as often as it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from dxbeam.analysis.class_scores import accuracy, auc, macro_f1
from dxbeam.analysis.document_scores import BOOTSTRAP, REPLICATES
from dxbeam.analysis.text_features import Features
from dxbeam.errors import CorpusError

PARTS = 5
LEAST_DOCUMENTS = 20

ORIGINAL, RELEASED = "original", "released"
MAJORITY = "majority class"

Numbers = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


class Example(NamedTuple):
    """A document with its class, or a piece of one.

    Attributes:
      order: a hash of the document's id, which decides the part; pieces of one document share it.
      label: the class.
      texts: the features of the original and of the released text.
    """

    order: int
    label: str
    texts: Mapping[str, Features]


class Question(NamedTuple):
    """What is classified.

    Attributes:
      name: what metrics begin with, such as "task".
      flag: the parameter that names the field.
      field: the field that holds the class.
      models: kinds of features, of ``text_features.KINDS``, each for a model of its own.
      trials: pairs of what is trained on and what is tested on.
    """

    name: str
    flag: str
    field: str
    models: tuple[str, ...]
    trials: tuple[tuple[str, str], ...]


def task(field: str, models: Sequence[str]) -> Question:
    """What the released text is good for: a model for original text is trained on it."""
    trials = ((RELEASED, ORIGINAL), (ORIGINAL, ORIGINAL))
    return Question("task", "task", field, tuple(models), trials)


def attack(field: str, models: Sequence[str]) -> Question:
    """What the released text still tells: who knows original text of each class reads it.

    The last trial is of an attacker who sanitizes what he trains on himself, as anybody can who
    knows the settings.
    """
    trials = ((ORIGINAL, RELEASED), (ORIGINAL, ORIGINAL), (RELEASED, RELEASED))
    return Question(f"attack_{field}", "attack", field, tuple(models), trials)


class Classified(NamedTuple):
    """A score of a classifier.

    Attributes:
      metric: such as "task_accuracy".
      model: the kind of features, or MAJORITY.
      trained_on, tested_on: ORIGINAL or RELEASED; None for MAJORITY.
      value: the score; low and
      high: its 95 % interval.
      n: how many documents were tested.
      interval: how the interval was made.
    """

    metric: str
    model: str
    trained_on: str | None
    tested_on: str | None
    value: float
    low: float
    high: float
    n: int
    interval: str = BOOTSTRAP


class Predictions(NamedTuple):
    """What a model said of all documents.

    Attributes:
      classes: int64 [n], the class that it took each document to be of.
      scores: float64 [n], how much it took it for one of class 1; with two classes alone.
    """

    classes: Ids
    scores: Numbers


def classify(examples: Sequence[Example], question: Question) -> list[Classified]:
    """Trains and tests every model of a question.

    Args:
      examples: of documents whose class is known, or of their pieces.
      question: what is asked.

    Raises:
      CorpusError: too few documents or classes, or nearly a class for each document.
    """
    names = sorted({example.label for example in examples})
    examples = sorted(examples, key=lambda example: example.order)
    orders = list(dict.fromkeys(example.order for example in examples))
    documents, numbers = len(orders), {order: number for number, order in enumerate(orders)}
    document = np.array([numbers[example.order] for example in examples], np.int64)
    check_classes(documents, len(names), question)
    truth = np.array([names.index(example.label) for example in examples])
    parts = document % PARTS
    weights = np.random.default_rng(0).poisson(1.0, (REPLICATES, documents)).astype(np.float64)
    weights = np.concatenate([np.ones((1, documents)), weights])[:, document]
    found = []

    def told(
        predictions: Predictions, model: str, trained_on: str | None, tested_on: str | None
    ) -> None:
        for name, values in _all_scores(predictions, truth, parts, weights, len(names)):
            low, high = np.nanquantile(values[1:], [0.025, 0.975])
            found.append(
                Classified(
                    f"{question.name}_{name}",
                    model,
                    trained_on,
                    tested_on,
                    float(values[0]),
                    float(low),
                    float(high),
                    documents,
                )
            )

    told(_majority(truth), MAJORITY, None, None)
    for model in question.models:
        for trained_on in dict.fromkeys(trained for trained, _ in question.trials):
            tested_on = [tested for trained, tested in question.trials if trained == trained_on]
            with threadpool_limits(1):  # more would wait for one another, and for other workers
                made = _cross_validated(examples, truth, parts, model, trained_on, tested_on)
            for tested in tested_on:
                told(made[tested], model, trained_on, tested)
    return found


def check_classes(documents: int, classes: int, question: Question) -> None:
    """Refuses a field that is no class label.

    Args:
      documents: how many have a value of the field.
      classes: how many different values there are.
      question: what is asked.

    Raises:
      CorpusError: too few documents or classes, or nearly a class for each document.
    """
    which = f"`{question.flag}` {question.field}"
    if documents < LEAST_DOCUMENTS:
        raise CorpusError(
            f"{which}: only {documents} documents that are in both the corpus and the release have "
            f"this field, and a classifier needs at least {LEAST_DOCUMENTS}; leave it out"
        )
    if classes < 2:
        raise CorpusError(f"{which}: all documents have the same value, so nothing can be told")
    if classes > documents / 2:
        raise CorpusError(
            f"{which}: {classes:,} different values in {documents:,} documents are no classes; "
            "name a field whose values occur again and again"
        )


def _majority(truth: Ids) -> Predictions:
    """The commonest class for every document; of four fifths of them it would often be another."""
    return Predictions(np.full(len(truth), np.bincount(truth).argmax()), np.zeros(len(truth)))


def _cross_validated(
    examples: Sequence[Example],
    truth: Ids,
    parts: Ids,
    model: str,
    trained_on: str,
    tested_on: Sequence[str],
) -> dict[str, Predictions]:
    features = {
        side: [example.texts[side][model] for example in examples]
        for side in {trained_on, *tested_on}
    }
    said = {
        side: Predictions(np.zeros(len(truth), np.int64), np.zeros(len(truth)))
        for side in tested_on
    }
    for part in range(PARTS):
        inside, outside = np.flatnonzero(parts != part), np.flatnonzero(parts == part)
        fitted = _Fitted([features[trained_on][i] for i in inside], truth[inside])
        for side in tested_on:
            classes, scores = fitted.predict([features[side][i] for i in outside])
            said[side].classes[outside] = classes
            said[side].scores[outside] = scores
    return said


class _Fitted:
    """Logistic regression, of TF-IDF weights where features are counts."""

    def __init__(self, features: Sequence[Any], truth: Ids):
        self._only = int(truth[0]) if len(set(truth.tolist())) == 1 else None
        blocks = _blocks(features)
        self._used = [np.union1d(0, np.flatnonzero(block.getnnz(axis=0))) for block in blocks]
        self._tfidf = [
            TfidfTransformer(sublinear_tf=True).fit(block[:, used])
            for block, used in zip(blocks, self._used, strict=True)
        ]
        if self._only is None:
            self._regression = LogisticRegression(C=10.0, max_iter=500)
            self._regression.fit(self._matrix(features), truth)

    def _matrix(self, features: Sequence[Any]) -> Any:
        if not self._tfidf:
            return np.stack(features)
        blocks = zip(self._tfidf, _blocks(features), self._used, strict=True)
        return hstack([tfidf.transform(block[:, used]) for tfidf, block, used in blocks]).tocsr()

    def predict(self, features: Sequence[Any]) -> tuple[Ids, Numbers]:
        if self._only is not None:
            return np.full(len(features), self._only), np.zeros(len(features))
        matrix = self._matrix(features)
        scores = self._regression.decision_function(matrix)
        classes = self._regression.predict(matrix)
        return classes, scores if scores.ndim == 1 else np.zeros(len(features))


def _blocks(features: Sequence[Any]) -> list[Any]:
    """Counts as a matrix of float64 [documents, columns] for each block; [] for vectors."""
    if isinstance(features[0], np.ndarray):
        return []
    made = []
    for block, (_, _, columns) in enumerate(features[0]):
        rows = [feature[block] for feature in features]
        starts = np.cumsum([0, *(len(places) for places, _, _ in rows)])
        places = np.concatenate([places for places, _, _ in rows])
        counts = np.concatenate([counts for _, counts, _ in rows]).astype(np.float64)
        made.append(csr_matrix((counts, places, starts), shape=(len(rows), columns)))
    return made


def _all_scores(
    predictions: Predictions, truth: Ids, parts: Ids, weights: Numbers, classes: int
) -> Iterator[tuple[str, Numbers]]:
    """Each metric and its values, float64 [B], under weights of documents, float64 [B, n]."""
    yield "accuracy", accuracy(predictions.classes, truth, weights)
    yield "macro_f1", macro_f1(predictions.classes, truth, weights, classes)
    if classes == 2:
        folds = [
            auc(predictions.scores[parts == part], truth[parts == part], weights[:, parts == part])
            for part in range(PARTS)
        ]
        yield "auc", np.nanmean(folds, axis=0)
