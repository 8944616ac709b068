"""Mechanisms and parameters whose exact losses are computed; see test_promised_losses.py."""

from __future__ import annotations

from typing import Any

from dxbeam.mechanisms.public.importance import FrequencyWeights, WordWeights

PARAMETERS: list[tuple[str, dict[str, Any]]] = [
    ("laplace", {}),
    ("mahalanobis", {"covariance_weight": 0.6}),
    ("vickrey", {"t": 0.5}),
    ("vickrey", {"t": 0.3, "noise_of": "gaussian", "delta": 0.01, "clip": 0.6}),
    ("custext", {"cluster_size": 2}),
    ("cluster_response", {"cluster_size": 2}),
    ("diffractor", {}),
    ("diffractor", {"orders": 3}),
    ("diffractor_tem", {"gamma": 2}),
    ("diffractor_tem", {"gamma": 2, "shape": "line"}),
    ("santext", {}),
    ("tem", {"beta": 0.4}),
    ("fluent", {"gamma": 0.7}),
    ("santext", {"importance": FrequencyWeights(3.0)}),
    ("tem", {"beta": 0.4, "importance": WordWeights({"w1": 2.0, "w3": 0.5})}),
    ("gaussian", {"delta": 0.01, "distance": 2.0}),
    ("gaussian", {"delta": 0.01, "distance": 9.0}),
    ("gaussian", {"delta": 0.4, "distance": 9.0}),
    ("gaussian", {"delta": 0.01, "clip": 0.6}),
    ("gaussian", {"delta": 0.4, "clip": 0.6}),
    ("coordinate_laplace", {}),
    ("coordinate_laplace", {"clip": 0.6}),
    ("trlaplace", {"delta": 0.01, "clip": 0.6}),
    ("santext_plus", {"p": 0.3, "sensitive": 0.5}),
    ("santext_plus", {"p": 1.0, "sensitive": 0.5}),
    ("santext_plus", {"p": 0.3, "sensitive": 1.0}),
    ("trlaplace_published", {"epsilon": 0.3, "delta": 0.4, "clip": 1.0}),
    ("truncated_gumbel", {}),
    ("custext_published", {"k": 2}),
    ("tem_published", {"beta": 0.4}),
    ("mahalanobis_published", {}),
    ("scaled_noise_published", {"frequent": 0.5}),
]
"""Every mechanism, some with parameters at which limits, caps and slacks are reached."""
