"""Lists of words that are kept for the next time the same word is read after the same context.

Common words follow common words, and theirs are the long lists: of 77,000 words of film reviews
under ``fluent`` four of five entries of such lists had been computed before.
"""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

from dxbeam.mechanisms.sampling.near_words import ascending, drawn
from dxbeam.space.search.neighbors import Floats

_MOST = 4 << 20
"""Words of all lists together: 12 bytes each, and 12 more once a list is sorted; 100 MB."""

_A_LIST = 32
"""Words that take as much memory as what a list needs besides its words."""


class KeptList:
    """Words and their shares; sorted when one is first drawn, as for most lists that never is.

    ``total`` is of the shares, as it was summed when they were computed.
    """

    __slots__ = ("_drawn_from", "_shares", "_words", "total")

    def __init__(self, words: npt.NDArray[np.integer], shares: Floats, total: float):
        self._words, self._shares, self.total = words, shares, total
        self._drawn_from: tuple[npt.NDArray[np.integer], Floats] | None = None

    def draw(self, number: float) -> int:
        """A word in proportion to its share, by a uniform number in (0, 1]."""
        if self._drawn_from is None:
            self._drawn_from = ascending(self._words, self._shares)
            # Another thread may be sorting them, too; both come to the same.
        return drawn(*self._drawn_from, number)


class KeptLists:
    """Lists by context and word, as long as there is room; threads may share them."""

    def __init__(self) -> None:
        self._lists: dict[tuple[int, int], KeptList] = {}
        self._room = _MOST
        self._lock = threading.Lock()

    def of(self, contexts: list[int], words: list[int]) -> list[KeptList | None]:
        """The lists of words after contexts, None where there is none."""
        return list(map(self._lists.get, zip(contexts, words, strict=True)))

    @property
    def full(self) -> bool:
        """Whether no further list is kept."""
        return self._room <= 0

    def keep(self, context: int, word: int, kept: KeptList, size: int) -> None:
        """Keeps a list of ``size`` words, if there is room."""
        with self._lock:
            if not self.full and (context, word) not in self._lists:
                self._lists[context, word] = kept
                self._room -= size + _A_LIST
