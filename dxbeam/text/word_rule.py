"""Which rule says what the words of a text are: its version, and how unspaced scripts are cut.

Rules are public functions of a text and of the public vocabulary. So a mechanism's guarantee holds
for the sequence of words that a rule makes of a text (pre-composition), whatever the rule is. What
the rule leaves visible is the number of words and what is between them.

The second rule looks a word up as it is, then in Unicode's normal form C, then without what does
not belong to its spelling (soft hyphens, joiners, selectors). Equal strings stay equal, so that
maps a string to a public vector as before.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dxbeam.errors import ConfigurationError
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text import tokenization
from dxbeam.text.tokenization import RULE_2, Splitter
from dxbeam.text.unicode_lists import EMOJI, IGNORED, MARKS, UNSPACED

SEGMENTERS = {
    "none": "a word is what is between white space and punctuation, in all scripts",
    "longest_match": "scripts without spaces, and emoji, are cut into the longest words of the "
    "vocabulary, from the left, and into single characters where it has none",
    "graphemes": "scripts without spaces, and emoji, are cut into single characters, each with the "
    "marks that combine with it",
}
"""How words are found where no spaces divide them."""

LONGEST_MATCH = 16  # characters with their marks

_EXTEND = MARKS + "\u200c\u0e33\u0eb3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"  # tags, of flags
_JOIN = "\u200d\u17d2\u1039"  # the joiner, and signs that stack the next letter
_FLAG = "\U0001f1e6-\U0001f1ff"
_RUN = re.compile(f"([{UNSPACED}{EMOJI}][{UNSPACED}{EMOJI}{_EXTEND}{_JOIN}]*)")
_GRAPHEME = re.compile(f"(?:[{_FLAG}]{{2}}|.)(?:[{_JOIN}].|[{_EXTEND}])*", re.DOTALL)
_IGNORED = re.compile(f"[{IGNORED}]")

VISIBLE = {
    "longest_match": "Scripts without spaces are cut into words of the vocabulary. How many there "
    "are and where they begin follows from the text and is not hidden, and one word changed may "
    "change how its neighbours are cut: the bound adds up over all that differ, and between texts "
    "that are cut into unequal numbers of words there is none.",
    "graphemes": "Scripts without spaces are cut into single characters, each released by itself: "
    "how many there are is not hidden, and the bound of a word adds up over its characters.",
}
"""What the number and the boundaries of units reveal."""


@dataclass(frozen=True)
class WordRule:
    """What the words of a text are.

    Attributes:
      version: 1 for the punctuation of Latin script, 2 for that of all scripts.
      segmenter: a key of SEGMENTERS; all but "none" need version 2.

    Raises:
      ConfigurationError: there is no such rule.
    """

    version: int = 1
    segmenter: str = "none"

    def __post_init__(self) -> None:
        if self.version not in (1, 2) or type(self.version) is not int:
            raise ConfigurationError(f"`tokenization` is 1 or 2, not {self.version!r}")
        if self.segmenter not in tuple(SEGMENTERS):
            raise ConfigurationError(
                f"`segmenter` is one of {', '.join(SEGMENTERS)}, not {self.segmenter!r}"
            )
        if self.segmenter != "none" and self.version == 1:
            raise ConfigurationError(f"`segmenter` {self.segmenter} needs `tokenization` 2")

    def as_dict(self) -> dict[str, str]:
        """The rule's name, and the segmenter where there is one."""
        name = tokenization.RULE if self.version == 1 else RULE_2
        return {
            "tokenization": name,
            **({} if self.segmenter == "none" else {"segmenter": self.segmenter}),
        }

    @classmethod
    def from_dict(cls, recorded: Mapping[str, Any]) -> WordRule:
        """The rule that a configuration's record names; the first where it names none of these.

        Raises:
          ConfigurationError: there is no such segmenter.
        """
        version = 2 if recorded.get("tokenization") == RULE_2 else 1
        return cls(version, recorded.get("segmenter", "none"))

    @property
    def splitter(self) -> Splitter:
        """What divides texts where something is released as it is."""
        return tokenization.FIRST if self.version == 1 else tokenization.SECOND

    @property
    def visible(self) -> tuple[str, ...]:
        """What else than white space and punctuation is released as it is."""
        return () if self.version == 1 else ("direction marks",)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What a reader of the guarantee should know of the words that it is about."""
        seen = ("Direction marks are released as they are.",) if self.version == 2 else ()
        return (*seen, *([VISIBLE[self.segmenter]] if self.segmenter in VISIBLE else ()))

    def parts(self, text: str, vocabulary: Vocabulary) -> Iterator[tuple[list[str], list[str]]]:
        """As ``Splitter.parts``: gaps and words, of which those of one run have no gap."""
        if self.segmenter == "none":
            yield from self.splitter.parts(text)
            return
        for gaps, words in self.splitter.parts(text):
            cut_gaps, units = [], []
            for gap, word in zip(gaps, words, strict=False):
                cut = self.units(word, vocabulary)
                units += cut
                cut_gaps += [gap, *[""] * (len(cut) - 1)]
            yield [*cut_gaps, *gaps[len(words) :]], units

    def words(self, text: str, vocabulary: Vocabulary) -> list[str]:
        """The words of a text in order."""
        return [word for _, words in self.parts(text, vocabulary) for word in words]

    def units(self, word: str, vocabulary: Vocabulary, ahead: int = 256) -> list[str]:
        """What a word between white space and punctuation is cut into; together it is the word.

        ``ahead`` is how many characters, with their marks, are looked at together.
        """
        units: list[str] = []
        for number, piece in enumerate(_RUN.split(word)):
            if number % 2 == 0:
                units += [piece] if piece else []
            elif self.segmenter == "graphemes":
                units += _GRAPHEME.findall(piece)
            else:
                units += self._longest_matches(_GRAPHEME.findall(piece), vocabulary, ahead)
        return units

    def _longest_matches(
        self, graphemes: list[str], vocabulary: Vocabulary, ahead: int
    ) -> Iterator[str]:
        start = 0
        while start < len(graphemes):
            together = graphemes[start : start + ahead + LONGEST_MATCH]
            last = start + min(ahead, len(graphemes) - start)
            lengths = self._lengths(together, last - start, vocabulary)
            begun = start
            while start < last:
                length = lengths[start - begun]
                yield "".join(graphemes[start : start + length])
                start += length

    def _lengths(self, graphemes: list[str], starts: int, vocabulary: Vocabulary) -> list[int]:
        """Of the longest word of the vocabulary at each of the first places, 1 where none is."""
        spans = [
            (start, length)
            for start in range(starts)
            for length in range(2, min(LONGEST_MATCH, len(graphemes) - start) + 1)
        ]
        candidates = ["".join(graphemes[start : start + length]) for start, length in spans]
        lengths = [1] * starts
        for (start, length), number in zip(
            spans, self.ids_of(candidates, vocabulary).tolist(), strict=True
        ):
            if number != UNKNOWN:
                lengths[start] = length  # spans of a place come in order of their lengths
        return lengths

    def ids_of(self, words: Sequence[str], vocabulary: Vocabulary) -> npt.NDArray[np.int64]:
        """The ids of words, int64 [B], by this rule's look-up; UNKNOWN for others."""
        ids = vocabulary.ids_of(words)
        if self.version == 1:
            return ids
        for spelled in (_normal, _plain):
            places = [
                place
                for place in np.flatnonzero(ids == UNKNOWN).tolist()
                if not words[place].isascii() and spelled(words[place]) != words[place]
            ]
            if places:
                ids[places] = vocabulary.ids_of([spelled(words[place]) for place in places])
        return ids


FIRST_RULE = WordRule()
"""The rule where none is asked for."""


def word_rule_of(tokenization: int | str | None, segmenter: str) -> WordRule:
    """The rule of this version; None for 1, or for 2 where there is a segmenter."""
    if tokenization is None:
        return WordRule(1 if segmenter == "none" else 2, segmenter)
    version = {"1": 1, "2": 2}.get(str(tokenization))
    if version is None:
        raise ConfigurationError(f"`tokenization` is 1 or 2, not {tokenization!r}")
    return WordRule(version, segmenter)


def _normal(word: str) -> str:
    return unicodedata.normalize("NFC", word)


def _plain(word: str) -> str:
    return _normal(_IGNORED.sub("", word))
