"""The model that judges released text, which no decoder reads: bigrams by Witten and Bell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


class WittenBell:
    """Interpolated bigrams: (c(x y) + T(x) p(y)) / (c(x) + T(x)), p by counts plus a half."""

    def __init__(self, documents: Sequence[Any], size: int):
        keys = np.concatenate([_pairs(ids, size) for ids in documents])
        self._size = size
        self._keys, self._counts = np.unique(keys, return_counts=True)
        before = self._keys // size
        self._totals = np.bincount(before, self._counts, size)
        self._kinds = np.bincount(before, minlength=size)
        known = np.concatenate([ids[ids >= 0] for ids in documents])
        self.prior = np.bincount(known, minlength=size) + 0.5
        self.prior /= self.prior.sum()

    def losses(self, ids: Any, where: Any) -> Any:
        """-ln p of each word that follows a known one, if ``where`` is true of both: bool [T]."""
        keys = _pairs(np.where(where, ids, -1), self._size)
        before, after = np.divmod(keys, self._size)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        seen = np.where(self._keys[place] == keys, self._counts[place], 0)
        totals, kinds = self._totals[before], self._kinds[before]
        kinds = np.where(totals == 0, 1, kinds)
        return -np.log((seen + kinds * self.prior[after]) / (totals + kinds))


def _pairs(ids: Any, size: int) -> Any:
    both = (ids[:-1] >= 0) & (ids[1:] >= 0)
    return ids[:-1][both] * size + ids[1:][both]
