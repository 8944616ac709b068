"""An epsilon for each document by a public field: values, refusals, and what is released."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.tem import TEM
from dxbeam.text.configuration import Configuration
from dxbeam.text.epsilon_by_field import EpsilonByField, parse_epsilon_by
from dxbeam.text.recorded_configuration import rebuilt
from dxbeam.text.sanitizer import Sanitizer
from tests.support import tiny

LEVELS = EpsilonByField("consent", (("low", 2.0), ("high", 8.0)))
TEXTS = tiny.texts(9)


def leveled(number: int) -> str:
    return ("low", "high", "none")[number % 3]


def released_alone(epsilon: float, number: int) -> str:
    sanitizer = Sanitizer(tiny.vocabulary(), Laplace(epsilon), tiny.KEY)
    [result] = sanitizer.sanitize([Document(f"d{number}", TEXTS[number])])
    assert result.document
    return result.document.text


def test_flags_name_values_and_epsilons() -> None:
    assert parse_epsilon_by("consent:low=2, high=8") == LEVELS
    assert parse_epsilon_by("a:b:x=y=3", 1.0) == EpsilonByField("a:b", {"x=y": 3.0}, 1.0)  # type: ignore[arg-type]
    assert LEVELS.largest == 8.0
    assert [LEVELS.epsilon_of(level) for level in ("low", "high", "none", "")] == [2, 8, None, None]


@pytest.mark.parametrize(
    "text", ["consent", "low=1", ":low=1", "consent:", "consent:low", "c:a=1,a=2", "c:a=x", "c:=1"]
)
def test_what_names_none_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="`epsilon_by`"):
        parse_epsilon_by(text)


def test_every_epsilon_is_checked() -> None:
    for bad in (0.0, -1.0, float("nan"), 1e9):
        with pytest.raises(ConfigurationError, match="epsilon"):
            EpsilonByField("consent", (("low", bad),))
    with pytest.raises(ConfigurationError, match="given with epsilon = 8, not 5"):
        Configuration(Laplace(5.0), epsilon_by=LEVELS)
    with pytest.raises(ConfigurationError, match="epsilon_by is an object"):
        Configuration(Laplace(5.0), epsilon_by="consent")  # type: ignore[arg-type]


def test_the_guarantee_is_that_of_the_largest_and_names_the_others() -> None:
    settings = Configuration(Laplace(8.0), epsilon_by=LEVELS)
    promise = settings.guarantee()
    assert promise.sentence == Configuration(Laplace(8.0)).guarantee().sentence
    [said] = [caveat for caveat in promise.caveats if "consent" in caveat]
    assert "8 for 'high', 2 for 'low'; documents with another value are not released" in said
    assert "must be public and must not be computed from the text" in said
    assert settings.as_dict()["epsilon_by"] == {
        "field": "consent",
        "epsilons": {"high": 8.0, "low": 2.0},
        "otherwise": None,
    }
    assert rebuilt(json.loads(json.dumps(settings.as_dict()))) == settings
    assert "epsilon_by" not in Configuration(Laplace(8.0)).as_dict()


def test_a_smaller_epsilon_never_promises_less_in_the_metric_of_the_largest() -> None:
    """TEM's cap is wider at a smaller epsilon, and epsilon times the cap is the same."""
    for words in (10, 5000):
        assert TEM(2.0).gamma(words) * 2 == pytest.approx(TEM(8.0).gamma(words) * 8)


def test_a_document_comes_out_as_with_its_epsilon_alone() -> None:
    """In order, whatever the levels next to it; others are rejected without their value."""
    sanitizer = Sanitizer(
        tiny.vocabulary(), Configuration(Laplace(8.0), epsilon_by=LEVELS), tiny.KEY
    )
    documents = [
        Document(f"d{number}", text, level=leveled(number)) for number, text in enumerate(TEXTS)
    ]
    for number, result in enumerate(sanitizer.sanitize(documents)):
        if leveled(number) == "none":
            assert result.document is None
            assert "'consent' has no value for which an epsilon is given" in result.rejected.reason
        else:
            assert result.document
            epsilon = LEVELS.epsilon_of(leveled(number))
            assert epsilon is not None
            assert result.document.text == released_alone(epsilon, number)
    others = EpsilonByField("consent", LEVELS.epsilons, 4.0)
    sanitizer = Sanitizer(
        tiny.vocabulary(), Configuration(Laplace(8.0), epsilon_by=others), tiny.KEY
    )
    [result] = sanitizer.sanitize([documents[2]])
    assert result.document
    assert result.document.text == released_alone(4.0, 2)


def test_what_levels_share_with_other_releases_is_said() -> None:
    """A level's documents are those of a release with its epsilon only; other epsilons share none.

    So the pair of two releases is a copy, or two independent ones, and never something between.
    """
    settings = Configuration(Laplace(8.0), epsilon_by=LEVELS)
    digests = {level: settings.with_epsilon(LEVELS.epsilon_of(level) or 0).digest("") for level in
               ("low", "high")}  # fmt: skip
    assert digests["high"] == Configuration(Laplace(8.0)).digest("")
    assert digests["low"] == Configuration(Laplace(2.0)).digest("")
    assert digests["low"] != digests["high"]
    [said] = [caveat for caveat in settings.guarantee().caveats if "consent" in caveat]
    assert "with one key a document's text is the very text of that release: a copy" in said


@pytest.mark.parametrize(
    "given", [{1: 2.0, "1": 8.0}, [("a", 2.0), ("a", 8.0)], {True: 1, "True": 2}]
)
def test_a_value_that_is_named_twice_is_refused(given: Any) -> None:
    """Values are texts, and which of two epsilons counts must not depend on their order."""
    with pytest.raises(ConfigurationError, match="names a value twice"):
        EpsilonByField("consent", given)
    assert EpsilonByField("consent", {1: 2.0, "2": 8.0}).largest == 8.0  # type: ignore[arg-type, dict-item]
