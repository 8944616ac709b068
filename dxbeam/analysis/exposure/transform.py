"""Who and what releases expose, as Beam transforms.

What stays is counted wherever a document is, and adds up. Documents are found again on one worker,
which holds the features of N documents of two texts each, some 20 kilobytes a document and no text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam import pvalue
from threadpoolctl import threadpool_limits

from dxbeam.analysis.evaluate.language_scores import commonest, is_rare, sentence_begins
from dxbeam.analysis.evaluate.text_features import (
    GAPS,
    LENGTH,
    MEAN_VECTOR,
    WORDS,
    FeatureMaker,
    Features,
)
from dxbeam.analysis.evaluate.transform import DocumentVersions, hash_of
from dxbeam.analysis.evaluate.with_vocabulary import WithVocabulary
from dxbeam.analysis.exposure import survival
from dxbeam.analysis.exposure.attack import Attack
from dxbeam.analysis.exposure.linking import LEAST_DOCUMENTS, linked
from dxbeam.analysis.exposure.survival import RARE
from dxbeam.analysis.theory.intervals import TextSums
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.text.public.function_words import ENGLISH
from dxbeam.text.tokenization import split

_ORIGINALS = -1
"""What candidates are, where they are not a release with its number."""


class _Paired(NamedTuple):
    """A candidate, and the release that may be of it; ``order`` follows from the document's id."""

    order: int
    candidate: Features
    released: Features


class FindAgain(beam.PTransform):
    """Finds documents by their releases: PCollection[DocumentVersions] -> PCollection[Numbered].

    Each release is looked up among originals, and, but for the first, among the texts of the
    release before it. ``Numbered`` is tuple[int, Attack], with the number of the release.

    Args:
      documents: how many; those whose ids have the smallest hashes.
      vocabulary: the handle of the artifact, or None.
    """

    def __init__(self, documents: int, vocabulary: VocabularyHandle | None):
        super().__init__()
        self._documents = documents
        self._describe = _Describe(vocabulary)

    def expand(self, documents: pvalue.PCollection) -> pvalue.PCollection:
        """Makes features everywhere, and compares on one worker for each pair of sides."""
        return (
            documents
            | "Describe" >> beam.ParDo(self._describe)
            | "Some" >> beam.combiners.Top.SmallestPerKey(self._documents, key=_order)
            | "Link" >> beam.FlatMap(_linked)
        )


def _order(paired: _Paired) -> int:
    return paired[0]


def _linked(sides: tuple[tuple[int, int], Sequence[_Paired]]) -> Iterator[tuple[int, Attack]]:
    (candidates, release), pairs = sides
    if len(pairs) < LEAST_DOCUMENTS:
        return
    what = "originals" if candidates == _ORIGINALS else "texts of the release before"
    _, before, after = zip(*pairs, strict=True)
    with threadpool_limits(1):  # more would wait for other workers
        for attack in linked(before, after, f"the {len(pairs):,} {what}"):
            yield release, attack


class _Describe(WithVocabulary):
    def setup(self) -> None:
        super().setup()
        kinds = [WORDS, *([MEAN_VECTOR] if self._vocabulary else []), LENGTH, GAPS]
        self._maker = FeatureMaker(kinds, self._vocabulary, ())

    def process(self, document: DocumentVersions) -> Iterator[Any]:
        order = hash_of(document.id)
        texts = {_ORIGINALS: self._maker.features(document.original, document.words)}
        for number, released in sorted(document.released.items()):
            texts[number] = self._maker.features(released.text, released.words)
            for candidates in dict.fromkeys((_ORIGINALS, number - 1)):
                if candidates in texts:
                    paired = _Paired(order, texts[candidates], texts[number])
                    yield (candidates, number), paired


class CountSurvivors(beam.PTransform):
    """What stays as it was: PCollection[DocumentVersions] -> PCollection[tuple[int, Attack]].

    Counts documents whose words are in their places, with the number of the release.

    Args:
      vocabulary: the handle of the artifact, or None.
      language_model: the handle of the model that says which words are rare, or None.
      entities: the field that holds spans; "" for none.
    """

    def __init__(
        self,
        vocabulary: VocabularyHandle | None,
        language_model: LanguageModelHandle | None,
        entities: str,
    ):
        super().__init__()
        self._count = _Count(vocabulary, language_model, entities)
        self._words = vocabulary

    def expand(self, documents: pvalue.PCollection) -> pvalue.PCollection:
        """Counts in each document and adds up per class."""
        return (
            documents
            | "Count" >> beam.ParDo(self._count)
            | "AddUp" >> beam.CombinePerKey(_added)
            | "Shares" >> beam.ParDo(_Shares(self._words))
        )


_Sums = tuple[TextSums, TextSums]
"""What stays, and what whoever sees no word guesses; over no text where nobody can."""


def _added(sums: Iterable[_Sums]) -> _Sums:
    total, blind = survival.no_text(), survival.no_text()
    for one, other in sums:
        total, blind = survival.plus(total, one), survival.plus(blind, other)
    return total, blind


class _Count(WithVocabulary):
    def __init__(
        self,
        vocabulary: VocabularyHandle | None,
        language_model: LanguageModelHandle | None,
        entities: str,
    ):
        super().__init__(vocabulary, language_model)
        self._entities = entities

    def process(self, document: DocumentVersions) -> Iterator[tuple[tuple[int, str], _Sums]]:
        gaps, words = split(document.original)
        spans = survival.spans_of(
            document.fields.get(self._entities), self._entities, len(document.original)
        )
        classes = survival.classes_of_words(words, sentence_begins(gaps), ENGLISH)
        before = self._cased(words)
        guessed = None
        if self._vocabulary is not None and self._model is not None:
            ids = self._vocabulary.ids_of(before)
            classes[RARE] = is_rare(self._model, ids)
            guessed = ids == commonest(self._model)

        def counted(right: survival.Mask) -> dict[str, TextSums]:
            shares = (
                *survival.counted_words(right, classes),
                *survival.counted_spans(right, spans, gaps, words),
            )
            return {name: share.sums() for name, share in shares}

        blind = {} if guessed is None else counted(guessed)
        for number, released in document.released.items():
            if not released.aligned:
                continue
            after = self._cased(released.words)
            unchanged = np.array([a == b for a, b in zip(before, after, strict=True)], bool)
            for name, sums in counted(unchanged).items():
                yield (number, name), (sums, blind.get(name, survival.no_text()))

    def _cased(self, words: Sequence[str]) -> list[str]:
        lower = self._vocabulary is None or self._vocabulary.lowercase
        return [word.lower() for word in words] if lower else list(words)


class _Shares(WithVocabulary):
    def process(self, summed: tuple[tuple[int, str], _Sums]) -> Iterator[tuple[int, Attack]]:
        (number, measure), (sums, blind) = summed
        words = len(self._vocabulary) if self._vocabulary is not None else None
        yield number, survival.survived(measure, TextSums(*sums), words, TextSums(*blind))
