"""Tests of decoded documents over more words in more dimensions, by sampling.

Documents that differ in one word are released again and again under the mechanism's own noise, two
documents at a time, and the outputs of both count as one. Words at one place differ in length, and
one of them is outside the vocabulary. Besides, what is released for a document must not depend on
the documents next to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from dxbeam.audit import evidence
from dxbeam.audit.batteries.compared import (
    ComparedPair,
    audit_company,
    audit_loss,
    in_halves,
    ordered_pairs,
    texts_of,
    word_losses,
)
from dxbeam.audit.batteries.decoded import decoding_sanitizer, made_up_model
from dxbeam.audit.evidence import Counts
from dxbeam.audit.subject import Finding, Subject
from dxbeam.documents import Document
from dxbeam.language.model import LanguageModel
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.sanitizer import Sanitizer

_WORDS = 40

_SHARE = 4
"""Of a word's samples; a corpus holds several words."""

_PLACES = ("its first word", "its second word", "its third word", "its fourth word")
_LENGTH = len(_PLACES)
"""Words of a corpus."""


def audit_decoded_samples(subject: Subject, n: int) -> Iterator[Finding]:
    """The loss of the whole output between two corpora, and what is next to a document."""
    vocabulary = _large_vocabulary(subject, n)
    model, setting = made_up_model(vocabulary), f"{_WORDS} words, n = {n}"
    corpora = _corpora()
    sanitizer = decoding_sanitizer(subject, vocabulary, model)
    samples = subject.size.outputs // _SHARE
    drawn = [_samples(sanitizer, corpus, samples) for corpus in corpora]
    pairs, reference = _pairs(corpora, subject, vocabulary), subject.reference(vocabulary)
    test = "decoded: loss beyond the claim, nats, of"
    words = [slice(place, place + 1) for place in range(_LENGTH)]
    for name, part in (("the whole output", slice(None)), *zip(_PLACES, words, strict=True)):
        first, second = _counts([[output[part] for output in each] for each in drawn])
        yield audit_loss(subject, f"{test} {name}", setting, pairs, first, second, reference.delta)
    yield from _audit_company(subject, vocabulary, model, setting)


def _pairs(
    corpora: list[list[str]], subject: Subject, vocabulary: Vocabulary
) -> list[ComparedPair]:
    """All ordered pairs of corpora, with what is claimed of them."""
    losses = word_losses(vocabulary, subject.reference(vocabulary))
    ids = np.array([vocabulary.ids_of(" ".join(corpus).split()) for corpus in corpora])
    named = [f'"{" / ".join(corpus)}"' for corpus in corpora]
    return ordered_pairs(named, lambda i, j: float(losses[ids[i], ids[j]].sum()))


def _counts(drawn: list[list[tuple[str, ...]]]) -> tuple[Counts, Counts]:
    """How often each output is seen in either half of a corpus's samples: int64 [k, outputs]."""
    numbers = {name: i for i, name in enumerate(dict.fromkeys(itertools.chain(*drawn)))}
    outcomes = [np.array([numbers[name] for name in each]) for each in drawn]
    return in_halves(outcomes, len(numbers))


def _large_vocabulary(subject: Subject, n: int) -> Vocabulary:
    """Words of all lengths, the first ones near to each other; unknown words at the first's."""
    places = subject.normals(_WORDS * n).reshape(_WORDS, n) * (subject.spread(n) / np.sqrt(n))
    places[1] = places[0] * 0.9
    names = ["w" * (1 + i % 7) + str(i) for i in range(_WORDS)]
    vectors = np.ascontiguousarray(places, np.float32)
    return Vocabulary(names, vectors, unknown_vector=vectors[0])


def _corpora() -> list[list[str]]:
    """Two documents each; their words differ in one place or in none but for an unknown one."""
    return [
        ["w0 www2", "ww1 www2"],
        ["odd www2", "ww1 www2"],
        ["peculiar www2", "ww1 www2"],
        ["ww1 www2", "ww1 www2"],
    ]


def _samples(sanitizer: Sanitizer, corpus: Sequence[str], count: int) -> list[tuple[str, ...]]:
    """The words released for the corpus, again and again with new ids."""
    documents = (Document(f"{i} {k}", text) for i in range(count) for k, text in enumerate(corpus))
    texts = texts_of(sanitizer, documents)
    step = len(corpus)
    return [tuple(" ".join(texts[i : i + step]).split()) for i in range(0, len(texts), step)]


def _audit_company(
    subject: Subject, vocabulary: Vocabulary, model: LanguageModel, setting: str
) -> Iterator[Finding]:
    """A document comes out the same whatever other documents it is sanitized with."""
    names = [*vocabulary.words, "odd"]
    order = np.argsort(subject.normals(600)) % len(names)
    texts = [" ".join(names[i] for i in part) for part in np.split(order, range(3, 600, 5))]
    documents = [Document(str(i), text) for i, text in enumerate(texts)]
    sanitizer = decoding_sanitizer(subject, vocabulary, model)
    yield from audit_company(sanitizer, documents, "decoded", setting)
    lost = sum(
        len(text.split()) != len(out.split()) or UNKNOWN in vocabulary.ids_of(out.split())
        for text, out in zip(texts, texts_of(sanitizer, documents), strict=True)
    )
    yield Finding.of("decoded: a word is lost or none", setting, evidence.never(lost))
