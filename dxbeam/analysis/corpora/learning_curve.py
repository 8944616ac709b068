"""How well a task is learnt from few documents and from many, before and after.

Which release is the better one may depend on how many documents there are to learn from. A fifth of
the documents is tested at a time, always the same, by models that learnt from 1/32, 1/16, … of the
others: the first of them in the order of their hashes, so that a larger part holds the smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dxbeam.analysis.evaluate.class_scores import accuracy
from dxbeam.analysis.evaluate.classification import (
    Classification,
    Classified,
    Example,
    Trained,
    document_weights,
    train_on,
)
from dxbeam.analysis.evaluate.cross_validation import PARTS, predict

FRACTIONS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2)
"""Of the documents that are learnt from; all of them are what ``classify`` learns from."""

LEAST = 20
"""Documents to learn from; parts with fewer are left out."""


def learning_curve(
    examples: Sequence[Example], question: Classification, trained: Trained
) -> Iterator[Classified]:
    """The accuracy of every model and trial, learnt from each part of the documents.

    Args:
      examples: as ``classify`` takes them.
      question: what is asked; its trials are those of the curve.
      trained: the classes, and the parts that documents are in.
    """
    examples = sorted(examples, key=lambda example: example.order)
    numbers = {label: number for number, label in enumerate(trained.labels)}
    truth = np.array([numbers[example.label] for example in examples])
    parts = np.array([trained.parts[example.order] for example in examples])
    orders, document = np.unique([example.order for example in examples], return_inverse=True)
    weights = document_weights(orders)[:, document]
    place = document // PARTS
    for fraction in FRACTIONS:
        inside = np.flatnonzero(place < fraction * len(orders) / PARTS)
        learnt = len(np.unique(document[inside])) * (PARTS - 1) // PARTS
        if learnt < LEAST:
            continue
        some = [examples[i] for i in inside.tolist()]
        for kind in question.models:
            for trained_on in dict.fromkeys(side for side, _ in question.trials):
                models = train_on(some, trained_on, kind, truth[inside], parts[inside])
                for tested_on in (tested for side, tested in question.trials if side == trained_on):
                    tested = [each.texts[tested_on][kind] for each in examples]
                    said = predict(models, tested, parts).classes
                    values = accuracy(said, truth, weights)
                    low, high = np.quantile(values[1:], [0.025, 0.975])
                    yield Classified(
                        f"{question.name}_accuracy",
                        kind,
                        trained_on,
                        tested_on,
                        float(values[0]),
                        float(low),
                        float(high),
                        len(orders),
                        training_documents=learnt,
                    )


def end_of_curve(score: Classified, question: Classification) -> Iterator[Classified]:
    """What was learnt from all documents but the tested ones, as the last point of a curve."""
    if score.metric == f"{question.name}_accuracy" and score.trained_on is not None:
        yield score._replace(training_documents=score.n * (PARTS - 1) // PARTS, replicates=())
