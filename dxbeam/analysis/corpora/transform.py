"""What is compared of whole corpora, as Beam transforms.

All documents of a release come together on one worker, as numbers: eight bytes a word of both
sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import apache_beam as beam
from apache_beam import pvalue

from dxbeam.analysis.corpora.diversity import diversity
from dxbeam.analysis.corpora.texts import TextPair, numbers_of, weights_of
from dxbeam.analysis.corpora.topics import topic_agreement
from dxbeam.analysis.corpora.word_statistics import counted, word_agreement
from dxbeam.analysis.evaluate.document_scores import Score
from dxbeam.analysis.evaluate.transform import DocumentVersions, hash_of
from dxbeam.analysis.evaluate.with_vocabulary import WithVocabulary
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.neighbors import Ids


class CompareCorpora(beam.PTransform):
    """Compares statistics: PCollection[DocumentVersions] -> PCollection[tuple[int, Score]].

    The number is that of the release.

    Args:
      vocabulary: the handle of the artifact, which says whether to tell cases apart; or None.
    """

    def __init__(self, vocabulary: VocabularyHandle | None):
        super().__init__()
        self._number = _Number(vocabulary)

    def expand(self, documents: pvalue.PCollection) -> pvalue.PCollection:
        """Numbers words everywhere, and compares each release on one worker."""
        return (
            documents
            | "Number" >> beam.ParDo(self._number)
            | "EachRelease" >> beam.GroupByKey()
            | "Compare" >> beam.FlatMap(_compared)
        )


class _Number(WithVocabulary):
    def process(self, document: DocumentVersions) -> Iterator[tuple[int, TextPair]]:
        original = self._numbers(document.words)
        for number, released in document.released.items():
            pair = TextPair(hash_of(document.id), original, self._numbers(released.words))
            yield number, pair

    def _numbers(self, words: Iterable[str]) -> Ids:
        lower = self._vocabulary is None or self._vocabulary.lowercase
        return numbers_of(word.lower() if lower else word for word in words)


def _compared(numbered: tuple[int, Iterable[TextPair]]) -> Iterator[tuple[int, Score]]:
    number, pairs = numbered
    texts = sorted((TextPair(*pair) for pair in pairs), key=lambda text: text.order)
    words, weights = counted(texts), weights_of([text.order for text in texts])
    for scores in (
        diversity(texts),
        word_agreement(texts, words, weights),
        topic_agreement(words, weights),
    ):
        for score in scores:
            yield number, score
