"""Parquet -> documents: row groups, types of columns, damage."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dxbeam.corpus import reading
from dxbeam.corpus.files import matching_files
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.settings import Division
from dxbeam.documents import Document, Rejected
from dxbeam.errors import CorpusError
from tests.support import corpora


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())]
)
def test_parquet_row_groups(tmp_path: Path, kind: pa.DataType) -> None:
    texts = [None if i == 5 else f"w{i}" for i in range(23)]
    table = pa.table({"text": pa.array(texts).cast(kind), "label": list(range(23)), "x": [0] * 23})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=4)
    division = Division(rows_per_batch=3)
    read_as = CorpusFormat("parquet", keep_fields=("label",), division=division)
    results = corpora.read(tmp_path / "a.parquet", read_as)
    expected: list[Document | Rejected] = [
        Document(f"a.parquet:{i + 1}", f"w{i}", f'{{"label": {i}}}') for i in range(23)
    ]
    expected[5] = Rejected("a.parquet:6", "there is no field 'text', or it is null")
    assert results == expected


def test_parquet_ids_and_empty_files(tmp_path: Path) -> None:
    table = pa.table({"id": pa.array([1, None, 3]), "text": ["a", "b", "c"]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    pq.write_table(table.slice(0, 0), tmp_path / "b.parquet")
    assert [result[0] for result in corpora.read(f"{tmp_path}/*", CorpusFormat("parquet"))] == [
        "1",
        "a.parquet:2",
        "3",
    ]


def test_a_damaged_row_group_is_no_whole_file(tmp_path: Path) -> None:
    table = pa.table({"text": [f"w{i * i}" for i in range(3000)]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1000, compression="zstd")
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[len(content) // 2 : len(content) // 2 + 200] = bytes(200)
    (tmp_path / "a.parquet").write_bytes(content)
    with pytest.raises(CorpusError, match="cannot be read to its end"):
        corpora.read(tmp_path / "a.parquet", CorpusFormat("parquet"))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"body": ["a"]}, "no column 'text'"),
        ({"text": [1], "label": [1]}, "the Parquet column 'text' holds int64, not strings"),
        ({"text": ["a"]}, "no column 'label'"),
        ({"body": ["a"], "label": [1], "id": ["a"]}, "no column 'text'"),
    ],
)
def test_a_parquet_file_of_another_schema_is_refused_before_work_starts(
    tmp_path: Path, columns: dict[str, list[object]], said: str
) -> None:
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    read_as = CorpusFormat("parquet", keep_fields=("label",))
    with pytest.raises(CorpusError, match=said):
        reading.check_readable(matching_files(str(tmp_path / "*")), read_as)
