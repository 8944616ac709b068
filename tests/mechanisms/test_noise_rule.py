"""A changed sampler needs a new NOISE_RULE: what fixed keys release, by its SHA-256.

With one digest of the configuration, the sampler before a change and the one after it would be two
functions of the same random numbers, and a copy of a release no longer a copy. Words lie far from
the borders that rounding could move, so that the digests are those of any processor.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import pytest

from dxbeam.corpus.parsing.given_vectors import encode
from dxbeam.documents import Document
from dxbeam.mechanisms import MECHANISMS, make_mechanism
from dxbeam.mechanisms.public.importance import FrequencyWeights
from dxbeam.mechanisms.public.word_distribution import WordDistribution
from dxbeam.mechanisms.sampling.exponential_choice import DRAWS, ChoiceSizes, choose
from dxbeam.mechanisms.sampling.noise import NOISE_RULE, coordinate_laplace, gaussian, laplace
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.mechanisms.santext import SanText
from dxbeam.randomness import fill
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.vectors import sensitivity
from dxbeam.vectors.configuration import VectorConfiguration
from dxbeam.vectors.projections import make_projection
from dxbeam.vectors.release import VectorReleaser
from tests.support.noise_digests import DIGESTS

KEY = hashlib.sha256(b"a key that everybody knows").digest()

NUMBERS = np.random.default_rng(2).integers(-9, 10, (300, 6)) * [1, 1, 1, 2, 3, 5]
VOCABULARY = Vocabulary([f"w{i}" for i in range(300)], NUMBERS.astype(np.float32))
"""More words than the nearest ones that the exponential mechanism looks at, at integer places."""

PARAMETERS: dict[str, dict[str, float]] = {
    "mahalanobis": {"covariance_weight": 0.9},
    "tem": {"beta": 0.4},
    "custext": {"epsilon": 2.0, "cluster_size": 4},
    "cluster_response": {"epsilon": 2.0, "cluster_size": 4},
    "diffractor": {"orders": 3},
    "custext_published": {"epsilon": 2.0, "k": 8},
    "tem_published": {"beta": 0.4},
    "mahalanobis_published": {"covariance_weight": 0.9},
    "trlaplace": {"clip": 30.0},
    "trlaplace_published": {"epsilon": 0.3, "delta": 0.4, "clip": 1.0},
}
TEXTS = [" ".join(f"w{(7 * i * k) % 310}" for i in range(40)) for k in range(1, 4)]


def _words(sanitizer: Sanitizer) -> Iterator[str]:
    sanitizer._digest = "rule"  # the noise itself, whatever else enters the digest that keys it
    for number, text in enumerate(TEXTS):
        [released] = sanitizer.sanitize([Document(str(number), text)])
        assert released.document
        yield released.document.text


def _vectors(unit: str) -> Iterator[str]:
    projection = make_projection("none" if unit == "word" else "orthogonal", 6, 3)
    bound = sensitivity.identity("spectral")
    releaser = VectorReleaser(
        None if unit == "vector" else VOCABULARY,
        VectorConfiguration(unit, 2.0, projection, bound),
        KEY,
    )
    releaser._digest = "rule"
    texts = ["w3", *TEXTS] if unit != "vector" else [encode([1.0, 2, 3, 4, 5, 6], 6)]
    for number, text in enumerate(texts):
        yield str(releaser.release_one(Document(str(number), text)).tolist())


def _choice() -> Iterator[str]:
    """What the exponential mechanism draws of all words, which happens to few of them."""
    random = np.empty((300, DRAWS + DRAWS % 2), np.uint64)
    fill(KEY, 0, random)
    search, sizes = NeighborSearch(VOCABULARY), ChoiceSizes(rounds=0)
    chosen = choose(np.arange(300), random, WordDistribution(0.25), search, sizes)
    yield str(chosen.tolist())


def _tails() -> Iterator[str]:
    """Noise of random numbers that are all small, to nine digits."""
    random = np.empty((20, 50), np.uint64)
    fill(KEY, 0, random)
    random[:, :5] >>= np.uint64(50)
    for noise in (laplace(random, 2, 1.0), gaussian(random, 2, 1.0)):
        yield np.array2string(noise, formatter={"float": "{:.9g}".format}, threshold=10_000)
    for limit in (80.0, np.inf):
        noise = coordinate_laplace(random, 5, 1.0, limit)
        yield np.array2string(noise, formatter={"float": "{:.9g}".format}, threshold=10_000)


def _mechanism(name: str, **parameters: float) -> Sanitizer:
    mechanism = make_mechanism(name, **{"epsilon": 0.5, **PARAMETERS.get(name, {}), **parameters})
    return Sanitizer(VOCABULARY, Configuration(mechanism, allow_unsound=True), KEY)


def _released(sampler: str) -> Iterator[str]:
    kind, _, name = sampler.partition(" ")
    noise = make_mechanism("laplace", epsilon=0.5)
    if kind == "importance":
        return _words(Sanitizer(VOCABULARY, SanText(0.5, importance=FrequencyWeights(6.0)), KEY))
    if kind == "choice":
        return _choice()
    if kind == "tails":
        return _tails()
    if kind == "vectors":
        return _vectors(name)
    if kind == "bags":
        return _words(Sanitizer(VOCABULARY, Configuration(noise, bag=BagOfWords(10)), KEY))
    if kind == "ranks":
        return _words(Sanitizer(VOCABULARY, Configuration(noise, RankResampling(0.05)), KEY))
    return _words(_mechanism(kind))


UNITS_OF_VECTORS = ["vectors word", "vectors text", "vectors vector"]
SAMPLERS = [*MECHANISMS, "importance", "choice", "tails", "ranks", "bags", *UNITS_OF_VECTORS]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_changed_sampler_has_a_new_rule(sampler: str) -> None:
    released = hashlib.sha256("\n".join(_released(sampler)).encode()).hexdigest()[:16]
    known = DIGESTS.get(NOISE_RULE, {}).get(sampler)
    assert known is not None, f"no digest of a new sampler, add {sampler!r}: {released!r}"
    assert known == released, "a sampler changed: give NOISE_RULE a new number and new digests"


def test_another_rule_is_another_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    """So neither noise is shared, nor is a release taken for a copy of one by the other rule."""
    text = Configuration(make_mechanism("laplace", epsilon=0.5))
    projection = make_projection("none", 6, 6)
    vectors = VectorConfiguration("vector", 0.5, projection, sensitivity.identity("spectral"))
    for settings in (text, vectors):
        parts, before = settings.as_dict(), settings.digest("")
        assert parts["noise_rule"] == NOISE_RULE
        another = parts | {"noise_rule": NOISE_RULE + 1}
        monkeypatch.setattr(type(settings), "as_dict", lambda _, another=another: another)
        assert settings.digest("") != before
