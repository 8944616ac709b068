"""Tests of the numbers and sentences in ``release.json`` against exact losses: no samples.

A promise is taken as a reader of ``release.json`` would take it, its epsilon and delta from the
sentence itself. Other parts of an audit test that words come out by the distribution that is
assumed here; this one that the distribution keeps what is said of it, for ordered text and for bags
of words, under every treatment of unknown words.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from dxbeam.audit import evidence
from dxbeam.audit.batteries.bag import (
    LENGTH,
    STOP_WORDS,
    TEXTS,
    bag_distribution,
    bag_vocabulary,
    document_loss,
)
from dxbeam.audit.batteries.compared import every_word, word_losses
from dxbeam.audit.evidence import Floats
from dxbeam.audit.fitted import Fitted
from dxbeam.audit.references.distributions import Reference, euclidean
from dxbeam.audit.subject import Finding, Subject, words_at
from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms import ReadsReleased
from dxbeam.release.context import in_context
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.configuration import UNKNOWN_WORDS, Configuration

_PRINTED = re.compile(r"exp\((?P<epsilon>[^ ]+) \* d\(x, x'\)\)(, up to a probability of "
                      r"(?P<delta>[0-9.e+-]+),)?")  # fmt: skip
_ROUNDING = 1e-9
_CLOUD = 40

Original = tuple[int, ...]
"""A word, or the words of a document; -1 and -2 are two unknown words."""

_STRANGE, _ODD = UNKNOWN, UNKNOWN - 1


class _Claims(NamedTuple):
    """What is promised between words, in numbers that add up over the words of a document.

    Attributes:
      in_metric: by epsilon and the metric, float64 [N + 1, N + 1], the unknown word last.
      euclidean: by the factor of Euclidean distance; infinite where there is none.
      everywhere: for any two originals.
      delta: slack for any two originals.
    """

    in_metric: Floats
    euclidean: Floats
    everywhere: float
    delta: float


def audit_promises(subject: Subject, n: int) -> Iterator[Finding]:
    """Every sentence of every mode, over five words on a line in R^n."""
    yield from _of_metric(subject, n)
    vocabulary = bag_vocabulary(subject, n)
    fitted = subject.over(vocabulary)
    subject = dataclasses.replace(subject, configuration=fitted, fitted=Fitted())
    reference, expected = (
        subject.reference(vocabulary),
        subject.expected(vocabulary, every_word(vocabulary)),
    )
    if expected is None:
        return
    distributions = expected.distributions
    for rule in UNKNOWN_WORDS:
        configuration = _configuration(subject, rule)
        setting = f"ordered text, unknown words: {rule}, n = {n}"
        outcome = _of_words(distributions, rule)
        originals: list[Original] = [(word,) for word in range(len(vocabulary))]
        originals += [(_STRANGE,), (_ODD,)]
        yield from _audit(configuration, vocabulary, reference, originals, outcome, setting)
    if isinstance(subject.configuration.mechanism, ReadsReleased):
        return  # it cannot be used with bags
    for rule in ("noise", "drop"):
        configuration = _configuration(subject, rule, subject.bag(LENGTH, STOP_WORDS))
        setting = f"bag of {LENGTH} words, unknown words: {rule}, n = {n}"
        outcome = _of_bags(distributions, rule)
        originals = [*TEXTS.values(), (4, 4, 4), (2, 2, 3), (2, 2, _STRANGE), (4, 4, 4, 2, 0, 3, 2)]
        yield from _audit(configuration, vocabulary, reference, originals, outcome, setting)


def _of_metric(subject: Subject, n: int) -> Iterator[Finding]:
    """What is said of Euclidean distance follows from what is said in the guarantee's metric."""
    stretch = np.geomspace(1, 1e-3, n) * 5 * subject.spread(n)
    places = subject.normals(_CLOUD * n).reshape(_CLOUD, n) * stretch
    reference, written = subject.reference(words_at(places, places[0])), _written(subject)
    places = places.astype(np.float32).astype(np.float64)
    factor, cap = written["euclidean_epsilon"], written["cap"]
    pairs = list(itertools.combinations(places, 2))
    losses = np.array([reference.loss(x, y) for x, y in pairs])
    apart = np.array([euclidean(x, y) for x, y in pairs])
    finite = np.isfinite(losses)
    bound = np.full(len(pairs), math.inf if factor is None else float(factor)) * apart
    bound = np.minimum(bound, math.inf if cap is None else float(cap))
    below = np.flatnonzero(finite & (losses > bound * (1 + 1e-6) + _ROUNDING))
    says = [f"{losses[i]:.6g} where at most {bound[i]:.6g} is said" for i in below]
    test = "the exponent is larger than in Euclidean distance, or than its cap"
    yield _never(test, f"{_CLOUD} words, n = {n}", says)


