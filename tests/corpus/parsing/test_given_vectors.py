"""Vectors that come as data: what is read, what is rejected, and nothing of either quoted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.parsing.given_vectors import LARGEST, decode, encode
from dxbeam.documents import Document, Rejected
from dxbeam.errors import ConfigurationError, CorpusError
from tests.support import corpora, tiny


@given(st.lists(st.floats(-1e30, 1e30) | st.integers(-(10**20), 10**20), max_size=20))
def test_vectors_come_back(values: list[float]) -> None:
    assert decode(encode(values, len(values))).tolist() == [float(value) for value in values]


def test_equal_vectors_are_equal_texts() -> None:
    assert encode([0, 1.0, -2], 3) == encode((-0.0, 1, -2.0), 3)
    assert encode([0.0, 1.0], 2) != encode([1.0, 0.0], 2)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("[1, 2]", "not a list of numbers"),
        (None, "not a list of numbers"),
        ({"a": 1}, "not a list of numbers"),
        ([1.5, "2"], "not a list of numbers"),
        ([1.5, None], "not a list of numbers"),
        ([1.5, True], "not a list of numbers"),
        ([1.5], "has 1 numbers where 2 are expected"),
        ([1.5, 2, 3], "has 3 numbers where 2 are expected"),
        ([1.5, float("nan")], "NaN"),
        ([1.5, float("inf")], "beyond 1e"),
        ([1.5, -(10**400)], "beyond 1e"),
        ([1.5, 1.01 * LARGEST], "beyond 1e"),
    ],
)
def test_what_is_no_vector(value: object, says: str) -> None:
    with pytest.raises(ValueError, match=says) as refused:
        encode(value, 2)
    assert "1.5" not in str(refused.value)


def _read(path: Path, name: str, n: int = 2) -> list[Document | Rejected]:
    read_as = CorpusFormat(name, "vector", keep_fields=("label",), vector_dimensions=n)
    return corpora.read(path, read_as)


RECORDS: list[dict[str, Any]] = [
    {"id": "a", "vector": [1.0, 2.0], "label": "x"},
    {"id": "b", "vector": [3.0], "label": "y"},
    {"vector": [5.0, -6.0], "label": "z"},
]


def _check(found: list[Document | Rejected], third: str) -> None:
    first, second, last = found
    assert isinstance(first, Document)
    assert isinstance(last, Document)
    assert (first.id, decode(first.text).tolist()) == ("a", [1.0, 2.0])
    assert json.loads(first.fields) == {"label": "x"}
    assert (last.id, decode(last.text).tolist()) == (third, [5.0, -6.0])
    assert isinstance(second, Rejected)
    assert "has 1 numbers where 2 are expected" in second.reason


def test_json_lines(tmp_path: Path) -> None:
    path = tiny.write_jsonl(tmp_path / "a.jsonl", RECORDS)
    _check(_read(path, "jsonl"), "a.jsonl:3")


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64(), pa.float16()])
def test_parquet(tmp_path: Path, kind: pa.DataType) -> None:
    vectors = pa.array([record["vector"] for record in RECORDS], pa.list_(kind))
    table = pa.table({"id": ["a", "b", None], "vector": vectors, "label": ["x", "y", "z"]})
    pq.write_table(table, tmp_path / "a.parquet")
    _check(_read(tmp_path / "a.parquet", "parquet"), "a.parquet:3")


def test_parquet_lists_of_fixed_size(tmp_path: Path) -> None:
    vectors = pa.array([[1, 2], [3, 4]], pa.list_(pa.float32(), 2))
    pq.write_table(pa.table({"vector": vectors, "label": ["x", "y"]}), tmp_path / "a.parquet")
    found = _read(tmp_path / "a.parquet", "parquet")
    assert [decode(d.text).tolist() for d in found if isinstance(d, Document)] == [[1, 2], [3, 4]]
    assert np.all([isinstance(d, Document) for d in found])


def test_parquet_without_vectors(tmp_path: Path) -> None:
    pq.write_table(pa.table({"vector": ["1 2"], "label": ["x"]}), tmp_path / "a.parquet")
    with pytest.raises(CorpusError, match="holds string, not lists of numbers"):
        _read(tmp_path / "a.parquet", "parquet")


def test_plain_text_holds_no_vectors() -> None:
    with pytest.raises(ConfigurationError, match="plain text holds no vectors"):
        CorpusFormat("text", vector_dimensions=3)
