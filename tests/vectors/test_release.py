"""Released vectors: their distribution on the grid, what it depends on, what is promised."""

from __future__ import annotations

import base64
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from dxbeam.analysis.theory import noisy_dot_product as theory
from dxbeam.corpus.parsing.given_vectors import encode
from dxbeam.documents import Document, Rejected
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.sampling.noise import TAIL_DRAWS, laplace, laplace_draws
from dxbeam.vectors import sensitivity
from dxbeam.vectors.configuration import LARGEST_STEP_COUNT, UNITS, VectorConfiguration
from dxbeam.vectors.projections import Projection, make_projection
from dxbeam.vectors.release import ReleasedVector, VectorReleaser, shortened, to_grid
from dxbeam.vectors.sensitivity import Sensitivity
from tests.support import tiny, vocabularies
from tests.support.distributions import ALPHA, chi_square_p, random_numbers

VOCABULARY = tiny.vocabulary(words=60, dimensions=8)


def _settings(
    unit: str = "text", kind: str = "gaussian", m: int = 3, epsilon: float = 2.0
) -> VectorConfiguration:
    projection = make_projection(kind, 8, m, vocabulary=VOCABULARY)
    return VectorConfiguration(unit, epsilon, projection, sensitivity.spectral(projection))


def _releaser(settings: VectorConfiguration, key: bytes = tiny.KEY) -> VectorReleaser:
    return VectorReleaser(VOCABULARY, settings, key)


def _projected(settings: VectorConfiguration, vector: np.ndarray) -> np.ndarray:
    return settings.projection.apply(vector.astype(np.float64))


def _one(settings: VectorConfiguration, text: str, name: str = "d") -> np.ndarray:
    return _releaser(settings).release_one(Document(name, text))


def _coordinate_p(settings: VectorConfiguration, epsilon: float, released: np.ndarray) -> float:
    """Of the first coordinate of releases of w0, against its exact distribution on the grid."""
    centre = _projected(settings, VOCABULARY.vectors[0])[0]
    steps = np.rint(released[:, 0] / settings.step).astype(int)
    lowest, highest = steps.min() - 200, steps.max() + 200
    borders = (np.arange(lowest, highest + 2) - 0.5) * settings.step - centre
    scale = settings.sensitivity.value / epsilon
    distribution = np.diff(theory.cdf(borders, settings.projection.projected, 1 / scale))
    counts = np.bincount(steps - lowest, minlength=len(distribution))
    return chi_square_p(counts, distribution)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "m"), [("gaussian", 3), ("pca", 1), ("none", 8)])
def test_the_law_of_a_coordinate(kind: str, m: int) -> None:
    """Exact over the grid; false-alarm rate 1e-6. An epsilon 5 % off is seen."""
    settings = _settings("word", kind, m)
    releaser = _releaser(settings)
    released = np.stack([releaser.release_one(Document(str(i), "w0")) for i in range(8000)])
    assert _coordinate_p(settings, settings.epsilon, released) > ALPHA
    assert _coordinate_p(settings, settings.epsilon * 1.2, released) < ALPHA
    shifted = released + np.float32(settings.deviation / 8)
    assert _coordinate_p(settings, settings.epsilon, to_grid(shifted, settings.step)) < ALPHA


def test_released_vectors_lie_on_the_grid_exactly() -> None:
    for epsilon in (0.01, 1.0, 37.0, 1e4):
        settings = _settings("word", epsilon=epsilon)
        assert 16 <= settings.deviation / settings.step < 32
        assert np.log2(settings.step) == round(np.log2(settings.step))
        released = _one(settings, "w3")
        assert released.dtype == np.float32
        steps = released.astype(np.float64) / settings.step
        assert (steps == np.rint(steps)).all()
        assert not np.signbit(released[released == 0]).any()


def test_grid_points_never_tell_a_sign_of_zero_and_never_overflow() -> None:
    points = to_grid(np.array([-0.1, 0.1, 1e30, -1e30, 0.5, 1.5]), 1.0)
    assert points.tolist() == [0, 0, LARGEST_STEP_COUNT, -LARGEST_STEP_COUNT, 0, 2]
    assert not np.signbit(points[:2]).any()


