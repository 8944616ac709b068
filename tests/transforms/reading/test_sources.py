"""A corpus as a pipeline: what the Beam-free reader reads, and no id twice."""

from __future__ import annotations

import dataclasses
import gzip
from pathlib import Path

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.testing.util import assert_that, equal_to

from dxbeam.corpus import reading
from dxbeam.corpus.files import matching_files
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.settings import Division
from dxbeam.corpus.splits import number_splits
from dxbeam.documents import Document, Rejected, UnreadableFile
from dxbeam.errors import CorpusError
from dxbeam.transforms.reading.sources import ReadDocuments, RepeatedIds
from tests.support import tiny


def _read_without_beam(
    pattern: str, read_as: CorpusFormat
) -> tuple[list[Document], list[Rejected], list[str]]:
    """The documents, the rejected records, and the names of the files that cannot be read."""
    results: list[Document | Rejected] = []
    unreadable = []
    for file in matching_files(pattern):
        try:
            splits = reading.splits(file, read_as)
            counted = [(split, reading.count_records(split, read_as)) for split in splits]
        except CorpusError:
            unreadable.append(file.name)
            continue
        for split in number_splits(counted):
            results += reading.read(split, read_as)
    return (
        [result for result in results if isinstance(result, Document)],
        [result for result in results if isinstance(result, Rejected)],
        unreadable,
    )


def _write_lines(folder: Path) -> CorpusFormat:
    """Files with good and bad records: two plain, one packed, one cut off."""
    for number in range(3):
        records = [{"id": f"{number}-{i}", "text": f"w{i}", "label": i} for i in range(20)]
        records += [{"text": f"w{i}" * i, "label": i} for i in range(20)]
        tiny.write_jsonl(folder / "in" / f"{number}.jsonl", [*records, b"no JSON", {"text": None}])
    plain = folder / "in" / "2.jsonl"
    packed = gzip.compress(plain.read_bytes())
    (folder / "in" / "2.jsonl.gz").write_bytes(packed)
    (folder / "in" / "3.jsonl.gz").write_bytes(packed[:-9])
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
def test_a_pipeline_reads_what_is_read_without_one(tmp_path: Path, write: type) -> None:
    read_as: CorpusFormat = dataclasses.replace(write(tmp_path), division=Division(100))
    pattern = f"{tmp_path}/in/*"
    documents, rejected, unreadable = _read_without_beam(pattern, read_as)
    assert documents
    assert rejected
    assert unreadable
    with tiny.pipeline() as pipeline:
        reading = pipeline | ReadDocuments(f"file://{pattern}", read_as, allow_unreadable=True)
        assert_that(reading.documents, equal_to(documents))
        assert_that(reading.rejected, equal_to(rejected), label="rejected")
        names = reading.unreadable | beam.Map(lambda file: file.file)
        assert_that(names, equal_to(unreadable), label="unreadable")


@pytest.mark.parametrize("write", [_write_lines, _write_tables])
def test_a_file_that_cannot_be_read_to_its_end_fails_the_run(tmp_path: Path, write: type) -> None:
    read_as: CorpusFormat = write(tmp_path)
    pattern = f"{tmp_path}/in/*"
    _, _, unreadable = _read_without_beam(pattern, read_as)
    pipeline = tiny.pipeline()
    reading = pipeline | ReadDocuments(pattern, read_as)
    reading.documents | beam.Map(_fail)
    with pytest.raises(Exception, match="`allow_unreadable_files`") as failed:
        pipeline.run()
    for name in unreadable:
        assert name in str(failed.value)
    assert "a document was read" not in str(failed.value)


def _fail(_: Document) -> None:
    raise AssertionError("a document was read")


def test_documents_travel_as_rows(tmp_path: Path) -> None:
    tiny.write_jsonl(tmp_path / "a.jsonl", [{"text": "a"}])
    reading = tiny.pipeline() | ReadDocuments(str(tmp_path / "*"), CorpusFormat("jsonl"))
    assert reading.documents.element_type == Document


