"""Tests of mechanisms that read the words they have released before a word.

What is released for a document is one outcome. Over a few words the exact distribution of all
outcomes is enumerated, word by word by the chain rule, for every document of three words. A long
text is tested word by word: where each word has its distribution given those released before it,
the place of the released word in that distribution is a uniform number, independent of all others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dxbeam.audit import evidence
from dxbeam.audit.batteries import compared
from dxbeam.audit.batteries.word import line
from dxbeam.audit.evidence import Floats
from dxbeam.audit.references.choice import BEGIN
from dxbeam.audit.subject import Finding, Subject
from dxbeam.documents import Document
from dxbeam.space.search.neighbors import Ids
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.sanitizer import Sanitizer

_LENGTH = 3
"""Words of a short document."""

_SHORT = (
    "w0 w1 w2", "w3 w1 w2", "w0 w4 w2", "w0 w1 w4", "strange w1 w2", "w0 w1 odd", "w0\nw1 w2",
    "w0\nw4 w2",
)  # fmt: skip
"""Documents of which the outcomes are counted; a line break ends a sentence."""

_WINDOW = 512
"""Words of a window; what is before a window is not read."""

_LONG = 1_200
"""Words of the one sentence that is longer than two windows."""

_BINS = 20
_COMPANY = 200
_ROUNDING = 1e-9


class _Law:
    """The exact distribution of outcomes, by the chain rule."""

    def __init__(self, subject: Subject, vocabulary: Vocabulary):
        after = subject.entry.after
        assert after is not None
        next_word = after(subject.over(vocabulary).mechanism, vocabulary)
        self.vocabulary = vocabulary

        @lru_cache(None)
        def of_word(original: int, first: int, second: int) -> Floats:
            return next_word(vocabulary.vectors_of(np.array([original]))[0], first, second)

        self.of_word = of_word

    def of_document(self, originals: Sequence[int], starts: Sequence[bool]) -> Floats:
        """The distribution of all outcomes: float64 [N ** words]."""
        size = len(self.vocabulary)
        shares = np.zeros((size,) * len(originals))
        for released in itertools.product(range(size), repeat=len(originals)):
            prefixes = before(np.array(released), np.array(starts))
            shares[released] = np.prod(
                [
                    self.of_word(original, *prefix)[word]
                    for original, prefix, word in zip(originals, prefixes, released, strict=True)
                ]
            )
        return shares.ravel()


def before(released: Ids, starts: Any) -> list[tuple[int, int]]:
    """The two words that each word of a document is read after; ``starts`` are of sentences."""
    prefixes: list[tuple[int, int]] = []
    for place in range(len(released)):
        if starts[place]:
            prefix = (BEGIN, BEGIN)
        elif place % _WINDOW == 0:
            prefix = (UNKNOWN, UNKNOWN)
        else:
            prefix = (prefixes[-1][1], int(released[place - 1]))
        prefixes.append(prefix)
    return prefixes


def audit_sequences(subject: Subject, n: int) -> Iterator[Finding]:
    """Outcomes of whole documents, of words of long ones, and what is next to a document."""
    if subject.entry.after is None or subject.configuration.resampling is not None:
        return  # ranks are drawn of what was released
    vocabulary = line(subject, n)
    law = _Law(subject, vocabulary)
    yield from _audit_outcomes(subject, law)
    yield _audit_promise(subject, law)
    yield from _audit_long(subject, law)
    yield from _audit_company(subject, vocabulary)


def _audit_outcomes(subject: Subject, law: _Law) -> Iterator[Finding]:
    """Counts of the outcomes of some documents, and the loss between them."""
    vocabulary, samples = law.vocabulary, subject.size.outputs
    sanitizer, setting = subject.sanitizer(vocabulary), f"{_LENGTH} of five words on a line"
    originals = [vocabulary.ids_of(text.split()) for text in _SHORT]
    starts = [[True, *(gap == "\n" for gap in text if gap in " \n")] for text in _SHORT]
    outcomes, cells = [], len(vocabulary) ** _LENGTH
    for number, text in enumerate(_SHORT):
        released = _released(sanitizer, [text] * samples, f"{number} ")
        outcomes.append(released.reshape(-1, _LENGTH) @ len(vocabulary) ** np.arange(_LENGTH)[::-1])
        counts = np.bincount(outcomes[-1], minlength=cells)
        exact = law.of_document(originals[number].tolist(), starts[number])
        outcome = evidence.counts_of_distribution(counts, exact, 1e-12 * _LENGTH)
        shown = text.replace("\n", " / ")
        yield Finding.of(f'sequences: distribution for "{shown}"', setting, outcome)
    first, second = compared.in_halves(outcomes, cells)
    losses = compared.word_losses(vocabulary, subject.reference(vocabulary))
    pairs = compared.ordered_pairs(
        [str(number) for number in range(len(_SHORT))],
        lambda i, j: float(losses[originals[i], originals[j]].sum()),
    )
    pairs = [pair for pair in pairs if starts[pair.first] == starts[pair.second]]
    test = "sequences: loss beyond the claim, nats"
    yield compared.audit_loss(subject, test, setting, pairs, first, second, 0.0)


def _audit_promise(subject: Subject, law: _Law) -> Finding:
    """Every pair of documents by the exact distributions of their outcomes: no samples."""
    vocabulary = law.vocabulary
    documents = np.array(list(itertools.product(compared.every_word(vocabulary), repeat=_LENGTH)))
    starts = [True, *[False] * (_LENGTH - 1)]
    logs = np.log([law.of_document(each.tolist(), starts) for each in documents])
    losses = compared.word_losses(vocabulary, subject.reference(vocabulary))
    broken = 0
    for row, document in enumerate(documents):
        claimed = losses[document, documents].sum(axis=1)
        broken += int(((logs[row] - logs).max(axis=1) > claimed + _ROUNDING).sum())
    test = "sequences: pairs of documents whose outcomes differ by more than the claim"
    return Finding.of(test, f"all documents of {_LENGTH} words", evidence.never(broken))


def _audit_long(subject: Subject, law: _Law) -> Iterator[Finding]:
    """Each word of a long text, given those released before it, over sentences and windows."""
    vocabulary, count = law.vocabulary, max(subject.size.words, 2 * _LONG)
    ids = np.argsort(subject.normals(count)) % (len(vocabulary) + 1) + UNKNOWN
    starts = np.abs(subject.normals(count)) < 1 / 8
    starts[:_LONG] = False
    starts[0] = True
    names = [*vocabulary.words, "strange"]
    gaps = np.where(starts, "\n", " ")
    text = "".join(gap + names[word] for gap, word in zip(gaps, ids, strict=True)).strip()
    released = _released(subject.sanitizer(vocabulary), [text], "long")
    share = (np.frombuffer(subject.random_bytes(8 * count), np.uint64) + 0.5) * 2.0**-64
    places = np.empty(count)
    for row, prefix in enumerate(before(released, starts)):
        distribution = law.of_word(int(ids[row]), *prefix)
        word = released[row]
        places[row] = distribution[:word].sum() + share[row] * distribution[word]
    counts = np.bincount((places * _BINS).clip(0, _BINS - 1).astype(np.int64), minlength=_BINS)
    setting = f"a text of {count:,} words, one sentence of {_LONG:,}"
    outcome = evidence.counts_of_distribution(counts, np.full(_BINS, 1 / _BINS), 1e-9)
    yield Finding.of("sequences: each word given those before it", setting, outcome)
    outcome = evidence.rank_correlation(places[1:], places[:-1])
    yield Finding.of("sequences: successive words given those before them", setting, outcome)


def _audit_company(subject: Subject, vocabulary: Vocabulary) -> Iterator[Finding]:
    """A document comes out the same whatever documents it is sanitized with."""
    names = [*vocabulary.words, "strange"]
    order = np.argsort(subject.normals(_COMPANY * _LENGTH)) % len(names)
    texts = [" ".join(names[i] for i in part) for part in order.reshape(-1, _LENGTH)]
    sanitizer = subject.sanitizer(vocabulary)
    documents = [Document(str(i), text) for i, text in enumerate(texts)]
    setting = f"{_COMPANY} documents of {_LENGTH} words"
    yield from compared.audit_company(sanitizer, documents, "sequences", setting)


def _released(sanitizer: Sanitizer, texts: Sequence[str], name: str) -> Ids:
    """The ids of the words that are released for texts, one after the other."""
    documents = [Document(f"{name}{i}", text) for i, text in enumerate(texts)]
    words = " ".join(compared.texts_of(sanitizer, documents)).split()
    return sanitizer.search.vocabulary.ids_of(words)
