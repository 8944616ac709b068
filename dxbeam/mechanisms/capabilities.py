"""What a mechanism offers: what every one must, and protocols for what some can besides."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, runtime_checkable

from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms.channels.noise_density import NoiseDensity
from dxbeam.mechanisms.channels.word_channel import WordChannel
from dxbeam.mechanisms.constants.exact_constant import ExactConstant
from dxbeam.mechanisms.public.base_measure import BaseMeasure
from dxbeam.mechanisms.public.importance import Importance
from dxbeam.mechanisms.public.public_model import PublicModel
from dxbeam.mechanisms.sampling.noise import Floats
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch


class Mechanism(Protocol):
    """What every mechanism offers.

    Attributes:
      name: how it is called on the command line and in the manifest.
      epsilon: its privacy parameter.
    """

    name: ClassVar[str]

    def __init__(self, **parameters: Any): ...

    @property
    def epsilon(self) -> float: ...  # noqa: D102

    def draws(self, dimensions: int) -> int:
        """How many uint64 random numbers ``release`` uses for one word."""
        ...

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """Releases a word for each word.

        Args:
          ids: int64 [B]; UNKNOWN for a word outside the vocabulary, which is treated as the
            public unknown word.
          random: uint64 [B, draws or more], independent of everything else.
          search: neighbour queries over the vocabulary.

        Returns:
          int64 [B], each a word of the vocabulary; row i depends only on row i of ids and random.
        """
        ...

    def guarantee(self) -> Guarantee:
        """What this mechanism promises for one word."""
        ...


@runtime_checkable
class AddsNoise(Protocol):
    """What a mechanism offers besides if it adds noise to a word's vector; ``release`` uses it.

    The distribution of what is released given the noisy vector must not depend on the word.
    """

    def noise(self, random: Random, search: NeighborSearch) -> Floats:
        """The noise of each word, float64 [B, n]; row i depends only on row i of ``random``.

        Random numbers that are not used for noise come after those that are. The distribution may
        depend on the vocabulary, but never on the word.
        """
        ...


@runtime_checkable
class ReadsReleased(Protocol):
    """What a mechanism offers besides if it reads the words that it has released before a word.

    Attributes:
      model: the public language model that it reads them with, or None.
    """

    @property
    def model(self) -> PublicModel | None: ...  # noqa: D102

    def release_in_order(
        self, ids: Ids, random: Random, search: NeighborSearch, places: Ids
    ) -> Ids:
        """Releases a word for each word, int64 [B], by ``random``, uint64 [B, draws or more].

        ``places``, int64 [B, 2], are the two words before each, as released_before.py names them. A
        row depends on its own row of the arguments and on the rows that ``places`` names.
        """
        ...


@runtime_checkable
class DescribesNoise(AddsNoise, Protocol):
    """A mechanism of whose noisy vector the density is known, so that it can be decoded."""

    def noise_starts(self, ids: Ids, search: NeighborSearch) -> Floats:
        """The vectors that the noise is added to: float64 [B, n]."""
        ...

    def density(self, search: NeighborSearch) -> NoiseDensity:
        """The density of the noisy vector given the word."""
        ...


@runtime_checkable
class ChoosesWords(Protocol):
    """A mechanism that draws a word with known probabilities, so that it can be decoded."""

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """As ``Mechanism`` says."""
        ...

    def channel(self, search: NeighborSearch) -> WordChannel:
        """The probabilities of drawn words given originals."""
        ...


@runtime_checkable
class WeighsWords(Protocol):
    """A mechanism that draws a word by its probability, so that public values of words may enter.

    Attributes:
      importance: public weights by which harmless words stay unchanged more often, or None.
      base: public base measure, by which likely words are released more often, or None.
      constant: what a scan of one vocabulary found, or None for the worst case of all.
    """

    @property
    def importance(self) -> Importance | None: ...  # noqa: D102

    @property
    def base(self) -> BaseMeasure | None: ...  # noqa: D102

    @property
    def constant(self) -> ExactConstant | None: ...  # noqa: D102


@runtime_checkable
class ScalesNoise(AddsNoise, Protocol):
    """A mechanism whose noise at any epsilon is a scaled copy of one distribution.

    So one draw of noise says what is released at every epsilon: the word nearest to
    ``noise_starts`` plus ``noise``.
    """

    @property
    def noise_scale(self) -> float:
        """What the noise at this epsilon is a multiple of, for one and the same ``random``."""
        ...

    def noise_starts(self, ids: Ids, search: NeighborSearch) -> Floats:
        """The vectors that the noise is added to: float64 [B, n]."""
        ...
