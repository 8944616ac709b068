"""Which words are measured, and what they stand for.

*Uniform over the vocabulary* and *by corpus frequency* are different questions with different
answers: common words are closer together than rare ones and come out as themselves less often. So
a sample carries its weighting with it, to the last sentence that is said about it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.errors import CorpusError
from dxbeam.space.vocabulary.words import UNKNOWN

Ids = npt.NDArray[np.int64]

UNIFORM = "uniform over the vocabulary"
"""Every word of the vocabulary counts alike."""

BY_FREQUENCY = "by frequency in the corpus"
"""Every word of the corpus counts alike, so that a common one counts as often as it occurs."""

NOTHING_KNOWN = (
    "`input`: no word of the corpus is in the vocabulary, so there is nothing to measure; name the "
    "files and the text field that hold its texts"
)
"""Why a corpus cannot be measured."""


class WordSample(NamedTuple):
    """Words that stand for others.

    Attributes:
      weighting: UNIFORM or BY_FREQUENCY.
      ids: the words; by frequency a word may be among them more than once.
      known: of a corpus, its words that are in the vocabulary; of a vocabulary, all of them.
      unknown: of a corpus, its words that are not in the vocabulary. No share counts them.
      sizes: how many words each text has, where whole texts were drawn; else empty. Their words are
        in order, and those that are not in the vocabulary are among them.
      breaks: of texts, what is before each word: STARTS or FOLLOWS of text/decoding/pieces.py.
    """

    weighting: str
    ids: list[int]
    known: int
    unknown: int
    sizes: Sequence[int] = ()
    breaks: Sequence[int] = ()

    @property
    def known_ids(self) -> list[int]:
        """Those that are words of the vocabulary."""
        return [number for number in self.ids if number != UNKNOWN]

    @property
    def texts_of_known(self) -> Ids | None:
        """The number of the text that each known word is in; None where there are no texts."""
        if not self.sizes:
            return None
        texts = np.repeat(np.arange(len(self.sizes)), self.sizes)
        return np.asarray(texts[np.array(self.ids) != UNKNOWN])

    def halves(self) -> tuple[WordSample, WordSample]:
        """The sample in two, each as good a sample as the whole: by texts where there are any."""
        if self.sizes:
            return self._of_texts(0), self._of_texts(1)
        return self._replace(ids=self.ids[::2]), self._replace(ids=self.ids[1::2])

    def _of_texts(self, first: int) -> WordSample:
        """Every second text from the first one on."""
        ends = list(itertools.accumulate(self.sizes))
        spans = list(zip([0, *ends], ends, strict=False))[first::2]
        return self._replace(
            ids=[number for start, end in spans for number in self.ids[start:end]],
            sizes=self.sizes[first::2],
            breaks=[kind for start, end in spans for kind in self.breaks[start:end]],
        )


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
        raise CorpusError(NOTHING_KNOWN)
    ids = np.random.default_rng(seed).choice(len(counts) - 1, words, p=counts[:-1] / known)
    return WordSample(BY_FREQUENCY, ids.tolist(), known, int(counts[-1]))