def test_noise_is_a_function_of_key_settings_id_and_text() -> None:
    settings = _settings()
    base = _one(settings, "w1 w2")
    assert (_one(settings, "w1 w2") == base).all()
    other = [
        _releaser(settings, bytes(32)).release_one(Document("d", "w1 w2")),
        _one(settings, "w1 w2", "e"),
        _one(settings, "w2 w1"),  # the same mean, other noise
        _one(_settings(epsilon=2.5), "w1 w2"),
        _one(_settings("word"), "w1 w2"),
        _one(_settings(kind="orthogonal"), "w1 w2"),
    ]
    for released in other:
        assert (released != base).any()


def test_what_a_record_stands_for() -> None:
    """With little noise, the released vector is the projection of the record's own vector."""
    settings = _settings(epsilon=1e4)

    def near(text: str, vector: np.ndarray, unit: str = "text") -> bool:
        released = _one(_settings(unit, epsilon=1e4), text)
        return bool(np.abs(released - _projected(settings, vector)).max() < 0.05)

    vectors, unknown = VOCABULARY.vectors, np.asarray(VOCABULARY.unknown_vector)
    assert near("W1, w2!", (vectors[1] + vectors[2]) / 2)
    assert near("w1 strange w1", (2 * vectors[1] + unknown) / 3)
    assert near("", unknown)
    assert near(" ?! ", unknown)
    assert near(" W7\n", vectors[7], "word")
    assert near("w7 w8", unknown, "word")
    given = np.random.default_rng(0).normal(size=8)
    assert near(encode(given.tolist(), 8), given, "vector")


def test_given_vectors_need_no_vocabulary() -> None:
    settings = _settings("vector")
    text = encode([1.0] * 8, 8)
    alone = VectorReleaser(None, settings, tiny.KEY).release_one(Document("d", text))
    assert alone.shape == (3,)
    with pytest.raises(ConfigurationError, match="`unit` text needs a `vocabulary`"):
        VectorReleaser(None, _settings())


def test_records_that_cannot_be_used_are_rejected_in_order() -> None:
    documents = [Document("a", "w1"), Document("b", "w1 \0"), Document("c", "w2")]
    first, second, third = _releaser(_settings()).release(documents)
    assert isinstance(first, ReleasedVector)
    assert isinstance(third, ReleasedVector)
    assert isinstance(second, Rejected)
    assert second.where == "b"
    assert (first.vector == _one(_settings(), "w1", "a")).all()


def test_documents_that_a_program_got_wrong() -> None:
    releaser = _releaser(_settings())
    [rejected] = releaser.release([Document(7.5, "w1")])  # type: ignore[arg-type]
    assert isinstance(rejected, Rejected)
    assert "id" in rejected.reason
    [rejected] = releaser.release([Document("a", "w1", '{"vector": "w1"}')])
    assert isinstance(rejected, Rejected)
    with pytest.raises(ConfigurationError, match="given as Document"):
        list(releaser.release([b"w1"]))  # type: ignore[list-item]
    with pytest.raises(ConfigurationError, match="release takes an iterable of documents"):
        releaser.release("w1")


def test_strings_share_no_noise_even_under_one_key() -> None:
    released = [
        result.vector.tobytes()
        for _ in range(2)
        for result in _releaser(_settings()).release(["w1", "w1"])
        if isinstance(result, ReleasedVector)
    ]
    assert len(set(released)) == 4


