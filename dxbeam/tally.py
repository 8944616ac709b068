"""Mergeable counts of what happened to words."""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

from collections.abc import Iterable
from typing import NamedTuple


class Tally(NamedTuple):
    """Counts over documents; adding two describes both together.

    Attributes:
      documents: documents sanitized.
      tokens: words released for them (white space and punctuation are not counted); without a bag
        of words, all that are in them.
      original: vocabulary words released as they were.
      close: vocabulary words released as one of their first 100 neighbours.
      distant: vocabulary words released as any other word.
      unknown: words outside the vocabulary.
      unchanged: words that stand in the output as in the input, casing aside: ``original``, and
        unknown words where the configuration keeps them.
      padding: unknown words that fill up bags of words; no words of documents.
      left_out: stop words and words that were not drawn, where bags of words are released.
    """

    documents: int = 0
    tokens: int = 0
    original: int = 0
    close: int = 0
    distant: int = 0
    unknown: int = 0
    unchanged: int = 0
    padding: int = 0
    left_out: int = 0

    def merge(self, other: "Tally") -> "Tally":
        """The counts of both."""
        return Tally(*(a + b for a, b in zip(self, other, strict=True)))

    def as_dict(self) -> dict[str, float | int | None]:
        """Counts, proportions of tokens, and N_w; proportions are None without tokens.

        N_w is the share of words that come out unchanged (Feyisetan et al. 2020, section 4).
        """
        return {
            **self._asdict(),
            "share_original": self._share(self.original),
            "share_close": self._share(self.close),
            "share_distant": self._share(self.distant),
            "share_unknown": self._share(self.unknown),
            "n_w": self._share(self.unchanged),
        }

    def _share(self, count: int) -> float | None:
        return count / self.tokens if self.tokens else None


def total(tallies: Iterable[Tally]) -> Tally:
    """The sum of any number of tallies."""
    result = Tally()
    for tally in tallies:
        result = result.merge(tally)
    return result
