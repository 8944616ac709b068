"""Where sentences end, read from what is between words, which is public."""

from __future__ import annotations

import re

RULE = "sentences-1"
"""The name of this rule in manifests; it changes whenever the rule does."""

_END = re.compile(r"[.!?…].*\s|[\n\r\v\f\x85\u2028\u2029]")


def sentence_ends(gap: str) -> bool:
    """Whether a sentence ends between two words, by the punctuation and white space there.

    It does at a line break, and at ``.``, ``!``, ``?`` or ``…`` with white space behind, at once or
    after closing quotes and brackets. So "3.14" and "example.com" are inside a sentence, and "Mr.
    Smith" is not: the rule knows only what is between words.
    """
    return _END.search(gap) is not None
