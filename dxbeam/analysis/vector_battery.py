"""The reachability attack as a test: no released vector may rule out any word.

It needs no sample and raises no false alarm: a word that could not have led to what was released
is ruled out for certain, whatever its probability was.
"""

from __future__ import annotations

import numpy as np

from dxbeam.analysis import evidence
from dxbeam.analysis.attacks import Release, add_on_grid, words_left
from dxbeam.analysis.audit_subject import Finding, Subject
from dxbeam.projections import make_projection
from dxbeam.sensitivity import spectral
from dxbeam.vector_release import VectorConfiguration

NAME = "released_vectors"
"""How vector releases are called beside mechanisms."""

_WORDS, _LENGTH, _TARGETS = 2000, 6.6, 20


def public_grid(epsilon: float, n: int) -> tuple[Release, float]:
    """What pipelines.release_vectors does without a projection, and the scale of its noise."""
    projection = make_projection("none", n)
    settings = VectorConfiguration("word", epsilon, projection, spectral(projection))
    return add_on_grid(settings.step), settings.scale


def audit_vectors(
    subject: Subject,
    n: int,
    epsilon: float,
    release: Release | None = None,
    dtype: type[np.floating] = np.float64,
) -> Finding:
    """Releases words and counts those that each release rules out.

    Args:
      subject: gives sizes and random numbers.
      n: dimensions.
      epsilon: per unit of distance.
      release: how a word's vector and noise become what is released; the public grid by default.
      dtype: of vectors and noise.
    """
    on_grid, scale = public_grid(epsilon, n)
    words = subject.normals(_WORDS * n).reshape(_WORDS, n) * (_LENGTH / np.sqrt(n))
    targets = np.arange(_TARGETS) * (_WORDS // _TARGETS)
    left = words_left(
        words.astype(np.float32).astype(np.float64),
        1 / scale,
        dtype,
        release or on_grid,
        targets,
        subject.key(),
    )
    found = evidence.never(int((_WORDS - left).sum()))
    setting = f"{_WORDS:,} words, n = {n}, epsilon = {epsilon:g}"
    return Finding.of("vectors: words ruled out", setting, found)._replace(
        says=f"of {_WORDS:,} words {np.median(left):,.0f} are left (median), {left.min():,} or more"
    )
