"""Splits text into words, and what stands between them.

White space and punctuation, a fixed public list of characters, are released as they are. A word is
a longest run of characters that are not in the list. So letters and digits of every script, emoji,
control characters and whatever Unicode will add are parts of words, and are protected. Apostrophes
and hyphens are in the list, as GloVe's vocabularies hold neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

WHITE_SPACE = (
    " \t\n\r\v\f\x85\xa0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)
WHITE_SPACE += "\u2028\u2029\u202f\u205f\u3000"
PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~¡«»¿‐‑–—‘’‚“”„…"

RULE = "dxbeam-1"
"""The name of this rule in configurations; it changes whenever the lists or the rule do."""

_WORD = re.compile(f"[^{re.escape(WHITE_SPACE + PUNCTUATION)}]+")


def split(text: str) -> Iterator[tuple[str, str]]:
    """Each word with what stands between it and the word before: (gap, word), in order.

    The last pair holds the end of the text and the empty word, so that joining all gaps and words
    gives the text again.
    """
    end = 0
    for match in _WORD.finditer(text):
        start = match.start()
        yield text[end:start], match.group()
        end = match.end()
    yield text[end:], ""


def words(text: str) -> list[str]:
    """The words of ``text`` in order."""
    return _WORD.findall(text)
