"""Mechanisms with one mistake each: targets of the audit.

Each keeps the name and the claim of the mechanism it was, as a mistaken implementation would.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxbeam.documents import Document
from dxbeam.mechanisms.gaussian import Gaussian, analytic_sigma
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.mahalanobis import Mahalanobis
from dxbeam.mechanisms.public.word_distribution import WordDistribution
from dxbeam.mechanisms.sampling.exponential_choice import choose
from dxbeam.mechanisms.sampling.noise import (
    coordinate_laplace,
    laplace,
    laplace_draws,
    normal_pairs,
    uniform,
)
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.mechanisms.santext import SanText
from dxbeam.mechanisms.santext_plus import SanTextPlus
from dxbeam.mechanisms.tem import TEM
from dxbeam.mechanisms.trlaplace import TrLaplace
from dxbeam.mechanisms.vickrey import Vickrey
from dxbeam.randomness import document_key, draws_a_word, fill
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.batch import Sanitized
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.text.tally import Tally
from dxbeam.vectors.release import VectorReleaser, to_grid

Floats = Any
Ids = Any


def directions(noise: Floats) -> Floats:
    return noise / np.linalg.norm(noise, axis=1, keepdims=True)


def gamma(random: Any, shape: int, scale: float) -> Floats:
    """Gamma numbers of a whole shape, of the first random numbers of each row, [B, 1]."""
    needed = max(shape, 1)
    numbers = np.resize(random, (len(random), needed)) if random.shape[1] < needed else random
    return -np.log(uniform(numbers[:, :needed])).sum(axis=1, keepdims=True) * scale


@dataclass(frozen=True)
class BrokenLaplace(Laplace):
    """Laplace whose noise is changed by ``mistake``."""

    mistake: str = ""

    def noise(self, random: Any, search: NeighborSearch) -> Floats:
        mistake = NOISE[self.mistake]
        return mistake(super().noise(random, search), random, self.epsilon)


def _gamma_of_another_shape(shape: Callable[[int], int]) -> Callable[..., Floats]:
    def mistake(noise: Floats, random: Any, epsilon: float) -> Floats:
        fresh = random ^ np.uint64(0x9E3779B97F4A7C15)
        return directions(noise) * gamma(fresh, shape(noise.shape[1]), 1 / epsilon)

    return mistake


def _in_each_coordinate(noise: Floats, random: Any, epsilon: float) -> Floats:
    return coordinate_laplace(random, noise.shape[1], epsilon)


def _gaussian_of_equal_variance(noise: Floats, random: Any, epsilon: float) -> Floats:
    n = noise.shape[1]
    pairs = n // 2 + 1
    normals = normal_pairs(random[:, :pairs], random[:, pairs : 2 * pairs])[:, :n]
    return normals * np.sqrt(n + 1) / epsilon


def _directions_of_a_cube(noise: Floats, random: Any, epsilon: float) -> Floats:
    n = noise.shape[1]
    cube = 2 * uniform(random[:, :n] ^ np.uint64(0xD1B54A32D192ED03)) - 1
    return directions(cube) * np.linalg.norm(noise, axis=1, keepdims=True)


def _reused(noise: Floats, _random: Any, _epsilon: float) -> Floats:
    return np.repeat(noise[::2], 2, axis=0)[: len(noise)]


def _direction_reused(noise: Floats, _random: Any, _epsilon: float) -> Floats:
    lengths = np.linalg.norm(noise, axis=1, keepdims=True)
    return np.repeat(directions(noise[::2]), 2, axis=0)[: len(noise)] * lengths


def _forked(noise: Floats, _random: Any, _epsilon: float) -> Floats:
    half = (len(noise) + 1) // 2
    return np.concatenate([noise[:half], noise[: len(noise) - half]])


def _normalised(noise: Floats, _random: Any, epsilon: float) -> Floats:
    n = noise.shape[1]
    lengths = np.linalg.norm(noise, axis=1)
    return noise * (n / epsilon / lengths.mean())


def _capped(noise: Floats, _random: Any, epsilon: float) -> Floats:
    n = noise.shape[1]
    cap = (n + 2.5 * np.sqrt(n)) / epsilon
    lengths = np.linalg.norm(noise, axis=1, keepdims=True)
    return noise * np.minimum(1, cap / lengths)


def _scaled(factor: float) -> Callable[..., Floats]:
    return lambda noise, _random, _epsilon: noise * factor


NOISE: dict[str, Callable[..., Floats]] = {
    "gamma shape 1": _gamma_of_another_shape(lambda n: 1),
    "gamma shape n - 1": _gamma_of_another_shape(lambda n: n - 1),
    "epsilon inverted": lambda noise, _random, epsilon: noise * epsilon**2,
    "epsilon doubled": _scaled(0.5),
    "epsilon 1 % too large": _scaled(1 / 1.01),
    "epsilon 0.5 % too large": _scaled(1 / 1.005),
    "epsilon 0.5 % too small": _scaled(1.005),
    "normalised over the batch": _normalised,
    "no noise": _scaled(0.0),
    "noise reused": _reused,
    "direction reused": _direction_reused,
    "forked generator": _forked,
    "float16": lambda noise, _random, _epsilon: noise.astype(np.float16).astype(np.float64),
    "float32": lambda noise, _random, _epsilon: noise.astype(np.float32).astype(np.float64),
    "directions of a cube": _directions_of_a_cube,
    "Laplace in each coordinate": _in_each_coordinate,
    "Gaussian of equal variance": _gaussian_of_equal_variance,
    "capped length": _capped,
    "no sign": lambda noise, _random, _epsilon: np.abs(noise),
}
"""What becomes of Laplace noise: noise, its random numbers, epsilon -> noise."""


@dataclass(frozen=True)
class PostProcessesFromTheOriginal(Laplace):
    """Replaces the output by the original's nearest neighbour, one time in ten."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        released = super().release(ids, random, search)
        known = np.maximum(ids, 0)
        near = search.neighbor(known, np.ones(len(ids), np.int64))
        swapped = (random[:, 0] % np.uint64(10) == 0) & (ids != UNKNOWN)
        return np.where(swapped, near, released)


