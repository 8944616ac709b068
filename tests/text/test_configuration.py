"""What determines a release: refused values, and a digest that misses nothing."""

from __future__ import annotations

import dataclasses
import json
import pickle
from typing import Any

import numpy as np
import pytest

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import MECHANISMS, make_mechanism, parse_parameters
from dxbeam.mechanisms.custext import CusText
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.parameters import LARGEST_EPSILON, SMALLEST_EPSILON
from dxbeam.mechanisms.sampling.noise import NOISE_RULE
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.mechanisms.santext_plus import SanTextPlus
from dxbeam.space.vocabulary.clusters import clusters
from dxbeam.text import tokenization
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.configuration import OF_THE_MECHANISM, UNKNOWN_WORDS, Configuration
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.transforms.yaml import SanitizeRows
from tests.support import tiny
from tests.support.vocabularies import random_vocabulary

NO_NUMBERS = [0, 0.0, -1, float("nan"), float("inf"), float("-inf"), "5", True, None, [1.0]]


@pytest.mark.parametrize("epsilon", [*NO_NUMBERS, 1e-9, 1e9])
def test_an_epsilon_without_a_useful_promise_is_refused(epsilon: Any) -> None:
    with pytest.raises(ConfigurationError, match="epsilon"):
        Laplace(epsilon)


@pytest.mark.parametrize("c", NO_NUMBERS)
def test_a_c_that_is_no_positive_number_is_refused(c: Any) -> None:
    with pytest.raises(ConfigurationError, match="rank_c"):
        RankResampling(c)


@pytest.mark.parametrize("epsilon", [SMALLEST_EPSILON, 1, 10.0, LARGEST_EPSILON])
def test_a_useful_epsilon_is_taken(epsilon: float) -> None:
    assert Laplace(epsilon).epsilon == epsilon


