"""What is odd about a vocabulary that can be used all the same: a mistake, more often than not."""

from __future__ import annotations

import numpy as np

from dxbeam.space.vocabulary.words import Vocabulary

_WORDS_LOOKED_AT = 10_000  # the first, usually the most frequent


def remarks(vocabulary: Vocabulary) -> list[str]:
    """One sentence for each oddity; it takes milliseconds, whatever the vocabulary's size."""
    if len(vocabulary) == 1:
        return ["The vocabulary has one word, so every word comes out as this one."]
    sentences = []
    if _all_equal(vocabulary):
        which = "are 0" if vocabulary.longest == 0 else "are equal"
        sentences.append(
            f"All vectors of the vocabulary {which}, so what is released says nothing of the text."
        )
    if not vocabulary.lowercase and _all_lower_case(vocabulary):
        sentences.append(
            "The vocabulary's words are all in lower case and it was built without --lowercase, so "
            "every word with a capital letter is unknown. Build it with --lowercase."
        )
    return sentences


def _all_equal(vocabulary: Vocabulary) -> bool:
    blocks = np.array_split(vocabulary.vectors, len(vocabulary) // 4096 + 1)
    return all((block == vocabulary.vectors[0]).all() for block in blocks)


def _all_lower_case(vocabulary: Vocabulary) -> bool:
    """Whether its first words have letters that could be capitals, and none that is one."""
    looked_at = np.arange(min(_WORDS_LOOKED_AT, len(vocabulary)))
    text = "".join(vocabulary.words_of(looked_at))
    return text == text.lower() != text.upper()
