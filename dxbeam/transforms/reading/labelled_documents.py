"""A corpus -> word ids: of some documents with a class label, or of all runs of known words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam import pvalue

from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.tokenization import words
from dxbeam.transforms.reading.sources import ReadDocuments
from dxbeam.transforms.with_vocabulary import WithVocabulary

MOST_WORDS = 200
"""Words of a document that are taken, the first ones."""


class LabelledDocument(NamedTuple):
    """A document that has a label. It is raw text, in numbers.

    Attributes:
      order: a hash of the id and a seed; documents in this order are in random order.
      label: its class; "" where none is asked for.
      ids: its first known words, at least one.
    """

    order: int
    label: str
    ids: list[int]


class LabelledDocuments(beam.PTransform):
    """Draws documents: PBegin -> PCollection[list[LabelledDocument]] of one.

    Documents without the field of the label, which ``read`` keeps, or without a known word are left
    out. A ``field`` of "" is for documents without a label.
    """

    def __init__(
        self,
        read: ReadDocuments,
        vocabulary: VocabularyHandle,
        field: str,
        documents: int,
        seed: int,
    ):
        super().__init__()
        self._read = read
        self._label = _Label(vocabulary, field, seed)
        self._documents = documents

    def expand(self, begin: pvalue.PBegin) -> pvalue.PCollection:
        """Reads, and keeps the first ones in their random order."""
        return (
            (begin | "Read" >> self._read).documents
            | "Label" >> beam.ParDo(self._label)
            | "Draw" >> beam.combiners.Top.Smallest(self._documents)
        )


class KnownRuns(beam.PTransform):
    """Stretches of known words, of which texts are made: PBegin -> PCollection[int64 arrays]."""

    def __init__(self, read: ReadDocuments, vocabulary: VocabularyHandle):
        super().__init__()
        self._read = read
        self._divide = _Divide(vocabulary)

    def expand(self, begin: pvalue.PBegin) -> pvalue.PCollection:
        """Reads and divides."""
        return (begin | "Read" >> self._read).documents | "Divide" >> beam.ParDo(self._divide)


class _Divide(WithVocabulary):
    def process(self, document: Any) -> Iterator[Any]:
        ids = self._vocabulary.ids_of(words(document.text))
        for run in np.split(ids, np.flatnonzero(ids == UNKNOWN)):
            known = run[run != UNKNOWN]
            if len(known):
                yield known


class _Label(WithVocabulary):
    def __init__(self, vocabulary: VocabularyHandle, field: str, seed: int):
        super().__init__(vocabulary)
        self._field = field
        self._seed = seed

    def process(self, document: Any) -> Iterator[LabelledDocument]:
        label = json.loads(document.fields).get(self._field) if self._field else ""
        ids = self._vocabulary.ids_of(words(document.text))
        known = ids[ids != UNKNOWN][:MOST_WORDS].tolist()
        if label is not None and known:
            digest = hashlib.sha256(f"{self._seed}:{document.id}".encode()).digest()
            yield LabelledDocument(int.from_bytes(digest[:8], "big"), str(label), known)
