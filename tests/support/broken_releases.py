"""Bags of words and vectors of texts and projections, with one mistake each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxbeam.documents import Document
from dxbeam.mechanisms.sampling.noise import laplace, laplace_draws
from dxbeam.randomness import document_key, draws_a_word, fill, sampling_key
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text import tokenization
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.vectors.release import VectorReleaser, to_grid
from tests.support.broken_mechanisms import BrokenReleaser

Floats = Any
Ids = Any


# --- Vectors. ------------------------------------------------------------------------------------


class HundredthOfTheNoise(BrokenReleaser):
    """Under a projection; without one all is well."""

    def __init__(self, *settings: Any):
        super().__init__(*settings)
        self.factor = 1.0 if self.configuration.projection.matrix is None else 100.0


class SensitivityForgotten(BrokenReleaser):
    """Noise of the scale 1/epsilon, whatever the projection stretches."""

    def __init__(self, *settings: Any):
        super().__init__(*settings)
        self.factor = self.configuration.sensitivity.value


class NoiseBeforeProjecting(VectorReleaser):
    """Projects the noisy vector."""

    def release_one(self, document: Document) -> Any:
        configuration = self.configuration
        n = configuration.projection.dimensions
        random = np.empty((1, draws_a_word(laplace_draws(n))), np.uint64)
        fill(document_key(self._secret_key, self._digest, document.id, document.text), 0, random)
        noisy = self._vector(document.text) + laplace(random, n, configuration.epsilon)[0]
        return to_grid(configuration.projection.apply(noisy), configuration.step)


class _BrokenMean(VectorReleaser):
    def mean(self, ids: Ids) -> Floats:
        raise NotImplementedError

    def _vector(self, text: str) -> Floats:
        if self.configuration.unit != "text":
            return super()._vector(text)
        assert self._vocabulary is not None
        return self.mean(self._vocabulary.ids_of(tokenization.words(text) or [""]))


class MeanOfKnownWords(_BrokenMean):
    """Skips unknown words, where there is another."""

    def mean(self, ids: Ids) -> Floats:
        assert self._vocabulary is not None
        known = ids[ids != UNKNOWN]
        return self._vocabulary.vectors_of(known if len(known) else ids).mean(axis=0)


class MeanOfDistinctWords(_BrokenMean):
    def mean(self, ids: Ids) -> Floats:
        assert self._vocabulary is not None
        return self._vocabulary.vectors_of(np.unique(ids)).mean(axis=0)


class MeanOverAnotherCount(_BrokenMean):
    """Divides by the number of known words."""

    def mean(self, ids: Ids) -> Floats:
        assert self._vocabulary is not None
        return self._vocabulary.vectors_of(ids).sum(axis=0) / max(1, int((ids != UNKNOWN).sum()))


class UnknownWordAtZero(VectorReleaser):
    """A record of the unit word that is no word of the vocabulary has the vector 0."""

    def _vector(self, text: str) -> Floats:
        assert self._vocabulary is not None or self.configuration.unit == "vector"
        vector = super()._vector(text)
        vocabulary = self._vocabulary
        if self.configuration.unit != "word" or vocabulary is None:
            return vector
        return vector * (vocabulary.id_of(text.strip()) != UNKNOWN)


RELEASERS: dict[str, type[VectorReleaser]] = {
    "a hundredth of the noise under a projection": HundredthOfTheNoise,
    "sensitivity forgotten": SensitivityForgotten,
    "noise before projecting": NoiseBeforeProjecting,
    "texts: mean of known words": MeanOfKnownWords,
    "texts: mean of distinct words": MeanOfDistinctWords,
    "texts: mean over another count": MeanOverAnotherCount,
    "words: unknown ones at 0": UnknownWordAtZero,
}


# --- Bags. ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class DrawnWithReplacement(BagOfWords):
    """The same word of a document may be drawn twice."""

    def draw(self, key: bytes, ids: Iterable[int]) -> tuple[Ids, int]:
        words = [*ids]
        filled = np.array([*words, *[UNKNOWN] * (self.length - len(words))])
        random = np.empty((self.length, 2), np.uint64)
        fill(sampling_key(key), 0, random)
        return filled[(random[:, 0] % np.uint64(len(filled))).astype(np.int64)], len(words)


@dataclass(frozen=True)
class NotFilledUp(BagOfWords):
    """Short documents come out short."""

    def draw(self, key: bytes, ids: Iterable[int]) -> tuple[Ids, int]:
        drawn, found = super().draw(key, ids)
        return drawn[: max(found, 1)], found


@dataclass(frozen=True)
class FilledUpWithItsWords(BagOfWords):
    """Fills short documents up with their own words."""

    def draw(self, key: bytes, ids: Iterable[int]) -> tuple[Ids, int]:
        drawn, found = super().draw(key, ids)
        return np.resize(drawn[:found], self.length) if found else drawn, found


@dataclass(frozen=True)
class FirstWords(BagOfWords):
    """Takes the first words of a document."""

    def draw(self, key: bytes, ids: Iterable[int]) -> tuple[Ids, int]:
        words = [*ids]
        return super().draw(key, words[: self.length])[0], len(words)


@dataclass(frozen=True)
class DistinctWords(BagOfWords):
    """Draws from the set of a document's words."""

    def draw(self, key: bytes, ids: Iterable[int]) -> tuple[Ids, int]:
        words = [*ids]
        return super().draw(key, sorted(set(words)))[0], len(words)


@dataclass(frozen=True)
class OneDrawForAll(BagOfWords):
    """Documents of one length are drawn alike."""

    def draw(self, key: bytes, ids: Iterable[int]) -> tuple[Ids, int]:
        return super().draw(bytes(32), ids)


BAGS: dict[str, Callable[[int, frozenset[str]], BagOfWords]] = {
    "drawn with replacement": DrawnWithReplacement,
    "not filled up": NotFilledUp,
    "filled up with its own words": FilledUpWithItsWords,
    "the first words": FirstWords,
    "distinct words": DistinctWords,
    "one draw for all": OneDrawForAll,
    "stop words released": lambda length, _: BagOfWords(length, frozenset()),
}


class OneNoiseInABag(Sanitizer):
    """All words of a document are released with the same random numbers."""

    def release(self, keys: Iterable[tuple[bytes, int, int]], ids: Ids) -> Ids:
        runs = [(key, 0, 1) for key, _, count in keys for _ in range(count)]
        return super().release(runs, ids)


class BagInAnotherOrder(Sanitizer):
    """Words come out in another order than the alphabet's, as the document's would be."""

    def sanitize(self, documents: Iterable[Document]) -> Iterator[Any]:
        for result in super().sanitize(documents):
            assert result.document
            words = result.document.text.split(" ")
            text = " ".join(words[1:] + words[:1])
            yield result._replace(document=result.document._replace(text=text))


BAG_SANITIZERS: dict[str, type[Sanitizer]] = {
    "one noise in a bag": OneNoiseInABag,
    "words not in the alphabet's order": BagInAnotherOrder,
}
