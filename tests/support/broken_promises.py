"""Mechanisms that do what they should, and promise more than that keeps."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms.coordinate_laplace import CoordinateLaplace
from dxbeam.mechanisms.gaussian import Gaussian
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.mahalanobis import Mahalanobis
from dxbeam.mechanisms.santext_plus import SanTextPlus
from dxbeam.mechanisms.tem import TEM
from dxbeam.mechanisms.trlaplace import TrLaplace
from dxbeam.text.bag_of_words import BagOfWords


class SaysALittleLess(Guarantee):
    """The sentence rounds its epsilon down."""

    @property
    def sentence(self) -> str:
        epsilon = int(self.epsilon)
        return dataclasses.replace(_plain(self), epsilon=epsilon).sentence


class ForgetsWhatIsLeftOut(Guarantee):
    """Says of all words what holds for those of the vocabulary."""

    def narrowed(self, covers: str, unprotected: str) -> Guarantee:
        return self


class NamesItInACaveatAlone(Guarantee):
    """The main sentence is as if every word were covered."""

    @property
    def sentence(self) -> str:
        return dataclasses.replace(_plain(self), unprotected=()).sentence


def _plain(promise: Guarantee) -> Guarantee:
    return _as(Guarantee, promise)


def _as(kind: type[Guarantee], promise: Guarantee) -> Guarantee:
    return kind(**{f.name: getattr(promise, f.name) for f in dataclasses.fields(promise)})


def _promising(kind: type[Guarantee], epsilon: float) -> Laplace:
    class Promising(Laplace):
        def guarantee(self) -> Guarantee:
            return _as(kind, super().guarantee())

    return Promising(epsilon)


@dataclass(frozen=True)
class EuclideanTooSmall(Mahalanobis):
    """Forgets that the noise is narrower in some directions."""

    def guarantee(self) -> Guarantee:
        return dataclasses.replace(super().guarantee(), euclidean_epsilon=self.epsilon)


@dataclass(frozen=True)
class CapOfARadius(CoordinateLaplace):
    """Two points of a ball are two radii apart, not one."""

    def guarantee(self) -> Guarantee:
        assert self.clip is not None
        return dataclasses.replace(super().guarantee(), cap=self.epsilon * self.clip)


@dataclass(frozen=True)
class WithoutLimit(Gaussian):
    """Leaves out how far it reaches."""

    def guarantee(self) -> Guarantee:
        return dataclasses.replace(super().guarantee(), longest=None)


@dataclass(frozen=True)
class SmallerSlackOfNormalNoise(Gaussian):
    def guarantee(self) -> Guarantee:
        return dataclasses.replace(super().guarantee(), delta=self.delta / 10)


@dataclass(frozen=True)
class SmallerSlack(TrLaplace):
    def guarantee(self) -> Guarantee:
        return dataclasses.replace(super().guarantee(), delta=self.delta / 10)


@dataclass(frozen=True)
class CommonWordsToo(SanTextPlus):
    """Promises for every word."""

    def guarantee(self) -> Guarantee:
        return dataclasses.replace(
            super().guarantee(), covered_share=1.0, covers="", unprotected=()
        )


@dataclass(frozen=True)
class OddsOfOne(TEM):
    """A cap that leaves out the number of words beyond gamma."""

    def guarantee(self) -> Guarantee:
        promise = super().guarantee()
        assert promise.far_odds is not None
        return dataclasses.replace(promise, far_odds=promise.far_odds / 4)


MECHANISMS: dict[str, Any] = {
    "laplace: epsilon rounded down": _promising(SaysALittleLess, 1.9),
    "laplace: words outside the vocabulary promised": _promising(ForgetsWhatIsLeftOut, 1.5),
    "laplace: what is left out is not in the sentence": _promising(NamesItInACaveatAlone, 1.5),
    "mahalanobis: the same epsilon in Euclidean distance": EuclideanTooSmall(1.5),
    "coordinate_laplace: a cap of one radius": CapOfARadius(1.5, 0.6),
    "gaussian: without its limit": WithoutLimit(1.5, 0.01, 0.1),
    "gaussian: clipped, a tenth of the slack": SmallerSlackOfNormalNoise(1.5, 0.1, clip=0.6),
    "trlaplace: a tenth of the slack": SmallerSlack(1.5, 0.01, 0.6),
    "santext_plus: common words promised": CommonWordsToo(1.5, 0.3, 0.5),
    "tem: a smaller cap": OddsOfOne(1.5, 0.4),
}


@dataclass(frozen=True)
class SlackOfOneWord(BagOfWords):
    def guarantee(self, word: Guarantee, removed: str = "stop words") -> Guarantee:
        return dataclasses.replace(super().guarantee(word, removed), delta=word.delta)


@dataclass(frozen=True)
class CapOfOneWord(BagOfWords):
    def guarantee(self, word: Guarantee, removed: str = "stop words") -> Guarantee:
        return dataclasses.replace(super().guarantee(word, removed), cap=word.cap)


@dataclass(frozen=True)
class OfWhatIsUnprotected(BagOfWords):
    """Promises for documents where words go unprotected."""

    def guarantee(self, word: Guarantee, removed: str = "stop words") -> Guarantee:
        return super().guarantee(dataclasses.replace(word, unprotected=()), removed)


BAGS: dict[str, tuple[Any, Callable[[int, frozenset[str]], BagOfWords]]] = {
    "the slack of one word": (TrLaplace(1.5, 0.06, 1.0), SlackOfOneWord),
    "the cap of one word": (CoordinateLaplace(1.5, 0.6), CapOfOneWord),
    "common words promised": (SanTextPlus(1.5, 0.3, 0.5), OfWhatIsUnprotected),
}
"""A mechanism, and a bag that promises too much of it."""
