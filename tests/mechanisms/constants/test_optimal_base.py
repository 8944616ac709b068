"""Blahut and Arimoto's base measure: optimal by its own conditions, and better than its prior."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.constants.exponents import Exponents
from dxbeam.mechanisms.constants.optimal_base import optimal_base
from dxbeam.mechanisms.sampling.noise import Floats
from dxbeam.text.public.base_file import read_base
from pipelines.build_base import build_base
from tests.support import tiny, vocabularies


def _objective(kernel: Floats, prior: Floats, shares: Floats) -> float:
    """I(X; Y) + E[h], from the joint distribution itself."""
    channel = shares * kernel / (kernel @ shares)[:, None]
    out = prior @ channel
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.where(channel > 0, channel * np.log(channel / out), 0.0)
    return float(prior @ (information - channel * np.log(kernel)).sum(axis=1))


def test_it_is_optimal_for_its_prior() -> None:
    vocabulary = vocabularies.random_vocabulary(60, 3)
    exponents = Exponents.make(vocabulary, 0.6)
    prior = 1 / np.arange(1.0, 61)
    prior /= prior.sum()
    found = optimal_base(exponents, prior, iterations=3000, gap=1e-5, threads=1)
    apart = np.linalg.norm(vocabulary.vectors[:, None] - vocabulary.vectors[None], axis=-1)
    kernel = np.exp(-0.6 * apart.astype(np.float64))
    c = (prior / (kernel @ found.shares)) @ kernel
    assert found.gap <= 1e-5
    assert c.max() < 1 + 1e-4
    assert c[found.shares > 1e-3] == pytest.approx(1, abs=1e-3)
    least = _objective(kernel, prior, found.shares)
    random = np.random.default_rng(0)
    for other in [prior, np.full(60, 1 / 60), *random.dirichlet(np.full(60, 0.3), 20)]:
        assert _objective(kernel, prior, other) >= least - 1e-5


def test_time_and_iterations_are_bounded() -> None:
    exponents = Exponents.make(vocabularies.random_vocabulary(20, 3), 1.0)
    assert optimal_base(exponents, np.ones(20), iterations=3, gap=0.0).iterations == 3
    assert optimal_base(exponents, np.ones(20), seconds=0.0).iterations == 0
    with pytest.raises(ConfigurationError, match="above 0 for every word"):
        optimal_base(exponents, np.zeros(20))


def test_the_command_writes_what_a_release_reads(tmp_path: Path) -> None:
    place = tiny.write_artifact(tmp_path / "voc", tiny.vocabulary(60, 4))
    plain, best = str(tmp_path / "plain.parquet"), str(tmp_path / "best.parquet")
    assert build_base([f"--vocabulary={place}", f"--output={plain}"]) == 0
    flags = [f"--vocabulary={place}", "--optimal", "--iterations=4"]
    assert build_base([*flags, "--epsilon=2", f"--output={best}"]) == 0
    read = [read_base(path) for path in (plain, best)]
    assert read[0] != read[1]
    assert json.dumps(read[1].as_dict())
    for wrong, message in (
        ([*flags, f"--output={tmp_path}/x.parquet"], "--epsilon is needed"),
        ([*flags, "--epsilon=2", "--output=x.tsv"], "must end in .parquet"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            build_base(wrong)
