"""What is audited, how large the samples are, and what a test finds."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.audit.evidence import Evidence, Floats
from dxbeam.audit.fitted import Fitted
from dxbeam.audit.references.distributions import Reference
from dxbeam.audit.references.table import REFERENCES, UNLISTED, MechanismEntry, after_resampling
from dxbeam.mechanisms import WeighsWords
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.pieces import STARTS
from dxbeam.text.sanitizer import Sanitizer


class Size(NamedTuple):
    """Samples of an audit.

    Attributes:
      noises: noise vectors in up to 3 dimensions.
      long_noises: noise vectors in more.
      outputs: released words per word.
      words: words of a text.
      long_words: words of a long text.
    """

    noises: int = 100_000
    long_noises: int = 50_000
    outputs: int = 20_000
    words: int = 6_000
    long_words: int = 140_000


STANDARD = Size()

SMALL = Size(8_000, 6_000, 2_000, 2_500)
"""For many runs of correct mechanisms; the false-alarm rate does not depend on the size."""


class Finding(NamedTuple):
    """What one test found.

    Attributes:
      test: what was tested.
      setting: on what.
      statistic: what was measured; its meaning is the test's.
      p_value: probability of such a statistic, at most, if the mechanism is as it should be.
      part_of_claim: False where a mechanism that claims nothing is measured all the same.
      epsilon_bound: lower bound on the privacy loss per unit of distance, or NaN; see ``says``.
      says: what the statistic is about, in words.
    """

    test: str
    setting: str
    statistic: float
    p_value: float
    part_of_claim: bool = True
    epsilon_bound: float = math.nan
    says: str = ""

    @classmethod
    def of(cls, test: str, setting: str, evidence: Evidence, says: str = "") -> Finding:
        """A finding from a statistic and its p-value; a p-value that is no number counts as 0."""
        p_value = 0.0 if math.isnan(evidence.p_value) else evidence.p_value
        return cls(test, setting, evidence.statistic, p_value, says=says)


class Expected(NamedTuple):
    """What should be released for some words.

    Attributes:
      distributions: float64 [k, N], after rank resampling.
      tolerance: how far a probability may be from the exact one.
      missed: how much too small it may be besides, as rank resampling is enumerated.
    """

    distributions: Floats
    tolerance: float
    missed: float

    def error(self, added_up: int = 1) -> float:
        """How far the sum of this many probabilities may be from the exact one."""
        return self.tolerance * added_up + self.missed


@dataclass(frozen=True)
class Subject:
    """A configuration under audit.

    Attributes:
      configuration: what is run, with unknown words noised.
      size: of the samples.
      random_bytes: count -> that many random bytes; the operating system's outside of tests.
      make: what makes its Sanitizer; tests put a broken one here.
      search: what makes the search over a vocabulary; tests put a broken one here.
      bag: what makes a BagOfWords; tests put a broken one here.
      fitted: what is made anew for each vocabulary; the configuration's mechanism is without it.
    """

    configuration: Configuration
    size: Size = STANDARD
    random_bytes: Callable[[int], bytes] = os.urandom
    make: Callable[..., Sanitizer] = Sanitizer
    search: Callable[..., NeighborSearch] = NeighborSearch
    bag: Callable[[int, frozenset[str]], BagOfWords] = BagOfWords
    fitted: Fitted = dataclasses.field(default_factory=Fitted)

    def over(self, vocabulary: Vocabulary, *epsilons: float) -> Configuration:
        """The configuration that is run over a vocabulary, with what is made for it.

        Args:
          vocabulary: the words.
          epsilons: further ones that the constant is solved for.
        """
        plain = self.configuration.mechanism
        mechanism = self.fitted.mechanism(plain, vocabulary, epsilons)
        if mechanism is plain:
            return self.configuration
        return dataclasses.replace(self.configuration, mechanism=mechanism)

    def by_themselves(self, count: int) -> dict[str, Any]:
        """Arguments by which each of the words that are released is a sentence."""
        return {"breaks": np.full(count, STARTS, np.int8)} if self.fitted.model else {}

    @property
    def sound(self) -> bool:
        """Whether anything is claimed."""
        return self.configuration.mechanism.guarantee().sound

    @property
    def entry(self) -> MechanismEntry:
        """What the audit knows of the mechanism."""
        return REFERENCES.get(self.configuration.mechanism.name, UNLISTED)

    @property
    def weighs_words(self) -> bool:
        """Whether public weights may tell words at one place apart."""
        mechanism = self.configuration.mechanism
        return isinstance(mechanism, WeighsWords) and mechanism.importance is not None

    def reference(self, vocabulary: Vocabulary) -> Reference:
        """What the mechanism should do over a vocabulary."""
        return self.entry.reference(self.over(vocabulary).mechanism, vocabulary)

    def expected(self, vocabulary: Vocabulary, words: Ids) -> Expected | None:
        """What should be released for words, int64 [k]; None where it is not known."""
        reference, places = self.reference(vocabulary), vocabulary.vectors_of(words)
        released = reference.released
        if released is None:
            return None
        exact = np.array([released(int(w), x) for w, x in zip(words, places, strict=True)])
        exact, missed = after_resampling(self.configuration, vocabulary, exact)
        return Expected(exact, reference.tolerance, missed)

    def spread(self, n: int) -> float:
        """Roughly the standard deviation of the noise along a direction."""
        return self.entry.spread(self.configuration.mechanism, n)

    def key(self) -> bytes:
        """A new secret key."""
        return self.random_bytes(32)

    def sanitizer(
        self,
        vocabulary: Vocabulary | NeighborSearch,
        key: bytes | None = None,
        unknown_words: str = "noise",
        bag: BagOfWords | None = None,
    ) -> Sanitizer:
        """The release path over a vocabulary, with a new key unless one is given."""
        words = vocabulary if isinstance(vocabulary, Vocabulary) else vocabulary.vocabulary
        return self.make(
            self.search(vocabulary) if isinstance(vocabulary, Vocabulary) else vocabulary,
            dataclasses.replace(
                self.over(words),
                unknown_words=unknown_words,
                bag=bag,
                allow_unsound=True,  # what is audited is not released
            ),
            key or self.key(),
        )

    def release(self, vocabulary: Vocabulary, ids: Ids) -> Ids:
        """Releases words as one document, through a new key: int64 [B] -> int64 [B]."""
        run = [(self.key(), 0, len(ids))]
        return self.sanitizer(vocabulary).release(run, ids, **self.by_themselves(len(ids)))

    def normals(self, count: int) -> Floats:
        """Standard normal numbers, float64 [count], by Box and Muller."""
        u = np.frombuffer(self.random_bytes(16 * count), np.uint64).reshape(2, count)
        first, second = (u.astype(np.float64) + 1) * 2.0**-64
        return np.asarray(np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second))


def words_at(places: npt.ArrayLike, unknown: npt.ArrayLike) -> Vocabulary:
    """Words w0, w1, … at these places [N, n], and unknown words at another [n]."""
    vectors = np.ascontiguousarray(places, np.float32)
    names = [f"w{i}" for i in range(len(vectors))]
    return Vocabulary(names, vectors, unknown_vector=np.asarray(unknown, np.float32))
