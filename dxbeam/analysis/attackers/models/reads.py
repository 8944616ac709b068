"""Texts as attackers see them who train on releases, or ask a language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.analysis.attackers.context import Candidates
from dxbeam.space.search.neighbors import Floats, Ids


class Read(NamedTuple):
    """Texts as the attacker sees them.

    Attributes:
      candidates: of all their words, one text after the other.
      in_context: float64 [T, k], the probability of each candidate given its text.
      sizes: how many words each text has.
      released: int64 [T], the released words; None for who sees noisy vectors only.
    """

    candidates: Candidates
    in_context: Floats
    sizes: Sequence[int]
    released: Ids | None = None

    def parts(self) -> Iterator[slice]:
        """Where each text is."""
        ends = np.cumsum(self.sizes).tolist()
        return (slice(end - size, end) for end, size in zip(ends, self.sizes, strict=True))

    def some(self, texts: Sequence[int]) -> Read:
        """Some of the texts."""
        every = list(self.parts())
        rows = np.concatenate([np.arange(every[i].start, every[i].stop) for i in texts])
        released = None if self.released is None else self.released[rows]
        sizes = [self.sizes[i] for i in texts]
        return Read(rows_of(self.candidates, rows), self.in_context[rows], sizes, released)


def rows_of(candidates: Candidates, rows: slice | Ids) -> Candidates:
    """The candidates of some words."""
    ids, posterior, priors = candidates
    return Candidates(ids[rows], posterior[rows], priors[rows])
