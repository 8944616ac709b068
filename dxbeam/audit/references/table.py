"""What each mechanism should do: the table that the audit looks them up in.

A new mechanism needs an entry in REFERENCES. Without one the audit tests what it claims of
Euclidean distance, and knows no distribution to compare its output with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dxbeam.audit.references import choice as choice_references
from dxbeam.audit.references import cluster as cluster_references
from dxbeam.audit.references import noise as noise_references
from dxbeam.audit.references import order as order_references
from dxbeam.audit.references.distributions import Floats, Reference, distances_from, euclidean
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.configuration import Configuration


@dataclass(frozen=True)
class MechanismEntry:
    """What the audit knows of one mechanism.

    Attributes:
      reference: (mechanism, vocabulary) -> what it should do there.
      parameters: those with which ``--mechanism all`` audits it.
      spread: (mechanism, n) -> roughly the noise's standard deviation along a direction in R^n, in
        units of the embedding; the audit places words that far apart.
      by_place: whether words at one place, the unknown one included, are released alike; otherwise
        the unknown word is as the first word at its place.
      after: (mechanism, vocabulary) -> what is released after other words, for a mechanism that
        reads what it has released; None for others.
    """

    reference: Callable[[Any, Vocabulary], Reference]
    parameters: Mapping[str, float | str] = field(default_factory=lambda: {"epsilon": 10.0})
    spread: Callable[[Any, int], float] = lambda mechanism, n: math.sqrt(n + 1) / mechanism.epsilon
    by_place: bool = True
    after: Callable[[Any, Vocabulary], choice_references.NextWord] | None = None


def _euclidean_claim(mechanism: Any, _: Vocabulary) -> Reference:
    """For a mechanism without an entry: what it claims of Euclidean distance, and nothing else."""
    claim = mechanism.guarantee()
    epsilon = math.inf if claim.euclidean_epsilon is None else claim.euclidean_epsilon
    longest = math.inf if claim.longest is None else claim.longest
    return Reference(
        lambda x, y: epsilon * euclidean(x, y) if euclidean(x, y) <= longest else math.inf,
        claim.delta,
    )


def _of_coordinates(mechanism: Any, n: int) -> float:
    """Standard deviation of Laplace noise of rate epsilon / sqrt(n)."""
    return math.sqrt(2 * n) / float(mechanism.epsilon)


def _of_distances(mechanism: Any, _: int) -> float:
    """Where words are drawn by distance: that over which probabilities fall by a factor of e^2."""
    return float(4 / mechanism.epsilon)


_PUBLISHED = {"epsilon": 0.3, "delta": 0.4, "clip": 1.0}  # defined in every dimension

_SMALL = {"epsilon": 3.0, "cluster_size": 2}  # several clusters of a few words

REFERENCES: dict[str, MechanismEntry] = {
    "laplace": MechanismEntry(noise_references.laplace),
    "mahalanobis": MechanismEntry(
        noise_references.mahalanobis,
        spread=lambda mechanism, n: (
            math.sqrt((n + 1) * (1 - mechanism.covariance_weight + mechanism.covariance_weight * n))
            / mechanism.epsilon
        ),
    ),
    "vickrey": MechanismEntry(noise_references.vickrey),
    "gaussian": MechanismEntry(
        noise_references.gaussian, spread=lambda mechanism, _: 2.5 / math.sqrt(mechanism.epsilon)
    ),
    "coordinate_laplace": MechanismEntry(
        noise_references.coordinate_laplace, spread=_of_coordinates
    ),
    "trlaplace": MechanismEntry(noise_references.trlaplace, spread=_of_coordinates),
    "trlaplace_published": MechanismEntry(
        noise_references.trlaplace_published, _PUBLISHED, lambda *_: 0.6
    ),
    "santext": MechanismEntry(choice_references.santext, spread=_of_distances),
    "santext_plus": MechanismEntry(
        choice_references.santext_plus,
        {"epsilon": 10.0, "p": 0.3, "sensitive": 0.6},
        spread=_of_distances,
    ),
    "tem": MechanismEntry(
        choice_references.tem, {"epsilon": 10.0, "beta": 0.2}, spread=_of_distances
    ),
    "fluent": MechanismEntry(
        choice_references.fluent,
        {"epsilon": 10.0, "gamma": 0.8},
        spread=_of_distances,
        after=choice_references.fluent_after,
    ),
    "custext": MechanismEntry(cluster_references.custext, _SMALL, by_place=False),
    "cluster_response": MechanismEntry(cluster_references.cluster_response, _SMALL, by_place=False),
    "diffractor": MechanismEntry(
        order_references.diffractor, {"epsilon": 1.0, "orders": 2}, by_place=False
    ),
    "diffractor_tem": MechanismEntry(
        order_references.diffractor_tem, {"epsilon": 1.0, "gamma": 3}, by_place=False
    ),
    "custext_published": MechanismEntry(
        cluster_references.custext_published, {"epsilon": 3.0, "k": 3}
    ),
    "tem_published": MechanismEntry(
        choice_references.tem_published, {"epsilon": 10.0, "beta": 0.2}, spread=_of_distances
    ),
    "mahalanobis_published": MechanismEntry(
        noise_references.mahalanobis_published,
        spread=lambda mechanism, n: (
            (n + 1) / mechanism.epsilon if n > 1 else math.sqrt(2) / mechanism.epsilon
        ),
    ),
    "scaled_noise_published": MechanismEntry(
        noise_references.scaled_noise_published,
        {"epsilon": 10.0, "ratio": 2.0, "frequent": 0.4},
    ),
    "truncated_gumbel": MechanismEntry(choice_references.truncated_gumbel, spread=_of_distances),
}
"""What mechanisms should do, by name."""

UNLISTED = MechanismEntry(_euclidean_claim)
"""What is assumed of a mechanism without an entry."""


def after_resampling(
    configuration: Configuration, vocabulary: Vocabulary, distributions: Floats
) -> tuple[Floats, float]:
    """What rank resampling makes of distributions [k, N], by enumeration of all ranks.

    float64 [k, N], and a probability that the result may be too small by: words that hardly ever
    come out are left out.
    """
    if configuration.resampling is None:
        return distributions, 0.0
    words = len(vocabulary)
    weights = np.exp(
        -configuration.mechanism.epsilon * configuration.resampling.c * np.arange(words)
    )
    weights /= weights.sum()
    result, frequent = (
        np.zeros_like(distributions),
        np.flatnonzero(distributions.max(axis=0) > 1e-12),
    )
    for word in frequent:
        gaps = distances_from(vocabulary.vectors[word].astype(np.float64), vocabulary)
        gaps[word] = -1.0
        result[:, np.argsort(gaps, kind="stable")] += distributions[:, word : word + 1] * weights
    return result, (words - len(frequent)) * 1e-12
