"""DigestCorpus: a name for a corpus, by which the ledger knows a release that repeats another."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from dxbeam.documents import id_as_text, id_problem, text_problem
from dxbeam.randomness import NO_TAGS, add_tags, document_key, document_tag
from dxbeam.transforms.secret_key import obtain_secret_key


class DigestCorpus(beam.PTransform):
    """Names a corpus under a key and a configuration: rows of id and text -> PCollection[str].

    One element, however the corpus is ordered and divided: the sum of keyed digests of the usable
    documents, 64 hexadecimal digits.

    Args:
      secret_key: PCollection[bytes], one element.
      configuration_digest: of all else that determines the noise.
    """

    def __init__(self, secret_key: pvalue.PCollection, configuration_digest: str):
        super().__init__()
        self._secret_key = secret_key
        self._configuration_digest = configuration_digest

    def expand(self, documents: pvalue.PCollection) -> pvalue.PCollection:
        """Digests each document, and adds up."""
        return (
            documents
            | "DigestDocuments"
            >> beam.ParDo(
                _DigestDocuments(self._configuration_digest), pvalue.AsSingleton(self._secret_key)
            )
            | "AddTags" >> AddTags()
        )


class CompareCorpus(beam.PTransform):
    """Whether a corpus is the one of some releases: rows -> PCollection[tuple[int, bool]].

    ``recorded`` holds the digests of corpus and configuration of each release, by its number.
    """

    def __init__(self, key_uri: str, recorded: Mapping[int, tuple[str, str]]):
        super().__init__()
        self._key_uri = key_uri
        self._recorded = dict(recorded)

    def expand(self, documents: pvalue.PCollection) -> pvalue.PCollection:
        """Computes each digest anew."""
        secret_key = obtain_secret_key(documents.pipeline, self._key_uri)
        compared = [
            documents
            | f"DigestCorpus {number}" >> DigestCorpus(secret_key, configuration)
            | f"Compare {number}" >> beam.Map(_compared, number, corpus)
            for number, (corpus, configuration) in self._recorded.items()
        ]
        return compared | "All" >> beam.Flatten()


def _compared(digest: str, number: int, recorded: str) -> tuple[int, bool]:
    return number, digest == recorded


class AddTags(beam.PTransform):
    """Sums of document tags, in any window, 32 bytes each -> PCollection[str]: the digest."""

    def expand(self, tags: pvalue.PCollection) -> pvalue.PCollection:
        """Adds up."""
        return (
            (
                tags | "AllWindows" >> beam.WindowInto(GlobalWindows()),
                tags.pipeline | "Once" >> beam.Impulse() | "NoTags" >> beam.Map(_no_tags),
            )
            | "WithNone" >> beam.Flatten()
            | "Together" >> beam.Map(_under_one_key)
            | "Gather" >> beam.GroupByKey()
            | "AddDigests" >> beam.MapTuple(_sum_of_tags).with_output_types(str)
        )


@beam.typehints.with_output_types(bytes)
class _DigestDocuments(beam.DoFn):
    def __init__(self, configuration_digest: str):
        self._configuration_digest = configuration_digest

    def start_bundle(self) -> None:
        self._sum = NO_TAGS

    def process(self, row: Any, secret_key: bytes) -> None:
        if id_problem(row.id) is None and text_problem(row.text) is None:
            key = document_key(secret_key, self._configuration_digest, id_as_text(row.id), row.text)
            self._sum = add_tags(self._sum, document_tag(key))

    def finish_bundle(self) -> Iterator[WindowedValue]:
        yield GlobalWindows.windowed_value(self._sum)


def _no_tags(_: bytes) -> bytes:
    """So that a corpus without documents has a digest too."""
    return NO_TAGS


def _under_one_key(tags: bytes) -> tuple[None, bytes]:
    return None, tags


def _sum_of_tags(_: None, tags: Iterable[bytes]) -> str:
    return functools.reduce(add_tags, tags, NO_TAGS).hex()
