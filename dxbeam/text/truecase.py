"""Capitals for released text: how public text writes each word, and at starts of sentences.

This reads a released text and a public language model, nothing else, so it is post-processing: the
guarantee stays the same. What was written in capitals in the original has no influence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dxbeam.language.sentences import sentence_ends
from dxbeam.text.decoding.decoder import MUST_BE_PUBLIC
from dxbeam.text.tokenization import split

RULE = "truecase-1"
"""The name of this rule in configurations; it changes whenever the rule does."""

_MASKED = ("<", "unk", ">")


@dataclass(frozen=True)
class Truecase:
    """That released texts get capitals, and from which model.

    Attributes:
      model: the language model's digest; "" until it is known.
    """

    model: str = ""

    def as_dict(self) -> dict[str, str]:
        """What decides how words are written, ready for JSON."""
        return {"model": self.model, "rule": RULE}

    @staticmethod
    def caveats(public: bool) -> tuple[str, ...]:
        """What a reader of the guarantee should know besides.

        Args:
          public: whether nothing else says that the model must be public.
        """
        sentence = "Capitals follow from the released words and a public language model."
        return (sentence, MUST_BE_PUBLIC) if public else (sentence,)


def truecased(text: str, forms: Mapping[str, str]) -> str:
    """Writes each word as public text does, and the first of a sentence with a capital.

    Words that hold a capital already are left: they were released as they are. So is the mark of a
    masked word. ``forms`` is ``Casings.forms``.
    """
    gaps, words = split(text)
    pieces = []
    for number, word in enumerate(words):
        gap, form = gaps[number], word
        masked = (gap[-1:], word, gaps[number + 1][:1]) == _MASKED
        if word == word.lower() and not masked:
            form = forms.get(word, word)
            if form == word and (number == 0 or sentence_ends(gap)):
                form = word[0].upper() + word[1:]
        pieces += [gap, form]
    return "".join([*pieces, gaps[-1]])
