"""What attackers with a model recover of finished releases, as Beam transforms.

The attackers know the settings of a release, and release public text by them to learn from. One
worker holds the documents of a release that are attacked, as ids of words, and trains and asks the
models.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam import pvalue

from dxbeam.analysis.attackers.context import candidates_for, read_texts
from dxbeam.analysis.attackers.models.asked_for import AskedFor, Opener
from dxbeam.analysis.attackers.models.endpoint import guessed_values
from dxbeam.analysis.attackers.models.learned import pieces
from dxbeam.analysis.attackers.models.pairs import estimated_from
from dxbeam.analysis.attackers.models.released_texts import Column, Public, guess_released
from dxbeam.analysis.attackers.prior import prior_from_counts
from dxbeam.analysis.attackers.word_pairs import WordPairs
from dxbeam.analysis.evaluate.language_scores import RARE, sentence_begins
from dxbeam.analysis.evaluate.text_features import GAPS, FeatureMaker, Features
from dxbeam.analysis.evaluate.transform import DocumentVersions, hash_of
from dxbeam.analysis.evaluate.with_vocabulary import WithVocabulary
from dxbeam.analysis.exposure import survival
from dxbeam.analysis.exposure.attack import Attack
from dxbeam.analysis.exposure.known import Known
from dxbeam.analysis.exposure.linking import LEAST_DOCUMENTS
from dxbeam.analysis.exposure.linking_by_reading import linked_by_reading
from dxbeam.analysis.exposure.own_releases import channel_of, release_pieces
from dxbeam.analysis.exposure.recovered_words import recovered, recovered_of_classes
from dxbeam.analysis.frontier.attackers_table import blind
from dxbeam.analysis.theory.intervals import count_interval
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.configuration import Configuration
from dxbeam.text.public.function_words import ENGLISH
from dxbeam.text.tokenization import split
from dxbeam.transforms.reading.labelled_documents import MOST_WORDS

MOST_VALUES = 50
"""Values of a field that an endpoint chooses from; with more it is not asked."""


class _Read(NamedTuple):
    """A document and its release. It is raw text, in numbers; ``order`` follows from the id.

    ``classes`` says of each class of words in which places it is, ``gaps`` what is between words,
    before and after, where documents are to be found again.
    """

    order: int
    original: list[int]
    released: list[int]
    text: str
    value: str | None
    classes: dict[str, list[int]]
    gaps: tuple[Features, Features] | None


class AttackTexts(beam.PTransform):
    """Reads releases: PCollection[DocumentVersions] -> PCollection[tuple[int, Attack]].

    The number is that of the release.

    Args:
      settings: of each release, by its number.
      known: what attackers know.
      vocabulary: the handle of the artifact.
      language_model: the handle of what the releases were read with, or None.
      asked: which attackers, with the requests of one question about one release.
      documents: how many are attacked; those whose ids have the smallest hashes.
      field: whose value an endpoint guesses; "" for none.
      entities: the field that holds spans; "" for none.
      reidentify: how many of the documents are to be found again; 0 for none.
    """

    def __init__(
        self,
        settings: Sequence[Configuration],
        known: Known,
        vocabulary: VocabularyHandle,
        language_model: LanguageModelHandle | None,
        asked: AskedFor,
        documents: int,
        field: str,
        entities: str,
        reidentify: int = 0,
    ):
        super().__init__()
        self._known, self._documents = known, documents
        field_asked = field if asked.endpoint else ""
        self._gather = _Gather(vocabulary, field_asked, entities, gaps=reidentify > 0)
        self._attack = _Attack(vocabulary, language_model, list(settings), asked, field, reidentify)

    def expand(self, documents: pvalue.PCollection) -> pvalue.PCollection:
        """Gathers some documents of each release, and attacks them on one worker."""
        return (
            documents
            | "Gather" >> beam.ParDo(self._gather)
            | "Some" >> beam.combiners.Top.SmallestPerKey(self._documents, key=_order)
            | "Attack"
            >> beam.ParDo(
                self._attack,
                pvalue.AsSingleton(self._known.counts),
                pvalue.AsSingleton(self._known.following),
                pvalue.AsList(self._known.texts),
            )
        )


def _order(read: _Read) -> int:
    return read[0]


class _Gather(WithVocabulary):
    def __init__(self, vocabulary: VocabularyHandle, field: str, entities: str, *, gaps: bool):
        super().__init__(vocabulary)
        self._field, self._entities, self._with_gaps = field, entities, gaps

    def setup(self) -> None:
        super().setup()
        self._gaps = FeatureMaker([GAPS], None, ()).features

    def process(self, document: DocumentVersions) -> Iterator[tuple[int, _Read]]:
        assert self._vocabulary is not None
        before = self._vocabulary.ids_of(document.words)
        value = document.fields.get(self._field) if self._field else None
        classes = classes_of(document, self._entities)
        gaps = self._gaps(document.original, document.words) if self._with_gaps else None
        for number, released in document.released.items():
            if not released.aligned:
                continue
            after = self._vocabulary.ids_of(released.words)
            known = np.flatnonzero((before != UNKNOWN) & (after != UNKNOWN))[:MOST_WORDS]
            if len(known):
                places = {name: np.flatnonzero(mask[known]) for name, mask in classes.items()}
                read = _Read(
                    hash_of(document.id),
                    before[known].tolist(),
                    after[known].tolist(),
                    released.text if value is not None else "",
                    None if value is None else str(value),
                    {name: those.tolist() for name, those in places.items() if len(those)},
                    None if gaps is None else (gaps, self._gaps(released.text, released.words)),
                )
                yield number, read


def classes_of(document: DocumentVersions, entities: str) -> dict[str, survival.Mask]:
    """Which words are names, numbers, or in a span of a class: bool [T] for each.

    Args:
      document: with its original.
      entities: the field that holds spans; "" for none.
    """
    gaps, words = split(document.original)
    classes = survival.classes_of_words(words, sentence_begins(gaps), ENGLISH)
    del classes[survival.EVERY]
    value = document.fields.get(entities) if entities else None
    for span in survival.spans_of(value, entities, len(document.original)):
        mask = classes.setdefault(f"{span.label}: words", np.zeros(len(words), bool))
        mask |= survival.within(span, gaps, words)
    return classes


class _Attack(WithVocabulary):
    def __init__(
        self,
        vocabulary: VocabularyHandle,
        language_model: LanguageModelHandle | None,
        settings: list[Configuration],
        asked: AskedFor,
        field: str,
        reidentify: int,
    ):
        super().__init__(vocabulary, language_model)
        self._settings, self._asked, self._field = settings, asked, field
        self._reidentify = reidentify

    def setup(self) -> None:
        super().setup()
        assert self._vocabulary is not None
        self._search = NeighborSearch(self._vocabulary)
        self._opener = Opener(self._asked)

    def process(
        self,
        numbered: tuple[int, list[_Read]],
        counts: Any,
        following: WordPairs,
        public_texts: Sequence[Ids],
    ) -> Iterator[tuple[int, Attack]]:
        number, documents = numbered
        prior = prior_from_counts("public text", counts[:-1])
        public = Public(prior, WordPairs(*following), public_texts)
        for attack in self._words(self._settings[number], number, documents, public):
            yield number, attack
        for attack in self._values(documents, public):
            yield number, attack

    def _words(
        self, settings: Configuration, seed: int, documents: list[_Read], public: Public
    ) -> Iterator[Attack]:
        """What each attacker recovers of the words, and which documents it finds again."""
        search, prior = self._search, public.prior
        texts = [np.array(document.original, np.int64) for document in documents]
        released = [np.array(document.released, np.int64) for document in documents]
        rehearsed = release_pieces(
            settings, pieces(public.texts, self._asked.public_words), search, self._model, seed
        )
        formula = channel_of(settings, prior, search)
        channel = formula or estimated_from(rehearsed, prior, search)
        seen, sizes = np.concatenate(released), [len(text) for text in texts]
        candidates = candidates_for(channel, seen)
        word_by_word = np.split(candidates.ids[:, 0], np.cumsum(sizes)[:-1])
        columns = [
            Column("believed", texts, released),
            Column("single", texts, word_by_word),
            Column("context", texts, read_texts(candidates, texts, public.following)),
        ]
        attackers = self._opener.attackers(search.vocabulary, prior)
        guesses = guess_released(seen, sizes, rehearsed, formula, public, attackers, search)
        chances = blind(texts, prior)
        classes = [document.classes for document in documents]
        columns += guesses.columns(texts)
        for column in columns:
            yield from recovered(column, prior.shares < RARE, chances)
            yield from recovered_of_classes(column, classes, prior)
        first = slice(self._reidentify)
        gaps = [document.gaps for document in documents[first] if document.gaps is not None]
        if len(gaps) >= LEAST_DOCUMENTS:
            some = [Column(each.name, texts[first], each.guesses[first]) for each in columns]
            before, after = zip(*gaps, strict=True)
            yield from linked_by_reading(
                texts[first], released[first], some, (before, after), channel
            )

    def _values(self, documents: list[_Read], public: Public) -> Iterator[Attack]:
        """How often an endpoint guesses a field of the corpus."""
        assert self._vocabulary is not None
        asking = self._opener.attackers(self._vocabulary, public.prior).asking
        labelled = [document for document in documents if document.value is not None]
        values = sorted({str(document.value) for document in labelled})
        if asking is None or not 2 <= len(values) <= MOST_VALUES:
            return
        some = labelled[: asking.left]
        guesses = guessed_values([document.text for document in some], values, asking)
        answered = [
            (document.value, guess)
            for document, guess in zip(some, guesses, strict=True)
            if guess is not None
        ]
        if answered:
            right = sum(value == guess for value, guess in answered)
            shares = [sum(value == each for value, _ in answered) for each in values]
            yield Attack(
                "asks an endpoint", "released text", f"the {len(values)} values",
                f"{self._field} guessed", *count_interval(right, len(answered)),
                max(shares) / len(answered), len(answered),
            )  # fmt: skip