def test_mechanisms_are_made_by_name() -> None:
    assert {name: mechanism.name for name, mechanism in MECHANISMS.items()} == {
        name: name for name in MECHANISMS
    }
    assert make_mechanism("laplace", epsilon="3") == Laplace(3.0)
    with pytest.raises(ConfigurationError, match=r"did you mean gaussian\? All are: laplace"):
        make_mechanism("gauss", epsilon=3.0)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"epsilon": 3.0, "delta": 0.1}, "has no parameter delta; it has epsilon"),
        ({"epsilon": None}, "needs the parameter epsilon"),
        ({"epsilon": "three"}, "the parameter epsilon must be a number, not three"),
    ],
)
def test_parameters_that_a_mechanism_lacks_are_refused(
    parameters: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make_mechanism("laplace", **parameters)


def test_parameters_are_written_name_equals_value() -> None:
    assert parse_parameters("delta=1e-6, clip = 5") == {"delta": "1e-6", "clip": "5"}
    assert parse_parameters("") == {}
    for text in ("delta", "delta=", "=5", "delta=1,delta=2"):
        with pytest.raises(ConfigurationError, match="name=value"):
            parse_parameters(text)


def test_an_unknown_rule_for_unknown_words_is_refused() -> None:
    with pytest.raises(
        ConfigurationError, match="`unknown_words` is one of noise, mask, drop, keep"
    ):
        Configuration(Laplace(3.0), unknown_words="Keep")


def test_every_part_changes_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two configurations with one digest would share noise."""
    made = [
        Configuration(Laplace(epsilon), resampling, rule, allow_unsound=True)
        for epsilon in (3.0, 3.0000000000000004)
        for resampling in (None, RankResampling(0.02), RankResampling(0.020000000000000004))
        for rule in UNKNOWN_WORDS
    ]
    digests = [made.digest(vocabulary) for made in made for vocabulary in ("", "a", "b")]
    plain = Configuration.as_dict
    for rule in ("tokenization", "noise_rule"):
        monkeypatch.setattr(
            Configuration, "as_dict", lambda each, rule=rule: plain(each) | {rule: "another"}
        )
        digests += [made.digest(vocabulary) for made in made for vocabulary in ("", "a", "b")]
    assert len(set(digests)) == len(digests) == 3 * 2 * 3 * 4 * 3


def test_the_digest_of_today_is_the_digest_of_tomorrow() -> None:
    """Pins the canonical form: a scheduled release with a kept key must not draw new noise."""
    configuration = Configuration(Laplace(10.0), RankResampling(0.02))
    assert configuration.digest("v") == (
        "5b30099dad1241291bc93f6f03a25b3161c2295f6f05ea9d6e8045df20fe40ce"
    )


def test_every_parameter_can_be_written_as_json() -> None:
    configuration = Configuration(Laplace(10.0), RankResampling(0.02), "mask", allow_unsound=True)
    assert json.loads(json.dumps(configuration.as_dict(), allow_nan=False)) == {
        "mechanism": {"name": "laplace", "epsilon": 10.0},
        "rank_resampling": {"c": 0.02},
        "unknown_words": "mask",
        "tokenization": tokenization.RULE,
        "noise_rule": NOISE_RULE,
    }
    assert Configuration(Laplace(10.0)).as_dict()["rank_resampling"] is None


@pytest.mark.parametrize("rule", UNKNOWN_WORDS)
def test_what_stays_visible_is_said(rule: str) -> None:
    configuration = Configuration(Laplace(10.0), unknown_words=rule, allow_unsound=True)
    said = " ".join(configuration.guarantee().caveats)
    for visible in ("number and order of words", "punctuation", "ids", "must be public"):
        assert visible in said
    sentence = configuration.guarantee().sentence
    covered = rule == "noise"
    assert ("any two original words x and x'" in sentence) == covered
    assert ("any two original words of the vocabulary x and x'" in sentence) != covered
    assert ("nothing is promised for words outside the vocabulary" in sentence) != covered
    assert any("vocabulary" in passed for passed in configuration.unprotected) != covered


@pytest.mark.parametrize("bag", [None, BagOfWords(5)])
def test_what_shows_beyond_the_words_is_said_in_every_mode(bag: BagOfWords | None) -> None:
    promise = Configuration(Laplace(10.0), bag=bag).guarantee()
    said = " ".join(promise.caveats)
    assert "null character" in said
    assert "is missing from the release, and a reader may notice that" in said
    assert ("division into files follows the sizes of the original files" in said) == (bag is None)
    assert "Several documents of one person, and one text under several ids" in promise.composition


def test_resampling_costs_no_privacy() -> None:
    plain, resampled = (
        Configuration(Laplace(10.0), resampling).guarantee()
        for resampling in (None, RankResampling(0.02))
    )
    assert dataclasses.replace(resampled, caveats=plain.caveats) == plain
    assert [said for said in resampled.caveats if said != OF_THE_MECHANISM] == list(plain.caveats)
    assert (plain.epsilon, plain.delta) == (10.0, 0.0)


NOT_COVERED: list[tuple[dict[str, Any], str]] = [
    ({"mechanism": make_mechanism("truncated_gumbel", epsilon=3.0)}, "guarantees nothing"),
    ({"mechanism": make_mechanism("trlaplace_published", epsilon=0.3)}, "guarantees nothing"),
    ({"mechanism": make_mechanism("santext_plus", epsilon=3.0)}, "promised for common words"),
    *(
        ({"mechanism": Laplace(3.0), "unknown_words": rule}, f"^`unknown_words` {rule}: nothing is")
        for rule in ("keep", "mask", "drop")
    ),
]


@pytest.mark.parametrize(("settings", "said"), NOT_COVERED)
def test_what_is_not_covered_needs_consent_from_every_caller(
    settings: dict[str, Any], said: str
) -> None:
    """The command line, the transforms, Beam YAML and notebooks all make a Configuration."""
    made = Configuration(**settings, allow_unsound=True)
    for make in (
        lambda: Configuration(**settings),
        lambda: Sanitizer(tiny.vocabulary(), Configuration(**settings)),
    ):
        with pytest.raises(ConfigurationError, match=said) as refused:
            make()
        assert "add `allow_unsound`" in str(refused.value)
        assert "allow_unsound=True" in str(refused.value)
        assert "\n" not in str(refused.value)
    assert Sanitizer(tiny.vocabulary(), made).configuration == made
    rule = settings.get("unknown_words", "noise")
    with pytest.raises(ConfigurationError, match="allow_unsound"):
        _from_yaml(made, rule)
    _from_yaml(made, rule, allow_unsound=True)


def _from_yaml(made: Configuration, rule: str, **consent: bool) -> None:
    parameters = dict(made.as_dict()["mechanism"])
    name, epsilon = parameters.pop("name"), parameters.pop("epsilon")
    written = ",".join(f"{key}={value}" for key, value in parameters.items())
    SanitizeRows("demo", epsilon, name, written, unknown_words=rule, **consent)


def test_consent_is_no_part_of_what_is_released() -> None:
    """A release must not draw other noise because somebody said a word more."""
    plain, allowed = Configuration(Laplace(10.0)), Configuration(Laplace(10.0), allow_unsound=True)
    assert plain == allowed
    assert plain.as_dict() == allowed.as_dict()
    assert plain.digest("v") == allowed.digest("v")
    assert pickle.loads(pickle.dumps(allowed)).allow_unsound


@pytest.mark.parametrize("consent", ["false", "yes", 1, None])
def test_consent_is_true_or_false(consent: Any) -> None:
    with pytest.raises(ConfigurationError, match="`allow_unsound` must be true or false"):
        Configuration(Laplace(10.0), allow_unsound=consent)


def test_a_bag_that_drops_unknown_words_leaves_none_unprotected() -> None:
    """Nobody sees that they are missing, so no consent is needed."""
    made = Configuration(Laplace(10.0), unknown_words="drop", bag=BagOfWords(5))
    assert made.unprotected == ("document ids",)


@pytest.mark.parametrize(
    ("mechanism", "said"),
    [
        (CusText(5.0, 3), "draws a word of the original word's cluster at any epsilon"),
        (SanTextPlus(5.0), "keeps a common word as it is with probability 0.7"),
    ],
    ids=["custext", "santext_plus"],
)
def test_probabilities_of_the_mechanism_are_not_stated_of_resampled_words(
    mechanism: Any, said: str
) -> None:
    words = random_vocabulary(60, 3)
    plain = Configuration(mechanism, allow_unsound=True)
    resampled = Configuration(mechanism, RankResampling(0.05), allow_unsound=True)
    shares = []
    for settings in (plain, resampled):
        sanitizer = Sanitizer(words, settings, bytes(range(32)))
        released = words.ids_of(sanitizer.sanitize_text("w0 " * 2000, "a").split())
        own = clusters(words, 3) == 0 if mechanism.name == "custext" else np.arange(60) == 0
        shares.append(float(own[released].mean()))
    assert shares[0] == pytest.approx(1.0 if mechanism.name == "custext" else 0.7, abs=0.05)
    assert shares[1] < shares[0] - 0.1
    for settings in (plain, resampled):
        caveats = settings.guarantee().caveats
        assert any(said in caveat for caveat in caveats)
        assert not any("released as it is" in caveat for caveat in caveats)
        drawn = [c for c in caveats if "those of the word that the mechanism draws" in c]
        assert len(drawn) == (settings is resampled)
