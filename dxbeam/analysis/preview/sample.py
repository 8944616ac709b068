"""Which words a page shows: those of a text, or of some documents of a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from secrets import SystemRandom
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.errors import ConfigurationError
from dxbeam.space.search.neighbors import Ids, is_known
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.decoding.pieces import Breaks
from dxbeam.text.decoding.reader import breaks_of
from dxbeam.text.tokenization import split

MOST_WORDS = 200
"""So many words are shown at most."""

_PARAGRAPH = "\n\n"


class Sample(NamedTuple):
    """The words of a page.

    Attributes:
      gaps: what is before each word, and last what is behind the last one.
      words: as they were written.
      ids: int64 [T], UNKNOWN for those outside the vocabulary.
      breaks: int8 [T], where sentences start.
      remark: what was left out, as a sentence; "" where nothing was.
    """

    gaps: list[str]
    words: list[str]
    ids: Ids
    breaks: Breaks
    remark: str

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        """Which words the vocabulary has: bool [T]."""
        return is_known(self.ids)


def sample_of(texts: Sequence[str], vocabulary: Vocabulary) -> Sample:
    """The first words of one text, or of documents in random order.

    Raises:
      ConfigurationError: no word of it is in the vocabulary.
    """
    ordered = SystemRandom().sample(list(texts), len(texts)) if len(texts) > 1 else list(texts)
    gaps: list[str] = []
    words: list[str] = []
    breaks: list[Breaks] = []
    shown, between, cut = 0, "", False
    for text in ordered:
        before, tokens = split(text)
        if not tokens:
            continue
        room = MOST_WORDS - len(words)
        if room <= 0:
            break
        shown += 1
        cut = len(tokens) > room
        before, tokens = before[: room + 1], tokens[:room]
        breaks.append(breaks_of(before[: len(tokens)]))
        gaps += [between + before[0], *before[1 : len(tokens)]]
        words += tokens
        behind = " …" if cut else before[len(tokens)]
        between = behind.rstrip() + _PARAGRAPH
    ids = vocabulary.ids_of(words)
    if not is_known(ids).any():
        raise ConfigurationError(
            "there is no word of the vocabulary in the text, so there is nothing to show; is the "
            "vocabulary of its language, and lower-case?"
        )
    gaps.append(between.rstrip())
    return Sample(gaps, words, ids, np.concatenate(breaks), _remark(len(texts), shown, cut=cut))


def _remark(documents: int, shown: int, *, cut: bool) -> str:
    if documents > 1 and (cut or shown < documents):
        last = ", the last of them cut off" if cut else ""
        return (
            f"A sample: {shown:,} of {documents:,} documents that were read, drawn at random, "
            f"{MOST_WORDS} words at most{last}."
        )
    return f"A sample: the first {MOST_WORDS} words of a longer text." if cut else ""
