"""A corpus as a pipeline: what the Beam-free reader reads, and no id for two texts."""

from __future__ import annotations

import gzip
from pathlib import Path

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing import test_pipeline
from apache_beam.testing.util import assert_that, equal_to

from dxbeam import corpus
from dxbeam.corpus import CorpusFormat, Split
from dxbeam.documents import Document, Rejected
from dxbeam.transforms.sources import REJECTED, ConflictingIds, ReadDocuments, RejectConflicts
from tests import tiny


def _pipeline() -> beam.Pipeline:
    return test_pipeline.TestPipeline(runner="FnApiRunner", options=PipelineOptions([]))


def _read_without_beam(
    pattern: str, read_as: CorpusFormat
) -> tuple[list[Document], list[Rejected]]:
    results: list[Document | Rejected] = []
    for file in corpus.matching_files(pattern):
        for split in corpus.splits(file, read_as):
            results += corpus.read(split, read_as) if isinstance(split, Split) else [split]
    return (
        [result for result in results if isinstance(result, Document)],
        [result for result in results if isinstance(result, Rejected)],
    )


def _write_lines(folder: Path) -> CorpusFormat:
    """Three files, one of them packed, with good and bad records."""
    for number in range(3):
        records = [{"id": f"{number}-{i}", "text": f"w{i}", "label": i} for i in range(20)]
        tiny.write_jsonl(folder / "in" / f"{number}.jsonl", [*records, b"no JSON", {"text": None}])
    plain = folder / "in" / "2.jsonl"
    (folder / "in" / "2.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    return CorpusFormat("jsonl", keep_fields=("label",), group_by="label")


def _write_tables(folder: Path) -> CorpusFormat:
    """One file of three row groups, one of another schema, and one that is no Parquet file."""
    (folder / "in").mkdir()
    table = pa.table({"text": ["a", None, "c"], "label": [1, 2, 3]})
    pq.write_table(table, folder / "in" / "a.parquet", row_group_size=1)
    pq.write_table(table.drop(["label"]), folder / "in" / "b.parquet")
    (folder / "in" / "c.parquet").write_bytes(b"PAR1")
    return CorpusFormat("parquet", keep_fields=("label",))


@pytest.mark.parametrize("write", [_write_lines, _write_tables])
def test_a_pipeline_reads_what_is_read_without_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: type
) -> None:
    read_as: CorpusFormat = write(tmp_path)
    monkeypatch.setattr(corpus, "_SPLIT_BYTES", 100)
    pattern = f"{tmp_path}/in/*"
    documents, rejected = _read_without_beam(pattern, read_as)
    assert documents
    assert rejected
    with _pipeline() as pipeline:
        reading = pipeline | ReadDocuments(pattern, read_as)
        assert_that(reading["documents"], equal_to(documents))
        assert_that(reading[REJECTED], equal_to(rejected), label="rejected")


def test_documents_travel_as_rows(tmp_path: Path) -> None:
    tiny.write_jsonl(tmp_path / "a.jsonl", [{"text": "a"}])
    reading = _pipeline() | ReadDocuments(str(tmp_path / "*"), CorpusFormat("jsonl"))
    assert reading["documents"].element_type == Document


def test_rejected_records_travel_as_rows(tmp_path: Path) -> None:
    tiny.write_jsonl(tmp_path / "a.jsonl", [{"text": "a"}])
    reading = _pipeline() | ReadDocuments(str(tmp_path / "*"), CorpusFormat("jsonl"))
    assert reading[REJECTED].element_type == Rejected


def test_an_id_that_stands_for_two_texts_stands_for_none() -> None:
    alike = [Document("same", "a", group="1"), Document("same", "a", group="2")]
    two = [Document("two", "a"), Document("two", "b"), Document("two", "a")]
    alone = [Document("alone", "a")]
    with _pipeline() as pipeline:
        documents = pipeline | beam.Create([*two, *alike, *alone])
        conflicts = documents | ConflictingIds()
        kept = documents | RejectConflicts(conflicts)
        assert_that(conflicts, equal_to(["two"]), label="conflicts")
        assert_that(kept["documents"], equal_to([*alike, *alone]), label="kept")
        said = kept[REJECTED] | beam.Map(lambda r: (r.where, "different text" in r.reason))
        assert_that(said, equal_to([("two", True)] * 3), label="rejected")


def test_a_corpus_of_no_documents_has_no_conflicts() -> None:
    with _pipeline() as pipeline:
        documents = pipeline | beam.Create([]).with_output_types(Document)
        kept = documents | RejectConflicts(documents | ConflictingIds())
        assert_that(kept["documents"], equal_to([]))
