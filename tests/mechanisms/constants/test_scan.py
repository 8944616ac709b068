"""A scan against the losses of all pairs over all outputs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.constants.exponents import Exponents
from dxbeam.mechanisms.constants.near_pairs import difference
from dxbeam.mechanisms.constants.scan import scan
from dxbeam.mechanisms.sampling.noise import Floats
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support import vocabularies
from tests.support.exact_losses import every_exponent, true_losses

TOYS = 300


def toy(random: np.random.Generator) -> Exponents:
    """Up to 8 words; some equal, some never released, some with weights, some with a cap."""
    words, n = random.integers(2, 9), random.integers(1, 4)
    vectors = random.normal(size=(words, n)).astype(np.float32)
    vectors *= np.float32(random.choice([0.01, 1.0, 5.0]))
    if random.random() < 0.4:
        vectors[-1] = vectors[0]
    if random.random() < 0.3:
        vectors[random.integers(words)] = vectors[0] + np.float32(1e-5)
    base = None
    if random.random() < 0.7:
        base = np.log(random.dirichlet(np.full(words, 0.5)) + 1e-12)
        if random.random() < 0.6:
            base[random.permutation(words)[: random.integers(1, words)]] = -np.inf
    weights = random.random(words) * 3 if random.random() < 0.3 else None
    unknown = None if random.random() < 0.5 else random.normal(size=n).astype(np.float32)
    vocabulary = Vocabulary([f"w{i}" for i in range(words)], vectors, unknown_vector=unknown)
    cap = math.inf if random.random() < 0.6 else float(random.random() * 3)
    return Exponents.make(vocabulary, float(random.choice([0.3, 1.0, 4.0])), cap, base, weights)


@pytest.mark.parametrize("seed", range(TOYS))
def test_no_loss_exceeds_the_constant_and_some_pair_reaches_it(seed: int) -> None:
    exponents = toy(np.random.default_rng(seed))
    losses, h = true_losses(exponents)
    found = scan(exponents, threads=1)
    assert (losses <= 2 * found.constant * h * (1 + 1e-12) + 1e-12).all()
    apart = h > 0
    released = np.arange(len(h)) < exponents.outputs
    both = apart & released & released[:, None]
    largest = (losses[apart] / h[apart]).max(initial=0) / 2
    if found.constant > 0.5 + 1e-6 or both.any():
        assert found.constant <= max(largest, 0.5) + 1e-6
    assert found.reached <= max(largest, 0.5) + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cap", "with_base", "with_weights"), [(math.inf, True, False), (6.0, False, True)]
)
def test_a_scan_is_brute_force_over_1500_words(
    cap: float, with_base: bool, with_weights: bool
) -> None:
    demo = open_vocabulary("demo")
    vocabulary = Vocabulary(demo.words_of(np.arange(1500)), np.array(demo.vectors[:1500]))
    ranks = np.arange(1, 1501)
    exponents = Exponents.make(
        vocabulary,
        1.0,
        cap,
        -np.log(ranks) if with_base else None,
        10 * (1 - np.log(ranks) / np.log(1500)) if with_weights else None,
    )
    vectors = exponents.vectors(slice(0, 1501))
    logs, h = np.empty(1501), np.empty((1501, 1501))
    for i, vector in enumerate(vectors):  # the differences themselves, and no half
        apart = np.minimum(np.sqrt(np.square(vectors - vector).sum(axis=1)), cap)
        h[i] = apart + exponents.weights + exponents.weights[i]
        h[i, i] = 0.0
        logs[i] = np.logaddexp.reduce(exponents.log_base - h[i, :1500])
    np.fill_diagonal(h, np.inf)
    # The unknown word's sum is the smaller one nowhere here, so every pair reaches the formula.
    expected = (1 + (np.abs(logs[:, None] - logs) / h).max()) / 2
    assert logs[-1] > logs[:-1].min()
    assert scan(exponents).constant == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("name", "vectors"), vocabularies.adversarial())
def test_hard_vocabularies(name: str, vectors: Floats) -> None:
    """Equal, nearly equal, far, long: what is reached and what bounds it are one number."""
    vectors = vectors[:400]
    spread = np.square(vectors - vectors.mean(axis=0)).sum(axis=1).mean() ** 0.5 or 1.0
    exponents = Exponents.make(vocabularies.of(vectors), 2.0 / spread)
    h = every_exponent(exponents)
    logs = np.log(np.exp(-h[:, :400]).sum(axis=1))
    gaps = h.copy()  # the largest h(x', y) - h(x, y), x being the word with the smaller Z
    gaps[-1, :-1] = (h[:-1, :400] - h[-1, :400]).max(axis=1)
    losses = np.where(logs[:, None] <= logs, gaps + logs - logs[:, None], 0.0)
    excess = float((losses[h > 0] / h[h > 0]).max(initial=1.0) - 1)
    found = scan(exponents, threads=1)
    assert found.constant == pytest.approx((1 + excess) / 2, abs=1e-6), name
    assert found.constant >= (1 + excess) / 2 * (1 - 1e-13)


@pytest.mark.parametrize("step", [1e-7, 1e-5, 1e-3])
def test_near_words_lose_no_digits(step: float) -> None:
    """Two words so near that log Z says nothing of their difference."""
    random = np.random.default_rng(5)
    vectors = random.normal(size=(200, 3)).astype(np.float32)
    vectors[1] = vectors[0]
    vectors[1, 0] = np.nextafter(vectors[0, 0], np.float32(9)) if step == 1e-7 else (
        vectors[0, 0] + np.float32(step)
    )  # fmt: skip
    exponents = Exponents.make(Vocabulary([f"w{i}" for i in range(200)], vectors), 2.0)
    x, other, every = (vectors[i].astype(np.longdouble) for i in (0, 1, slice(None)))
    sums = [np.exp(-2 * np.sqrt(np.square(every - v).sum(axis=1))).sum() for v in (x, other)]
    change, gap, error = difference(exponents, 0, 1)
    apart = float(np.sqrt(np.square(x - other).sum()))
    assert float(np.log(sums[1] / sums[0])) == pytest.approx(change, abs=1e-10 * apart + 1e-17)
    assert gap == pytest.approx(2 * apart, rel=1e-12)
    assert error < 1e-9 * apart


def test_a_base_measure_beyond_float64_is_refused() -> None:
    vocabulary = Vocabulary(["a", "b"], np.eye(2, dtype=np.float32))
    with pytest.raises(ConfigurationError, match="spans a factor"):
        Exponents.make(vocabulary, 1.0, log_base=np.array([0.0, -800.0]))
    with pytest.raises(ConfigurationError, match="0 for every word"):
        Exponents.make(vocabulary, 1.0, log_base=np.full(2, -np.inf))