def test_rejected_records_and_unreadable_files_travel_as_rows(tmp_path: Path) -> None:
    tiny.write_jsonl(tmp_path / "a.jsonl", [{"text": "a"}])
    reading = tiny.pipeline() | ReadDocuments(str(tmp_path / "*"), CorpusFormat("jsonl"))
    assert reading.rejected.element_type == Rejected
    assert reading.unreadable.element_type == UnreadableFile


TWICE: dict[str, list[bytes]] = {
    "another text": [b'{"id": "a", "text": "one"}', b'{"id": "a", "text": "two"}'],
    "the same text": [b'{"id": "a", "text": "one"}', b'{"id": "a", "text": "one"}'],
    "a text with a null byte": [b'{"id": "a", "text": "one"}', b'{"id": "a", "text": "\\u0000"}'],
    "a text that is not UTF-8": [b'{"id": "a", "text": "one"}', b'{"id": "a", "text": "\xff"}'],
    "no text": [b'{"id": "a", "text": "one"}', b'{"id": "a"}'],
    "an integer": [b'{"id": "7", "text": "one"}', b'{"id": 7, "text": "one"}'],
    "a made id": [b'{"text": "one"}', b'{"id": "c.jsonl:1", "text": "one"}'],
}


@pytest.mark.parametrize("records", TWICE.values(), ids=TWICE)
def test_what_becomes_of_a_repeated_id_depends_on_ids_alone(
    tmp_path: Path, records: list[bytes]
) -> None:
    """Otherwise it would show whether texts are equal, or whether one can be used."""
    path = tiny.write_jsonl(tmp_path / "c.jsonl", [*records, {"id": "alone", "text": "one"}])
    with tiny.pipeline() as pipeline:
        reading = pipeline | ReadDocuments(str(path), CorpusFormat("jsonl"))
        assert_that(reading.documents, equal_to([Document("alone", "one")]))
        places = reading.rejected | beam.Map(lambda rejected: rejected.where)
        assert_that(places, equal_to(["c.jsonl:1", "c.jsonl:2"]), label="rejected")


def test_a_repeated_id_in_parquet_whatever_the_text_is(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "a", "b"], "text": ["one", None, "one"]})
    pq.write_table(table, tmp_path / "c.parquet", row_group_size=1)
    with tiny.pipeline() as pipeline:
        reading = pipeline | ReadDocuments(f"{tmp_path}/*", CorpusFormat("parquet"))
        assert_that(reading.documents, equal_to([Document("b", "one")]))
        places = reading.rejected | beam.Map(lambda rejected: rejected.where)
        assert_that(places, equal_to(["c.parquet:1", "c.parquet:2"]), label="rejected")


def test_a_made_id_that_another_file_gives_to_a_row_of_its_own(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["one", "two"]}), tmp_path / "a.parquet")
    table = pa.table({"id": ["a.parquet:2", "b"], "text": ["one", "two"]})
    pq.write_table(table, tmp_path / "b.parquet")
    with tiny.pipeline() as pipeline:
        reading = pipeline | ReadDocuments(f"{tmp_path}/*", CorpusFormat("parquet"))
        ids = reading.documents | beam.Map(lambda document: document.id)
        assert_that(ids, equal_to(["a.parquet:1", "b"]))


def test_a_file_that_is_left_out_repeats_no_ids(tmp_path: Path) -> None:
    """The result is that of the corpus without it."""
    path = tiny.write_jsonl(tmp_path / "a.jsonl", [{"id": "a", "text": "one"}])
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(path.read_bytes() * 9)[:-3])
    with tiny.pipeline() as pipeline:
        reading = pipeline | ReadDocuments(
            f"{tmp_path}/*", CorpusFormat("jsonl"), allow_unreadable=True
        )
        assert_that(reading.documents, equal_to([Document("a", "one")]))


def test_ids_that_stand_more_than_once() -> None:
    with tiny.pipeline() as pipeline:
        repeated = pipeline | beam.Create(["a", "b", "a", "c", "b", "a"]) | RepeatedIds()
        assert_that(repeated, equal_to(["a", "b"]))


def test_a_corpus_of_no_documents(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n\n")
    with tiny.pipeline() as pipeline:
        reading = pipeline | ReadDocuments(f"{tmp_path}/*", CorpusFormat("jsonl"))
        assert_that(reading.documents, equal_to([]))
