"""Data sets of Hugging Face by their Arrow tables, as docs/guides/datasets.md shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dxbeam import Laplace, Sanitizer
from dxbeam.text.adapters import tables
from tests.support import tiny

datasets = pytest.importorskip("datasets", reason="datasets is not installed")

PAGE = Path(__file__).parent.parent.parent.parent / "docs" / "guides" / "datasets.md"
COLUMNS: dict[str, list[Any]] = {
    "id": [f"d{i}" for i in range(60)],
    "text": [text or "w1" for text in tiny.texts(60)],
    "stars": list(range(60)),
    "private": ["raw"] * 60,
}


def test_the_page_runs() -> None:
    [code] = re.findall(r"```python\n(.+?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    released = names["released"]
    assert released.column_names == ["id", "text", "stars"]
    assert released["stars"][:] == [5, 3]
    assert len(released["text"][0].split()) == 4


def test_a_data_set_that_was_filtered_is_released_with_its_types() -> None:
    raw = datasets.Dataset.from_dict(COLUMNS, info=datasets.DatasetInfo(description="raw"))
    raw = raw.filter(lambda row: row["stars"] % 2 == 0).shuffle(seed=1).select(range(20))
    sanitizer = Sanitizer(tiny.vocabulary(), Laplace(5.0), tiny.KEY)
    table = raw.with_format("arrow")[:]
    result = sanitizer.sanitize_table(table, id="id", keep=["stars"], n_jobs=2)
    released = datasets.Dataset(result.table)
    assert released.num_rows == 20
    assert released["id"][:] == raw["id"][:]
    assert released["stars"][:] == raw["stars"][:]
    assert str(released.features["stars"].dtype) == "int64"
    assert released.column_names == ["id", "text", "stars"]
    assert "raw" not in f"{released.info}{released.data.table.schema.metadata}"
    one = sanitizer.sanitize_text(raw["text"][3], raw["id"][3])
    assert released["text"][3] == one, "as each text by itself"
    assert tables._ROWS_AT_ONCE > 20
