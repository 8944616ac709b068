"""The theory against high-precision values, against its own second forms, and against samples."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks import noisy_dot_product as paper
from dxbeam.analysis.theory import noisy_dot_product as theory
from dxbeam.mechanisms.sampling.noise import laplace, laplace_draws
from tests.support.distributions import ALPHA, random_numbers

OWN_VALUES = [  # n, x, F_Z(x), P(Z > x) at epsilon = 1
    (2, 0.25, 0.5776299566031433782753, 0.42237004339685662172),
    (7, 3, 0.8677530996478614014611, 0.13224690035213859854),
    (24, 10, 0.9762122723380296563545, 0.023787727661970343645),
    (50, 0.5, 0.5283262802529813747625, 0.47167371974701862524),
    (50, 60, 0.9999999999994730469716, 5.269530284052208436e-13),
    (300, 12.5, 0.7648447537580750303591, 0.23515524624192496964),
    (300, 100, 0.9999999912384685257509, 8.7615314742491023791e-9),
    (1000, 40, 0.8970143047217893166479, 0.10298569527821068335),
]
"""By mpmath at 60 to 250 digits: the Bessel-Struve form and the integral over R (Eq. 11) agree."""

DIMENSIONS = (1, 2, 3, 10, 25, 50, 100, 300, 1000)


@pytest.fixture(scope="module")
def reference(real_data: Path) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(
        (real_data / "reference" / "noisy_dot_product.json").read_text()
    )
    return values


@pytest.fixture(scope="module")
def reference_cdf(reference: dict[str, Any]) -> dict[tuple[int, float], np.ndarray]:
    """Columns z, F, S by (n, epsilon)."""
    rows = defaultdict(list)
    for key, value in reference["F_Z"].items():
        n, epsilon, z = (float(part.partition("=")[2]) for part in key.split(","))
        rows[int(n), epsilon].append((z, float(value["F"]), float(value["S"])))
    return {key: np.array(values).T for key, values in rows.items()}


@pytest.mark.parametrize(("n", "x", "below", "above"), OWN_VALUES)
def test_values_of_a_second_method(n: int, x: float, below: float, above: float) -> None:
    for epsilon in (1.0, 7.0):
        assert theory.cdf(x / epsilon, n, epsilon) == pytest.approx(below, abs=2e-15)
        assert theory.cdf(-x / epsilon, n, epsilon) == pytest.approx(above, abs=2e-15)
        assert theory.survival(x / epsilon, n, epsilon) == pytest.approx(above, rel=1e-13)
        assert theory.survival(-x / epsilon, n, epsilon) == pytest.approx(below, rel=1e-13)


def test_all_reference_values(reference_cdf: dict[tuple[int, float], np.ndarray]) -> None:
    assert sum(columns.shape[1] for columns in reference_cdf.values()) == 1200
    for (n, epsilon), (z, below, above) in reference_cdf.items():
        assert np.abs(theory.cdf(z, n, epsilon) - below).max() < 1e-14
        assert np.abs(theory.survival(z, n, epsilon) / above - 1).max() < 1e-13


def test_the_closed_form_where_float64_can_take_it(
    reference_cdf: dict[tuple[int, float], np.ndarray],
) -> None:
    found = 0
    for (n, epsilon), (z, below, _) in reference_cdf.items():
        closed = paper.cdf_closed_form(z, n, epsilon)
        finite = np.isfinite(closed)
        found += int(finite.sum())
        assert (np.abs(closed - below)[finite] < 1e-10).all()
    assert found > 900


def test_densities_of_the_reference(reference: dict[str, Any]) -> None:
    for key, value in reference["f_Z_eps1"].items():
        n, x = (float(part.partition("=")[2]) for part in key.split(","))
        assert paper.density(x, int(n), 1.0) == pytest.approx(float(value), rel=1e-6)
        closed = float(paper.density_closed_form(x, int(n), 1.0))
        assert np.isnan(closed) or closed == pytest.approx(float(value), rel=1e-12)
    for key, value in reference["f_B"].items():
        n, k = (float(part.partition("=")[2]) for part in key.split(","))
        assert paper.cosine_density(k, int(n)) == pytest.approx(float(value), rel=1e-11)
    for key, value in reference["F_K"].items():
        n, k = (float(part.partition("=")[2]) for part in key.split(","))
        assert 1 - paper.cosine_survival(k, int(n)) == pytest.approx(float(value), abs=1e-14)
    for key, value in reference["E_K_j"].items():
        n, j = (int(part.partition("=")[2]) for part in key.split(","))
        assert paper.cosine_moment(j, n) == pytest.approx(float(value), rel=1e-12)


@pytest.mark.parametrize("form", [theory.cdf, paper.cdf_closed_form])
def test_in_one_dimension_it_is_the_laplace_distribution(form: Callable[..., Any]) -> None:
    z = np.linspace(-3, 3, 61)
    tails = np.exp(-2 * np.abs(z)) / 2
    assert np.allclose(form(z, 1, 2.0), np.where(z > 0, 1 - tails, tails), rtol=0, atol=1e-13)
    assert np.allclose(paper.density(z, 1, 2.0), 2 * tails, rtol=1e-9)


@pytest.mark.parametrize("n", [3, 25, 100, 300])
def test_the_density_is_the_derivative_and_its_two_forms_agree(n: int) -> None:
    z = np.linspace(0.05, 3, 60) * np.sqrt(n + 1)
    step = 1e-4 * np.sqrt(n + 1)
    slope = (theory.cdf(z + step, n, 1.0) - theory.cdf(z - step, n, 1.0)) / (2 * step)
    assert np.allclose(slope, paper.density(z, n, 1.0), rtol=1e-6, atol=1e-9)
    closed = paper.density_closed_form(z, n, 1.0)
    assert np.isfinite(closed).mean() > 0.7
    assert np.allclose(paper.density(z, n, 1.0)[np.isfinite(closed)], closed[np.isfinite(closed)])
    peak = paper.density_closed_form(0.0, n, 1.0)
    assert paper.density(0.0, n, 1.0) == pytest.approx(float(peak), rel=1e-13)


@pytest.mark.parametrize("n", DIMENSIONS)
def test_moments(n: int) -> None:
    epsilon = 3.0
    assert paper.moment(1, n, epsilon) == 0
    assert paper.moment(2, n, epsilon) == pytest.approx((n + 1) / epsilon**2, rel=1e-11)
    assert paper.moment(4, n, epsilon) == pytest.approx(
        3 * (n + 1) * (n + 3) / epsilon**4, rel=1e-11
    )
    z = np.linspace(0, 60 * np.sqrt(n) / epsilon, 20_001)
    square = 2 * (z**2 * paper.density(z, n, epsilon)).sum() * (z[1] - z[0])
    assert square == pytest.approx((n + 1) / epsilon**2, rel=1e-5)


@pytest.mark.parametrize("n", [2, 10, 300])
def test_the_mechanisms_noise_has_this_distribution(n: int) -> None:
    noise = laplace(random_numbers(20_000, laplace_draws(n), seed=n), n, 4.0)
    direction = np.random.default_rng(n).normal(size=n)
    along = noise @ (direction / np.linalg.norm(direction))
    assert stats.kstest(along, lambda z: theory.cdf(z, n, 4.0)).pvalue > ALPHA
    # The same test sees a space of one dimension more, or an epsilon 5 % off.
    assert stats.kstest(along, lambda z: theory.cdf(z, 2 * n, 4.0)).pvalue < ALPHA
    assert stats.kstest(along, lambda z: theory.cdf(z, n, 4.4)).pvalue < ALPHA


@pytest.mark.parametrize("n", DIMENSIONS)
def test_quantiles_invert(n: int) -> None:
    for probability in (1e-12, 0.01, 0.4, 0.5, 0.9, 1 - 1e-9):
        z = paper.quantile(probability, n, 5.0)
        assert theory.cdf(z, n, 5.0) == pytest.approx(probability, rel=1e-9, abs=1e-15)
    with pytest.raises(ValueError, match="between 0 and 1"):
        paper.quantile(1.0, n, 5.0)


@pytest.mark.parametrize("n", DIMENSIONS[1:])
def test_bounds_are_bounds(n: int) -> None:
    for c in (0.1, 1.0, 2.0, 3.5, 5.0):
        exact = float(paper.cosine_survival(c / np.sqrt(n), n))
        assert exact <= paper.cosine_tail_bound(c)
        longer = float(paper.length_survival((1 + c) * n / 2.0, n, 2.0))
        assert longer <= paper.length_tail_bound(1 + c, n)
        shorter = 1 - float(paper.length_survival(n / (1 + c) / 2.0, n, 2.0))
        assert shorter <= paper.length_tail_bound(1 / (1 + c), n) * (1 + 1e-12)
        z = c * np.sqrt(n + 1) / 2.0
        assert float(theory.survival(z, n, 2.0)) <= paper.chernoff_bound(z, n, 2.0)


@pytest.mark.parametrize(
    ("n", "c2", "exact"),
    [(10, 2.52543424639265, 2.89513773377508), (100, 1.38716219823073, 2.61160810739463)],
)
def test_theorem_eight_at_99_percent(n: int, c2: float, exact: float) -> None:
    found = paper.theorem_eight_constants(n, 0.99)
    assert found.c1 == pytest.approx(3.46127496649027, abs=1e-13)
    assert found.c2 == pytest.approx(c2, abs=1e-12)
    assert found.probability == pytest.approx(0.99, abs=1e-13)
    for epsilon in (1.0, 5.0):
        assert paper.half_width(0.99, n, epsilon) * epsilon / np.sqrt(n) == pytest.approx(
            exact, rel=1e-12
        )


def test_theorem_eight_holds_and_is_loose(reference: dict[str, Any]) -> None:
    assert paper.theorem_eight_constants(100, 0.99).c1 * 1.38716219823073 == pytest.approx(4.80135)
    for key, value in reference["theorem8"].items():
        n = int(key.partition("=")[2])
        c1, c2, probability = paper.theorem_eight_constants(n, 0.99)
        outside = 2 * float(theory.survival(c1 * c2 * np.sqrt(n), n, 1.0))
        assert outside <= 1 - probability
        assert outside == pytest.approx(float(value["1-exact_mass_at_c1c2"]), rel=1e-5)


@pytest.mark.parametrize(("c1", "c2"), [(0.0, 2.0), (-1.0, 2.0), (1.0, 1.0), (float("nan"), 2.0)])
def test_theorem_eight_needs_a_positive_c1(c1: float, c2: float) -> None:
    with pytest.raises(ValueError, match="c1 > 0"):
        paper.theorem_eight(10, c1, c2)


def test_why_theorem_eight_needs_a_positive_c1() -> None:
    """With c1 < 0, K <= c1/sqrt(n) and R <= c2 n do not imply Z <= c1 c2 sqrt(n)."""
    n, c2, low = 10, 4.0, -8.0
    claimed = float(
        (1 - paper.cosine_survival(low / c2 / np.sqrt(n), n))
        * (1 - paper.length_survival(c2 * n, n, 1.0))
    )
    assert claimed > theory.cdf(low * np.sqrt(n), n, 1.0)


def test_thresholds_decide_which_word_is_nearer() -> None:
    generator = np.random.default_rng(0)
    x, a, b = generator.normal(size=(3, 2000, 6))
    noise = generator.normal(size=(2000, 6)) * 2
    noisy = x + noise
    nearer = np.linalg.norm(noisy - a, axis=1) < np.linalg.norm(noisy - b, axis=1)
    along = (noise * (b - a)).sum(axis=1) / np.linalg.norm(b - a, axis=1)
    assert (nearer == (along < theory.threshold(x, a, b))).all()
    original = theory.threshold(x, x, b)
    assert np.allclose(original, np.linalg.norm(b - x, axis=1) / 2)
    assert np.isnan(theory.threshold(x[0], a[0], a[0]))
    assert np.allclose(theory.threshold(x, a, b), -theory.threshold(x, b, a))


def test_how_often_the_original_beats_another_word() -> None:
    n, epsilon = 25, 5.0
    x, b = np.zeros(n), np.full(n, 0.3)
    noise = laplace(random_numbers(50_000, laplace_draws(n), seed=1), n, epsilon)
    count = int((np.linalg.norm(noise, axis=1) < np.linalg.norm(noise - b, axis=1)).sum())
    expected = float(paper.nearer_probability(x, x, b, epsilon))
    assert stats.binomtest(count, 50_000, expected).pvalue > ALPHA


def test_table_2_is_this_distribution_at_one_place_a_column(reference: dict[str, Any]) -> None:
    """Each embedding has three thresholds of three decimals, and five epsilons each."""
    places: dict[tuple[str, int, int], set[float]] = defaultdict(set)
    for name, n, epsilon, *probabilities in reference["table2"]:
        if epsilon == 5:
            for column, value in enumerate(probabilities):
                places[name, n, column].add(paper.quantile(float(value), n, epsilon))
    for name, n, epsilon, *probabilities in reference["table2"]:
        for column, value in enumerate(probabilities):
            [z] = places[name, n, column]
            assert z == pytest.approx(round(z, 3), abs=1e-12)
            assert theory.cdf(round(z, 3), n, epsilon) == pytest.approx(float(value), abs=1e-14)


def test_theorem_six_holds_beside_the_exact_value() -> None:
    for n, s, exact in (  # 0F1(n/2; s^2/4), summed in fractions
        (2, 1.0, 1.266065877752008335598),  # I_0(1)
        (3, 2.0, 1.813430203923509383834),  # sinh(2)/2
        (50, 5.0, 1.282501759485376251),
        (300, 40.0, 14.06449294347089593),
        (1000, 3.0, 1.004510119904115284),
    ):
        assert paper.cosine_mgf(s, n) == pytest.approx(exact, rel=1e-14)
    s = np.linspace(-60, 60, 241)
    for n in DIMENSIONS[1:]:
        assert (paper.cosine_mgf(s, n) <= paper.cosine_mgf_bound(s, n) * (1 + 1e-14)).all()
        assert paper.cosine_mgf(0.0, n) == 1
        # The second derivative at 0 is the variance.
        assert (paper.cosine_mgf(1e-3, n) - 1) * 2e6 == pytest.approx(1 / n, rel=1e-5)


def test_corollary_two_bounds_the_exact_tail_of_a_mean() -> None:
    for n, m, delta in ((10, 100, 0.5), (50, 30, 1.0), (300, 1000, 0.7)):
        exact = paper.mean_survival(delta, m, n, 2.0)
        assert 0 < exact < paper.mean_tail_bound(delta, m, n, 2.0) < 1
    assert paper.mean_tail_bound(0.1, 2, 50, 1.0) == 1
    assert paper.mean_survival(0.7, 1, 9, 3.0) == 2 * float(theory.survival(0.7, 9, 3.0))
    n, m, delta = 5, 4, 0.6
    noise = laplace(random_numbers(40_000, laplace_draws(n), seed=6), n, 2.0)
    means = noise[:, 0].reshape(-1, m).mean(axis=1)
    count = int((np.abs(means) > delta).sum())
    expected = paper.mean_survival(delta, m, n, 2.0)
    assert stats.binomtest(count, len(means), expected).pvalue > ALPHA


def test_ranges_in_which_the_papers_statements_are_false() -> None:
    """Theorem 5 at t = -sigma, and Eq. 11 as printed, without P(R < z)."""
    below = float(paper.cosine_survival(-1 / np.sqrt(300), 300))
    assert np.exp(-0.5) == pytest.approx(0.607, abs=5e-4)
    assert below == pytest.approx(0.841, abs=5e-4)
    assert below <= paper.cosine_tail_bound(-1.0)
    true = float(theory.cdf(3.0, 2, 1.0))
    assert true == pytest.approx(0.957, abs=5e-4)
    assert true - (1 - paper.length_survival(3.0, 2, 1.0)) == pytest.approx(0.156, abs=5e-4)
    assert 1 - float(paper.length_survival(np.sqrt(26), 25, 1.0)) < 1e-9


def test_the_released_word_has_the_least_score_and_scores_have_this_mean() -> None:
    generator, n, epsilon, draws = np.random.default_rng(2), 6, 3.0, 40_000
    w, words = generator.normal(size=n), generator.normal(size=(20, n))
    noise = laplace(random_numbers(draws, laplace_draws(n), seed=7), n, epsilon)
    scores = paper.expected_score(w, words) - 2 * noise @ words.T
    distances = np.linalg.norm((w + noise)[:, None] - words, axis=2)
    assert (scores.argmin(axis=1) == distances.argmin(axis=1)).all()
    deviation = 2 * np.linalg.norm(words, axis=1) * np.sqrt((n + 1) / epsilon**2 / draws)
    mean = scores.mean(axis=0)
    assert (np.abs(mean - paper.expected_score(w, words)) < 6 * deviation).all()  # 4e-8 by chance


def test_equations_20_and_21_bound_how_often_a_word_is_released() -> None:
    n, epsilon, draws = 8, 4.0, 20_000
    words = np.random.default_rng(3).normal(size=(200, n))
    bounds = paper.release_bounds(words, epsilon)
    alone = theory.survival(np.linalg.norm(words[1:] - words[0], axis=1) / 2, n, epsilon)
    assert (bounds[1:] <= alone * (1 + 1e-12)).all(), "Eq. 20 is one of them"
    assert (bounds[1:] < alone / 2).any(), "Eq. 21 is better for some"
    nearest = np.linalg.norm(words[1:] - words[0], axis=1).min()
    assert bounds[0] == pytest.approx(float(theory.cdf(nearest / 2, n, epsilon)), rel=1e-12)
    noise = laplace(random_numbers(draws, laplace_draws(n), seed=8), n, epsilon)
    released = np.linalg.norm((words[0] + noise)[:, None] - words, axis=2).argmin(axis=1)
    counts = np.bincount(released, minlength=len(words))
    # Clopper and Pearson's lower limit of each frequency; together 1e-6 by chance.
    lower = stats.beta.ppf(1e-6 / len(words), counts, draws - counts + 1)
    assert (np.nan_to_num(lower) <= bounds).all()
    assert np.isclose(paper.release_bounds(words[:1], epsilon), 1)
    whole = theory.survival(np.linalg.norm(words[1:] - words[0], axis=1), n, epsilon)
    assert (np.nan_to_num(lower)[1:] > whole).any(), "the whole distance would be no bound"
