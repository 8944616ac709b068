"""Tests of released words in large vocabularies, among equal vectors, and far from the origin.

What a search or a sampler does with its first neighbours, its first tile of words or short vectors
is not what it does with the rest. So thousands of words are placed where the rest comes out often,
and the counts are compared with the exact distribution, by where a word is and by which tile
holds it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from dxbeam.audit import evidence
from dxbeam.audit.batteries.word import noisy_vectors
from dxbeam.audit.evidence import Floats
from dxbeam.audit.subject import Finding, Subject, words_at
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import AddsNoise
from dxbeam.space.search.backends.approximate_index import build_index
from dxbeam.space.search.backends.choose_backend import BACKENDS
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary

WORDS = 6000
"""More than two tiles of 2,048 words, the last one not full."""

_TILE = 2048
_PARTS = 8
"""A distribution is cut into this many parts of equal probability, by the distance of the words."""

_MIDDLE = 200
"""Words within a few deviations of the noise."""

_CLUSTERED, _REMOTE = 200, 2.3
"""Words in the cluster, more than a sampler's first 129; and how far off the others are, in units
over which probabilities fall by e^2. Each of the others is a hundred times less probable than one
of the cluster; all together they come out one time in four, and a sampler that proposes words
beyond the first 129 at random rejects nineteen of twenty, so that one word in ten outlasts its
rounds."""

_FAR_OFF = 12.0
"""Where one word is isolated, in the same units."""

_LENGTH = 1e8
"""Of long vectors. A float64 number of that square is a multiple of 2."""

_TABLE = 16
"""Depth of the neighbour table, where ranks are resampled; deeper ranks are searched."""

_QUERIES = 600


def audit_thousands(subject: Subject, n: int) -> Iterator[Finding]:
    """The distribution of released words on a line of thousands, where the mechanism adds noise."""
    if isinstance(subject.configuration.mechanism, AddsNoise):
        places = _line_or_cloud(subject, WORDS, n)
        # What is released is in the middle; the rest must be there, and hardly ever comes out.
        rest = 11 + np.arange(WORDS - _MIDDLE) / 100
        places[_MIDDLE:, 0] = np.sign(places[_MIDDLE:, 0]) * rest * subject.spread(n)
        vocabulary, order = _shuffled(subject, places, places[2])
        setting = f"{WORDS:,} words on a line, n = {n}"
        yield from _audit_counts(subject, vocabulary, order[:2], setting)


def audit_cluster(subject: Subject, n: int) -> Iterator[Finding]:
    """The distribution of released words in a dense cluster, thousands of others around it."""
    if not isinstance(subject.configuration.mechanism, AddsNoise):
        # Clusters and orders of all words take long to be made again by looking at all words.
        count = WORDS if subject.entry.by_place else WORDS // 4
        vocabulary, words = _cluster(subject, count, n)
        yield from _audit_counts(subject, vocabulary, words, f"{count:,} words, n = {n}")


def audit_shared_vectors(subject: Subject, n: int) -> Iterator[Finding]:
    """The distribution of released words where half of 300 share two vectors."""
    places = _line_or_cloud(subject, 300, n)
    places[2:100], places[100:150] = places[0], places[1]
    unknown = places[1].copy()
    unknown[0] += 0.4 * subject.spread(n)
    vocabulary, order = _shuffled(subject, places, unknown)
    setting = f"150 of 300 words at two places, n = {n}"
    yield from _audit_counts(subject, vocabulary, order[[0, 1, 250]], setting)


def audit_long_vectors(subject: Subject, n: int) -> Iterator[Finding]:
    """The distribution of released words whose vectors are long and close together.

    A last coordinate, large and equal for all, changes no distance.
    """
    mechanism = subject.configuration.mechanism
    if getattr(mechanism, "clip", None) is not None or subject.configuration.resampling:
        return  # all would be one point; ranks are the same as of short vectors
    if isinstance(mechanism, AddsNoise):
        short, order = _shuffled(subject, _line_or_cloud(subject, 300, n), np.zeros(n))
        words = order[:2]
    else:
        # With distances in float64 only, an order of many words is long in coming.
        count = 2 * WORDS if subject.entry.by_place else WORDS // 10
        short, words = _cluster(subject, count, n)
    every = short.vectors_of(np.append(np.arange(len(short)), UNKNOWN))
    places = np.concatenate([every, np.full((len(every), 1), _LENGTH)], axis=1)
    vocabulary = words_at(places[:-1], places[-1])
    setting = f"{len(short):,} words of length {_LENGTH:g}, n = {n + 1}"
    yield from _audit_counts(subject, vocabulary, words, setting)


def _cluster(subject: Subject, count: int, n: int) -> tuple[Vocabulary, Ids]:
    """Words in a dense cluster, one far off, the others around; and the ids of some of each."""
    places = subject.normals(count * n).reshape(count, n)
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    radii = _REMOTE + np.abs(subject.normals(count)) / 20
    radii[:_CLUSTERED] = np.linspace(0, 0.02, _CLUSTERED)
    radii[_CLUSTERED] = _FAR_OFF
    places *= radii[:, None] * subject.spread(n)
    vocabulary, order = _shuffled(subject, places, places[1])
    return vocabulary, order[[0, _CLUSTERED - 1, _CLUSTERED, _CLUSTERED + 1]]


def _line_or_cloud(subject: Subject, count: int, n: int) -> Floats:
    """Places of words a few deviations of the noise apart, [count, n].

    On a line where the mechanism adds noise, as the distribution is known there; around the origin
    for others.
    """
    spread = subject.spread(n)
    if not isinstance(subject.configuration.mechanism, AddsNoise):
        return subject.normals(count * n).reshape(count, n) * (spread / 2)
    places = np.zeros((count, n))
    places[:, 0] = subject.normals(count) * (1.5 * spread)
    return places


def _shuffled(subject: Subject, places: Floats, unknown: Floats) -> tuple[Vocabulary, Ids]:
    """Words at these places in random order, so that every tile holds some of each kind.

    The vocabulary, and the id of the word at each place, int64 [N].
    """
    order = np.argsort(subject.normals(len(places)))
    shuffled = np.empty_like(places)
    shuffled[order] = places
    vocabulary = words_at(shuffled, unknown)
    if subject.configuration.resampling is not None:
        search = NeighborSearch(vocabulary)
        table, radii = search.neighbor_table(np.arange(len(vocabulary)), _TABLE)
        vocabulary = dataclasses.replace(vocabulary, neighbor_ids=table, close_radius=radii)
    return vocabulary, order


def _audit_counts(
    subject: Subject, vocabulary: Vocabulary, words: Ids, setting: str
) -> Iterator[Finding]:
    """Counts of released words, for some originals and the unknown word, against the exact ones."""
    words = np.append(words, UNKNOWN)
    expected, places = subject.expected(vocabulary, words), vocabulary.vectors_of(words)
    if expected is None:
        return
    distributions = expected.distributions
    released = subject.release(vocabulary, np.tile(words, subject.size.outputs))
    released = released.reshape(-1, len(words)).T
    if ((released < 0) | (released >= len(vocabulary))).any():
        outcome = evidence.never(int(((released < 0) | (released >= len(vocabulary))).sum()))
        yield Finding.of("large vocabulary: no word of the vocabulary", setting, outcome)
        return
    for row, word in enumerate(words):
        name = "the unknown word" if word == UNKNOWN else f"word {row}"
        for kind, cells in _cells(vocabulary, int(word), places[row], distributions[row]):
            counts = np.bincount(cells[released[row]], minlength=cells.max() + 1)
            distribution = np.asarray(np.bincount(cells, distributions[row]), np.float64)
            outcome = evidence.counts_of_distribution(counts, distribution, expected.error(WORDS))
            yield Finding.of(
                f"large vocabulary: distribution for {name}, by {kind}", setting, outcome
            )


def _cells(
    vocabulary: Vocabulary, word: int, place: Floats, distribution: Floats
) -> Iterator[tuple[str, Ids]]:
    """The cell in which each word is counted, int64 [N]: by distance, and by tile.

    The word itself has a separate cell.
    """
    order = np.argsort(np.linalg.norm(vocabulary.vectors - place, axis=1), kind="stable")
    nearer = np.empty(len(order))
    nearer[order] = np.cumsum(distribution[order])
    tiles = np.arange(len(order)) // _TILE
    for kind, cells in (
        ("distance", np.minimum(nearer * _PARTS, _PARTS - 1).astype(np.int64)),
        ("tile", 2 * tiles + (nearer > 0.5)),
    ):
        cells += 1
        if word != UNKNOWN:
            cells[word] = 0
        yield kind, cells


def audit_searches(subject: Subject, n: int) -> Iterator[Finding]:
    """That each way of searching thousands of words finds the nearest one, or the nearest two."""
    mechanism, configuration = subject.configuration.mechanism, subject.configuration
    if not isinstance(mechanism, AddsNoise) or configuration.resampling is not None:
        return
    places = subject.normals(WORDS * n).reshape(WORDS, n) * (subject.spread(n) / np.sqrt(n))
    vocabulary = words_at(places, np.zeros(n))
    reference = subject.reference(vocabulary)
    if reference.centre is None:
        return
    ids = np.append(np.arange(_QUERIES - 1) * (WORDS // _QUERIES), UNKNOWN)
    key = subject.key()
    noisy = noisy_vectors(subject, vocabulary, reference, key, ids)
    squares = np.square(vocabulary.vectors, dtype=np.float64).sum(axis=1)
    scores = squares - 2 * noisy @ vocabulary.vectors.astype(np.float64).T
    scores += np.square(noisy).sum(axis=1, keepdims=True)
    furthest = np.partition(scores, 1, axis=1)[:, 0 if reference.second is None else 1]
    for name, search in searches(subject, vocabulary):
        released = subject.sanitizer(search).release([(key, 0, len(ids))], ids)
        chosen = scores[np.arange(len(ids)), released]
        wrong = int((chosen > furthest + 1e-9 * squares.max()).sum())
        setting = f"{WORDS:,} words, n = {n}, {name}"
        yield Finding.of(
            "search: words too far from the noisy vector", setting, evidence.never(wrong)
        )


def searches(subject: Subject, vocabulary: Vocabulary) -> Iterator[tuple[str, NeighborSearch]]:
    """Every way of this machine to find the word nearest to a vector."""
    for name in BACKENDS:
        search = subject.search(vocabulary, backend=name)
        with suppress(ConfigurationError):  # this processor gets such products wrong
            yield f"by {search.exact_backend.name}", search
    index = build_index(vocabulary, "Flat")
    yield "by an index", subject.search(dataclasses.replace(vocabulary, index=index))
