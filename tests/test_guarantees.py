"""A guarantee as a sentence and as JSON."""

from __future__ import annotations

import dataclasses
import json

import pytest

from dxbeam.guarantees import EUCLIDEAN, Guarantee, Metric, at_most
from dxbeam.mechanisms import MECHANISMS, make_mechanism
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.text.bag_of_words import BagOfWords

PURE = Laplace(10.0).guarantee()


def test_the_sentence_says_how_much_for_what_in_which_distance() -> None:
    assert PURE.sentence == (
        "Whoever sees one released word can tell any two original words x and x' apart by a "
        "likelihood ratio of at most exp(10 * d(x, x')), where d is the Euclidean distance "
        "between the words' vectors in the vocabulary."
    )
    assert "up to a probability of 1e-06" in dataclasses.replace(PURE, delta=1e-6).sentence


def test_nothing_is_promised_where_nothing_is_guaranteed() -> None:
    nothing = dataclasses.replace(PURE, epsilon=float("inf"))
    assert nothing.sentence == "Nothing is guaranteed for a word."
    assert json.loads(json.dumps(nothing.as_dict(), allow_nan=False))["epsilon"] is None


def test_caveats_are_added_and_none_is_lost() -> None:
    more = PURE.with_caveats("One.").with_caveats("Two.", "Three.")
    assert more.caveats == (*PURE.caveats, "One.", "Two.", "Three.")
    assert more.as_dict()["caveats"] == list(more.caveats)
    assert dataclasses.replace(more, caveats=PURE.caveats) == PURE


def test_all_of_it_is_written() -> None:
    written = json.loads(json.dumps(PURE.as_dict(), allow_nan=False))
    fields = {field.name for field in dataclasses.fields(Guarantee)}
    assert set(written) == fields | {"sentence", "metric_name"}
    assert written["metric"] == PURE.metric.sentence
    assert written["metric_name"] == "euclidean"
    assert written["epsilon"] == 10.0


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_what_is_written_can_be_read_again(name: str) -> None:
    promise = make_mechanism(name, epsilon=0.3).guarantee()
    for guarantee in (promise, BagOfWords(5).guarantee(promise), promise.narrowed("some", "all")):
        written = json.loads(json.dumps(guarantee.as_dict(), allow_nan=False))
        assert Guarantee.from_dict(written).as_dict() == written
        with pytest.raises(KeyError):
            Guarantee.from_dict({field: written[field] for field in written if field != "unit"})


def test_a_guarantee_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        PURE.epsilon = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("value", "digits", "said"),
    [(10.0, 6, "10"), (7 * 1e-6, 6, "7e-06"), (1.2345641, 6, "1.23457"), (8.8101, 3, "8.82"),
     (0.1 + 0.2, 6, "0.3"), (4999.9991, 6, "5000"), (0.0, 6, "0"), (123456.7, 3, "1.24e+05")],
)  # fmt: skip
def test_a_bound_is_printed_rounded_up(value: float, digits: int, said: str) -> None:
    assert at_most(value, digits) == said


def test_fewer_words_are_named_in_the_sentence_and_in_the_composition() -> None:
    fewer = PURE.narrowed("rare words", "common words, kept")
    assert "any two original rare words x and x' apart" in fewer.sentence
    assert fewer.sentence.endswith("; nothing is promised for common words, kept.")
    assert "differ in rare words alone" in fewer.composition
    assert fewer.narrowed("rare words of the day", "others").sentence.endswith(
        "; nothing is promised for common words, kept, or for others."
    )
    nothing = dataclasses.replace(PURE, epsilon=float("inf")).narrowed("rare words", "others")
    assert nothing.sentence == "Nothing is guaranteed for a word."
    assert nothing.unprotected == ("others",)


def test_metrics_are_compared_as_values_and_read_as_sentences() -> None:
    assert PURE.metric == EUCLIDEAN
    limited = EUCLIDEAN.limited("or infinite where that is above 10")
    assert limited != EUCLIDEAN
    assert limited.name == "euclidean, limited"
    assert dataclasses.replace(PURE, metric=limited).sentence.endswith(
        "in the vocabulary, or infinite where that is above 10."
    )


@pytest.mark.parametrize("euclidean", [True, False])
def test_what_is_stated_in_another_metric_is_compared_with_euclidean_distance(
    euclidean: bool,
) -> None:
    said = dataclasses.replace(PURE, metric=Metric("other", "other distance", euclidean)).limits
    assert ("The exponent is at most 10 times the Euclidean distance." in said) != euclidean