def test_settings_for_a_vocabulary_are_proved_for_the_unit() -> None:
    for unit, method in (("word", "exact"), ("text", "spectral")):
        settings = VectorConfiguration.for_vocabulary(
            VOCABULARY, 2.0, unit, "gaussian", projected_dimensions=3
        )
        assert (settings.unit, settings.sensitivity.method) == (unit, method)
        projection = make_projection("gaussian", 8, 3)
        assert settings.projection.digest == projection.digest
        assert settings.sensitivity == getattr(sensitivity, method)(
            *([VOCABULARY] if method == "exact" else []), projection
        )
        assert settings.guarantee().delta == 0
    with pytest.raises(ConfigurationError, match="has 1 to 8"):
        VectorConfiguration.for_vocabulary(VOCABULARY, 2.0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("demo", _settings()), "vocabulary is a Vocabulary"),
        ((VOCABULARY, 5.0), "configuration is a VectorConfiguration, and this is of type float"),
        ((_settings(), VOCABULARY), "vocabulary is a Vocabulary"),
        ((VOCABULARY, _settings(), "a" * 32), "secret_key is 32 bytes"),
    ],
)
def test_a_releaser_says_what_it_was_given_in_a_wrong_place(
    arguments: tuple[Any, ...], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        VectorReleaser(*arguments)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no base64 at all!", "no vector"),
        ("a word", "no vector"),
        ("é", "no vector"),
        ("", "no vector of 8 numbers"),
        (encode([1.5] * 7, 7), "no vector of 8 numbers"),
        (base64.b64encode(b"1234567").decode(), "no vector of 8 numbers"),
        (base64.b64encode(np.full(8, np.nan).tobytes()).decode(), "a NaN, or a number beyond"),
        (base64.b64encode(np.full(8, -np.inf).tobytes()).decode(), "a NaN, or a number beyond"),
        (base64.b64encode(np.full(8, 1e31).tobytes()).decode(), "a NaN, or a number beyond"),
    ],
)
def test_what_is_no_vector_is_rejected_with_a_reason(text: str, says: str) -> None:
    """Whoever makes the documents, not only those that come from files."""
    releaser = VectorReleaser(None, _settings("vector"), tiny.KEY)
    [rejected] = releaser.release([Document("a", text)])
    assert isinstance(rejected, Rejected)
    assert says in rejected.reason
    assert not text or text not in rejected.reason


@pytest.mark.parametrize("kind", ["none", "gaussian"])
def test_long_vectors_are_shortened_before_they_are_projected(kind: str) -> None:
    """So that the rounding of P x is bounded: at length 1e24 it was 1e8 times the noise."""
    settings = _settings("vector", kind)
    generator = np.random.default_rng(4)
    for length in (1e6, 1e13, 1e24, 1e29):
        direction = generator.normal(size=8)
        direction /= np.linalg.norm(direction)
        released = _one(settings, encode((direction * length).tolist(), 8))
        nearest = direction * min(length, settings.longest)
        apart = released.astype(np.float64) - _projected(settings, nearest)
        assert np.linalg.norm(apart) < 60 * settings.scale, "noise alone"
        assert np.abs(released).max() < LARGEST_STEP_COUNT * settings.step, "never clipped there"
    caveats = " ".join(settings.guarantee().caveats)
    assert f"longer than {settings.longest:.4g} are shortened" in caveats
    assert "shortened" not in " ".join(_settings("word").guarantee().caveats)


@pytest.mark.parametrize("n", [1, 7, 300])
def test_the_rounding_of_a_projection_is_within_its_bound(n: int) -> None:
    """P x of the longest vectors, against exact rational numbers; see the module's proof."""
    m = min(n, 3)
    projection = make_projection("gaussian", n, m)
    settings = VectorConfiguration("vector", 5.0, projection, sensitivity.spectral(projection))
    matrix = projection.apply_all(np.eye(n)).T
    for seed in range(3):
        vector = np.random.default_rng(seed).normal(size=n)
        vector = shortened(vector * 1e20, settings.longest)
        assert np.linalg.norm(vector) == pytest.approx(settings.longest, rel=1e-12)
        exact = [
            sum(
                Fraction(a) * Fraction(b)
                for a, b in zip(row.tolist(), vector.tolist(), strict=True)
            )
            for row in matrix
        ]
        errors = [
            float(abs(Fraction(found) - right))
            for found, right in zip(projection.apply(vector).tolist(), exact, strict=True)
        ]
        added = 2 * np.linalg.norm(errors) / settings.scale
        assert added <= 2.0**-34 * (m + 1) * (n + 1)


def test_a_vocabulary_with_vectors_beyond_the_longest_is_refused() -> None:
    vectors = np.ones((3, 8), np.float32)
    vectors[1] *= 1e9
    projection = make_projection("gaussian", 8, 3)
    settings = VectorConfiguration("word", 2.0, projection, sensitivity.spectral(projection))
    with pytest.raises(ConfigurationError, match=r"a vector of length 2\.828e\+09"):
        VectorReleaser(vocabularies.of(vectors), settings)
    VectorReleaser(vocabularies.of(vectors[[0, 2]]), settings)


def test_a_grid_point_is_added_without_rounding() -> None:
    """Noise is rounded to the grid on its own: a long P x costs it no digits."""
    noise = np.array([0.49999999999, 0.50000000001, -0.50000000001])
    for start in (0.0, 2.0**20, -(2.0**23)):
        assert (to_grid(noise, 1.0, start) - start).tolist() == [0, 1, -1]


