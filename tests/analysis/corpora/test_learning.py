"""Learning curves and the gain over the risk: parts that hold one another, ratios by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.analysis.corpora.gain import GAIN, GAIN_OVER_MAJORITY, gains
from dxbeam.analysis.corpora.learning_curve import end_of_curve, learning_curve
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
from dxbeam.analysis.evaluate.text_features import MEAN_VECTOR, WORDS

DOCUMENTS = 400


def _examples(noise: float) -> list[Example]:
    """Vectors around two points, and released with noise; other random vectors do not fit."""
    generator = np.random.default_rng(0)
    examples = []
    for number in range(DOCUMENTS):
        label = number % 2
        original = generator.normal(label, 1.0, 8).astype(np.float32)
        released = (original + generator.normal(0, noise, 8)).astype(np.float32)
        order = int(generator.integers(0, 2**62))
        texts = {ORIGINAL: {MEAN_VECTOR: original}, RELEASED: {MEAN_VECTOR: released}}
        examples.append(Example(order, ["calm", "loud"][label], texts))
    return examples


def test_more_documents_teach_more_and_all_are_tested() -> None:
    question = task("label", [MEAN_VECTOR])
    examples = _examples(2.0)
    trained = train_on_originals(examples, question)
    points = list(learning_curve(examples, question, trained))
    of = {(point.trained_on, point.training_documents): point for point in points}
    assert sorted({point.training_documents for point in points}) == [20, 40, 80, 160]
    assert {point.n for point in points} == {DOCUMENTS}
    for side in (RELEASED, ORIGINAL):
        assert of[side, 160].value > of[side, 20].value
        for size in (20, 160):
            assert of[side, size].low <= of[side, size].value <= of[side, size].high
    assert of[ORIGINAL, 160].value > of[RELEASED, 160].value


def test_the_last_point_is_the_score() -> None:
    question = task("label", [MEAN_VECTOR])
    scores = classify(_examples(1.0), question)
    ends = [end for score in scores for end in end_of_curve(score, question)]
    assert [(end.trained_on, end.training_documents) for end in ends] == [
        (RELEASED, 320),
        (ORIGINAL, 320),
    ]
    values = {score.trained_on: score.value for score in scores if score.metric == "task_accuracy"}
    assert all(end.value == values[end.trained_on] for end in ends)


def _row(
    metric: str, model: str, trained: str | None, tested: str | None, *drawn: float
) -> Classified:
    return Classified(metric, model, trained, tested, drawn[0], 0, 1, 10, replicates=drawn)


RISK = "attack_author_accuracy"
OF_ORIGINALS = [
    _row("task_accuracy", MAJORITY, None, None, 0.5, 0.5),
    _row("task_accuracy", WORDS, ORIGINAL, ORIGINAL, 0.9, 0.9),
    _row(RISK, MAJORITY, None, None, 0.25, 0.25),
    _row(RISK, WORDS, ORIGINAL, ORIGINAL, 0.8, 0.8),
]
OF_RELEASE = [
    _row("task_accuracy", WORDS, RELEASED, ORIGINAL, 0.8, 0.81),
    _row(RISK, WORDS, ORIGINAL, RELEASED, 0.4, 0.4),
    _row(RISK, WORDS, RELEASED, RELEASED, 0.6, 0.6),
]


def test_gain_by_hand() -> None:
    found = {(each.metric, each.trained_on): each for each in gains(OF_ORIGINALS, OF_RELEASE)}
    assert len(found) == 4
    assert found[GAIN, ORIGINAL].value == pytest.approx(0.8 / 0.9 - 0.4 / 0.8)
    assert found[GAIN, RELEASED].value == pytest.approx(0.8 / 0.9 - 0.6 / 0.8)
    above = found[GAIN_OVER_MAJORITY, ORIGINAL]
    assert above.value == pytest.approx(0.3 / 0.4 - 0.15 / 0.55)
    assert above.value <= above.low <= above.high, "both replicates are larger here"


def test_there_is_no_gain_without_both() -> None:
    assert not list(gains(OF_ORIGINALS[:2], OF_RELEASE[:1]))
    assert not list(gains(OF_ORIGINALS[2:], OF_RELEASE[1:]))
    nothing = _row(RISK, WORDS, ORIGINAL, ORIGINAL, 0.2, 0.2)
    metrics = {each.metric for each in gains([*OF_ORIGINALS[:3], nothing], OF_RELEASE)}
    assert metrics == {GAIN}, "originals teach the attacker nothing"


def test_replicates_of_both_questions_count_the_same_documents() -> None:
    examples = _examples(0.5)
    one, other = (
        classify(examples, question(kind, [MEAN_VECTOR]))
        for question, kind in ((task, "label"), (attack, "label"))
    )
    alike = [
        next(
            score.replicates
            for score in scores
            if score.metric.endswith("accuracy") and score[2:4] == (ORIGINAL, ORIGINAL)
        )
        for scores in (one, other)
    ]
    assert alike[0] == alike[1]