@dataclass(frozen=True)
class ReleasesByOtherNoise(Laplace):
    """What ``noise`` returns is right, and ``release`` takes 1 % less."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        noise = self.noise(random, search) / 1.01
        return search.nearest(search.vocabulary.vectors_of(ids) + noise)


@dataclass(frozen=True)
class DrawsAgainWhenEqual(Laplace):
    """Draws once more if the original word came out."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        released = super().release(ids, random, search)
        other = super().release(ids, random ^ np.uint64(0xA0761D6478BD642F), search)
        return np.where(released == ids, other, released)


@dataclass(frozen=True)
class UnknownWordsWithoutNoise(Laplace):
    """Releases the word nearest to the unknown word's vector, always the same."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        released = super().release(ids, random, search)
        nearest = search.nearest(search.vocabulary.vectors_of(np.array([UNKNOWN])))[0]
        return np.where(ids == UNKNOWN, nearest, released)


@dataclass(frozen=True)
class VickreyWithoutTheOriginal(Vickrey):
    """Takes the two nearest words other than the original one."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        noisy = search.vocabulary.vectors_of(ids) + self.noise(random, search)
        apart = np.linalg.norm(noisy[:, None] - search.vocabulary.vectors, axis=2)
        apart[ids != UNKNOWN, ids[ids != UNKNOWN]] = np.inf
        return _of_two_nearest(apart, self.t, random, search)


@dataclass(frozen=True)
class VickreyWithSquaredDistances(Vickrey):
    """Weighs the two nearest words by squared distances, as faiss returns them."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        noisy = search.vocabulary.vectors_of(ids) + self.noise(random, search)
        words = search.vocabulary.vectors.astype(float)
        squares = np.square(words).sum(axis=1) - 2 * noisy @ words.T
        apart = squares + np.square(noisy).sum(axis=1)[:, None]
        return _of_two_nearest(np.maximum(apart, 0.0), self.t, random, search)


@dataclass(frozen=True)
class VickreyWithSquaredDistancesBeyondALine(VickreyWithSquaredDistances):
    """The same mistake where the exact distribution of released words is not at hand."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        if search.vocabulary.dimensions == 1:
            return Vickrey.release(self, ids, random, search)
        return super().release(ids, random, search)


def _of_two_nearest(apart: Floats, t: float, random: Any, search: NeighborSearch) -> Ids:
    two = np.argpartition(apart, 1, axis=1)[:, :2]
    order = np.take_along_axis(two, np.take_along_axis(apart, two, axis=1).argsort(axis=1), axis=1)
    first, second = np.take_along_axis(apart, order, axis=1).T
    last = random[:, laplace_draws(search.vocabulary.dimensions)]
    second_taken = uniform(last) * (t * first + (1 - t) * second) > (1 - t) * second
    return np.where(second_taken, order[:, 1], order[:, 0])


