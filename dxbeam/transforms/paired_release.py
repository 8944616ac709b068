"""PairWithRelease: a corpus and a release of it -> each document before and after."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam import pvalue

from dxbeam import storage
from dxbeam.corpus.formats import FORMATS, CorpusFormat
from dxbeam.documents import Document
from dxbeam.errors import OutputError
from dxbeam.release.manifest import SHARD_PREFIX
from dxbeam.release.verification import verify_release
from dxbeam.text.tokenization import split, words
from dxbeam.transforms.sources import ReadDocuments

_ONLY_ORIGINAL, _ONLY_RELEASED = "only original", "only released"


class GivenRelease(NamedTuple):
    """A release of text that was found whole.

    Attributes:
      prefix: where it lies.
      manifest: the content of its release.json.
      read_as: how its files are read.
    """

    prefix: str
    manifest: dict[str, Any]
    read_as: CorpusFormat

    @property
    def pattern(self) -> str:
        """A glob of its files."""
        return storage.join(self.prefix, f"{SHARD_PREFIX}-*")

    @property
    def in_order(self) -> bool:
        """Whether there is a released word in the place of each original word."""
        configuration = self.manifest["configuration"]
        return not (
            configuration.get("bag_of_words")
            or configuration.get("unknown_words") == "drop"
            or self.manifest.get("post_processing")
        )


def open_release(prefix: str) -> GivenRelease:
    """Checks a release as ``dxbeam verify`` does.

    Raises:
      OutputError: there is no whole release, or it holds no text, or no ids.
    """
    release = verify_release(prefix).manifest
    name = release.get("output_format")
    if release["configuration"].get("release") == "vectors":
        raise OutputError(f"{prefix} holds released vectors, and only released text is compared")
    if name not in FORMATS:
        raise OutputError(f"{prefix}: its release.json names a format that is not known here")
    if not FORMATS[name].HAS_FIELDS:
        raise OutputError(
            f"{prefix} is in plain text, which has no ids to find the originals by; release with "
            "`output_format` jsonl or parquet"
        )
    return GivenRelease(prefix, release, CorpusFormat(name))


class PairedDocument(NamedTuple):
    """A document before and after.

    Attributes:
      id: of both.
      original, released: the texts; the first is raw.
      original_words, released_words: their words.
      aligned: whether released word i stands in the place of original word i.
      fields: the kept fields of the original, by name.
      group: the group of the original.
    """

    id: str
    original: str
    released: str
    original_words: list[str]
    released_words: list[str]
    aligned: bool
    fields: dict[str, Any]
    group: str


class Pairs(NamedTuple):
    """What ``PairWithRelease`` returns.

    Attributes:
      documents: PCollection[PairedDocument].
      unpaired: PCollection[dict[str, int]] of one: how many documents are "only_original" or
        "only_released", and how many records of the corpus are "rejected".
    """

    documents: pvalue.PCollection
    unpaired: pvalue.PCollection


class PairWithRelease(beam.PTransform):
    """Joins a corpus and a release of it by id: PBegin -> Pairs.

    Args:
      pattern: glob of the corpus files, local or gs://.
      corpus_format: how to read them; names the fields that are passed on.
      allow_unreadable: whether to leave out files of the corpus that cannot be read to their end.
      release: the release.
    """

    def __init__(
        self,
        pattern: str,
        corpus_format: CorpusFormat,
        allow_unreadable: bool,
        release: GivenRelease,
    ):
        super().__init__()
        self._originals = ReadDocuments(pattern, corpus_format, allow_unreadable)
        self._released = ReadDocuments(release.pattern, release.read_as)
        self._in_order = release.in_order

    def expand(self, begin: pvalue.PBegin) -> Pairs:
        """Reads both, and groups by id."""
        originals = begin | "ReadOriginals" >> self._originals
        released = begin | "ReadReleased" >> self._released
        read = {"original": originals.documents, "released": released.documents}
        by_id = {
            name: documents | f"Id of {name}" >> beam.Map(_with_id)
            for name, documents in read.items()
        }
        joined = (
            by_id
            | "Join" >> beam.CoGroupByKey()
            | "Pair"
            >> beam.ParDo(_Pair(self._in_order)).with_outputs(
                _ONLY_ORIGINAL, _ONLY_RELEASED, main="pairs"
            )
        )
        counts = {
            "only_original": joined[_ONLY_ORIGINAL],
            "only_released": joined[_ONLY_RELEASED],
            "rejected": originals.rejected,
        }
        unpaired = (
            begin.pipeline
            | "Once" >> beam.Create([None])
            | "Counts"
            >> beam.Map(
                lambda _, **counted: counted,
                **{
                    name: pvalue.AsSingleton(elements | f"Count {name}" >> _count())
                    for name, elements in counts.items()
                },
            )
        )
        return Pairs(joined["pairs"], unpaired)


def _count() -> beam.PTransform:
    return beam.combiners.Count.Globally()


def _with_id(document: Document) -> tuple[str, Document]:
    return document.id, document


class _Pair(beam.DoFn):
    def __init__(self, in_order: bool):
        self._in_order = in_order

    def process(self, joined: tuple[str, Mapping[str, Iterable[Document]]]) -> Iterator[Any]:
        own_id, found = joined
        # Ids are unique on either side: all records with a repeated one are rejected.
        original, released = (
            next(iter(found["original"]), None),
            next(iter(found["released"]), None),
        )
        if released is None:
            yield pvalue.TaggedOutput(_ONLY_ORIGINAL, True)
        elif original is None:
            yield pvalue.TaggedOutput(_ONLY_RELEASED, True)
        else:
            aligned = words_in_place(original.text, released.text) if self._in_order else None
            yield PairedDocument(
                own_id,
                original.text,
                released.text,
                words(original.text),
                words(released.text) if aligned is None else aligned,
                aligned is not None,
                json.loads(original.fields),
                original.group,
            )


def words_in_place(original: str, released: str) -> list[str] | None:
    """What stands in the place of each word of an original; None if its gaps are not all there.

    White space and punctuation are released as they are, so a word is what stands between two gaps.
    It may hold punctuation itself, as some vocabularies have such words.
    """
    gaps = [gap for gap, _ in split(original)]
    first, last = gaps[0], gaps[-1]
    if len(gaps) == 1:
        return [] if released == first else None
    if not (released.startswith(first) and released.endswith(last)):
        return None
    found, start, stop = [], len(first), len(released) - len(last)
    for gap in gaps[1:-1]:
        end = released.find(gap, start + 1, stop)
        if end < 0:
            return None
        found.append(released[start:end])
        start = end + len(gap)
    return [*found, released[start:stop]] if start < stop else None
