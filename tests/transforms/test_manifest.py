"""Shards, metrics, dead letters and the manifest, each from the elements that are written."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from dxbeam import storage
from dxbeam.corpus.formats import FORMATS
from dxbeam.documents import Rejected
from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.randomness import layout_order
from dxbeam.release import manifest
from dxbeam.release.manifest import ReleaseJob, Shard
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.text.configuration import Configuration
from dxbeam.text.tally import Tally
from dxbeam.transforms.manifest import Counted, WriteManifest
from dxbeam.transforms.metrics import NOT_COVERED, WriteMetrics
from dxbeam.transforms.shards import WriteShards, _publish
from dxbeam.transforms.vectors import WriteVectorShards
from tests.support import tiny

NO_FIELDS = pa.schema([])
RELEASED = [(f"d{i:02}", f"w{i}\nw{i}\u2028é" if i else "", {"n": i}) for i in range(25)]
TALLIES = [
    ("b", Tally(2, 10, original=1, close=2, distant=3, unknown=4, unchanged=1)),
    ("a", Tally(1, 6, original=6, unchanged=6)),
]
REJECTED = [Rejected("a.jsonl:0", "not valid JSON"), Rejected("a.jsonl:9", "é")]


def _rows(pipeline: beam.Pipeline, released: Sequence[tuple[str, str, Any]] = RELEASED) -> Any:
    def to_row(name: str, text: str, fields: dict[str, Any]) -> beam.Row:
        return beam.Row(id=name, text=text, fields=json.dumps(fields))

    return pipeline | beam.Create(list(released)) | beam.MapTuple(to_row)


def _write(output: Path, *arguments: Any, released: Any = RELEASED, **options: Any) -> list[Shard]:
    """Writes shards and returns how they are described."""
    described = output.parent / "described"
    with tiny.pipeline() as pipeline:
        shards = _rows(pipeline, released) | WriteShards(str(output), *arguments, **options)
        lines = shards | beam.Map(lambda shard: json.dumps(shard._asdict()))
        lines | beam.io.WriteToText(str(described), num_shards=1, shard_name_template="")
    return [Shard(**json.loads(line)) for line in described.read_text().splitlines()]


UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "none": bytes,
    "gzip": gzip.decompress,
    "zstd": lambda packed: zstandard.ZstdDecompressor().decompressobj().decompress(packed),
}


@pytest.mark.parametrize("num_shards", [0, 1, 3])
@pytest.mark.parametrize("compression", UNPACK)
@pytest.mark.parametrize("kind", ["jsonl", "text"])
def test_each_document_is_one_line_and_each_file_is_described(
    tmp_path: Path, kind: str, compression: str, num_shards: int
) -> None:
    output = tmp_path / "out"
    shards = _write(output, kind, pa.schema([("n", pa.string())]), compression, num_shards)
    lines: list[str] = []
    for shard in shards:
        path = output / shard.name
        assert (shard.sha256, shard.bytes) == storage.sha256(str(path))
        # Only "\n" ends a line: a reader by Unicode's rules would cut texts in two.
        found = UNPACK[compression](path.read_bytes()).decode().split("\n")[:-1]
        assert len(found) == shard.documents
        lines += found
    files = [path for path in output.rglob("*") if path.is_file()]
    assert {shard.name for shard in shards} == {str(path.relative_to(output)) for path in files}
    assert not num_shards or len(shards) == num_shards
    if kind == "jsonl":
        records = [{"id": name, "text": text, **fields} for name, text, fields in RELEASED]
        assert sorted(map(json.loads, lines), key=lambda record: record["id"]) == records
    else:
        assert sorted(lines) == sorted(" ".join(text.splitlines()) for _, text, _ in RELEASED)


def test_line_breaks_of_unicode_do_not_end_a_line_of_json(tmp_path: Path) -> None:
    text = "a\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029b"
    [shard] = _write(tmp_path / "out", "jsonl", num_shards=1, released=[("\u2028", text, {})])
    [line] = (tmp_path / "out" / shard.name).read_text("utf-8").splitlines()
    assert json.loads(line) == {"id": "\u2028", "text": text}


def test_no_kept_field_takes_the_place_of_the_sanitized_text(tmp_path: Path) -> None:
    """As in a pipeline of somebody's own, which made its rows without the rules for fields."""
    fields = {"text": "raw", "id": "raw", "n": 1}
    [shard] = _write(tmp_path / "out", "jsonl", num_shards=1, released=[("a", "noised", fields)])
    [line] = (tmp_path / "out" / shard.name).read_text().splitlines()
    assert json.loads(line) == {"id": "a", "text": "noised", "n": 1}


