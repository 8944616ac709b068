"""Tests of documents with placeholders: what ``detect`` replaces, and the words that are left.

The bound is claimed between documents that have the same placeholders in the same places. So the
words between placeholders must have the exact distribution that they have by themselves, whatever
was replaced, and of what was replaced nothing but its kind may be there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from dxbeam.audit import evidence
from dxbeam.audit.batteries.compared import name_of
from dxbeam.audit.batteries.text import APART, HALF, fine_line
from dxbeam.audit.batteries.word import line
from dxbeam.audit.subject import Finding, Subject
from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError
from dxbeam.space.search.neighbors import Ids
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.configuration import Configuration
from dxbeam.text.detection.detector import Detector

_EXAMPLES = (
    ("jane.doe@example.org", "k@somewhere.net"),
    ("+49 89 636 48018", "+44 20 7946 0958"),
    ("4111 1111 1111 1111", "5500 0000 0000 0004"),
    ("DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"),
    ("192.168.0.1", "10.11.12.13"),
    ("https://www.example.com/a", "www.example.net"),
)
"""Pairs of one kind and of other lengths, words and punctuation."""

_WORDS_A_DOCUMENT = 300
_WORDS = np.array([0, 2, UNKNOWN])
_SCOPE = "same placeholders in the same places"


class _Kind(NamedTuple):
    """A placeholder, and two strings that it replaces."""

    placeholder: str
    examples: tuple[str, str]


def audit_placeholders(subject: Subject, n: int) -> Iterator[Finding]:
    """Placeholders, the words between them, what an edit of what is replaced does, the claim."""
    settings = subject.configuration
    if settings.detector is None:
        return
    setting = f"words between placeholders, n = {n}"
    yield from _audit_claim(settings, setting)
    kinds = _recognized(settings.detector)
    none = evidence.never(int(not kinds))
    yield Finding.of("placeholders: nothing is recognised", setting, none)
    if kinds:
        yield from _audit_words(subject, kinds, n, setting)
        yield from _audit_edit(subject, kinds, setting)


def _recognized(detector: Detector) -> list[_Kind]:
    """The kinds of which both examples are replaced as a whole."""
    kinds = []
    for examples in _EXAMPLES:
        first, second = (list(detector.divide(example)) for example in examples)
        if first == second and len(first) == 2 and not (first[0][0] or first[1][0]):
            kinds.append(_Kind(first[0][1], examples))
    return kinds


def _audit_claim(settings: Configuration, setting: str) -> Iterator[Finding]:
    """It needs consent, and what is promised says between which documents."""
    try:
        dataclasses.replace(settings, allow_unsound=False)
        refused = False
    except ConfigurationError:
        refused = True
    promise = settings.guarantee()
    unsaid = (
        not any(_SCOPE in caveat for caveat in promise.caveats),
        not any("placeholders" in named for named in settings.unprotected),
    )
    without = evidence.never(int(not refused))
    yield Finding.of("placeholders: released without consent", setting, without)
    incomplete = evidence.never(sum(unsaid))
    yield Finding.of("placeholders: a claim that leaves their places out", setting, incomplete)


def _text(words: Ids, kinds: list[_Kind], side: int) -> str:
    """Each word is followed by something that is replaced."""
    pieces = []
    for number, word in enumerate(words):
        kind = kinds[number % len(kinds)]
        pieces += ["strange" if word == UNKNOWN else f"w{word}", kind.examples[side]]
    return APART.join(pieces)


def _words_left(
    released: Any, words: int, kinds: list[_Kind], vocabulary: Vocabulary
) -> tuple[Ids, int]:
    """The words of a document between its placeholders, and how many pieces are not as they are.

    Of a document that is not as it should be no word is returned.
    """
    pieces = released.document.text.split(APART) if released.document else []
    placeholders = [kinds[number % len(kinds)].placeholder for number in range(words)]
    ids = vocabulary.ids_of(pieces[::2])
    wrong = abs(len(pieces) - 2 * words) + int((ids < 0).sum())
    wrong += sum(one != other for one, other in zip(pieces[1::2], placeholders, strict=False))
    return (ids if wrong == 0 else ids[:0]), wrong


def _audit_words(subject: Subject, kinds: list[_Kind], n: int, setting: str) -> Iterator[Finding]:
    vocabulary = line(subject, n)
    sanitizer = subject.sanitizer(vocabulary)
    words = np.tile(_WORDS, _WORDS_A_DOCUMENT // len(_WORDS))
    each = max(1, subject.size.outputs * len(_WORDS) // _WORDS_A_DOCUMENT)
    counts, wrong = np.zeros((2, len(_WORDS), len(vocabulary)), np.int64), 0
    for side in range(2):
        text = _text(words, kinds, side)
        documents = [Document(f"{side} {number}", text) for number in range(each)]
        for released in sanitizer.sanitize(documents):
            ids, mistakes = _words_left(released, len(words), kinds, vocabulary)
            wrong += mistakes
            for row, some in zip(counts[side], ids.reshape(-1, len(_WORDS)).T, strict=True):
                row += np.bincount(some, minlength=len(vocabulary))
    other = evidence.never(wrong)
    yield Finding.of("placeholders: something other than words and kinds", setting, other)
    if wrong:
        return
    expected = subject.expected(vocabulary, _WORDS)
    for number, word in enumerate(_WORDS):
        name = name_of(int(word))
        alike = evidence.same_distribution(counts[0, number], counts[1, number])
        yield Finding.of(f"placeholders: {name}, whatever is replaced", setting, alike)
        if expected is not None:
            exactly = evidence.counts_of_distribution(
                counts[:, number].sum(0), expected.distributions[number], expected.error()
            )
            yield Finding.of(f"placeholders: distribution for {name}", setting, exactly)


def _audit_edit(subject: Subject, kinds: list[_Kind], setting: str) -> Iterator[Finding]:
    """Two texts that differ only in what is replaced are two texts: they share no noise."""
    vocabulary, key = fine_line(subject), subject.key()
    words = np.full(subject.size.words, UNKNOWN)
    noise = []
    for side in range(2):
        sanitizer = subject.sanitizer(vocabulary, key)
        [released] = sanitizer.sanitize([Document("a", _text(words, kinds, side))])
        ids, wrong = _words_left(released, len(words), kinds, vocabulary)
        if wrong:
            return  # which was found before
        noise.append((ids - HALF).astype(np.float64))
    outcome = evidence.rank_correlation(*noise)
    yield Finding.of("placeholders: noise before and after an edit there", setting, outcome)
