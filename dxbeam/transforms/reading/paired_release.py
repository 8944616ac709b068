"""PairWithReleases: a corpus and releases of it -> each document before and after."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam import pvalue

from dxbeam.corpus import reading
from dxbeam.corpus.files import CorpusFile
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.splits import Split
from dxbeam.documents import Document
from dxbeam.errors import OutputError
from dxbeam.release.text_release import TextRelease
from dxbeam.text.tokenization import split, words
from dxbeam.transforms.reading.sources import ReadDocuments

_ONLY_ORIGINAL, _ONLY_RELEASED = "only original", "only released"


class ReleasedText(NamedTuple):
    """What was released of a document; if ``aligned``, word i is in place of original word i."""

    text: str
    words: list[str]
    aligned: bool


class ReleasedDocument(NamedTuple):
    """A document before, which is raw, and after, by the number of each release that has it."""

    id: str
    original: str
    words: list[str]
    fields: dict[str, Any]
    group: str
    released: dict[int, ReleasedText]


class Pairs(NamedTuple):
    """PCollection[ReleasedDocument], PCollection[Unpaired] of one, and the corpus."""

    documents: pvalue.PCollection
    unpaired: pvalue.PCollection
    originals: pvalue.PCollection


class Unpaired(NamedTuple):
    """What cannot be compared.

    Attributes:
      rejected: how many records of the corpus are no documents.
      only_original, only_released: for each release, how many documents the corpus has and the
        release lacks, and the other way round.
    """

    rejected: int
    only_original: tuple[int, ...]
    only_released: tuple[int, ...]


class PairWithReleases(beam.PTransform):
    """Joins a corpus and releases of it by id: PBegin -> Pairs. The corpus is read once."""

    def __init__(self, originals: ReadDocuments, releases: Sequence[TextRelease]):
        super().__init__()
        self._originals = originals
        self._releases = list(releases)

    def expand(self, begin: pvalue.PBegin) -> Pairs:
        """Reads all, and groups by id."""
        originals = begin | "ReadOriginals" >> self._originals
        released = begin | "ReadReleased" >> _ReadReleases(self._releases)
        by_id = {
            "original": originals.documents | "Id of original" >> beam.Map(_with_id),
            "released": released,
        }
        in_order = [release.in_order for release in self._releases]
        joined = (
            by_id
            | "Join" >> beam.CoGroupByKey()
            | "Pair"
            >> beam.ParDo(_Pair(in_order)).with_outputs(
                _ONLY_ORIGINAL, _ONLY_RELEASED, main="pairs"
            )
        )
        counts = [
            pvalue.AsDict(joined[tag] | f"Count {tag}" >> beam.combiners.Count.PerElement())
            for tag in (_ONLY_ORIGINAL, _ONLY_RELEASED)
        ]
        rejected = originals.rejected | "Count rejected" >> beam.combiners.Count.Globally()
        unpaired = (
            begin.pipeline
            | "Once" >> beam.Create([len(self._releases)])
            | "Counts" >> beam.Map(_unpaired, pvalue.AsSingleton(rejected), *counts)
        )
        return Pairs(joined["pairs"], unpaired, originals.documents)


def _unpaired(
    releases: int,
    rejected: int,
    only_original: Mapping[int, int],
    only_released: Mapping[int, int],
) -> Unpaired:
    by_release = [
        tuple(counts.get(number, 0) for number in range(releases))
        for counts in (only_original, only_released)
    ]
    return Unpaired(rejected, *by_release)


def _with_id(document: Document) -> tuple[str, Document]:
    return document.id, document


class _ReadReleases(beam.PTransform):
    """PBegin -> PCollection[tuple[str, tuple[int, Document]]], by id with the release's number.

    Releases are whole, their ids given and none of them twice, so they need no survey.
    """

    def __init__(self, releases: Sequence[TextRelease]):
        super().__init__()
        self._releases = list(releases)

    def expand(self, begin: pvalue.PBegin) -> pvalue.PCollection:
        files = [
            (number, file)
            for number, release in enumerate(self._releases)
            for file in release.files
        ]
        formats = [release.read_as for release in self._releases]
        return (
            begin
            | "Files" >> beam.Create(files, reshuffle=False)
            | "Split" >> beam.FlatMap(_splits, formats)
            | "Spread" >> beam.Reshuffle()
            | "Read" >> beam.FlatMap(_documents, formats)
        )


def _splits(
    numbered: tuple[int, CorpusFile], formats: Sequence[CorpusFormat]
) -> Iterator[tuple[int, Split]]:
    number, file = numbered
    for part in reading.splits(file, formats[number]):
        yield number, part


def _documents(
    numbered: tuple[int, Split], formats: Sequence[CorpusFormat]
) -> Iterator[tuple[str, tuple[int, Document]]]:
    number, part = numbered
    for result in reading.read(part, formats[number]):
        if not isinstance(result, Document):
            raise OutputError(f"{part.path} is damaged (it holds something other than documents)")
        yield result.id, (number, result)


class _Pair(beam.DoFn):
    def __init__(self, in_order: Sequence[bool]):
        self._in_order = in_order

    def process(self, joined: tuple[str, Mapping[str, Iterable[Any]]]) -> Iterator[Any]:
        own_id, sides = joined
        # Ids are unique on either side: all records with a repeated one are rejected.
        original: Document | None = next(iter(sides["original"]), None)
        released: dict[int, Document] = dict(sorted(sides["released"]))
        if original is None:
            yield from (pvalue.TaggedOutput(_ONLY_RELEASED, number) for number in released)
            return
        for number in range(len(self._in_order)):
            if number not in released:
                yield pvalue.TaggedOutput(_ONLY_ORIGINAL, number)
        if not released:
            return
        gaps, _ = split(original.text)
        yield ReleasedDocument(
            own_id,
            original.text,
            words(original.text),
            json.loads(original.fields),
            original.group,
            {
                number: _released(document.text, gaps if self._in_order[number] else None)
                for number, document in released.items()
            },
        )


def _released(text: str, gaps: Sequence[str] | None) -> ReleasedText:
    in_place = words_in_place(gaps, text) if gaps else None
    return ReleasedText(text, words(text) if in_place is None else in_place, in_place is not None)


def words_in_place(gaps: Sequence[str], released: str) -> list[str] | None:
    """What is in the place of each word of an original; None if its gaps are not all there.

    White space and punctuation are released as they are, so a word is what is between two gaps.
    It may hold punctuation itself, as some vocabularies have such words.
    """
    first, last = gaps[0], gaps[-1]
    if len(gaps) == 1:
        return [] if released == first else None
    if not (released.startswith(first) and released.endswith(last)):
        return None
    in_place, start, stop = [], len(first), len(released) - len(last)
    for gap in gaps[1:-1]:
        end = released.find(gap, start + 1, stop)
        if end < 0:
            return None
        in_place.append(released[start:end])
        start = end + len(gap)
    return [*in_place, released[start:stop]] if start < stop else None