def _written(subject: Subject) -> dict[str, Any]:
    return _configuration(subject, "noise").guarantee().as_dict()


def _configuration(subject: Subject, rule: str, bag: BagOfWords | None = None) -> Configuration:
    mechanism, resampling = subject.configuration.mechanism, subject.configuration.resampling
    return Configuration(mechanism, resampling, rule, bag, allow_unsound=True)


def _of_words(distributions: Floats, rule: str) -> Callable[[Original], Floats]:
    """The distribution of what replaces a word: a word, an unknown one, a mask or nothing."""
    words = distributions.shape[1]

    def outcome(original: Original) -> Floats:
        distribution = np.zeros(words + 4)
        [word] = original
        if word >= 0 or rule == "noise":
            distribution[:words] = distributions[max(word, UNKNOWN)]
        else:
            distribution[{"keep": words - 1 - word, "mask": words + 2, "drop": words + 3}[rule]] = (
                1.0
            )
        return distribution

    return outcome


def _of_bags(distributions: Floats, rule: str) -> Callable[[Original], Floats]:
    """The distribution of the bag."""

    def outcome(original: Original) -> Floats:
        return bag_distribution(_without_dropped(original, rule), distributions)

    return outcome


def _without_dropped(document: Original, rule: str) -> Original:
    return tuple(word for word in document if word >= 0 or rule != "drop")


def _audit(
    configuration: Configuration,
    vocabulary: Vocabulary,
    reference: Reference,
    originals: list[Original],
    outcome: Callable[[Original], Floats],
    setting: str,
) -> Iterator[Finding]:
    """Says nothing where nothing is promised."""
    guarantee, rule = configuration.guarantee(), configuration.unknown_words
    written = guarantee.as_dict()
    printed = _PRINTED.search(written["sentence"])
    if written["epsilon"] is None:
        promised = [printed[0]] if printed else []
        yield _never("a sentence that promises, of what has no epsilon", setting, promised)
        return
    if printed is None:
        yield _never("no epsilon in the sentence", setting, [written["sentence"]])
        return
    covered = [one for one in originals if _is_covered(one, guarantee, len(vocabulary))]
    epsilon = configuration.mechanism.epsilon
    claims = _claims(guarantee, printed, epsilon, vocabulary, reference)
    distributions = {one: outcome(one) for one in covered}
    broken: dict[str, list[str]] = {"sentence": [], "euclidean_epsilon": [], "cap": []}
    for x, y in itertools.combinations(covered, 2):
        claimed_in_metric = _claimed((x, y), rule, claims.in_metric, guarantee)
        if math.isinf(claimed_in_metric):
            continue
        for name, claimed in (
            ("sentence", claimed_in_metric),
            ("euclidean_epsilon", _claimed((x, y), rule, claims.euclidean, guarantee)),
            ("cap", claims.everywhere),
        ):
            slack = max(
                _slack(distributions[x], distributions[y], claimed),
                _slack(distributions[y], distributions[x], claimed),
            )
            if slack > claims.delta * (1 + 1e-6) + _ROUNDING:
                broken[name].append(f"{x}, {y}: needs delta {slack:.3g} at exp({claimed:.4g})")
    for name, breaches in broken.items():
        yield _never(f"{name} understates a loss", setting, breaches)
    complete = _says_what_it_leaves_out(written, originals, covered)
    incomplete = [] if complete else [written["sentence"]]
    yield _never("the sentence leaves out for which words nothing is promised", setting, incomplete)
    yield from _of_context(guarantee, vocabulary, distributions, setting)