@pytest.mark.parametrize("num_shards", [1, 3])
def test_parquet_keeps_fields_as_strings(tmp_path: Path, num_shards: int) -> None:
    released = [
        ("a", "w1", {"label": "x", "n": 1.5}),
        ("b", "w2", {"n": True}),
        ("c", "", {"label": None, "n": 7}),
    ]
    output, kept = tmp_path / "out", pa.schema([("label", pa.string()), ("n", pa.string())])
    shards = _write(output, "parquet", kept, num_shards=num_shards, released=released)
    assert sum(shard.documents for shard in shards) == 3
    assert len(shards) == num_shards
    rows = [row for shard in shards for row in pq.read_table(output / shard.name).to_pylist()]
    assert sorted(rows, key=lambda row: row["id"]) == [
        {"id": "a", "text": "w1", "label": "x", "n": "1.5"},
        {"id": "b", "text": "w2", "label": None, "n": "true"},
        {"id": "c", "text": "", "label": None, "n": "7"},
    ]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.int64(), "1"),
        (pa.int64(), 1.5),
        (pa.int8(), 300),
        (pa.bool_(), 1),
        (pa.float64(), "x"),
        (pa.timestamp("s"), "2020-01-01T00:00:00.5"),
        (pa.date32(), 3),
    ],
)
def test_a_kept_field_that_changes_its_type_is_refused_in_a_sentence(
    tmp_path: Path, kind: pa.DataType, value: Any
) -> None:
    released = [("a", "w1", {"n": None}), ("b", "w2", {"n": value})]
    said = rf"`keep_fields` n: a document's value is not {re.escape(str(kind))}, the type of this"
    with pytest.raises(Exception, match=said):
        _write(tmp_path / "out", "parquet", pa.schema([("n", kind)]), released=released)


def _dealt(
    output: Path, key: bytes, documents: Sequence[tuple[str, str, Any]], **options: Any
) -> list[list[str]]:
    """The ids of each file, in order of the files' first ids."""
    with tiny.pipeline() as pipeline:
        layout_key = pipeline | "Key" >> beam.Create([key])
        rows = _rows(pipeline, documents)
        rows | WriteShards(
            str(output), "jsonl", layout_key=layout_key, documents_per_file=10, **options
        )
    files = [
        [json.loads(line)["id"] for line in path.read_text().splitlines()]
        for path in output.glob("part-*")
    ]
    return sorted(files)


@pytest.mark.parametrize("asked", [0, 1, 3, 7, 100])
def test_which_file_a_document_is_in_says_nothing_about_texts(tmp_path: Path, asked: int) -> None:
    """It follows from the key, the ids and their number; the texts and their order are others."""
    others = [(name, "long " * 100 * (n % 3), {}) for n, (name, _, _) in enumerate(RELEASED)]
    first = _dealt(tmp_path / "1", b"k" * 32, RELEASED, num_shards=asked)
    assert _dealt(tmp_path / "2", b"k" * 32, others[::-1], num_shards=asked) == first
    assert len(first) == (min(asked, len(RELEASED)) or 3), "the empty files too"
    assert sorted(name for file in first for name in file) == [name for name, _, _ in RELEASED]
    for file in first:
        assert file == sorted(file, key=lambda name: layout_order(b"k" * 32, name))
    another = _dealt(tmp_path / "3", b"x" * 32, RELEASED, num_shards=asked)
    assert another != first, "nobody without the key knows the order"
    assert len(another) == len(first)


