"""Tests of what users get by default, where other parts are small: levels, lists, length, clusters.

Other parts look at five words, texts of some thousands, one epsilon and clusters of two. What is
kept for one epsilon and taken for another, numbers that come back after many words, vectors that
are clipped in few dimensions only, and clusters that are larger than a few words show here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from dxbeam.audit import evidence
from dxbeam.audit.batteries.compared import name_of
from dxbeam.audit.batteries.large_vocabulary import audit_cluster
from dxbeam.audit.batteries.text import APART, HALF, any_lag, fine_line
from dxbeam.audit.batteries.word import line
from dxbeam.audit.evidence import Floats
from dxbeam.audit.fitted import Fitted
from dxbeam.audit.subject import Finding, Subject, words_at
from dxbeam.documents import Document
from dxbeam.mechanisms import AddsNoise, WeighsWords
from dxbeam.mechanisms.public.importance import WordWeights
from dxbeam.mechanisms.sampling.cluster_choice import DEFAULT_SIZE
from dxbeam.space.search.neighbors import Ids
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.epsilon_by_field import EpsilonByField
from dxbeam.text.sanitizer import Sanitizer

_LOWER = 0.6
"""The lower level's epsilon, of the higher one's."""

_WORDS_A_DOCUMENT = 500
_BEYOND = (2.0, 64.0)
"""How many times as far as the ball reaches; powers of two, so that both are clipped to one point
in floating point too."""


def audit_levels(subject: Subject, n: int) -> Iterator[Finding]:
    """Released words of documents of two levels in turn, and documents without a level."""
    epsilon, vocabulary = subject.configuration.mechanism.epsilon, line(subject, n)
    levels = EpsilonByField("level", (("low", _LOWER * epsilon), ("high", epsilon)))
    settings = dataclasses.replace(
        subject.over(vocabulary, *levels.every), epsilon_by=levels, allow_unsound=True
    )  # what is audited is not released
    sanitizer = subject.make(subject.search(vocabulary), settings, subject.key())
    words, setting = np.array([0, 2, UNKNOWN]), f"two levels in turn, n = {n}"
    originals = np.tile(words, _WORDS_A_DOCUMENT // len(words))
    text = APART.join("strange" if word == UNKNOWN else f"w{word}" for word in originals)
    each = max(2, 2 * subject.size.outputs // _WORDS_A_DOCUMENT)
    named = [("low", "high")[number % 2] for number in range(2 * each)]
    documents = [Document(str(i), text, level=level) for i, level in enumerate(named)]
    released = _released(sanitizer, [*documents, Document("none", text)])
    passed = evidence.never(len(released) - len(documents))
    yield Finding.of("levels: a document without one is released", setting, passed)
    for level in ("low", "high"):
        of = dataclasses.replace(
            subject,
            configuration=settings.with_epsilon(levels.epsilon_of(level) or epsilon),
            fitted=Fitted(),  # its constant is solved
        )
        if (expected := of.expected(vocabulary, words)) is None:
            continue
        drawn = [released[i] for i, name in enumerate(named) if name == level and i < len(released)]
        rows = np.concatenate(drawn).reshape(-1, len(words)).T
        for row, distribution, word in zip(rows, expected.distributions, words, strict=True):
            counts = np.bincount(row, minlength=len(vocabulary))
            outcome = evidence.counts_of_distribution(counts, distribution, expected.error())
            name = name_of(int(word))
            yield Finding.of(f"levels: distribution for {name}, {level}", setting, outcome)


def _released(sanitizer: Sanitizer, documents: list[Document]) -> list[Ids]:
    """The words of each document that is released."""
    ids_of = sanitizer.search.vocabulary.ids_of
    return [
        ids_of(one.document.text.split()) for one in sanitizer.sanitize(documents) if one.document
    ]


def audit_lists(subject: Subject, _n: int) -> Iterator[Finding]:
    """Two public lists of weights, as long and as heavy: no noise is shared under one key."""
    mechanism: Any = subject.configuration.mechanism
    if not isinstance(subject.configuration.mechanism, WeighsWords):
        return
    vocabulary, key = fine_line(subject), subject.key()
    text = APART.join(["strange"] * subject.size.words)
    places: list[Floats] = []
    for word in ("w0", "w1"):
        weighed = dataclasses.replace(mechanism, importance=WordWeights({word: 3.0, "w2": 1.0}))
        settings = dataclasses.replace(subject.configuration, mechanism=weighed)
        sanitizer = subject.make(subject.search(vocabulary), settings, key)
        [ids] = _released(sanitizer, [Document("a", text)])
        places.append((ids - HALF).astype(np.float64))
    setting = f"{subject.size.words:,} words, two lists of two words"
    outcome = evidence.rank_correlation(*places)
    yield Finding.of("lists: noise under two lists of weights", setting, outcome)


def audit_long_text(subject: Subject, _n: int) -> Iterator[Finding]:
    """Correlations at any distance in one long text, of numbers that may come back late."""
    vocabulary, count = fine_line(subject), subject.size.long_words
    sanitizer = subject.sanitizer(vocabulary)
    [ids] = _released(sanitizer, [Document("a", APART.join(["strange"] * count))])
    setting = f"a text of {count:,} words"
    lost = evidence.never(int(len(ids) != count or (ids < 0).any()))
    yield Finding.of("long text: a word passed through or was lost", setting, lost)
    outcome = any_lag((ids - HALF).astype(np.float64))
    yield Finding.of("long text: noise any number of words apart", setting, outcome)


def audit_clipping(subject: Subject, n: int) -> Iterator[Finding]:
    """Two words on one ray beyond the ball become the same words, by the same random numbers."""
    mechanism = subject.configuration.mechanism
    clip: float | None = getattr(mechanism, "clip", None)
    if not isinstance(mechanism, AddsNoise) or clip is None:
        return
    places = subject.normals(8 * n).reshape(8, n) * (subject.spread(n) / np.sqrt(n))
    ray = places[0] / np.linalg.norm(places[0])
    vectors = np.append(places, [ray * (clip * _BEYOND[0])], axis=0).astype(np.float32)
    vectors = np.append(vectors, vectors[-1:] * np.float32(_BEYOND[1] / _BEYOND[0]), axis=0)
    vocabulary: Vocabulary = words_at(vectors, np.zeros(n))
    sanitizer, run = subject.sanitizer(vocabulary), [(subject.key(), 0, subject.size.outputs)]
    near, far = (
        sanitizer.release(run, np.full(subject.size.outputs, word))
        for word in (len(vectors) - 2, len(vectors) - 1)
    )
    different = evidence.never(int((near != far).sum()))
    yield Finding.of("clipping: words on one ray beyond the ball", f"n = {n}", different)._replace(
        part_of_claim=subject.sound
    )


def audit_usual_clusters(subject: Subject, n: int) -> Iterator[Finding]:
    """The distribution of released words where clusters are as large as they are by default."""
    mechanism: Any = subject.configuration.mechanism
    if getattr(mechanism, "cluster_size", DEFAULT_SIZE) != DEFAULT_SIZE:
        usual = dataclasses.replace(mechanism, cluster_size=DEFAULT_SIZE)
        settings = dataclasses.replace(subject.configuration, mechanism=usual)
        for finding in audit_cluster(dataclasses.replace(subject, configuration=settings), n):
            yield finding._replace(setting=f"{finding.setting}, clusters of {DEFAULT_SIZE}")