def _never(test: str, setting: str, breaches: list[str]) -> Finding:
    return Finding.of(
        f"promise: {test}", setting, evidence.never(len(breaches)), "; ".join(breaches[:3])
    )


def _is_covered(original: Original, guarantee: Guarantee, words: int) -> bool:
    """Whether the promise is about this word or document."""
    if guarantee.bag_length is not None:
        return True
    unknown = not any("outside the vocabulary" in which for which in guarantee.unprotected)
    [word] = original
    return word >= guarantee.first_covered(words) if word >= 0 else unknown


def _claims(
    guarantee: Guarantee,
    printed: re.Match[str],
    epsilon: float,
    vocabulary: Vocabulary,
    reference: Reference,
) -> _Claims:
    """The numbers of a promise, those of its sentence where it has them."""
    written = guarantee.as_dict()
    places = vocabulary.vectors_of(every_word(vocabulary))
    apart = np.array([[euclidean(x, y) for y in places] for x in places])
    # In units of the metric: the audit knows it by the loss at the mechanism's own epsilon. Where
    # the audit knows of no claim and there is one all the same, it is in Euclidean distance, unless
    # the promise has no factor of that.
    in_metric = word_losses(vocabulary, reference) / epsilon
    factor = written["euclidean_epsilon"]
    in_metric = np.where(np.isinf(in_metric) & (factor is not None), apart, in_metric)
    in_metric *= float(printed["epsilon"])
    if written["longest"] is not None:
        in_metric[apart > written["longest"]] = math.inf
    length = written["bag_length"] or 1
    everywhere = [math.inf if written["cap"] is None else float(written["cap"])]
    if written["far_odds"] is not None:
        everywhere.append(length * 2 * math.log(written["far_odds"] * (len(vocabulary) - 1)))
    return _Claims(
        in_metric,
        np.full_like(in_metric, math.inf) if factor is None else apart * float(factor),
        min(everywhere),
        float(printed["delta"] or 0.0),
    )


def _claimed(
    pair: tuple[Original, Original], rule: str, between: Floats, guarantee: Guarantee
) -> float:
    """What is promised of a pair of originals, by what is promised between words."""
    if guarantee.bag_length is not None:
        x, y = (_without_dropped(document, rule) for document in pair)
        return document_loss(x, y, between, guarantee.bag_length)
    [i], [j] = pair
    return float(between[max(i, UNKNOWN), max(j, UNKNOWN)])


def _slack(first: Floats, second: Floats, loss: float) -> float:
    """The smallest delta with P(S | x) <= exp(loss) P(S | x') + delta for every set S."""
    if math.isinf(loss):
        return 0.0
    return float(np.maximum(first - math.exp(min(loss, 700.0)) * second, 0.0).sum())


def _says_what_it_leaves_out(
    written: dict[str, Any], originals: list[Original], covered: list[Original]
) -> bool:
    named = bool(written["unprotected"]) and "nothing is promised for" in written["sentence"]
    return named or len(covered) == len(originals)


def _of_context(
    guarantee: Guarantee,
    vocabulary: Vocabulary,
    distributions: dict[Original, Floats],
    setting: str,
) -> Iterator[Finding]:
    """What the guarantee means in the vocabulary, for one word changed for another."""
    places = vocabulary.vectors_of(every_word(vocabulary))
    broken = []
    for pair in in_context(guarantee, NeighborSearch(vocabulary)):
        for x, y in itertools.permutations(distributions, 2):
            changed = [(a, b) for a, b in zip(x, y, strict=False) if a != b]
            if len(x) != len(y) or len(changed) != 1 or min(*changed[0]) < 0:
                continue
            if euclidean(*(places[word] for word in changed[0])) > pair.distance:
                continue
            if pair.exponent is None:
                continue
            slack = _slack(distributions[x], distributions[y], pair.exponent)
            if slack > pair.delta * (1 + 1e-6) + _ROUNDING:
                broken.append(f"{x}, {y}: needs delta {slack:.3g} at exp({pair.exponent:.4g})")
    yield _never("in_context understates a loss", setting, broken)
