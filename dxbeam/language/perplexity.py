"""How well a language model predicts text that it was not made of."""

from __future__ import annotations

import math

import numpy as np

from dxbeam.language.counts import Counts
from dxbeam.language.model import LanguageModel

_AT_ONCE = 1 << 20


def perplexity(model: LanguageModel, counts: Counts) -> float | None:
    """The perplexity of a text: exp of the mean of -log p(word | what is before it).

    The unknown word is a word like others. Fewer unknown words mean a higher perplexity, so compare
    models of one vocabulary only. ``counts`` are of the model's order. None for no words.
    """
    size, total, words = model.words + 2, 0.0, int(counts.counts.sum())
    if not words:
        return None
    for start in range(0, len(counts.codes), _AT_ONCE):
        codes = counts.codes[start : start + _AT_ONCE]
        after, before = codes % size, codes // size % size
        p = model.backoff(before) * model.continuation[after]
        p += model.numbers.pairs.values_at(before, after)
        if model.order == 3:
            first = np.where(before == model.start, model.start, codes // size // size)
            real = before != model.start
            higher = model.backoff2(first, before) * p
            higher += model.corrections3(first, before, after)
            p = np.where(real, higher, p)
        total -= float(np.dot(np.log(p), counts.counts[start : start + _AT_ONCE]))
    return math.exp(total / words)
