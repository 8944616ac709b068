"""Classifiers before and after: scores as scikit-learn's, documents apart, chance as chance."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from dxbeam.analysis.evaluate.class_scores import auc, macro_f1
from dxbeam.analysis.evaluate.classification import (
    MAJORITY,
    ORIGINAL,
    RELEASED,
    Classified,
    Example,
    attack,
    classify,
    task,
    train_on_originals,
)
from dxbeam.analysis.evaluate.text_features import ENCODED, MEAN_VECTOR, STYLE, WORDS, FeatureMaker
from dxbeam.errors import CorpusError
from tests.support import vocabularies

VOCABULARY = vocabularies.random_vocabulary(40)
MAKER = FeatureMaker([WORDS, MEAN_VECTOR, STYLE], VOCABULARY, ["w1", "w2"])


def _examples(documents: int, told: float, classes: int = 2) -> list[Example]:
    """Texts in which a word tells the class; of the released ones, in this share."""
    generator = np.random.default_rng(0)
    made = []
    for number in range(documents):
        own = number % classes
        noise = [f"w{place}" for place in generator.integers(10, 40, 12)]
        before = [f"w{own}", f"w{own}", *noise]
        other = own if generator.random() < told else int(generator.integers(classes))
        after = [f"w{other}", f"w{other}", *noise]
        order = int(generator.integers(2**63))
        texts = {
            ORIGINAL: MAKER.features(" ".join(before), before),
            RELEASED: MAKER.features(" ".join(after), after),
        }
        made.append(Example(order, f"class {own}", texts))
    return made


def _found(rows: list[Classified], metric: str, model: str, *of: str | None) -> Classified:
    [row] = [
        r for r in rows if (r.metric, r.model, r.trained_on, r.tested_on) == (metric, model, *of)
    ]
    return row


def test_what_is_told_is_learnt_and_what_is_hidden_is_not() -> None:
    """A share of 1/2 of 200 guesses is outside 0.35 to 0.65 with a probability of 2e-5."""
    open_, hidden = (classify(_examples(200, told), task("x", [WORDS])) for told in (1.0, 0.0))
    for rows in (open_, hidden):
        assert _found(rows, "task_accuracy", WORDS, ORIGINAL, ORIGINAL).value == 1
    assert _found(open_, "task_accuracy", WORDS, RELEASED, ORIGINAL).value == 1
    assert _found(open_, "task_auc", WORDS, RELEASED, ORIGINAL).value == 1
    guessed = classify(_examples(200, 0.0), attack("author", [STYLE]))
    after = _found(guessed, "attack_author_accuracy", STYLE, ORIGINAL, RELEASED)
    assert 0.35 < after.value < 0.65
    assert _found(guessed, "attack_author_accuracy", MAJORITY, None, None).value == 0.5
    assert after.low < after.value < after.high
    assert after.n == 200


def test_every_model_and_trial_has_its_row() -> None:
    rows = classify(_examples(60, 1.0, classes=3), attack("author", [STYLE, WORDS]))
    accuracies = [row[1:4] for row in rows if row.metric == "attack_author_accuracy"]
    trials = [(ORIGINAL, RELEASED), (ORIGINAL, ORIGINAL), (RELEASED, RELEASED)]
    expected = [(model, *trial) for model in (STYLE, WORDS) for trial in trials]
    assert accuracies == [(MAJORITY, None, None), *expected]
    assert {row.metric for row in rows} == {"attack_author_accuracy", "attack_author_macro_f1"}


def test_the_order_of_documents_changes_nothing() -> None:
    examples = _examples(60, 0.7)
    question = task("x", [WORDS, MEAN_VECTOR])
    expected = classify(examples, question)
    assert classify(examples[::-1], question) == expected
    assert classify(examples, question, train_on_originals(examples[::-1], question)) == expected


def test_pieces_of_a_document_stay_together() -> None:
    """A word of each document tells its class to whoever saw another piece of it only.

    Labels are drawn: a share of 60 guesses is outside 0.2 to 0.8 with a probability of 4e-6.
    """
    labels = np.random.default_rng(3).integers(2, size=60)

    def pieces(number: int, order: int) -> Example:
        texts = {side: MAKER.features("", [f"own{number}"]) for side in (ORIGINAL, RELEASED)}
        return Example(order, f"class {labels[number]}", texts)

    every = [(number, piece) for number in range(60) for piece in range(5)]
    together = classify([pieces(number, number) for number, _ in every], task("x", [WORDS]))
    apart = classify([pieces(number, 5 * number + i) for number, i in every], task("x", [WORDS]))
    known, unknown = (
        _found(rows, "task_accuracy", WORDS, RELEASED, ORIGINAL) for rows in (apart, together)
    )
    assert known.value == 1
    assert known.n == 300
    assert 0.2 < unknown.value < 0.8
    assert unknown.n == 60
    assert unknown.high - unknown.low > 0.1, "the interval is that of 60 documents, not of 300"


def test_what_originals_taught_is_used_for_every_release_of_them() -> None:
    question = attack("author", [STYLE, WORDS])
    examples = _examples(60, 0.7)
    trained = train_on_originals(examples, question)
    assert classify(examples, question, trained) == classify(examples, question)
    # A release that lacks some: no document comes to a part that taught the model it is tested by.
    some = examples[:30]
    without = [e._replace(texts={RELEASED: e.texts[RELEASED]}) for e in some]
    found = classify(without, question._replace(trials=((ORIGINAL, RELEASED),)), trained)
    assert {row.n for row in found} == {30}
    assert max(row.value for row in found if row.model != MAJORITY) < 1


def test_labels_that_mean_nothing_are_not_learnt() -> None:
    """Broken: a model tested on what it was trained on would tell them all. As above, 2e-5."""
    examples = _examples(200, 1.0)
    shuffled = np.random.default_rng(1).permutation([example.label for example in examples])
    meaningless = [
        e._replace(label=str(label)) for e, label in zip(examples, shuffled, strict=True)
    ]
    rows = classify(meaningless, task("x", [MEAN_VECTOR]))
    assert 0.35 < _found(rows, "task_accuracy", MEAN_VECTOR, ORIGINAL, ORIGINAL).value < 0.65


def test_the_scale_of_an_encoder_means_nothing() -> None:
    """Nor where its vectors are; mean word vectors keep the scale of the embedding."""

    def rows(kind: str, scale: float) -> list[Classified]:
        examples = []
        for example in _examples(60, 0.7):
            vectors = {side: texts[MEAN_VECTOR] for side, texts in example.texts.items()}
            moved = {side: {kind: scale * (vector + 1)} for side, vector in vectors.items()}
            examples.append(example._replace(texts=moved))
        return classify(examples, attack("author", [kind]))

    assert rows(ENCODED, 1.0) == rows(ENCODED, 1024.0)
    assert rows(MEAN_VECTOR, 1.0) != rows(MEAN_VECTOR, 1024.0)


def test_scores_are_those_of_scikit_learn() -> None:
    generator = np.random.default_rng(0)
    truth, said = generator.integers(0, 3, (2, 200))
    weights = generator.poisson(1.0, (5, 200)).astype(np.float64)
    for row, found in zip(weights, macro_f1(said, truth, weights, 3), strict=True):
        expected = f1_score(truth, said, average="macro", sample_weight=row)
        assert found == pytest.approx(expected)
        assert found != pytest.approx(f1_score(truth, said, average="weighted", sample_weight=row))
    scores, two = np.round(generator.normal(size=200), 1), truth % 2  # with ties
    for row, found in zip(weights, auc(scores, two, weights), strict=True):
        assert found == pytest.approx(roc_auc_score(two, scores, sample_weight=row))
        assert found != pytest.approx(roc_auc_score(two, -scores, sample_weight=row))


def test_the_area_under_no_curve_is_no_number() -> None:
    assert np.isnan(auc(np.arange(3.0), np.ones(3, np.int64), np.ones((1, 3)))).all()


@pytest.mark.parametrize(
    ("documents", "classes", "said"),
    [
        (19, 2, "`task` x: only 19 documents"),
        (30, 1, "`task` x: all documents have the same value"),
        (30, 20, "`task` x: 20 different values in 30 documents are no classes"),
    ],
)
def test_what_is_no_class_label_is_refused(documents: int, classes: int, said: str) -> None:
    with pytest.raises(CorpusError, match=said):
        classify(_examples(documents, 1.0, classes), task("x", [WORDS]))
