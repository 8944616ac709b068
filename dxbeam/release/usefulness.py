"""Whether a release is of use: warnings for those who may see figures computed from the raw text.

A release without a useful word, or without a changed one, is complete all the same. So nothing
fails here, and exit codes do not depend on the texts.
"""

from __future__ import annotations

from dxbeam.text.tally import Tally

MOST_UNKNOWN, MOST_UNCHANGED, MOST_DISTANT = 0.2, 0.8, 0.95
"""Shares from which there is a warning; of unknown words, above which."""


def unknown_and_unchanged(counts: Tally, kind: str) -> str:
    """How many words are unknown and how many came out unchanged, as the start of a sentence."""
    words = counts.tokens - counts.fillers
    unknown, unchanged = _percent(counts.unknown, words), _percent(counts.unchanged, words)
    return (
        f"Of {words:,} {kind} {counts.unknown:,} ({unknown}) are not in the vocabulary and "
        f"{counts.unchanged:,} ({unchanged}) came out unchanged"
    )


def are_mostly_known(counts: Tally) -> bool:
    """Whether so many words are in the vocabulary that there is no warning of the others."""
    return counts.unknown <= MOST_UNKNOWN * (counts.tokens - counts.fillers)


def warnings(counts: Tally, cause: str) -> list[str]:
    """What of these counts says that a release is of little use or protects little; a line each.

    ``cause`` says why words are unknown, see ``unknown_words.likely_cause``.
    """
    words, sentences = counts.tokens - counts.fillers, []
    known = counts.original + counts.close + counts.distant
    if not are_mostly_known(counts):
        sentences.append(
            f"{_percent(counts.unknown, words)} of the words are not in the vocabulary, and what "
            f"is released for them says nothing of what they were. {cause}"
        )
    if counts.unchanged >= MOST_UNCHANGED * words > 0:
        sentences.append(
            f"{_percent(counts.unchanged, words)} of the words came out unchanged, so whoever "
            "reads the release reads most of the originals, whatever the guarantee says. A smaller "
            "--epsilon changes more."
        )
    if counts.distant >= MOST_DISTANT * known > 0:
        sentences.append(
            f"{_percent(counts.distant, known)} of the words of the vocabulary came out as distant "
            "words, so hardly any meaning is left. A larger --epsilon, or --rank_c, keeps more."
        )
    return [f"Warning: {sentence}" for sentence in sentences]


def _percent(count: int, whole: int) -> str:
    return f"{100 * count / whole:.1f} %"
