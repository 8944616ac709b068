"""The registry of mechanisms, and what each of them offers.

A mechanism is a frozen dataclass of parameters in a file of its own. It holds no randomness and
no vocabulary: word ids and random numbers come in, word ids go out.
"""

from __future__ import annotations

from typing import ClassVar, Protocol

from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.neighbors import Ids, NeighborSearch
from dxbeam.randomness import Random


class Mechanism(Protocol):
    """What every mechanism offers.

    Attributes:
      name: how it is called on the command line and in the manifest.
      epsilon: its privacy parameter.
    """

    name: ClassVar[str]

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
          int64 [B], each a word of the vocabulary; row i depends on row i of ids and random alone.
        """
        ...

    def guarantee(self) -> Guarantee:
        """What this mechanism promises for one word."""
        ...


MECHANISMS: dict[str, type[Laplace]] = {Laplace.name: Laplace}
"""Every mechanism by its name."""


def make_mechanism(name: str, epsilon: float) -> Mechanism:
    """The mechanism of this name.

    Raises:
      ConfigurationError: no such mechanism, or a parameter out of range.
    """
    if name not in MECHANISMS:
        raise ConfigurationError(
            f"--mechanism {name}: there is no such mechanism; choose from {', '.join(MECHANISMS)}"
        )
    return MECHANISMS[name](epsilon)