@dataclass(frozen=True)
class MahalanobisRenormalised(Mahalanobis):
    """Gives the stretched noise its old length back."""

    def noise(self, random: Any, search: NeighborSearch) -> Floats:
        plain = Laplace(self.epsilon).noise(random, search)
        stretched = super().noise(random, search)
        return directions(stretched) * np.linalg.norm(plain, axis=1, keepdims=True)


@dataclass(frozen=True)
class MahalanobisUnregularized(Mahalanobis):
    """Noise of half the size, as with a covariance that was scaled wrongly."""

    def noise(self, random: Any, search: NeighborSearch) -> Floats:
        return super().noise(random, search) * 0.7


@dataclass(frozen=True)
class GaussianHalved(Gaussian):
    """Half of the deviation that the guarantee needs."""

    @property
    def sigma(self) -> float:
        return super().sigma / 2


@dataclass(frozen=True)
class GaussianForOneRadius(Gaussian):
    """The deviation for vectors that are one radius of the ball apart, not two."""

    @property
    def sigma(self) -> float:
        return analytic_sigma(self.epsilon, self.delta, self.distance / 2)


class _Unclipped:
    """Forgets to clip."""

    noise: Any

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        return search.nearest(search.vocabulary.vectors_of(ids) + self.noise(random, search))


@dataclass(frozen=True)
class GaussianUnclipped(_Unclipped, Gaussian):
    """Forgets to clip."""


@dataclass(frozen=True)
class TrLaplaceTooShort(TrLaplace):
    """Truncates at a tenth of the sound limit, nearer to the published one."""

    def limit(self, dimensions: int) -> float:
        return super().limit(dimensions) / 10


@dataclass(frozen=True)
class TrLaplaceUnclipped(_Unclipped, TrLaplace):
    """Forgets to clip."""


@dataclass(frozen=True)
class SanTextDoubled(SanText):
    """exp(-epsilon d): forgets that the normalization changes too."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        return choose(ids, random, WordDistribution(self.epsilon), search)


@dataclass(frozen=True)
class SanTextOfNeighbours(SanText):
    """Draws among the word's three nearest only."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        near = search.nearest_neighbors(ids, 3)
        rank = (random[:, 0] % np.uint64(3)).astype(np.int64)
        return near[np.arange(len(ids)), rank]


@dataclass(frozen=True)
class TEMWithThePublishedShare(TEM):
    """ln(N / (N - k)) for ln k in the score of what stands for k far words."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        vocabulary = search.vocabulary
        count, gamma_ = len(vocabulary), self.gamma(len(vocabulary))
        different, which = np.unique(ids, return_inverse=True)
        vectors = vocabulary.vectors_of(different)
        apart = np.linalg.norm(vectors[:, None] - vocabulary.vectors, axis=2)
        within = apart <= gamma_
        score = -gamma_ + 2 / self.epsilon * np.log(count / np.maximum(within.sum(axis=1), 1))
        weights = np.where(within, np.exp(-self.epsilon / 2 * apart), 0.0)
        far = np.where(within.all(axis=1), 0.0, np.exp(self.epsilon / 2 * score))
        others = np.maximum((~within).sum(axis=1), 1)
        weights += ~within * (far / others)[:, None]
        # Of each row its own unit, so that one search finds the places in all.
        sums = np.cumsum(weights, axis=1)
        ends = np.arange(len(different))[:, None] + sums / sums[:, -1:]
        place = np.searchsorted(ends.ravel(), which + uniform(random[:, 0])) - which * count
        return np.clip(place, 0, count - 1)


@dataclass(frozen=True)
class SanTextPlusKeepsAll(SanTextPlus):
    """Keeps sensitive words with the same probability as common ones."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        released = super().release(ids, random, search)
        kept = (uniform(random[:, 1]) > self.p) & (ids != UNKNOWN)
        return np.where(kept, ids, released)


@dataclass(frozen=True)
class ResamplesAroundTheOriginal(Laplace):
    """Stands for rank resampling that takes ranks around the original word."""

    def release(self, ids: Ids, random: Any, search: NeighborSearch) -> Ids:
        known = np.maximum(ids, 0)
        ranks = RankResampling(0.1).ranks(random[:, :1], self.epsilon, len(search.vocabulary))
        return search.neighbor(known, ranks)


