"""Flags that say what the words of a text are."""

from __future__ import annotations

import argparse

from dxbeam.text.word_rule import SEGMENTERS


def add_words(group: argparse._ArgumentGroup) -> None:
    """Declares them."""
    group.add_argument(
        "--tokenization",
        choices=("1", "2"),
        metavar="1|2",
        help="which punctuation divides words: 1, that of Latin script, or 2, that of all scripts. "
        "A kept key draws other noise with the other (default 1; 2 with --segmenter)",
    )
    group.add_argument(
        "--segmenter",
        default="none",
        metavar="HOW",
        help="how words are found in scripts without spaces, such as Chinese, Japanese and Thai, "
        "and in emoji (default none). "
        + "; ".join(f"{name}: {what}" for name, what in SEGMENTERS.items()),
    )
