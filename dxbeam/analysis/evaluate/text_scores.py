"""How alike two texts are, as counts that add up over documents: words, BLEU, chrF and ROUGE.

BLEU and chrF are scores of a corpus, not means over documents. What adds up are the counts of
n-grams behind them, so a document is described by its counts, and a score is computed from sums.
Tokens are those of sacrebleu and rouge-score, the counting is our own: the original is read once,
for all that was released of it, and n-grams are compared as numbers. The original is the reference
and the released text the hypothesis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from rouge_score import scoring
from rouge_score.tokenizers import DefaultTokenizer
from sacrebleu.metrics import BLEU
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

from dxbeam.analysis.evaluate.ngrams import NGrams

Counts = npt.NDArray[np.float64]

BLEU_COUNTS, CHRF_COUNTS = 10, 18
"""How many counts stand behind each of the two."""

_BLEU_ORDER, _CHRF_ORDER, _CHRF_BETA, _ROUGE_ORDER = 4, 6, 2, 2

_bleu_tokenizer = Tokenizer13a()
_rouge_tokenizer = DefaultTokenizer()


class ReadText(NamedTuple):
    """A text as the scores see it.

    Attributes:
      tokens: those of BLEU (13a).
      characters: all but white space.
      words: those of ROUGE.
    """

    tokens: list[str]
    characters: str
    words: list[str]


def read_text(text: str) -> ReadText:
    """Takes a text of one line apart."""
    tokens = _bleu_tokenizer(text.rstrip()).split()
    for tokenizer in (Tokenizer13a, TokenizerRegexp):  # which keep 65,536 texts, and these are raw
        tokenizer.__call__.cache_clear()
    return ReadText(tokens, "".join(text.split()), _rouge_tokenizer.tokenize(text))


class Reference:
    """An original, read once to be compared with many releases of it.

    Args:
      text: one line.
    """

    def __init__(self, text: str):
        self.read = read_text(text)
        self._tokens = NGrams(self.read.tokens, _BLEU_ORDER)
        self._characters = NGrams(self.read.characters, _CHRF_ORDER)
        self._words = NGrams(self.read.words, _ROUGE_ORDER)

    def bleu_counts(self, released: ReadText) -> Counts:
        """The counts behind BLEU (13a tokens, up to four words): float64 [10]."""
        correct = self._tokens.in_common(released.tokens)
        totals = _lengths(released.tokens, _BLEU_ORDER)
        sizes = len(released.tokens), len(self.read.tokens)
        return np.array([*correct, *totals, *sizes], np.float64)

    def chrf_counts(self, released: ReadText) -> Counts:
        """The counts behind chrF (one to six characters, without spaces): float64 [18].

        For each length the n-grams of the released text, of the original, and those in both. An
        n-gram of a length that the original lacks counts for nothing, as in sacrebleu.
        """
        of_original = np.array(_lengths(self.read.characters, _CHRF_ORDER))
        of_released = np.where(of_original, _lengths(released.characters, _CHRF_ORDER), 0)
        both = self._characters.in_common(released.characters)
        return np.stack([of_released, of_original, both], axis=1).ravel().astype(np.float64)

    def rouge(self, released: ReadText) -> Rouge:
        """What rouge-score gives without stemming.

        Its own ROUGE-L compares each word with each and takes seconds for a long document; here the
        longest common subsequence is counted with the bits of one long integer.
        """
        originals, words = self.read.words, released.words
        one, two = self._words.in_common(words)
        longest = longest_common_subsequence(originals, words)
        values = []
        for common, n in ((one, 1), (two, 2), (longest, 1)):
            of_released, of_original = (max(len(each) - n + 1, 1) for each in (words, originals))
            values.append(float(scoring.fmeasure(common / of_released, common / of_original)))
        return Rouge(*values)


def _lengths(sequence: Sequence[str], longest: int) -> list[int]:
    """How many n-grams there are, for each n."""
    return [max(len(sequence) - n, 0) for n in range(longest)]


def in_one_line(text: str) -> str:
    """A text without line breaks, as the command line of sacrebleu takes a segment a line."""
    return " ".join(text.splitlines())


def bleu(counts: Counts) -> float:
    """BLEU from 0 to 100 of a sum of ``bleu_counts``, smoothed as sacrebleu's default does.

    Papineni et al. 2002; Post 2018 for tokens and smoothing.
    """
    numbers = [int(count) for count in counts]
    correct, totals = numbers[:_BLEU_ORDER], numbers[_BLEU_ORDER : 2 * _BLEU_ORDER]
    released, original = numbers[2 * _BLEU_ORDER :]
    computed = BLEU.compute_bleu(correct, totals, released, original, smooth_method="exp")
    return float(computed.score)


def chrf(counts: Counts) -> float:
    """ChrF2 from 0 to 100 of a sum of ``chrf_counts`` (Popović 2015), as sacrebleu's default."""
    released, original, both = counts.reshape(_CHRF_ORDER, 3).T
    used = (released > 0) & (original > 0)
    if not both[used].any():
        return 0.0
    precision = float((both[used] / released[used]).mean())
    recall = float((both[used] / original[used]).mean())
    weight = _CHRF_BETA**2
    return 100 * (1 + weight) * precision * recall / (weight * precision + recall)


class Rouge(NamedTuple):
    """F measures from 0 to 1 (Lin 2004): of words, of pairs of words, of the longest sequence."""

    rouge1: float
    rouge2: float
    rouge_l: float


def longest_common_subsequence(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence, by Hyyrö's bit-parallel recurrence (2004)."""
    places: dict[str, int] = {}
    for place, word in enumerate(one):
        places[word] = places.get(word, 0) | 1 << place
    every = (1 << len(one)) - 1
    row = every
    for word in other:
        matched = row & places.get(word, 0)
        row = (row + matched | row - matched) & every
    return len(one) - row.bit_count()


def overlap(one: Counter[str], other: Counter[str]) -> int:
    """How many elements two multisets have in common."""
    fewer, more = sorted((one, other), key=len)
    return sum(min(count, more[element]) for element, count in fewer.items() if element in more)


class Unchanged(NamedTuple):
    """Words that came out as they were.

    Attributes:
      words, known: how many were looked at, of all and of those in the vocabulary.
      unchanged, known_unchanged: how many of these came out as they were.
    """

    words: int
    known: int
    unchanged: int
    known_unchanged: int


def unchanged_by_position(
    original: Sequence[str], released: Sequence[str], known: Sequence[bool]
) -> Unchanged:
    """Compares word by word.

    Args:
      original: its words.
      released: what is in their places, as many.
      known: for each original word, whether the vocabulary has it.
    """
    same = [a == b for a, b in zip(original, released, strict=True)]
    both = sum(a and b for a, b in zip(same, known, strict=True))
    return Unchanged(len(original), sum(known), sum(same), both)


def unchanged_in_bag(
    original: Sequence[str], released: Sequence[str], known: Sequence[bool]
) -> Unchanged:
    """Compares as multisets: how many released words are, as often, words of the original.

    Args:
      original: its words.
      released: its words, of whatever number.
      known: for each released word, whether the vocabulary has it.
    """
    of_original = Counter(original)
    of_known = Counter(word for word, is_known in zip(released, known, strict=True) if is_known)
    return Unchanged(
        len(released),
        sum(known),
        overlap(of_original, Counter(released)),
        overlap(of_original, of_known),
    )
