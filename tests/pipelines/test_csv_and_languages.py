"""Whole runs over CSV and over scripts without spaces: what comes out, and that it verifies."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.word_rule import WordRule
from tests.support import tiny

ROWS = [
    {"id": f"d{i}", "text": text, "stars": str(i), "day": "2024-02-29", "zip": f"0{i}"}
    for i, text in enumerate(['W1, "w2"\nw3', "w4;w5", "", "strange w6"])
]


def _write(path: Path, delimiter: str = ",") -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(ROWS[0]), delimiter=delimiter)
        table.writeheader()
        table.writerows(ROWS)
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_a_table_is_released_as_a_table(uri: str, tmp_path: Path, kind: str) -> None:
    """Another reader of such files finds the same rows; all but the texts is as it was."""
    corpus = _write(tmp_path / f"c.{kind}", "," if kind == "csv" else "\t")
    flags = (f"--input_format={kind}", "--keep_fields=stars,day,zip", "--compression=gzip")
    release = tiny.run(uri, corpus, tmp_path / "out", *flags, "--epsilon=5")
    tiny.verified(tmp_path / "out", uri)
    assert (release["documents_out"], release["tokens"]) == (4, 7)
    [shard] = (tmp_path / "out").glob(f"part-*.{kind}.gz")
    found = pa_csv.read_csv(
        shard,
        parse_options=pa_csv.ParseOptions(
            delimiter="," if kind == "csv" else "\t", newlines_in_values=True
        ),
        convert_options=pa_csv.ConvertOptions(column_types=dict.fromkeys(ROWS[0], pa.string())),
    ).to_pylist()
    for row, original in zip(found, ROWS, strict=True):
        assert {**row, "text": ""} == {**original, "text": ""}
        rule = WordRule().splitter
        assert rule.split(row["text"])[0] == rule.split(original["text"])[0]


def test_typed_columns_keep_their_types_in_parquet_and_json(uri: str, tmp_path: Path) -> None:
    corpus = _write(tmp_path / "c.csv")
    flags = ("--input_format=csv", "--keep_fields=stars,day,zip")
    types = "--column_types=stars=int64,day=date"
    tiny.run(uri, corpus, tmp_path / "p", *flags, types, "--output_format=parquet")
    [shard] = (tmp_path / "p").glob("part-*")
    kinds = {field.name: str(field.type) for field in pq.read_schema(shard)}
    assert kinds == {
        "id": "string", "text": "string", "stars": "int64", "day": "date32[day]", "zip": "string",
    }  # fmt: skip
    tiny.run(uri, corpus, tmp_path / "j", *flags, types, "--output_format=jsonl")
    [shard] = (tmp_path / "j").glob("part-*")
    first = json.loads(shard.read_text().splitlines()[1])
    assert (first["stars"], first["day"], first["zip"]) == (1, "2024-02-29", "01")


@pytest.mark.parametrize("segmenter", ["longest_match", "graphemes"])
def test_scripts_without_spaces_are_released_in_units(tmp_path: Path, segmenter: str) -> None:
    words = ["人类", "人", "自由", "的", "は", "ไม่", "ไทย", "wort"]
    vectors = tiny.vocabulary(len(words), 4).vectors
    uri = tiny.write_artifact(tmp_path / "v", Vocabulary(words, vectors, lowercase=True), 5)
    text = "人类的自由，自在は！ ไม่ไทย wort"
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", [{"id": "a", "text": text}])
    release = tiny.run(uri, corpus, tmp_path / "out", f"--segmenter={segmenter}", "--epsilon=9")
    assert release["configuration"]["tokenization"] == "dxbeam-2"
    assert release["configuration"]["segmenter"] == segmenter
    rule = WordRule(2, segmenter)
    assert release["tokens"] == len(rule.words(text, Vocabulary(words, vectors, lowercase=True)))
    found = tiny.verified(tmp_path / "out", uri)
    assert any("stand side by side" in question for question in found.unchecked)
    assert "not hidden" in " ".join(release["guarantee"]["caveats"])
    gaps = [gap for gap in rule.splitter.split(text)[0] if gap]
    released = tiny.released(tmp_path / "out")["a"]
    assert [gap for gap in rule.splitter.split(released)[0] if gap] == gaps
