"""What a decoder held for probable at each word, for a language model that rewrites its text.

Probabilities are computed from what was drawn and from what is public, as the decoded text is, so
a model that is given both learns what post-processing may learn.
"""

from __future__ import annotations

import json

import numpy as np

from dxbeam.errors import ConfigurationError
from dxbeam.space.search.neighbors import Ids
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.likelihoods import Posterior

Candidate = tuple[str, float]

PROMPT = (
    "The user's message is JSON. 'text' is a text whose words were replaced at random and then "
    "guessed, each from noise. 'words' has a list for each word of it, in order: what the word may "
    "have been, each with its probability. Rewrite the text as correct, fluent text in the same "
    "language. Where a word does not fit, take another of its list. Change as little as possible "
    "and add nothing. Answer with the rewritten text only."
)

CANDIDATES = "candidates"
"""The field of rows that candidates are handed on in."""

_DIGITS = 3


def checked_shown(candidates: int, configuration: Configuration) -> int:
    """How many candidates are shown; refused without a decoder, or an order to show them in."""
    if type(candidates) is not int or candidates < 0:
        raise ConfigurationError(f"`candidates` is a number from 0 on, not {candidates!r}")
    if candidates and (configuration.decoder is None or configuration.bag):
        raise ConfigurationError(
            "`candidates` are what a decoder held for probable, word by word; choose `decode` "
            "prior or context, and no `bag_of_words`"
        )
    return candidates


def candidates_of(
    posterior: Posterior, count: int, vocabulary: Vocabulary
) -> list[list[Candidate]]:
    """The most probable words of T places with their probabilities, the most probable first.

    Words of a probability that rounds to 0 at three digits are left out. What is missing to 1 is
    the probability of others, words outside the vocabulary among them.
    """
    rounded = np.round(posterior.probabilities, _DIGITS)
    order = np.lexsort((posterior.words, -rounded), axis=1)[:, :count]
    ids: Ids = np.take_along_axis(posterior.words, order, 1)
    chances = np.take_along_axis(rounded, order, 1)
    words, width = vocabulary.words_of(ids.ravel()), ids.shape[1]
    return [
        [
            (word, chance)
            for word, chance in zip(words[width * place : width * (place + 1)], row, strict=True)
            if chance > 0
        ]
        for place, row in enumerate(chances.tolist())
    ]


def message(text: str, candidates: str) -> str:
    """What a model is asked: JSON of a decoded text and the ``written`` candidates of its words."""
    return f'{{"text": {json.dumps(text, ensure_ascii=False)}, "words": {candidates}}}'


def written(candidates: list[list[Candidate]]) -> str:
    """Candidates as JSON: a list for each word, of pairs of a word and its probability."""
    return json.dumps(candidates, ensure_ascii=False)
