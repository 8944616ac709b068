"""What becomes of documents, as sums that add up over them, and scores with intervals from sums.

Scores of a corpus (shares of words, BLEU, chrF) are computed from sums of counts. Their intervals
come from a bootstrap over documents: each document is counted anew a number of times that is drawn
from a Poisson distribution of mean 1, in each of 500 replicates, and a score is computed from the
sums of each replicate (Chamandy et al. 2012, "Estimating uncertainty for massive data streams").
The draws follow from the document's id, so it does not matter how documents are divided among
workers. Scores of documents (ROUGE, distances) are averaged, with Student's interval of the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from dxbeam.analysis.evaluate import language_scores, text_scores, word_movers
from dxbeam.analysis.evaluate.text_scores import BLEU_COUNTS, CHRF_COUNTS, Counts, Reference
from dxbeam.analysis.evaluate.word_movers import Ids
from dxbeam.analysis.theory.bootstrap import REPLICATES, replicate_weights
from dxbeam.analysis.theory.intervals import independent_mean_interval
from dxbeam.language.model import LanguageModel
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.tokenization import split

BOOTSTRAP, STUDENT = "bootstrap over documents", "Student's t over documents"

_SHARES = ("unchanged", "unchanged_known", "out_of_vocabulary", "out_of_vocabulary_released")
_MEANS = ("rouge1", "rouge2", "rougeL", "embedding_similarity", "wmd", "wmd_relaxed")
_NEED_VECTORS = (*_SHARES[1:], *_MEANS[3:])

_OF_LANGUAGE = ("unchanged_rare", "perplexity", "perplexity_original")
"""What needs a language model."""

_LANGUAGE = 2 * len(_SHARES) + BLEU_COUNTS + CHRF_COUNTS
"""Where its counts begin."""

_COUNTS = _LANGUAGE + 2 * len(_OF_LANGUAGE)


class Original(Protocol):
    """A document before.

    Attributes:
      original: the text.
      words: its words.
    """

    @property
    def original(self) -> str: ...  # noqa: D102
    @property
    def words(self) -> Sequence[str]: ...  # noqa: D102


class Released(Protocol):
    """A document after.

    Attributes:
      text: the text.
      words: its words.
      aligned: whether word i is in the place of original word i.
    """

    @property
    def text(self) -> str: ...  # noqa: D102
    @property
    def words(self) -> Sequence[str]: ...  # noqa: D102
    @property
    def aligned(self) -> bool: ...  # noqa: D102


class DocumentScores(NamedTuple):
    """One document.

    Attributes:
      weights: int64 [REPLICATES], how often each replicate counts it.
      counts: float64 [K], that add up over documents.
      means: float64 [M], to be averaged; NaN where the document has none.
      aligned: whether it was compared word by word.
    """

    weights: npt.NDArray[np.int64]
    counts: Counts
    means: Counts
    aligned: bool


class Score(NamedTuple):
    """A score with its interval.

    Attributes:
      metric: its name.
      value: the score; low and
      high: its 95 % interval, None where there are fewer than two documents.
      n: how many documents it is of.
      interval: how the interval was made.
    """

    metric: str
    value: float
    low: float | None
    high: float | None
    n: int
    interval: str


class DocumentScorer:
    """Compares a document with what was released of it, each time again.

    Words and texts are lower-cased first, unless the vocabulary is one of cased words.

    Args:
      document: the original, which is read once.
      seed: of the bootstrap; the document's own, the same whenever it is looked at.
      vocabulary: gives words their ids and vectors; None leaves out what needs them.
      model: says which words are rare and how likely a text is; None leaves both out.
    """

    def __init__(
        self,
        document: Original,
        seed: int,
        vocabulary: Vocabulary | None,
        model: LanguageModel | None = None,
    ):
        self._vocabulary = vocabulary
        self._model = model
        self._lower = vocabulary is None or vocabulary.lowercase
        self._words = self._cased_words(document.words)
        self._ids = self._ids_of(self._words)
        self._known = (self._ids != UNKNOWN).tolist()
        self._reference = Reference(self._cased_line(document.original))
        self._begins = language_scores.sentence_begins(split(document.original)[0])
        self._placed = word_movers.placed(vocabulary, self._ids) if vocabulary else None
        self._weights = replicate_weights(seed)

    def scores(self, released: Released) -> DocumentScores:
        """Of the document and one release of it."""
        words, text = (
            self._cased_words(released.words),
            text_scores.read_text(self._cased_line(released.text)),
        )
        ids = self._ids_of(words)
        known = (ids != UNKNOWN).tolist()
        looked_at = (
            text_scores.unchanged_by_position(self._words, words, self._known)
            if released.aligned
            else text_scores.unchanged_in_bag(self._words, words, known)
        )
        shares = [looked_at.unchanged, looked_at.words, looked_at.known_unchanged, looked_at.known]
        for one in (self._known, known):
            shares += [len(one) - sum(one), len(one)]
        reference = self._reference
        counts = np.concatenate(
            [
                np.array(shares, np.float64),
                reference.bleu_counts(text),
                reference.chrf_counts(text),
                self._language_counts(ids, aligned=released.aligned),
            ]
        )
        wmd, relaxed, cosine = self._moved(ids)
        means = np.array([*reference.rouge(text), cosine, wmd, relaxed], np.float64)
        return DocumentScores(self._weights, counts, means, released.aligned)

    def _language_counts(self, ids: Ids, *, aligned: bool) -> Counts:
        """Rare words that came out as they were and all; losses and words, after and before.

        A text whose words are not in the places of the original's counts for nothing.
        """
        model = self._model
        if model is None or not aligned:
            return np.zeros(2 * len(_OF_LANGUAGE))
        rare = language_scores.is_rare(model, self._ids)
        counts = [float((ids == self._ids)[rare].sum()), float(rare.sum())]
        for each in (ids, self._ids):
            losses = language_scores.losses(model, each, self._begins)
            counts += [float(losses.sum()), float(len(losses))]
        return np.array(counts)

    def _moved(self, ids: Ids) -> tuple[float | None, float | None, float | None]:
        if self._vocabulary is None or self._placed is None:
            return None, None, None
        return word_movers.moved(self._placed, word_movers.placed(self._vocabulary, ids))

    def _cased_words(self, words: Sequence[str]) -> list[str]:
        return [word.lower() for word in words] if self._lower else list(words)

    def _cased_line(self, text: str) -> str:
        return text_scores.in_one_line(text.lower() if self._lower else text)

    def _ids_of(self, words: list[str]) -> Ids:
        if self._vocabulary is None:
            return np.full(len(words), UNKNOWN, np.int64)
        return self._vocabulary.ids_of(words)


class Sums(NamedTuple):
    """The sums over documents.

    Attributes:
      documents: how many, and
      aligned: how many of them were compared word by word.
      counts: float64 [1 + REPLICATES, K]; the first row counts every document once.
      means: float64 [3, M]: how many documents have a value, their sum, the sum of their squares.
    """

    documents: int
    aligned: int
    counts: Counts
    means: Counts

    def with_document(self, scores: DocumentScores) -> Sums:
        """With one more; changes the arrays."""
        self.counts[0] += scores.counts
        self.counts[1:] += np.outer(scores.weights, scores.counts)
        has = ~np.isnan(scores.means)
        values = np.where(has, scores.means, 0.0)
        self.means[:] += np.stack([has, values, np.square(values)])
        return self._replace(
            documents=self.documents + 1, aligned=self.aligned + int(scores.aligned)
        )

    def plus(self, other: Sums) -> Sums:
        """Of all the documents of both."""
        return Sums(
            self.documents + other.documents,
            self.aligned + other.aligned,
            self.counts + other.counts,
            self.means + other.means,
        )


def no_documents() -> Sums:
    """The sums over no document."""
    return Sums(0, 0, np.zeros((1 + REPLICATES, _COUNTS)), np.zeros((3, len(_MEANS))))


def scores_of(sums: Sums, *, with_vocabulary: bool) -> Iterator[Score]:
    """All scores that follow from sums.

    Args:
      sums: over documents, at least one.
      with_vocabulary: whether there was one; without, the scores that need it are left out.
    """
    left_out = () if with_vocabulary else _NEED_VECTORS
    for place, metric in enumerate(_SHARES):
        if metric not in left_out and sums.counts[0, 2 * place + 1]:
            yield _from_counts(metric, sums, 2 * place, 2, _share)
    first = 2 * len(_SHARES)
    yield _from_counts("bleu", sums, first, BLEU_COUNTS, text_scores.bleu)
    yield _from_counts("chrf", sums, first + BLEU_COUNTS, CHRF_COUNTS, text_scores.chrf)
    for place, metric in enumerate(_OF_LANGUAGE):
        start = _LANGUAGE + 2 * place
        if sums.counts[0, start + 1]:
            yield _from_counts(metric, sums, start, 2, _share if place == 0 else _perplexity)
    for metric, n, total, squares in zip(_MEANS, *sums.means, strict=True):
        if metric not in left_out and n:
            yield _mean(metric, int(n), float(total), float(squares))


def _share(counts: Counts) -> float:
    return float(counts[0] / counts[1])


def _perplexity(counts: Counts) -> float:
    return math.exp(counts[0] / counts[1])


def _from_counts(
    metric: str, sums: Sums, first: int, columns: int, score: Callable[[Counts], float]
) -> Score:
    counts = sums.counts[:, first : first + columns]
    value = float(score(counts[0]))
    low, high = None, None
    if sums.documents > 1:
        drawn = [score(row) for row in counts[1:] if row.any()]
        low, high = map(float, np.quantile(drawn, [0.025, 0.975]))
    return Score(metric, value, low, high, sums.documents, BOOTSTRAP)


def _mean(metric: str, n: int, total: float, squares: float) -> Score:
    mean = total / n
    if n < 2:
        return Score(metric, mean, None, None, n, STUDENT)
    variance = max(0.0, squares - n * mean * mean) / (n - 1)
    low, high = independent_mean_interval(mean, math.sqrt(variance), n)
    low = low if metric == "embedding_similarity" else max(0.0, low)
    return Score(metric, mean, low, high, n, STUDENT)
