"""Corpus -> Documents, Rejected records and UnreadableFiles.

The corpus is read three times: to its end, which counts its records and finds the files that
cannot be read; for its ids only, so that documents are neither shuffled nor held while ids are
compared; and for its documents. Reading costs a thousandth of sanitizing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam import pvalue

from dxbeam.corpus import reading
from dxbeam.corpus.files import CorpusFile, is_compressed, matching_files
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.splits import Split, number_splits
from dxbeam.documents import Document, Rejected, UnreadableFile, id_as_text, id_problem, row_field
from dxbeam.errors import CorpusError, RunError
from dxbeam.transforms.exceptions import forbid_quoting
from dxbeam.transforms.progress import Progress

REJECTED = "rejected"
"""Tag of the rejected records next to a transform's main output."""

_PACKED = ("parquet", "iceberg")

_PACKED_TIMES = 3
"""About how many times smaller text is when it is compressed, for the share that is done."""

_UNREADABLE = "unreadable"
"""Tag of the files that are left out because they cannot be read to their end."""

for _row in (CorpusFile, Document, Rejected, Split, UnreadableFile):
    beam.coders.registry.register_coder(_row, beam.coders.RowCoder)


class CorpusRead(NamedTuple):
    """What ``ReadDocuments`` returns.

    Attributes:
      documents: PCollection[Document], of which no two have the same id.
      rejected: PCollection[Rejected], the records that cannot be used, and all whose id occurs more
        than once.
      unreadable: PCollection[UnreadableFile]; the result is that of a corpus without these files.
    """

    documents: pvalue.PCollection
    rejected: pvalue.PCollection
    unreadable: pvalue.PCollection


class ReadDocuments(beam.PTransform):
    """Reads a corpus: PBegin -> CorpusRead.

    Files are divided into splits of about a mebibyte, which are spread over the workers. Neither
    ids nor what is rejected depends on how.

    Args:
      pattern: glob of the corpus files, local or gs://.
      corpus_format: how to read them.
      allow_unreadable: whether to leave out files that cannot be read to their end; otherwise they
        fail the run with ``RunError`` before a document is read.

    Raises:
      ConfigurationError: an option of the pipeline would let texts into messages, see
        ``exceptions.forbid_quoting``.
    """

    def __init__(
        self, pattern: str, corpus_format: CorpusFormat, *, allow_unreadable: bool = False
    ):
        super().__init__()
        self._pattern = pattern
        self._format = corpus_format
        self._allow_unreadable = allow_unreadable

    def expand(self, begin: pvalue.PBegin) -> CorpusRead:
        """Divides and counts, finds the repeated ids, reads."""
        forbid_quoting(begin.pipeline.options)
        splits, unreadable = begin | "Survey" >> _Survey(
            self._pattern, self._format, allow_unreadable=self._allow_unreadable
        )
        repeated = (
            splits
            | "ReadIds" >> beam.FlatMap(_ids, self._format).with_output_types(str)
            | "RepeatedIds" >> RepeatedIds()
        )
        read = splits | "Read" >> beam.ParDo(
            _ReadSplit(self._format), as_set(repeated)
        ).with_outputs(REJECTED, main="documents")
        read[REJECTED].element_type = Rejected  # Beam takes tagged outputs for Any
        return CorpusRead(read["documents"], read[REJECTED], unreadable)


class _Survey(beam.PTransform):
    """Reads every file to its end: PBegin -> (numbered splits, UnreadableFiles)."""

    def __init__(self, pattern: str, corpus_format: CorpusFormat, *, allow_unreadable: bool):
        super().__init__()
        self._pattern = pattern
        self._format = corpus_format
        self._allow_unreadable = allow_unreadable

    def expand(self, begin: pvalue.PBegin) -> tuple[pvalue.PCollection, pvalue.PCollection]:
        """Counts the records of each split, and adds up those of each file."""
        splits = (
            begin
            | "Once" >> beam.Impulse()
            | "Match" >> beam.FlatMap(_matching, self._pattern).with_output_types(CorpusFile)
            | "Split"
            >> beam.ParDo(_SplitFile(self._format)).with_outputs(_UNREADABLE, main="splits")
        )
        counted = (
            splits["splits"]
            | "SpreadCounting" >> beam.Reshuffle()
            | "CountRecords"
            >> beam.ParDo(_CountRecords(self._format)).with_outputs(_UNREADABLE, main="counted")
        )
        for results in (splits, counted):
            results[_UNREADABLE].element_type = UnreadableFile
        unreadable = (
            begin
            | "All" >> beam.Impulse()
            | "Refuse"
            >> beam.FlatMap(
                _refused_unless_allowed,
                pvalue.AsIter(splits[_UNREADABLE]),
                pvalue.AsIter(counted[_UNREADABLE]),
                self._allow_unreadable,
            ).with_output_types(UnreadableFile)
        )
        # No split is passed on before it is known which files are not to be read.
        left_out = pvalue.AsDict(
            unreadable
            | "Names"
            >> beam.Map(lambda file: (file.file, True)).with_output_types(tuple[str, bool])
        )
        numbered = (
            counted["counted"]
            | "PerFile" >> beam.GroupByKey()
            | "Number" >> beam.FlatMap(_numbered, left_out).with_output_types(Split)
            | "Spread" >> beam.Reshuffle()
        )
        return numbered, unreadable


