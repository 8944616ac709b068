"""Which words are measured, and what they stand for.

*Uniform over the vocabulary* and *by corpus frequency* are different questions with different
answers: common words are closer together than rare ones and come out as themselves less often. So
a sample carries its weighting with it, to the last sentence that is said about it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.errors import CorpusError

Ids = npt.NDArray[np.int64]

UNIFORM = "uniform over the vocabulary"
"""Every word of the vocabulary counts alike."""

BY_FREQUENCY = "by frequency in the corpus"
"""Every word of the corpus counts alike, so that a common one counts as often as it occurs."""


class WordSample(NamedTuple):
    """Words that stand for others.

    Attributes:
      weighting: UNIFORM or BY_FREQUENCY.
      ids: the words; by frequency a word may be among them more than once.
      known: of a corpus, its words that are in the vocabulary; of a vocabulary, all of them.
      unknown: of a corpus, its words that are not in the vocabulary, which are left out.
    """

    weighting: str
    ids: list[int]
    known: int
    unknown: int

    def halves(self) -> tuple[WordSample, WordSample]:
        """The sample in two, each as good a sample as the whole."""
        return self._replace(ids=self.ids[::2]), self._replace(ids=self.ids[1::2])


def uniform_sample(words: int, vocabulary: int, seed: int) -> WordSample:
    """Different words, all equally likely, in random order.

    Args:
      words: how many; all where the vocabulary has fewer.
      vocabulary: N.
      seed: of the sample, which is of public words and protects nothing.
    """
    ids = np.random.default_rng(seed).permutation(vocabulary)[:words]
    return WordSample(UNIFORM, ids.tolist(), vocabulary, 0)


def sample_by_frequency(counts: Ids, words: int, seed: int) -> WordSample:
    """Words drawn independently, each with the probability of its share of a corpus.

    Args:
      counts: int64 [N + 1], how often each word of the vocabulary occurs, and last how many words
        of the corpus are not in it.
      words: how many to draw.
      seed: of the draw. The sample is of private words and must not be written anywhere.

    Raises:
      CorpusError: no word of the corpus is in the vocabulary.
    """
    known = int(counts[:-1].sum())
    if not known:
        raise CorpusError(
            "`input`: no word of the corpus is in the vocabulary, so there is nothing to measure; "
            "name the files and the text field that hold its texts"
        )
    ids = np.random.default_rng(seed).choice(len(counts) - 1, words, p=counts[:-1] / known)
    return WordSample(BY_FREQUENCY, ids.tolist(), known, int(counts[-1]))
