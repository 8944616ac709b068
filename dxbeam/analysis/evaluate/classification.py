"""What a classifier learns from text before and after: a task of its users, or an attack on it.

Documents are split into five parts by a hash of their ids, whole documents and each into one part.
What is tested on a part was trained on the four others, so every document is tested once, by a
model that never saw it, before or after. Intervals are of a bootstrap over the documents that were
tested, with the models as they are: 500 times, each document counts as often as a Poisson
distribution of mean 1 says, the same for all questions. Where a document is given in pieces, an
example each, all of this is about whole documents: its pieces are in one part and count as often as
it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.analysis.evaluate.class_scores import accuracy, auc, macro_f1
from dxbeam.analysis.evaluate.cross_validation import PARTS, Model, Predictions, predict, train
from dxbeam.analysis.evaluate.document_scores import BOOTSTRAP
from dxbeam.analysis.evaluate.text_features import ENCODED, Features
from dxbeam.analysis.theory.bootstrap import REPLICATES, replicate_weights
from dxbeam.errors import CorpusError

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


class Classification(NamedTuple):
    """What is classified.

    Attributes:
      name: what metrics begin with, such as "task".
      flag: the parameter that names the field.
      field: the field that holds the class.
      models: kinds of features, as ``text_features`` names them, each for a separate model.
      trials: pairs of what is trained on and what is tested on.
    """

    name: str
    flag: str
    field: str
    models: tuple[str, ...]
    trials: tuple[tuple[str, str], ...]


def task(field: str, models: Sequence[str]) -> Classification:
    """What the released text is good for: a model for original text is trained on it."""
    trials = ((RELEASED, ORIGINAL), (ORIGINAL, ORIGINAL))
    return Classification("task", "task", field, tuple(models), trials)


def attack(field: str, models: Sequence[str]) -> Classification:
    """What the released text still tells: who knows original text of each class reads it.

    The last trial is of an attacker who sanitizes the training text, too, as anybody can who knows
    the settings.
    """
    trials = ((ORIGINAL, RELEASED), (ORIGINAL, ORIGINAL), (RELEASED, RELEASED))
    return Classification(f"attack_{field}", "attack", field, tuple(models), trials)


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
      training_documents: of a learning curve, of how many documents was learnt; None elsewhere.
      replicates: of accuracies, the values of the bootstrap, in an order that all have in common.
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
    training_documents: int | None = None
    replicates: tuple[float, ...] = ()


class Trained(NamedTuple):
    """What was learnt from originals, for all releases of them.

    Attributes:
      labels: the classes, in alphabetical order.
      parts: by a document's order, the part that it is in.
      models: by the kind of features, the model for each part, which has not seen that part.
    """

    labels: tuple[str, ...]
    parts: Mapping[int, int]
    models: Mapping[str, Sequence[Model]]


def train_on_originals(examples: Sequence[Example], question: Classification) -> Trained:
    """Divides documents into parts, and trains every model of a question on their originals.

    Args:
      examples: of documents whose class is known, or of their pieces, with the features of the
        original.
      question: what is asked.

    Raises:
      CorpusError: too few documents or classes, or nearly a class for each document.
    """
    examples = sorted(examples, key=lambda example: example.order)
    trained = _divided(examples, question)
    truth, parts = _truth_and_parts(examples, trained)
    models = {kind: train_on(examples, ORIGINAL, kind, truth, parts) for kind in question.models}
    return trained._replace(models=models)


def _divided(examples: Sequence[Example], question: Classification) -> Trained:
    labels = tuple(sorted({example.label for example in examples}))
    orders = sorted({example.order for example in examples})
    check_classes(len(orders), len(labels), question)
    return Trained(labels, {order: place % PARTS for place, order in enumerate(orders)}, {})


def _truth_and_parts(examples: Sequence[Example], trained: Trained) -> tuple[Ids, Ids]:
    numbers = {label: number for number, label in enumerate(trained.labels)}
    truth = np.array([numbers[example.label] for example in examples])
    return truth, np.array([trained.parts[example.order] for example in examples])


def train_on(
    examples: Sequence[Example], side: str, kind: str, truth: Ids, parts: Ids
) -> list[Model]:
    """A model for each part, trained on the others.

    Args:
      examples: n of them, with the features.
      side: ORIGINAL or RELEASED.
      kind: of features.
      truth: int64 [n], the classes.
      parts: int64 [n].
    """
    return train(_features(examples, side, kind), truth, parts, scaled=kind == ENCODED)


def _features(examples: Sequence[Example], side: str, kind: str) -> list[Any]:
    return [example.texts[side][kind] for example in examples]


def classify(
    examples: Sequence[Example], question: Classification, trained: Trained | None = None
) -> list[Classified]:
    """Trains and tests every model of a question.

    Args:
      examples: of documents whose class is known, or of their pieces, with the features of what is
        tested and, but for originals that were learnt from already, of what is trained on.
      question: what is asked.
      trained: what was learnt from the originals of these documents, perhaps among others.

    Raises:
      CorpusError: too few documents or classes, or nearly a class for each document.
    """
    orders, document = np.unique([example.order for example in examples], return_inverse=True)
    documents = len(orders)
    check_classes(documents, len({example.label for example in examples}), question)
    trained = trained or _divided(examples, question)
    examples = [examples[place] for place in np.argsort(document, kind="stable")]
    truth, parts = _truth_and_parts(examples, trained)
    weights = document_weights(orders)[:, np.sort(document)]
    outcomes = []

    def add_row(
        predictions: Predictions, model: str, trained_on: str | None, tested_on: str | None
    ) -> None:
        for name, values in _all_scores(predictions, truth, parts, weights, len(trained.labels)):
            low, high = np.nanquantile(values[1:], [0.025, 0.975])
            outcomes.append(
                Classified(
                    f"{question.name}_{name}",
                    model,
                    trained_on,
                    tested_on,
                    float(values[0]),
                    float(low),
                    float(high),
                    documents,
                    replicates=tuple(values[1:].tolist()) if name == "accuracy" else (),
                )
            )

    add_row(_majority(truth), MAJORITY, None, None)
    for kind in question.models:
        for trained_on in dict.fromkeys(side for side, _ in question.trials):
            models = trained.models.get(kind) if trained_on == ORIGINAL else None
            if models is None:
                models = train_on(examples, trained_on, kind, truth, parts)
            for tested_on in (tested for side, tested in question.trials if side == trained_on):
                tested = _features(examples, tested_on, kind)
                add_row(predict(models, tested, parts), kind, trained_on, tested_on)
    return outcomes


def document_weights(orders: npt.NDArray[Any]) -> Numbers:
    """How often each document counts: float64 [1 + REPLICATES, n]; in the first row once."""
    weights = np.ones((1 + REPLICATES, len(orders)))
    for place, order in enumerate(orders):
        weights[1:, place] = replicate_weights(int(order))
    return weights


def check_classes(documents: int, classes: int, question: Classification) -> None:
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
        raise CorpusError(f"{which}: all documents have the same value, so nothing can be learnt")
    if classes > documents / 2:
        raise CorpusError(
            f"{which}: {classes:,} different values in {documents:,} documents are no classes; "
            "name a field whose values occur again and again"
        )


def _majority(truth: Ids) -> Predictions:
    """The commonest class for every document; of four fifths of them it would often be another."""
    return Predictions(np.full(len(truth), np.bincount(truth).argmax()), np.zeros(len(truth)))


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