class _Reading(beam.DoFn):
    """A step that reads, and says how far it is."""

    def __init__(self, corpus_format: CorpusFormat):
        self._format = corpus_format

    def setup(self) -> None:
        self._progress = Progress()

    def finish_bundle(self) -> None:
        self._progress.tell()


@beam.typehints.with_output_types(Split)
class _SplitFile(_Reading):
    def process(self, file: CorpusFile) -> Iterator[Any]:
        try:
            for split in reading.splits(file, self._format):
                self._progress.count(found_bytes=split.size)
                yield split
        except CorpusError as error:
            yield pvalue.TaggedOutput(_UNREADABLE, UnreadableFile(file.name, str(error)))


@beam.typehints.with_output_types(tuple[str, tuple[Split, int]])
class _CountRecords(beam.DoFn):
    def __init__(self, corpus_format: CorpusFormat):
        self._format = corpus_format

    def process(self, split: Split) -> Iterator[Any]:
        try:
            yield split.name, (split, reading.count_records(split, self._format))
        except CorpusError as error:
            yield pvalue.TaggedOutput(_UNREADABLE, UnreadableFile(split.name, str(error)))


def _matching(_: bytes, pattern: str) -> Iterator[CorpusFile]:
    yield from matching_files(pattern)


def _refused_unless_allowed(
    _: bytes, split: Iterable[UnreadableFile], counted: Iterable[UnreadableFile], allowed: bool
) -> list[UnreadableFile]:
    """The files that could not be read, each with one reason."""
    reasons = dict(sorted([*split, *counted], reverse=True))  # the first of several stays
    files = [UnreadableFile(*pair) for pair in sorted(reasons.items())]
    if not allowed:
        reading.refuse_unreadable(files)
    return files


def _numbered(
    file: tuple[str, Iterable[tuple[Split, int]]], left_out: Mapping[str, bool]
) -> Iterator[Split]:
    name, counted = file
    if name not in left_out:
        yield from number_splits(counted)


def _ids(split: Split, corpus_format: CorpusFormat) -> Iterator[str]:
    return _still_readable(split, reading.ids(split, corpus_format))


def _still_readable(split: Split, results: Iterator[Any]) -> Iterator[Any]:
    """What is read of a split; fails the run if it cannot be read any more."""
    try:
        yield from results
    except CorpusError as error:
        raise RunError(
            f"{split.name} could be read at first and can no longer be read: {error}; nothing is "
            "released"
        ) from None


@beam.typehints.with_output_types(Document)
class _ReadSplit(_Reading):
    def process(self, split: Split, repeated: Mapping[str, bool]) -> Iterator[Any]:
        left, packed = split.size, is_compressed(split.path) or self._format.name in _PACKED
        for result in _still_readable(split, reading.read(split, self._format, repeated)):
            if isinstance(result, Rejected):
                yield pvalue.TaggedOutput(REJECTED, result)
                continue
            yield result  # and it is sanitized, before this goes on
            about = min(left, len(result.text) // (_PACKED_TIMES if packed else 1))
            self._progress.count(bytes=about)
            left -= about
        self._progress.count(bytes=left)


class RepeatedIds(beam.PTransform):
    """The ids that occur more than once: PCollection[str] -> PCollection[str].

    What becomes of a record with such an id depends only on ids. If records of equal texts were
    released and others not, it would show whether texts are equal.
    """

    def expand(self, ids: pvalue.PCollection) -> pvalue.PCollection:
        """Counts each."""
        return (
            ids
            | "Count" >> beam.combiners.Count.PerElement()
            | "Repeated" >> beam.Filter(lambda pair: pair[1] > 1)
            | "Ids" >> beam.Keys().with_output_types(str)
        )


def repeated_ids(rows: pvalue.PCollection) -> Any:
    """The ids that occur more than once, as a side input; {} where they cannot be known.

    They are known of bounded input in the global window. In a stream, and in other windows, there
    is no moment when all ids are there.
    """
    if not rows.is_bounded or not rows.windowing.is_default():
        return {}
    ids = rows | "IdsOfRows" >> beam.FlatMap(_usable_id).with_output_types(str)
    return as_set(ids | "RepeatedIds" >> RepeatedIds())


def _usable_id(row: Any) -> list[str]:
    return [] if id_problem(row_field(row, "id")) else [id_as_text(row.id)]


def as_set(names: pvalue.PCollection) -> pvalue.AsDict:
    """A side input whose keys are these strings, which are few."""
    marked = names | "Mark" >> beam.Map(lambda name: (name, True)).with_output_types(
        tuple[str, bool]
    )
    return pvalue.AsDict(marked)
