"""Corpus -> Documents and Rejected."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.io import fileio

from dxbeam import corpus
from dxbeam.corpus import CorpusFile, CorpusFormat, Split
from dxbeam.documents import Document, Rejected

REJECTED = "rejected"
"""Tag of the rejected records beside a transform's main output."""

beam.coders.registry.register_coder(Document, beam.coders.RowCoder)
beam.coders.registry.register_coder(Rejected, beam.coders.RowCoder)
beam.coders.registry.register_coder(Split, beam.coders.RowCoder)


class ReadDocuments(beam.PTransform):
    """Reads a corpus: PBegin -> PCollection[Document], and PCollection[Rejected] under REJECTED.

    Files are divided into splits of about a mebibyte, which are spread over the workers.

    Args:
      pattern: glob of the corpus files, local or gs://.
      corpus_format: how to read them.
    """

    def __init__(self, pattern: str, corpus_format: CorpusFormat):
        super().__init__()
        self._pattern = pattern
        self._format = corpus_format

    def expand(self, begin: pvalue.PBegin) -> dict[str | None, pvalue.PCollection]:
        """Matches, divides, spreads, reads."""
        splits = (
            begin
            | "Match" >> fileio.MatchFiles(self._pattern)
            | "Split"
            >> beam.ParDo(_SplitFile(self._pattern, self._format)).with_outputs(
                REJECTED, main="splits"
            )
        )
        read = (
            splits["splits"]
            | "Spread" >> beam.Reshuffle()
            | "Read"
            >> beam.ParDo(_ReadSplit(self._format)).with_outputs(REJECTED, main="documents")
        )
        for results in (splits, read):  # Beam takes tagged outputs for Any, and would pickle them
            results[REJECTED].element_type = Rejected
        rejected = (splits[REJECTED], read[REJECTED]) | "AllRejected" >> beam.Flatten()
        return {"documents": read["documents"], REJECTED: rejected}


@beam.typehints.with_output_types(Split)
class _SplitFile(beam.DoFn):
    def __init__(self, pattern: str, corpus_format: CorpusFormat):
        self._pattern = pattern
        self._format = corpus_format

    def process(self, match: Any) -> Iterator[Any]:
        name = corpus.name_below(self._pattern, match.path)
        file = CorpusFile(match.path, name, match.size_in_bytes)
        yield from _tagged(corpus.splits(file, self._format))


@beam.typehints.with_output_types(Document)
class _ReadSplit(beam.DoFn):
    def __init__(self, corpus_format: CorpusFormat):
        self._format = corpus_format

    def process(self, split: Split) -> Iterator[Any]:
        yield from _tagged(corpus.read(split, self._format))


def _tagged(results: Iterable[Any]) -> Iterator[Any]:
    for result in results:
        yield pvalue.TaggedOutput(REJECTED, result) if isinstance(result, Rejected) else result


class ConflictingIds(beam.PTransform):
    """The ids that two different texts share: PCollection[Document] -> PCollection[str].

    A document's text takes part in keying its noise, so such documents are not less protected;
    but nobody could tell which of them a released one is.
    """

    def expand(self, documents: pvalue.PCollection) -> pvalue.PCollection:
        """Keeps one digest an id, or a mark that there are several."""
        return (
            documents
            | "Digest" >> beam.Map(_id_and_digest).with_output_types(tuple[str, bytes])
            | "Compare" >> beam.CombinePerKey(_compare_digests).with_output_types(tuple[str, bytes])
            | "Conflicts" >> beam.Filter(lambda item: item[1] == _SEVERAL)
            | "Ids" >> beam.Keys()
        )


_SEVERAL = b""


def _id_and_digest(document: Document) -> tuple[str, bytes]:
    return document.id, hashlib.sha256(document.text.encode()).digest()


def _compare_digests(digests: Iterable[bytes]) -> bytes:
    """The one digest, or _SEVERAL; associative, and equal digests merge."""
    distinct = set(digests)
    return distinct.pop() if len(distinct) == 1 else _SEVERAL


class RejectConflicts(beam.PTransform):
    """Sends documents whose id stands for several texts to REJECTED.

    All of them, as a rule that kept the first would depend on how the corpus is divided.

    Args:
      conflicts: PCollection[str] of ids.
    """

    def __init__(self, conflicts: pvalue.PCollection):
        super().__init__()
        self._conflicts = conflicts

    def expand(self, documents: pvalue.PCollection) -> pvalue.PCollection:
        """Looks each id up among the conflicts, which are few."""
        ids = beam.pvalue.AsDict(self._conflicts | "Mark" >> beam.Map(lambda name: (name, True)))
        results = documents | "Reject" >> beam.ParDo(_RejectConflict(), ids).with_outputs(
            REJECTED, main="documents"
        )
        results[REJECTED].element_type = Rejected
        return results


@beam.typehints.with_output_types(Document)
class _RejectConflict(beam.DoFn):
    def process(self, document: Document, conflicts: dict[str, bool]) -> Iterator[Any]:
        if document.id in conflicts:
            reason = "another document has this id and a different text; make ids unique"
            yield pvalue.TaggedOutput(REJECTED, Rejected(document.id, reason))
        else:
            yield document
