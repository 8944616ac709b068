"""Tests of noise vectors against their distribution, in few and in many dimensions.

The reference distribution turns the noise into standard normal numbers G, independent within a
vector and between vectors, if it is right. Then G's length is chi(n), (1 + cos)/2 of its angle to
any direction that does not depend on it is Beta((n-1)/2, (n-1)/2), and all else is uncorrelated.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special

from dxbeam.audit import evidence
from dxbeam.audit.evidence import Evidence, Floats
from dxbeam.audit.subject import Finding, Subject, words_at
from dxbeam.mechanisms import AddsNoise
from dxbeam.randomness import draws_a_word, fill
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary

LAGS = (1, 2, 3, 4, 8, 16, 31, 32, 64, 128, 256, 512, 1024, 2048, 4096)
"""Words apart, at which noises are compared; 32 rows are a block of the sampler."""

_ROWS_PER_BLOCK = 8192
_FLOAT32_SHARE = 2.0**-26
"""Above the share of float64 numbers that happen to be float32 numbers, 2^-29."""


def noise_vocabulary(subject: Subject, n: int) -> Vocabulary:
    """Words around the origin, not alike in all directions; for noise that depends on them."""
    words = max(64, 2 * n)
    vectors = subject.normals(words * n).reshape(words, n)
    vectors *= subject.spread(n) * np.linspace(0.5, 1.5, n)
    return words_at(vectors, vectors.mean(axis=0))


def draw_noise(subject: Subject, vocabulary: Vocabulary) -> Floats:
    """As many noise vectors as the audit looks at, float64 [B, n]."""
    mechanism, n = subject.configuration.mechanism, vocabulary.dimensions
    assert isinstance(mechanism, AddsNoise)
    rows = subject.size.noises if n <= 3 else subject.size.long_noises
    search, key = NeighborSearch(vocabulary), subject.key()
    noise = np.empty((rows, n))
    needed = mechanism.draws(n)
    for start in range(0, rows, _ROWS_PER_BLOCK):
        random = np.empty((min(_ROWS_PER_BLOCK, rows - start), draws_a_word(needed)), np.uint64)
        fill(key, start, random)
        drawn = mechanism.noise(random[:, :needed], search)
        noise[start : start + len(random)] = drawn
    return noise


def audit_noise(subject: Subject, n: int) -> Iterator[Finding]:
    """Draws noise in n dimensions and tests its distribution."""
    vocabulary, setting = noise_vocabulary(subject, n), f"n = {n}"
    noise = draw_noise(subject, vocabulary)
    for test, outcome in _of_floats(noise):
        yield Finding.of(f"noise: {test}", setting, outcome)
    normal = subject.reference(vocabulary).normal
    if normal is None:
        return
    standard = normal(noise)
    del noise
    for test, outcome in _of_distribution(subject, standard):
        yield Finding.of(f"noise: {test}", setting, outcome)


def _of_floats(noise: Floats) -> Iterator[tuple[str, Evidence]]:
    """Nothing is zero, repeats or is on the lattice of a shorter float."""
    yield (
        "vectors that are zero or not finite",
        evidence.never(int((~np.isfinite(noise).all(axis=1) | ~noise.any(axis=1)).sum())),
    )
    # Of B float64 numbers, B^2 / 2^52 pairs are equal at most; 1e-5 for 100,000.
    yield "first coordinates that repeat", evidence.rare(_repeats(noise[:, 0]), 1e-4)
    with np.errstate(invalid="ignore", over="ignore"):
        short = int((noise.astype(np.float32) == noise).sum())
    yield "coordinates that are float32 numbers", evidence.rare(short, noise.size * _FLOAT32_SHARE)


def _repeats(values: Floats) -> int:
    ordered = np.sort(values)
    return int((ordered[1:] == ordered[:-1]).sum())


def _of_distribution(subject: Subject, standard: Floats) -> Iterator[tuple[str, Evidence]]:
    rows, n = standard.shape
    lengths = np.linalg.norm(standard, axis=1)
    yield "length", evidence.uniform(special.gammainc(n / 2, lengths**2 / 2))
    if not np.isfinite(standard).all() or not lengths.all():
        yield "direction", Evidence(np.nan, 0.0)
        return
    unit = standard / lengths[:, None]
    random = subject.normals(n)
    random /= np.linalg.norm(random)
    yield "angle to the first axis", _direction(unit[:, 0], n)
    yield "angle to a random direction", _direction(unit @ random, n)
    yield "angle between successive noises", _direction((unit[1:] * unit[:-1]).sum(axis=1), n)
    if n > 1:
        # In the plane of two coordinates the angle is uniform; of B^2/2 pairs at most 1e-12 agree.
        angle = np.arctan2(unit[:, -1], unit[:, 0]) / (2 * np.pi) + 0.5
        yield "angle between two coordinates", evidence.uniform(angle)
        same = _repeats(np.round(angle, 12))
        yield "directions that repeat", evidence.rare(same, rows**2 / 2 * 1e-12)
        yield "length and direction", evidence.rank_correlation(lengths, np.abs(unit[:, 0]))
    yield "sign", evidence.fair_coin(int((standard > 0).sum()), standard.size)
    del unit
    yield from _correlations(standard, lengths)


def _direction(cosines: Floats, n: int) -> Evidence:
    if n == 1:
        return evidence.fair_coin(int((cosines > 0).sum()), len(cosines))
    half = (n - 1) / 2
    return evidence.uniform(special.betainc(half, half, np.clip((1 + cosines) / 2, 0, 1)))


def _correlations(standard: Floats, lengths: Floats) -> Iterator[tuple[str, Evidence]]:
    """Between coordinates, words and lengths, of uniform numbers: bounded, so sums are normal."""
    rows, n = standard.shape
    length = _centered(special.gammainc(n / 2, lengths**2 / 2))
    value = _centered(special.ndtr(standard))
    root = np.sqrt(rows)
    yield "means of coordinates", evidence.standard_normal(value.sum(axis=0) / root)
    for name, part in (
        ("values", value),
        ("sizes", _centered(2 * special.ndtr(np.abs(standard)) - 1)),
    ):
        if n > 1:
            products = (part.T @ part)[np.triu_indices(n, 1)] / root
            yield f"correlation of coordinates' {name}", evidence.standard_normal(products)
        apart = [np.vdot(part[lag:], part[:-lag]) / np.sqrt(part[lag:].size) for lag in LAGS]
        yield f"correlation of {name}, words apart", evidence.standard_normal(apart)
    apart = [np.vdot(length[lag:], length[:-lag]) / np.sqrt(rows - lag) for lag in LAGS]
    yield "correlation of lengths, words apart", evidence.standard_normal(apart)
    if n > 1:
        yield "correlation of length and values", evidence.standard_normal(length @ value / root)


def _centered(probability: Floats) -> Floats:
    """Uniform numbers scaled to mean 0 and variance 1."""
    return np.asarray((probability - 0.5) * np.sqrt(12))