def test_without_a_key_nothing_repeats() -> None:
    settings = _settings()
    drawn = [VectorReleaser(VOCABULARY, settings).release_one(Document("d", "w1")) for _ in "12"]
    assert (drawn[0] != drawn[1]).any()
    with pytest.raises(ConfigurationError, match="32 bytes"):
        VectorReleaser(VOCABULARY, settings, b"short")
    with pytest.raises(TypeError, match="secret key"):
        pickle.dumps(_releaser(settings))


def test_settings_travel_and_keep_their_digest() -> None:
    settings = _settings()
    assert pickle.loads(pickle.dumps(settings)).digest("v") == settings.digest("v")
    assert settings.digest("v") != settings.digest("w")
    assert settings.digest("v") != _settings(epsilon=3).digest("v")


@pytest.mark.parametrize("unit", UNITS)
def test_the_guarantee_names_the_metric_that_is_proved(unit: str) -> None:
    guarantee = _settings(unit).guarantee()
    assert guarantee.metric.sentence.startswith("Euclidean distance")
    assert (guarantee.epsilon, guarantee.delta, guarantee.evidence) == (2.0, 0.0, "proved")
    assert "7e-10" not in str(guarantee.caveats)
    assert any("total variation" in caveat for caveat in guarantee.caveats)


def _exact(unit: str, kind: str = "gaussian") -> VectorConfiguration:
    projection = make_projection(kind, 8, 3, vocabulary=VOCABULARY)
    return VectorConfiguration(unit, 2.0, projection, sensitivity.exact(VOCABULARY, projection))


def test_pairs_of_words_prove_less_for_texts_and_nothing_for_given_vectors() -> None:
    assert _exact("word").guarantee().metric.sentence.startswith("Euclidean distance")
    assert _exact("text").guarantee().metric.sentence.startswith("Word Mover's Distance")
    assert _exact("text", "none").guarantee().metric.sentence.startswith("Euclidean distance")
    with pytest.raises(ConfigurationError, match="choose spectral"):
        _exact("vector")


def test_why_texts_need_the_mover_distance() -> None:
    """Means of words may differ along a direction in which no two words do."""
    vocabulary = vocabularies.of([[1, 10], [1, -10], [0, 3], [0, -3]])
    projection = Projection("gaussian", 2, 1, "a", np.array([[1, 0]], np.float32))
    among_words = sensitivity.exact(vocabulary, projection).value
    difference = vocabulary.vectors[:2].mean(axis=0) - vocabulary.vectors[2:].mean(axis=0)
    stretched = projection.apply(difference.astype(np.float64))
    assert np.linalg.norm(stretched) / np.linalg.norm(difference) > 5 * among_words


def test_means_of_words_move_no_farther_than_the_words() -> None:
    """|P (mean - mean')| <= exact sensitivity * Word Mover's Distance."""
    projection = make_projection("gaussian", 8, 3)
    bound = sensitivity.exact(VOCABULARY, projection).value
    generator = np.random.default_rng(0)
    for _ in range(200):
        one, other = VOCABULARY.vectors[generator.integers(0, 60, (2, 5))].astype(np.float64)
        costs = np.linalg.norm(one[:, None] - other[None], axis=2)
        mover = costs[optimize.linear_sum_assignment(costs)].mean()
        moved = projection.apply(one.mean(axis=0) - other.mean(axis=0))
        assert np.linalg.norm(moved) <= bound * mover


def test_the_published_calibration_is_marked_as_such() -> None:
    projection = make_projection("gaussian", 8, 3)
    bound = sensitivity.published(projection, 1e-6)
    guarantee = VectorConfiguration("word", 2.0, projection, bound).guarantee()
    assert any("is missing from the release" in caveat for caveat in guarantee.caveats)
    assert (guarantee.evidence, guarantee.delta) == ("published", 1e-6)
    assert "up to a probability of 1e-06" in guarantee.sentence


@pytest.mark.parametrize(
    ("unit", "epsilon", "says"), [("sentence", 1.0, "`unit` sentence"), ("text", 0.0, "epsilon")]
)
def test_settings_out_of_range(unit: str, epsilon: float, says: str) -> None:
    projection = make_projection("gaussian", 8, 3)
    with pytest.raises(ConfigurationError, match=says):
        VectorConfiguration(unit, epsilon, projection, Sensitivity("spectral", 1.0))


@pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="this processor has no longer floats to compare with"
)
@pytest.mark.parametrize("m", [1, 2, 50, 300])
def test_float64_noise_is_as_near_to_the_exact_one_as_the_proof_says(m: int) -> None:
    """The noise again with 64-bit mantissas: off by less than 2^-47 L s (vector_release.py)."""
    random = random_numbers(400, laplace_draws(m), seed=m)
    noise = laplace(random, m, 1.0)
    pairs = m // 2 + 1
    uniform = (random.astype(np.longdouble) + 1) / np.longdouble(2) ** 64
    length = np.sqrt(-2 * np.log(uniform[:, :pairs]))
    angle = uniform[:, pairs : 2 * pairs] * (8 * np.arctan(np.longdouble(1)))
    normals = np.stack([np.cos(angle), np.sin(angle)], axis=2) * length[:, :, None]
    normals = normals.reshape(len(random), -1)
    gamma = -np.log(uniform[:, 2 * pairs : laplace_draws(m) - 2 * TAIL_DRAWS]).sum(axis=1)
    if m % 2 == 0:
        gamma += normals[:, m] ** 2 / 2
    scale = np.sqrt(2 * gamma)[:, None]
    lengths = np.repeat(length, 2, axis=1)[:, :m]
    ordinary = (lengths > 1 / 8) & (gamma > 1 / 8)[:, None]
    error = np.abs(noise - normals[:, :m] * scale) / (lengths * scale)
    assert error[ordinary].max() < 2.0**-47
    assert error[ordinary].max() > 2.0**-56  # so the comparison sees something


@pytest.mark.slow
def test_released_words_are_spread_as_far_as_the_noise() -> None:
    settings = _settings("word")
    released = np.stack(
        [_releaser(settings).release_one(Document(str(i), "w0")) for i in range(4000)]
    )
    distances = np.linalg.norm(released - _projected(settings, VOCABULARY.vectors[0]), axis=1)
    distribution = stats.gamma(3, scale=settings.scale)
    assert stats.kstest(distances, distribution.cdf).pvalue > ALPHA


@pytest.mark.parametrize("method", ["exact", "spectral", "published"])
@pytest.mark.parametrize("n", [8, 150])
def test_noise_is_as_wide_as_sensitivity_and_epsilon_say(method: str, n: int) -> None:
    """The scale itself, exactly; and the mean length of noise in m dimensions, m s / epsilon.

    The mean is off by 0.7 % in standard deviation; 4 % are more than five.
    """
    words, m = vocabularies.random_vocabulary(60, n), n // 2
    projection = make_projection("gaussian", n, m)
    bound = {
        "exact": lambda: sensitivity.exact(words, projection),
        "spectral": lambda: sensitivity.spectral(projection),
        "published": lambda: sensitivity.published(projection, 1e-6),
    }[method]()
    settings = VectorConfiguration("word", 2.0, projection, bound)
    assert settings.scale * settings.epsilon == pytest.approx(bound.value, rel=1e-12)
    releaser = VectorReleaser(words, settings, tiny.KEY)
    count = 20_000 // m
    centre = projection.apply(words.vectors[0].astype(np.float64))
    apart = [
        np.linalg.norm(releaser.release_one(Document(str(i), "w0")) - centre) for i in range(count)
    ]
    expected = m * bound.value / 2.0
    assert np.mean(apart) == pytest.approx(expected, rel=0.04)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("m", [1, 50, 300])
def test_the_distance_that_is_stated_is_the_one_that_is_derived(m: int, epsilon: float) -> None:
    """By the formula in release.py, of the step that is taken: it is stated up to a factor of 10.

    2 * 2^-47 * 9.42 * (E[s] / step + 0.4), E[s] being the deviation of a coordinate at most.
    """
    projection = make_projection("none", m, m)
    settings = VectorConfiguration("vector", epsilon, projection, sensitivity.spectral(projection))
    derived = m * 2 * 2.0**-47 * 9.42 * (settings.deviation / settings.step + 0.4)
    assert derived <= settings.total_variation <= 10 * derived
    said = [caveat for caveat in settings.guarantee().caveats if "total variation" in caveat]
    assert f"t = {settings.total_variation:.1g}" in said[0]
