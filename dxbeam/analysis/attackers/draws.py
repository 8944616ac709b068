"""Words released once each under a setting, with what attackers see of them."""

from __future__ import annotations

from typing import NamedTuple

from dxbeam.analysis.attackers.noisy_vector import has_noise_density, noise_density
from dxbeam.mechanisms import AddsNoise, Mechanism
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch


class Draws(NamedTuple):
    """Words and what became of them.

    Attributes:
      ids: int64 [B], the original words.
      noisy: float64 [B, n], their noisy vectors; None for a mechanism without a noise density.
      chosen: int64 [B], what the mechanism chose, before rank resampling.
      released: int64 [B], what is released.
    """

    ids: Ids
    noisy: Floats | None
    chosen: Ids
    released: Ids


def draws_needed(mechanism: Mechanism, rank_c: float | None, dimensions: int) -> int:
    """Random numbers per word that ``draw`` uses."""
    resampling = RankResampling(rank_c).draws() if rank_c else 0
    return mechanism.draws(dimensions) + resampling


def draw(
    mechanism: Mechanism, rank_c: float | None, ids: Ids, random: Random, search: NeighborSearch
) -> Draws:
    """Releases each word once.

    Args:
      mechanism: with its epsilon.
      rank_c: of rank resampling; None for none.
      ids: int64 [B], words of the vocabulary.
      random: uint64 [B, draws_needed or more], the mechanism's first.
      search: the vocabulary.
    """
    draws = mechanism.draws(search.vocabulary.dimensions)
    chosen = mechanism.release(ids, random[:, :draws], search)
    noisy = None
    if isinstance(mechanism, AddsNoise) and has_noise_density(mechanism):
        starts = noise_density(mechanism, search).starts(search.vocabulary.vectors_of(ids))
        noisy = starts + mechanism.noise(random[:, :draws], search)
    released = chosen
    if rank_c:
        further = random[:, draws : draws + 1]
        released = RankResampling(rank_c).resample(chosen, further, mechanism.epsilon, search)
    return Draws(ids, noisy, chosen, released)