@dataclass(frozen=True)
class ResamplingFromRankOne(RankResampling):
    """Never leaves the released word as it is, against the distribution that it states."""

    def ranks(self, random: Any, epsilon: float, words: int) -> Ids:
        return np.minimum(super().ranks(random, epsilon, words) + 1, words - 1)


# --- Sanitizers. ---------------------------------------------------------------------------------


class DrawsAgainOnRetry(Sanitizer):
    """A text that is sanitized again gets other noise, so retries average it away."""

    def sanitize(self, documents: Iterable[Document]) -> Iterator[Any]:
        self._secret_key = np.random.default_rng().bytes(32)
        yield from super().sanitize(documents)


class ReusesNoiseAfterAnEdit(Sanitizer):
    """The key of the noise leaves the text out."""

    def document_key(self, document: Document) -> bytes:
        return super().document_key(document._replace(text=""))


class OneNoiseForAllDocuments(Sanitizer):
    """The key of the noise leaves the document's id out."""

    def document_key(self, document: Document) -> bytes:
        return super().document_key(document._replace(id=""))


class RepeatsNoiseInLongTexts(Sanitizer):
    """Works on a text in pieces and counts the words of each from 0."""

    def release(self, keys: Iterable[tuple[bytes, int, int]], ids: Ids) -> Ids:
        return super().release([(key, 0, count) for key, _, count in keys], ids)


class KeepsNoKey(Sanitizer):
    """The noise is the same under every key."""

    def __init__(self, search: NeighborSearch, settings: Configuration, key: bytes):
        super().__init__(search, settings, bytes(range(32)))


class LetsUnknownWordsThrough(Sanitizer):
    """Unknown words come out as they are."""

    def sanitize(self, documents: Iterable[Document]) -> Iterator[Any]:
        for document in documents:
            [result] = super().sanitize([document])
            assert result.document
            pairs = zip(document.text.split(), result.document.text.split(), strict=True)
            known = self.search.vocabulary.id_of
            words = [old if known(old) == UNKNOWN else new for old, new in pairs]
            yield Sanitized(document._replace(text=" ".join(words)), Tally())


class DropsUnknownWords(Sanitizer):
    """Unknown words are left out, under a claim that covers them."""

    def __init__(self, search: NeighborSearch, settings: Configuration, key: bytes):
        dropping = dataclasses.replace(settings, unknown_words="drop", allow_unsound=True)
        super().__init__(search, dropping, key)


class ResamplesRanksOfTheOriginal(Sanitizer):
    """Takes the ranks around the original word, not around the released one."""

    def release(self, keys: Iterable[tuple[bytes, int, int]], ids: Ids) -> Ids:
        resampling, self_ = self.configuration.resampling, self.configuration.mechanism
        assert resampling is not None
        needed = self_.draws(self.search.vocabulary.dimensions)
        random = np.empty((len(ids), draws_a_word(needed + 1)), np.uint64)
        start = 0
        for key, position, count in keys:
            fill(key, position, random[start : start + count])
            start += count
        released = self_.release(ids, random[:, :needed], self.search)
        known = np.where(ids == UNKNOWN, released, ids)
        around = random[:, needed : needed + 1]
        return resampling.resample(known, around, self_.epsilon, self.search)


RESAMPLERS: dict[str, type[Sanitizer]] = {
    "rank resampling: ranks of the original": ResamplesRanksOfTheOriginal,
}


# --- Releases of vectors. ------------------------------------------------------------------------


class BrokenReleaser(VectorReleaser):
    """A release of vectors whose noise or rounding is changed."""

    factor = 1.0

    def release_one(self, document: Document) -> Any:
        configuration = self.configuration
        m = configuration.projection.projected
        random = np.empty((1, draws_a_word(laplace_draws(m))), np.uint64)
        fill(self.noise_key(document), 0, random)
        noise = laplace(random, m, self.factor / configuration.scale)[0]
        return self.rounded(configuration.projection.apply(self._vector(document.text)), noise)

    def noise_key(self, document: Document) -> bytes:
        return document_key(self._secret_key, self._digest, document.id, document.text)

    def rounded(self, vector: Floats, noise: Floats) -> Floats:
        return to_grid(vector + noise, self.configuration.step)


