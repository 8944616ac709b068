"""Bags of words drawn as their paper draws them, with replacement, for which its theorem is false.

Fernandes, Dras, McIver: Generalised differential privacy for text document processing (2019),
section 5.2: a document becomes n words by n independent draws from the frequencies of its words.
The same word may be drawn n times, so that one changed word costs up to epsilon n d(w, w'), and
epsilon n WMD is exceeded (bag_of_words.py; exactly enumerated in
tests/text/test_bag_of_words_published.py). Kept for comparison, and refused without consent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dxbeam.guarantees import Guarantee, nothing
from dxbeam.randomness import fill, sampling_key
from dxbeam.space.search.neighbors import Ids
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.bag_of_words import BagOfWords


@dataclass(frozen=True)
class BagOfWordsPublished(BagOfWords):
    """How the paper makes a bag of a document; without a guarantee.

    Attributes:
      length: n, the number of words released for every document.
      stop_words: lower-case words that are removed first.
    """

    flaw: ClassVar[str] = "draws words with replacement, and the theorem published for it is false"

    def as_dict(self) -> dict[str, Any]:
        """Every parameter, ready for JSON."""
        return {**super().as_dict(), "sampling": "with replacement, as published"}

    def draw(
        self,
        key: bytes,
        ids: Iterable[int],
        at_once: int = 0,  # noqa: ARG002
    ) -> tuple[Ids, int]:
        """As ``BagOfWords.draw``, each word of all words of the document; memory grows with it.

        A document without a word, of which the paper does not speak, gets only the unknown word.
        """
        known = np.fromiter(ids, np.int64)
        if not len(known):
            return np.full(self.length, UNKNOWN, np.int64), 0
        bits = np.empty((self.length, 2), np.uint64)
        fill(sampling_key(key), 0, bits)
        places = [(number * len(known)) >> 64 for number in bits[:, 0].tolist()]
        return known[places], len(known)

    def fillers(self, words: int) -> int:
        """How many words of a bag are no word of a document that has this many: all or none."""
        return 0 if words else self.length

    def guarantee(self, word: Guarantee, removed: str = "stop words") -> Guarantee:
        """None: the published theorem is false for what is drawn."""
        said = nothing(
            "published",
            "Fernandes et al. 2019, theorem 4, which is false for this draw; "
            "docs/guides/bag-of-words.md",
            (
                "The claimed exponent of epsilon times the Word Mover's Distance is exceeded.",
                "One changed word may be drawn for every word of the bag.",
                f"What is taken out first: {removed}.",
            ),
        )
        return dataclasses.replace(
            said, unit="document", unprotected=word.unprotected, bag_length=self.length
        )
