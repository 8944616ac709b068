"""Tests of documents that are released as bags of words, against the exact distribution of the bag.

The distribution is summed over all draws of words without replacement and over all that can be
released for them, so a wrong draw, padding, noise that is shared within a bag, or a stop word that
stays shows as one wrong distribution.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from dxbeam.audit import evidence
from dxbeam.audit.batteries.compared import (
    audit_loss,
    every_word,
    in_halves,
    ordered_pairs,
    texts_of,
    word_losses,
)
from dxbeam.audit.evidence import Counts, Floats
from dxbeam.audit.references.distributions import Reference
from dxbeam.audit.subject import Finding, Subject, words_at
from dxbeam.documents import Document
from dxbeam.space.search.neighbors import Ids
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.sanitizer import Sanitizer

LENGTH = 3
STOP_WORDS = frozenset({"the", "w1"})
"""One of them is a word of the vocabulary, which may be released for another."""

PLACES = (1.2, 0.3, -1.8, -0.6, 4.0)
"""Five words on a line, in deviations of the noise along it; unknown words are at 0.5."""

TEXTS: dict[str, tuple[int, ...]] = {
    "w4, w4 w4 -- w2 w0\nw3 strange": (4, 4, 4, 2, 0, 3, UNKNOWN),
    "w0 The w1 w4 W1 the w2": (0, 4, 2),
    "w2 w2 w2": (2, 2, 2),
    "w3": (3,),
    "": (),
    "odd w4 w0 w0": (UNKNOWN, 4, 0, 0),
}
"""Texts, and the words that remain of each without stop words."""

_SHARE = 4
"""Of a word's samples; a bag holds several words."""

_OUTPUTS = np.array(list(itertools.product(range(len(PLACES)), repeat=LENGTH)))
_BAGS, _CELLS = np.unique(np.sort(_OUTPUTS, axis=1), axis=0, return_inverse=True)
"""All bags that can be released, and which of them each row of outputs is."""


def bag_vocabulary(subject: Subject, n: int) -> Vocabulary:
    """The words of PLACES along the first axis of R^n."""
    places = np.zeros((len(PLACES) + 1, n))
    places[:, 0] = np.array([*PLACES, 0.5]) * subject.spread(n)
    return words_at(places[:-1], places[-1])


def audit_bags(subject: Subject, n: int) -> Iterator[Finding]:
    """The distribution of bags, the loss between documents, and the look of a released bag."""
    vocabulary = bag_vocabulary(subject, n)
    reference, bag = subject.reference(vocabulary), subject.bag(LENGTH, STOP_WORDS)
    setting = f"{LENGTH} words per document, n = {n}"
    samples = subject.size.outputs // _SHARE
    sanitizer = subject.sanitizer(vocabulary, bag=bag)
    drawn = [_released(sanitizer, text, samples) for text in TEXTS]
    unusual = sum(samples - len(bags) for bags in drawn)
    outcome = evidence.never(unusual)
    yield Finding.of(f"bags: not {LENGTH} words in the alphabet's order", setting, outcome)
    if unusual:
        return
    if (expected := subject.expected(vocabulary, every_word(vocabulary))) is not None:
        word_distributions, tolerance = expected.distributions, expected.error()
        for text, bags in zip(TEXTS, drawn, strict=True):
            counts, distribution = (
                np.bincount(bags, minlength=len(_BAGS)),
                bag_distribution(TEXTS[text], word_distributions),
            )
            outcome = evidence.counts_of_distribution(
                counts, distribution, LENGTH * tolerance + 1e-12
            )
            yield Finding.of(f"bags: distribution for {_name(text)}", setting, outcome)
        dropping = subject.sanitizer(vocabulary, unknown_words="drop", bag=bag)
        text = "odd w4 w0 w0"
        bags = _released(dropping, text, samples)
        known = tuple(word for word in TEXTS[text] if word != UNKNOWN)
        counts, distribution = (
            np.bincount(bags, minlength=len(_BAGS)),
            bag_distribution(known, word_distributions),
        )
        outcome = evidence.counts_of_distribution(counts, distribution, LENGTH * tolerance + 1e-12)
        yield Finding.of("bags: distribution where unknown words are dropped", setting, outcome)
    first, second = in_halves(drawn, len(_BAGS))
    yield _audit_loss(subject, vocabulary, reference, first, second, setting)


def _name(text: str) -> str:
    return f'"{" ".join(text.split())}"'


def _released(sanitizer: Sanitizer, text: str, samples: int) -> Ids:
    """The bags released for documents of this text: indices of _BAGS, without what is no bag."""
    documents = (Document(str(number), text) for number in range(samples))
    texts = texts_of(sanitizer, documents)
    ids = [tuple(sanitizer.search.vocabulary.ids_of(text.split(" "))) for text in texts]
    numbers = {tuple(int(word) for word in bag): i for i, bag in enumerate(_BAGS)}
    return np.array([numbers[bag] for bag in ids if bag in numbers], np.int64)


def bag_distribution(
    document: Sequence[int], word_distributions: Floats, length: int = LENGTH
) -> Floats:
    """The distribution, over the rows of _BAGS, of the bag released for a document.

    ``document`` are its words without stop words; UNKNOWN is the last row of
    ``word_distributions``, P(released | word), float64 [N + 1, N].
    """
    filled = [*document, *[UNKNOWN] * (length - len(document))]
    draws = list(itertools.combinations(filled, length))
    distribution = np.zeros(len(_BAGS))
    for draw in draws:
        likely = np.prod(
            [word_distributions[word][_OUTPUTS[:, i]] for i, word in enumerate(draw)], axis=0
        )
        distribution += np.bincount(_CELLS.ravel(), likely, len(_BAGS))
    return distribution / len(draws)


def document_loss(
    first: Sequence[int], second: Sequence[int], word_losses: Floats, length: int = LENGTH
) -> float:
    """The claimed loss between two documents, by trying every matching of their words.

    The sum of the ``length`` largest losses of matched words, a word without a partner counting as
    the largest loss of all; infinite where such a word's is. UNKNOWN is the last row of
    ``word_losses``, float64 [N + 1, N + 1].
    """
    shorter, longer = sorted(
        ([*words, *[UNKNOWN] * (length - len(words))] for words in (first, second)), key=len
    )
    without_partner = [float(word_losses.max())] * (len(longer) - len(shorter))
    costs = (
        sum(sorted([*word_losses[shorter, list(chosen)], *without_partner])[-length:])
        for chosen in set(itertools.permutations(longer, len(shorter)))
    )
    return float(min(costs))


def _audit_loss(
    subject: Subject,
    vocabulary: Vocabulary,
    reference: Reference,
    first: Counts,
    second: Counts,
    setting: str,
) -> Finding:
    losses = word_losses(vocabulary, reference)
    delta = min(1.0, LENGTH * reference.delta)
    texts = list(TEXTS)
    pairs = ordered_pairs(
        [_name(text) for text in texts],
        lambda i, j: document_loss(TEXTS[texts[i]], TEXTS[texts[j]], losses),
    )
    test = "bags: loss beyond the claim, nats"
    return audit_loss(subject, test, setting, pairs, first, second, delta)