class ReleasesFloat32(BrokenReleaser):
    """The sum in float32, as most published code does."""

    def rounded(self, vector: Floats, noise: Floats) -> Floats:
        return vector.astype(np.float32) + noise.astype(np.float32)


class ReleasesFloat64(BrokenReleaser):
    def rounded(self, vector: Floats, noise: Floats) -> Floats:
        return vector + noise


class RoundsTheNoiseAlone(BrokenReleaser):
    """The grid moves with the word."""

    def rounded(self, vector: Floats, noise: Floats) -> Floats:
        return (vector + to_grid(noise, self.configuration.step)).astype(np.float32)


class TooFineAGrid(BrokenReleaser):
    def rounded(self, vector: Floats, noise: Floats) -> Floats:
        return np.rint((vector + noise) * 2.0**50) / 2.0**50


class HalfTheNoise(BrokenReleaser):
    factor = 2.0


class AFifthLessNoise(BrokenReleaser):
    factor = 1.25


class VectorsDrawnAgain(BrokenReleaser):
    """A retry gets other noise."""

    def noise_key(self, document: Document) -> bytes:
        return np.random.default_rng().bytes(32)


class VectorsShareNoise(BrokenReleaser):
    """One noise for all documents."""

    def noise_key(self, document: Document) -> bytes:
        return super().noise_key(Document("", ""))


class VectorsWithoutTheKey(BrokenReleaser):
    """The same noise under every key."""

    def noise_key(self, document: Document) -> bytes:
        return document_key(bytes(32), self._digest, document.id, document.text)


RELEASERS: dict[str, type[VectorReleaser]] = {
    "float32": ReleasesFloat32,
    "float64": ReleasesFloat64,
    "the noise rounded alone": RoundsTheNoiseAlone,
    "too fine a grid": TooFineAGrid,
    "half the noise": HalfTheNoise,
    "a fifth less noise": AFifthLessNoise,
    "noise drawn again on retry": VectorsDrawnAgain,
    "one noise for all documents": VectorsShareNoise,
    "noise without the key": VectorsWithoutTheKey,
}
"""Releases of vectors with one mistake each."""


MECHANISMS: dict[str, Any] = {
    **{f"laplace: {name}": BrokenLaplace(10.0, name) for name in NOISE},
    "laplace: post-processing from the original": PostProcessesFromTheOriginal(10.0),
    "laplace: released by 1 % less noise": ReleasesByOtherNoise(10.0),
    "laplace: drawn again when equal": DrawsAgainWhenEqual(10.0),
    "laplace: unknown words without noise": UnknownWordsWithoutNoise(10.0),
    "laplace: resampled around the original": ResamplesAroundTheOriginal(10.0),
    "vickrey: the original excluded": VickreyWithoutTheOriginal(10.0),
    "vickrey: squared distances": VickreyWithSquaredDistances(10.0),
    "vickrey: squared distances, n > 1": VickreyWithSquaredDistancesBeyondALine(10.0),
    "mahalanobis: renormalised": MahalanobisRenormalised(10.0),
    "mahalanobis: too little noise": MahalanobisUnregularized(10.0),
    "gaussian: half the deviation": GaussianHalved(10.0),
    "gaussian: clipped, for one radius": GaussianForOneRadius(10.0, clip=1.0),
    "gaussian: not clipped": GaussianUnclipped(10.0, 1e-6, clip=0.05),
    "trlaplace: truncated too early": TrLaplaceTooShort(10.0),
    "trlaplace: not clipped": TrLaplaceUnclipped(10.0, 1e-6, 0.05),
    "santext: epsilon doubled": SanTextDoubled(10.0),
    "santext: nearest words alone": SanTextOfNeighbours(10.0),
    "tem: the published share of far words": TEMWithThePublishedShare(10.0, 0.2),
    "santext_plus: sensitive words kept": SanTextPlusKeepsAll(10.0, 0.3, 0.6),
}

SANITIZERS: dict[str, type[Sanitizer]] = {
    "noise drawn again on retry": DrawsAgainOnRetry,
    "noise reused after an edit": ReusesNoiseAfterAnEdit,
    "one noise for all documents": OneNoiseForAllDocuments,
    "noise repeated in long texts": RepeatsNoiseInLongTexts,
    "noise without the key": KeepsNoKey,
    "unknown words let through": LetsUnknownWordsThrough,
    "unknown words dropped": DropsUnknownWords,
}
