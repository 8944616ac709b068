"""Tests of released words: exact distribution, claimed loss, twins, independence of batches."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from dxbeam.audit import evidence
from dxbeam.audit.batteries.compared import audit_loss, every_word, name_of, ordered_pairs
from dxbeam.audit.evidence import Counts, Evidence, Floats
from dxbeam.audit.references.distributions import Reference
from dxbeam.audit.subject import Finding, Subject, words_at
from dxbeam.mechanisms import AddsNoise
from dxbeam.randomness import draws_a_word, fill
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary

LINE = (-1.5, -0.5, 0.0, 0.25, 2.0)
"""Five words on a line, in standard deviations of the noise along it; unknown words are at 0.9."""

PLANE = (
    (0.0, 0.0), (0.1, 0.0), (0.4, 0.2), (-0.9, 0.5), (2.0, -1.0), (-3.0, -4.0), (9.0, 5.0),
    (-12.0, 15.0),
)  # fmt: skip
"""Words at all distances from a tenth to 30 units of 1/epsilon; unknown words are at (1, 1)."""

_TWINS = (7, 6, UNKNOWN)
"""The last two of eight words and the unknown word, at one place."""


def line(subject: Subject, n: int) -> Vocabulary:
    """The words of LINE along the first axis of R^n."""
    places = np.zeros((len(LINE), n))
    places[:, 0] = np.array(LINE) * subject.spread(n)
    unknown = np.zeros(n)
    unknown[0] = 0.9 * subject.spread(n)
    return words_at(places, unknown)


def plane(subject: Subject) -> Vocabulary:
    """The words of PLANE."""
    unit = 1 / subject.configuration.mechanism.epsilon
    return words_at(np.array(PLANE) * unit, np.array([1.0, 1.0]) * unit)


def count_outputs(subject: Subject, vocabulary: Vocabulary) -> tuple[Ids, Counts, Counts]:
    """Releases every word many times.

    The words, int64 [k], the unknown one last; and int64 [k, N] twice: how often each released word
    was seen in the first and in the second half of the samples.
    """
    words = every_word(vocabulary)
    half = subject.size.outputs // 2
    ids = np.tile(words, 2 * half)  # in turn, so that what a batch does to its rows is seen
    released = subject.release(vocabulary, ids)
    cells = np.where(np.arange(len(ids)) < len(words) * half, 0, len(words)) + np.tile(
        np.arange(len(words)), 2 * half
    )
    outside = int(((released < 0) | (released >= len(vocabulary))).sum())
    if outside:
        raise NotAWordError(outside)
    counts = np.bincount(
        cells * len(vocabulary) + released, minlength=2 * len(words) * len(vocabulary)
    )
    first, second = counts.reshape(2, len(words), len(vocabulary))
    return words, first, second


class NotAWordError(Exception):
    """Something was released that is no word of the vocabulary; ``args[0]`` says how often."""


def audit_line(subject: Subject, n: int) -> Iterator[Finding]:
    """The distribution of released words on a line in R^n, and the loss between them."""
    vocabulary = line(subject, n)
    yield from _audit_outputs(subject, vocabulary, f"five words on a line, n = {n}")


def audit_plane(subject: Subject, _n: int) -> Iterator[Finding]:
    """The loss between words at all distances."""
    yield from _audit_outputs(subject, plane(subject), "eight words in the plane, n = 2")


def _audit_outputs(subject: Subject, vocabulary: Vocabulary, setting: str) -> Iterator[Finding]:
    try:
        words, first, second = count_outputs(subject, vocabulary)
    except NotAWordError as error:
        yield Finding.of(
            "released: no word of the vocabulary", setting, evidence.never(*error.args)
        )
        return
    reference, places = subject.reference(vocabulary), vocabulary.vectors_of(words)
    if (expected := subject.expected(vocabulary, words)) is not None:
        for row, word in enumerate(words):
            outcome = evidence.counts_of_distribution(
                first[row] + second[row], expected.distributions[row], expected.error()
            )
            yield Finding.of(f"released: distribution for {name_of(int(word))}", setting, outcome)
    pairs = [
        pair._replace(apart=reference.apart(places[pair.first], places[pair.second]) or np.nan)
        for pair in ordered_pairs(
            [str(word) for word in words], lambda i, j: reference.loss(places[i], places[j])
        )
    ]
    pairs = [pair._replace(says=f"words {pair.says}") for pair in pairs]
    test = "released: loss beyond the claim, nats"
    yield audit_loss(subject, test, setting, pairs, first, second, reference.delta)


def audit_twins(subject: Subject, n: int) -> Iterator[Finding]:
    """Words at one place: nothing that is released may depend on which of them it was.

    A mechanism that adds noise must, with the same random numbers, release the same word: what is
    released given the noisy vector does not depend on the original. For others the distributions
    are equal; under public weights, of which each word has its own, they are the exact ones.
    """
    setting = f"three words at one place, n = {n}"
    # A few standard deviations of the noise apart in any dimension, so that other words come out.
    places = subject.normals(8 * n).reshape(8, n) * (subject.spread(n) / np.sqrt(n))
    places[_TWINS[0]] = places[_TWINS[1]]
    vocabulary = words_at(places, places[_TWINS[0]])
    count, coupled = subject.size.outputs, isinstance(subject.configuration.mechanism, AddsNoise)
    sanitizer, key = subject.sanitizer(vocabulary), subject.key()
    released = {}
    twins = _TWINS if subject.entry.by_place else _TWINS[1:]
    for twin in twins:
        run = key if coupled else subject.key()
        ids = np.full(count, twin)
        released[twin] = sanitizer.release([(run, 0, count)], ids, **subject.by_themselves(count))
        outside = int(((released[twin] < 0) | (released[twin] >= len(vocabulary))).sum())
        test = f"twins: no word released for {name_of(twin)}"
        yield _claim(subject, test, setting, evidence.never(outside))
    expected = subject.expected(vocabulary, np.array(twins)) if subject.weighs_words else None
    if expected is not None:
        for row, twin in enumerate(twins):
            counts = np.bincount(np.maximum(released[twin], 0), minlength=8)
            outcome = evidence.counts_of_distribution(
                counts, expected.distributions[row], expected.error()
            )
            yield _claim(subject, f"twins: distribution for {name_of(twin)}", setting, outcome)
        return
    for twin in twins[1:]:
        if coupled:
            outcome = evidence.never(int((released[twin] != released[twins[0]]).sum()))
        else:
            # Which of two words at one place is released may be a matter of ids: count them as one.
            merged = [
                np.where(released[t] == _TWINS[0], _TWINS[1], np.maximum(released[t], 0))
                for t in (twins[0], twin)
            ]
            outcome = evidence.same_distribution(*(np.bincount(ids, minlength=8) for ids in merged))
        test = f"twins: {name_of(twin)} against {name_of(twins[0])}"
        yield _claim(subject, test, setting, outcome)


def _claim(subject: Subject, test: str, setting: str, outcome: Evidence) -> Finding:
    return Finding.of(test, setting, outcome)._replace(part_of_claim=subject.sound)


def audit_batches(subject: Subject, n: int) -> Iterator[Finding]:
    """What is released for a word depends on its own random numbers, not on those next to it."""
    setting = f"200 words, n = {n}"
    places = subject.normals(200 * n).reshape(200, n) * (subject.spread(n) / np.sqrt(n))
    vocabulary = words_at(places, np.zeros(n))
    count = subject.size.words
    ids = np.argsort(subject.normals(count)) % 201 - 1
    sanitizer, key = subject.sanitizer(vocabulary), subject.key()
    every = subject.by_themselves(count)
    whole = sanitizer.release([(key, 0, count)], ids, **every)
    again = sanitizer.release([(key, 0, count)], ids, **every)
    borders = [0, 1, 2, 3, 10, 42, 100, 228, 700, 1300, count]
    parts = [
        sanitizer.release(
            [(key, start, stop - start)], ids[start:stop], **subject.by_themselves(stop - start)
        )
        for start, stop in itertools.pairwise(borders)
    ]
    order = np.argsort(subject.normals(count))
    shuffled = sanitizer.release([(key, int(row), 1) for row in order], ids[order], **every)
    for test, other, same in (
        ("again", again, whole),
        ("in batches of other sizes", np.concatenate(parts), whole),
        ("in another order", shuffled, whole[order]),
    ):
        different = evidence.never(int((other != same).sum()))
        yield Finding.of(f"the same words {test}", setting, different)
    reference = subject.reference(vocabulary)
    if reference.centre is not None and subject.configuration.resampling is None:
        for test, outcome in _given_the_noise(subject, vocabulary, reference, key, ids, whole):
            yield Finding.of(test, setting, outcome)


def _given_the_noise(
    subject: Subject,
    vocabulary: Vocabulary,
    reference: Reference,
    key: bytes,
    ids: Ids,
    released: Ids,
) -> Iterator[tuple[str, Evidence]]:
    """That the noise which other tests look at is the one by which words are released."""
    noisy = noisy_vectors(subject, vocabulary, reference, key, ids)
    apart = np.array([np.linalg.norm(noisy - word, axis=1) for word in vocabulary.vectors])
    chosen = apart[released, np.arange(len(ids))]
    near, far = np.partition(apart, 1, axis=0)[:2]
    furthest = near if reference.second is None else far
    wrong = int((chosen > furthest * (1 + 1e-9)).sum())  # ties of float64 are no error
    yield "words too far from the noisy vector", evidence.never(wrong)
    if reference.second is not None:
        takes_second, shares = chosen > (near + far) / 2, reference.second(near, far)
        unchanged = ids == apart.argmin(axis=0)
        for name, these in (("the original is", unchanged), ("another word is", ~unchanged)):
            outcome = evidence.coins(takes_second[these], shares[these])
            yield f"the second nearest word, where {name} the nearest", outcome


def noisy_vectors(
    subject: Subject, vocabulary: Vocabulary, reference: Reference, key: bytes, ids: Ids
) -> Floats:
    """The vectors to which the released words are nearest, by the noise that other tests look at.

    float64 [B, n], of words, int64 [B], of the document of this key, from the first on.
    """
    mechanism, centre = subject.configuration.mechanism, reference.centre
    assert isinstance(mechanism, AddsNoise)
    assert centre is not None
    needed = mechanism.draws(vocabulary.dimensions)
    random = np.empty((len(ids), draws_a_word(needed)), np.uint64)
    fill(key, 0, random)
    noisy = mechanism.noise(random[:, :needed], NeighborSearch(vocabulary))
    words, rows = np.unique(ids, return_inverse=True)
    centres = np.array([centre(place) for place in vocabulary.vectors_of(words)])
    return np.asarray(noisy + centres[rows])