def test_a_release_without_documents_has_no_file(tmp_path: Path) -> None:
    assert _dealt(tmp_path / "out", b"k" * 32, []) == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("xml",), "`output_format` is one of"),
        (("jsonl", NO_FIELDS, "bzip2"), "`compression` is one of"),
        (("parquet", NO_FIELDS, "gzip"), "Parquet is always compressed with zstd"),
        (("jsonl", NO_FIELDS, "none", -1), "`num_shards` must not be negative"),
    ],
)
def test_shards_that_cannot_be_written(settings: tuple[Any, ...], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        WriteShards("out", *settings)


def test_vectors_are_not_written_to_a_negative_number_of_files() -> None:
    with pytest.raises(ConfigurationError, match="`num_shards` must not be negative"):
        WriteVectorShards("out", 3, None, NO_FIELDS, -1)


def test_a_piece_is_published_once_however_often_it_is_tried(tmp_path: Path) -> None:
    piece = tmp_path / manifest.PIECES / "part-1.jsonl"
    piece.parent.mkdir()
    piece.write_text("{}\n")
    count = FORMATS["jsonl"].encoding(NO_FIELDS, "none").count_rows
    first, again = (_publish(str(piece), str(tmp_path), count) for _ in range(2))
    assert (
        first == again == Shard("part-1.jsonl", 1, 3, storage.sha256(f"{tmp_path}/part-1.jsonl")[0])
    )
    assert not piece.exists()
    with pytest.raises(OutputError, match="was lost before it could be published"):
        _publish(str(piece.with_name("part-2.jsonl")), str(tmp_path), count)


def _write_metrics(folder: Path, by_group: bool) -> dict[str, Any]:
    with tiny.pipeline() as pipeline:
        rejected = pipeline | "Rejected" >> beam.Create(REJECTED)
        tallies = pipeline | "Tallies" >> beam.Create(TALLIES)
        tallies | WriteMetrics(str(folder), rejected, by_group)
    content: dict[str, Any] = json.loads((folder / "metrics.json").read_text())
    return content


def test_metrics_are_sums_and_say_that_they_are_not_covered(tmp_path: Path) -> None:
    content = _write_metrics(tmp_path, by_group=False)
    whole = TALLIES[0][1].merge(TALLIES[1][1])
    assert content == {
        "note": NOT_COVERED,
        "documents_in": 5,
        "unreadable_files": [],
        "dead_letters": 2,
        **whole.as_dict(),
    }
    assert not (tmp_path / "metrics.parquet").exists()


def test_groups_have_metrics_of_their_own(tmp_path: Path) -> None:
    content = _write_metrics(tmp_path, by_group=True)
    assert content["groups"] == {group: tally.as_dict() for group, tally in TALLIES}
    assert list(content["groups"]) == ["a", "b"]
    assert pq.read_table(tmp_path / "metrics.parquet").to_pylist() == [
        {"group": group, **tally.as_dict()} for group, tally in sorted(TALLIES)
    ]


def test_dead_letters_say_where_and_why(tmp_path: Path) -> None:
    _write_metrics(tmp_path, by_group=False)
    file = tmp_path / "dead_letters.jsonl"
    letters = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted(letters, key=lambda letter: letter["where"]) == [r._asdict() for r in REJECTED]


def _release(output: Path, released: Sequence[tuple[str, str, Any]]) -> None:
    with tiny.pipeline() as pipeline:
        tallies = pipeline | "Tallies" >> beam.Create([("", Tally(25, tokens=50))])
        rejected = pipeline | "Rejected" >> beam.Create(REJECTED)
        fingerprint = pipeline | "Fingerprint" >> beam.Create(["ff"])
        digest = pipeline | "CorpusDigest" >> beam.Create(["dd"])
        written = pipeline | "Written" >> beam.Create(["metrics.json"])
        (
            _rows(pipeline, released)
            | WriteShards(str(output), "jsonl")
            | WriteManifest(
                str(output),
                ReleaseJob(
                    Configuration(Laplace(5.0)),
                    VocabularyHandle("somewhere", "00", 10, 2),
                    False,
                    source="corpus/*",
                    dead_letters="letters",
                    facts={"kept_fields": ["n"]},
                ),
                Counted(tallies, rejected, fingerprint, written, digest),
            )
        )


def test_the_manifest_completes_a_release_that_can_be_verified(tmp_path: Path) -> None:
    _release(tmp_path / "out", RELEASED)
    content = manifest.verify(str(tmp_path / "out"))
    counts = ("documents_in", "documents_out", "dead_letters", "tokens")
    assert [content[name] for name in counts] == [27, 25, 2, 50]
    assert content["key"] == {"fingerprint": "ff", "kept": False}
    assert content["kept_fields"] == ["n"]
    assert content["corpus_digest"] == "dd"


def test_a_document_that_was_not_written_keeps_the_manifest_back(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="the shards hold 24 documents but 25 were sanitized"):
        _release(tmp_path / "out", RELEASED[:-1])
    assert not (tmp_path / "out" / "release.json").exists()
