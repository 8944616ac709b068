"""Splits text into words, and what is between them.

White space and punctuation, a fixed public list of characters, are released as they are. A word is
a longest run of characters that are not in the list. So letters and digits of every script, emoji,
control characters and whatever Unicode will add are parts of words, and are protected. Apostrophes
and hyphens are in the list, as GloVe's vocabularies hold neither.

The first rule knows the punctuation of Latin script; the second, that of all scripts, and direction
marks. word_rule.py says which one a release follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dxbeam.text import unicode_lists

WHITE_SPACE = (
    " \t\n\r\v\f\x85\xa0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)
WHITE_SPACE += "\u2028\u2029\u202f\u205f\u3000"
PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~¡«»¿‐‑–—‘’‚“”„…"

RULE = "dxbeam-1"
"""The name of this rule in configurations; it changes whenever the lists or the rule do."""

RULE_2 = "dxbeam-2"
"""The name of the rule of ``SECOND``; both rules stay as they are, and releases name theirs."""


class Splitter:
    """Divides texts at the characters that a regular expression has between brackets."""

    def __init__(self, between: str):
        self._word = re.compile(f"([^{between}]+)")
        self._last_before_a_word = re.compile(f"[{between}](?=[^{between}])")

    def split(self, text: str) -> tuple[list[str], list[str]]:
        """What is before, between and behind the words, and the words: n + 1 gaps, n words.

        Taken in turns, they are the text again.
        """
        pieces = self._word.split(text)
        return pieces[::2], pieces[1::2]

    def parts(self, text: str, size: int = 1 << 16) -> Iterator[tuple[list[str], list[str]]]:
        """The same a part of a long text at a time; only the last has a gap behind its words.

        ``size``, about, bounds the characters of a part, and so what its words take.
        """
        before, start = "", 0
        while len(text) - start > size:
            before_a_word = self._last_before_a_word.search(text, start + size)
            if before_a_word is None:
                break
            gaps, words = self.split(text[start : before_a_word.end()])
            gaps[0] = before + gaps[0]
            before, start = gaps.pop(), before_a_word.end()
            yield gaps, words
        gaps, words = self.split(text[start:])
        gaps[0] = before + gaps[0]
        yield gaps, words

    def words(self, text: str) -> list[str]:
        """The words of ``text`` in order."""
        return self._word.findall(text)


FIRST = Splitter(re.escape(WHITE_SPACE + PUNCTUATION))
SECOND = Splitter(
    unicode_lists.WHITE_SPACE + unicode_lists.PUNCTUATION + unicode_lists.DIRECTION_MARKS
)
"""White space and punctuation of all scripts, and direction marks."""

split, parts, words = FIRST.split, FIRST.parts, FIRST.words
