"""Mergeable counts of what happened to words."""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

from collections.abc import Iterable
from operator import add
from typing import NamedTuple


class Tally(NamedTuple):
    """Counts over documents; adding two describes both together.

    Attributes:
      documents: documents sanitized.
      tokens: words released for them (white space and punctuation are not counted); without a bag
        of words, all that are in them.
      original: vocabulary words released as they were.
      close: vocabulary words released as one of their first 100 neighbours, or as one as far
        away as the 100th.
      distant: vocabulary words released as any other word.
      unknown: words outside the vocabulary.
      unchanged: words that are the same in output and input, casing aside: ``original``, and
        unknown words where the configuration keeps them.
      fillers: unknown words that fill up bags of words; no words of any document.
      omitted: stop words and words that were not drawn, where bags of words are released.
      detected: placeholders of what ``detect`` recognised; ``tokens`` counts them.
    """

    documents: int = 0
    tokens: int = 0
    original: int = 0
    close: int = 0
    distant: int = 0
    unknown: int = 0
    unchanged: int = 0
    fillers: int = 0
    omitted: int = 0
    detected: int = 0

    def merge(self, other: "Tally") -> "Tally":
        """The counts of both."""
        return Tally(*map(add, self, other))

    def as_dict(self) -> dict[str, float | int | None]:
        """Counts, proportions, and N_w; a proportion of nothing is None.

        ``share_…`` are of all tokens, with unknown words and fillers among them, and
        ``share_…_of_known`` of the tokens that are words of the vocabulary, where the three add up
        to 1, as in the papers. N_w is the share of words that come out unchanged (Feyisetan et al.
        2020, section 4).
        """
        known = self.original + self.close + self.distant
        return {
            **self._asdict(),
            "share_original": _share(self.original, self.tokens),
            "share_close": _share(self.close, self.tokens),
            "share_distant": _share(self.distant, self.tokens),
            "share_unknown": _share(self.unknown, self.tokens),
            "share_original_of_known": _share(self.original, known),
            "share_close_of_known": _share(self.close, known),
            "share_distant_of_known": _share(self.distant, known),
            "n_w": _share(self.unchanged, self.tokens),
        }


def _share(count: int, whole: int) -> float | None:
    return count / whole if whole else None


def total(tallies: Iterable[Tally]) -> Tally:
    """The sum of any number of tallies."""
    result = Tally()
    for tally in tallies:
        result = result.merge(tally)
    return result
