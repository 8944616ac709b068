"""Whether a release is of use: warnings for those who may see figures computed from the raw text.

A release without a useful word, or without a changed one, is complete all the same. So nothing
fails here, and exit codes do not depend on the texts.
"""

from __future__ import annotations

from dxbeam.text.tally import Tally

MOST_UNKNOWN, MOST_UNCHANGED, MOST_DISTANT = 0.25, 0.8, 0.95
"""Shares from which there is a warning."""


def unknown_and_unchanged(counts: Tally, kind: str) -> str:
    """How many words are unknown and how many came out unchanged, as the start of a sentence."""
    words = counts.tokens - counts.fillers
    unknown, unchanged = _percent(counts.unknown, words), _percent(counts.unchanged, words)
    return (
        f"Of {words:,} {kind} {counts.unknown:,} ({unknown}) are not in the vocabulary and "
        f"{counts.unchanged:,} ({unchanged}) came out unchanged"
    )


def warnings(counts: Tally) -> list[str]:
    """What of these counts says that a release is of little use or protects little; a line each."""
    words, found = counts.tokens - counts.fillers, []
    known = counts.original + counts.close + counts.distant
    if counts.unknown >= MOST_UNKNOWN * words > 0:
        found.append(
            f"{_percent(counts.unknown, words)} of the words are not in the vocabulary, and what "
            "is released for them says nothing of what they were. Does the vocabulary lack "
            "--lowercase, is it of another language, or has it too few words?"
        )
    if counts.unchanged >= MOST_UNCHANGED * words > 0:
        found.append(
            f"{_percent(counts.unchanged, words)} of the words came out unchanged, so whoever "
            "reads the release reads most of the originals, whatever the guarantee says. A smaller "
            "--epsilon changes more."
        )
    if counts.distant >= MOST_DISTANT * known > 0:
        found.append(
            f"{_percent(counts.distant, known)} of the words of the vocabulary came out as distant "
            "words, so hardly any meaning is left. A larger --epsilon, or --rank_c, keeps more."
        )
    return [f"Warning: {sentence}" for sentence in found]


def _percent(count: int, whole: int) -> str:
    return f"{100 * count / whole:.1f} %"
