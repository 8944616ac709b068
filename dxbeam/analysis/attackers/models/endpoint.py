"""Attackers that ask a language model behind an OpenAI-compatible endpoint.

It is sent what is released, and public text with what the attacker itself released of it. No
original is sent. One message asks for the original words of a text, with a few pairs of public
text as examples; another asks which of some values a released text is likely to have, such as its
author. Answers are read leniently, and a text without a usable answer is left out of the count.

Requests are counted, and there are at most as many as the caller says. Where trying again may help,
a request is repeated up to four times (text/chat_model.py).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from dxbeam.errors import RunError
from dxbeam.text.chat_model import ChatEndpoint, ChatError, PatientModel

RECONSTRUCT = (
    "Each word of a text was replaced by a similar one at random; some were left as they were. The "
    "user's message is JSON. Its `examples` show words that were released and the original ones. "
    "Guess the original word in the place of each word of `released`, from what the words around "
    "make likely; where you cannot tell, repeat the released word. Answer with a JSON list of as "
    "many words as `released` has, and nothing else."
)

GUESS = (
    "Each word of a text was replaced by a similar one at random; some were left as they were. The "
    "user's message is JSON with the `text` and a list of `values`, of which one was true of the "
    "original. Answer with the most likely one, exactly as it is in the list, and nothing else."
)

EXAMPLES = 8
"""Pieces of public text that the model is shown with their releases."""

MOST_CHARACTERS = 4_000
"""Of a released text whose value is guessed, the first ones."""


@dataclass(frozen=True)
class AttackerEndpoint(ChatEndpoint):
    """Which model attackers ask."""

    flags: ClassVar[tuple[str, str, str, str]] = (
        "attacker_endpoint_model",
        "attacker_endpoint",
        "attacker_endpoint",
        "attacker_endpoint_key_env",
    )

    prompt: str = RECONSTRUCT


class Asking:
    """Asks a model a limited number of questions.

    Args:
      endpoint: which model.
      requests: how many, at most.
    """

    def __init__(self, endpoint: AttackerEndpoint, requests: int):
        self._endpoint, self._left = endpoint, requests
        self._asked = self._answered = 0
        self._models: dict[str, PatientModel] = {}
        self._reason = ""

    @property
    def left(self) -> int:
        """How many questions may still be asked."""
        return self._left

    def answer(self, prompt: str, message: object) -> str | None:
        """The model's answer to a message, which is sent as JSON; None where there is none."""
        if self._left <= 0:
            return None
        self._left -= 1
        self._asked += 1
        if prompt not in self._models:
            self._models[prompt] = PatientModel(replace(self._endpoint, prompt=prompt))
        try:
            answer = self._models[prompt].answer(json.dumps(message, ensure_ascii=False))
        except ChatError as error:
            self._reason = error.reason
            return None
        self._answered += 1
        return answer

    def check(self) -> None:
        """Raises a RunError where nothing was answered."""
        if self._asked and not self._answered:
            raise RunError(
                f"`attacker_endpoint`: the language model answered none of {self._asked} requests; "
                f"the last time: {self._reason}"
            )


Example = tuple[Sequence[str], Sequence[str]]
"""Released words and the original ones."""


def reconstructed(
    texts: Sequence[Sequence[str]], examples: Sequence[Example], asking: Asking
) -> list[list[str] | None]:
    """The original words as the model guesses them; None for a text without a usable answer.

    Args:
      texts: released words.
      examples: of public text.
      asking: asks the model.
    """
    shown = [
        {"released": list(released), "original": list(original)} for released, original in examples
    ]
    guesses: list[list[str] | None] = []
    for text in texts:
        message = {"examples": shown, "released": list(text)}
        answer = asking.answer(RECONSTRUCT, message)
        guesses.append(None if answer is None else in_place(answer, text))
    asking.check()
    return guesses


def in_place(answer: str, released: Sequence[str]) -> list[str] | None:
    """A word of an answer for each released one, which stays where there is none.

    Args:
      answer: a JSON list of words, with anything around it, or words.
      released: the released words.

    Returns:
      As many words; None where the answer holds no word.
    """
    try:
        listed = json.loads(answer[answer.index("[") : answer.rindex("]") + 1])
    except (ValueError, RecursionError):
        listed = answer.split()
    words = [str(word).strip().lower() for word in listed if isinstance(word, (str, int, float))]
    if not words:
        return None
    if len(words) == len(released):
        return words
    guessed = list(released)
    matcher = difflib.SequenceMatcher(None, guessed, words, autojunk=False)
    for kind, start, end, first, last in matcher.get_opcodes():
        if kind == "replace" and end - start == last - first:
            guessed[start:end] = words[first:last]
    return guessed


def guessed_values(texts: Sequence[str], values: Sequence[str], asking: Asking) -> list[str | None]:
    """Which of some values each text had, by the model; None where there is no usable answer.

    Args:
      texts: as they were released.
      values: the choice.
      asking: asks the model.
    """
    by_form = {value.strip().casefold(): value for value in values}
    guesses: list[str | None] = []
    for text in texts:
        answer = asking.answer(GUESS, {"text": text[:MOST_CHARACTERS], "values": list(values)})
        form = "" if answer is None else answer.strip().strip("\"'.`").casefold()
        named = [value for each, value in by_form.items() if each and each in form]
        guesses.append(by_form.get(form, named[0] if len(named) == 1 else None))
    asking.check()
    return guesses
