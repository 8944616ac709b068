"""What is left of documents: all of it where nothing changed, nothing where everything did."""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.analysis.frontier.document_utility import document_utility, task_baseline
from dxbeam.errors import CorpusError
from dxbeam.transforms.reading.labelled_documents import LabelledDocument
from tests.support.vocabularies import random_vocabulary

VOCABULARY = random_vocabulary(100, 4)


def _documents(count: int, classes: int = 2) -> list[LabelledDocument]:
    """Words of each class from a part of the vocabulary of its own."""
    generator = np.random.default_rng(0)
    return [
        LabelledDocument(
            int(generator.integers(2**60)),
            str(number % classes),
            (generator.integers(0, 100 // classes, 6) * classes + number % classes).tolist(),
        )
        for number in range(count)
    ]


def test_words_released_as_they_are_leave_everything() -> None:
    documents = _documents(60)
    released = np.concatenate([document.ids for document in documents])
    utility = document_utility(documents, released, VOCABULARY)
    baseline = task_baseline(documents, "label", len(VOCABULARY))
    assert utility.wmd == (0, 0, 0)
    assert utility.task_accuracy == baseline.original
    assert baseline.original.value > 0.9
    assert baseline.documents == 60
    assert baseline.majority.value == 0.5


def test_words_that_depend_on_nothing_teach_nothing() -> None:
    """A model of nothing is right by luck; its classes stand together, so not in half of cases."""
    documents = _documents(200)
    released = np.random.default_rng(1).integers(0, 100, 200 * 6)
    utility = document_utility(documents, released, VOCABULARY)
    baseline = task_baseline(documents, "label", len(VOCABULARY))
    assert utility.task_accuracy.high < 0.7 < 0.9 < baseline.original.low
    assert 0 < utility.wmd.low < utility.wmd.value < utility.wmd.high


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        (_documents(19), "only 19 documents have this field"),
        (_documents(40, 1), "all documents have the same value"),
        (_documents(40, 40), "are no classes"),
    ],
)
def test_a_field_that_is_no_class_is_refused(documents: list[LabelledDocument], said: str) -> None:
    with pytest.raises(CorpusError, match=rf"`task` label: .*{said}"):
        task_baseline(documents, "label", len(VOCABULARY))
