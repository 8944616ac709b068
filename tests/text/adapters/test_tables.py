"""Tables of pyarrow and pandas: columns, ids, threads, and rows that cannot be used."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from dxbeam import Configuration, Document, EpsilonByField, Laplace, Sanitizer
from dxbeam.errors import ConfigurationError
from dxbeam.text.adapters.tables import sanitize_table
from tests.support import tiny

TEXTS = tiny.texts(40)
COLUMNS: dict[str, list[Any]] = {
    "id": [f"d{i}" for i in range(40)], "text": TEXTS, "stars": list(range(40)),
}  # fmt: skip
KINDS = {"pyarrow": pa.table, "pandas": pd.DataFrame}


@pytest.fixture(scope="module")
def sanitizer() -> Sanitizer:
    return Sanitizer(tiny.vocabulary(), Laplace(5.0), tiny.KEY)


def _column(table: Any, name: str) -> list[Any]:
    return list(
        table[name].tolist() if isinstance(table, pd.DataFrame) else table[name].to_pylist()
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_a_column_is_sanitized_as_documents_are(
    sanitizer: Sanitizer, kind: str, n_jobs: int
) -> None:
    """However many threads share the work, in batches of any size."""
    documents = map(Document, COLUMNS["id"], TEXTS)
    expected = [result.document.text for result in sanitizer.sanitize(documents)]  # type: ignore[union-attr]
    table = KINDS[kind](COLUMNS)
    result = sanitizer.sanitize_table(table, id="id", keep=["stars"], n_jobs=n_jobs)
    few = sanitize_table(
        lambda: Sanitizer(tiny.vocabulary(), Laplace(5.0), tiny.KEY),
        *(table, "text", "id", ["stars"], None, n_jobs),
        rows_at_once=7,
    )
    assert _column(few.table, "text") == expected
    assert type(result.table) is type(table)
    assert list(result.table.columns if kind == "pandas" else result.table.column_names) == [
        "id", "text", "stars",
    ]  # fmt: skip
    assert _column(result.table, "text") == expected
    assert _column(result.table, "stars") == COLUMNS["stars"]
    assert (result.rejected, result.tally.documents) == ((), 40)
    assert _column(table, "text") == TEXTS, "the table itself is as it was"


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_kept_that_is_not_asked_for(sanitizer: Sanitizer, kind: str) -> None:
    result = sanitizer.sanitize_table(KINDS[kind](COLUMNS))
    assert list(result.table.columns if kind == "pandas" else result.table.column_names) == ["text"]
    assert len(_column(result.table, "text")) == 40


def test_neither_an_index_nor_attributes_are_kept(sanitizer: Sanitizer) -> None:
    frame = pd.DataFrame(COLUMNS, index=[f"secret {i}" for i in range(40)])
    frame.index.name, frame.attrs = "secret", {"source": "secret"}
    released = sanitizer.sanitize_table(frame, id="id").table
    assert (list(released.index), released.index.name, released.attrs) == (
        list(range(40)),
        None,
        {},
    )


@pytest.mark.parametrize("kind", KINDS)
def test_categories_of_rejected_rows_are_not_kept(sanitizer: Sanitizer, kind: str) -> None:
    columns: dict[str, Any] = {"text": ["w1", None], "label": ["public", "secret"]}
    if kind == "pandas":
        frame = pd.DataFrame(columns).astype({"label": "category"})
        kept = sanitizer.sanitize_table(frame, keep=["label"]).table["label"]
        assert list(kept.cat.categories) == list(kept) == ["public"]
    else:
        table = pa.table({**columns, "label": pa.array(columns["label"]).dictionary_encode()})
        kept = sanitizer.sanitize_table(table, keep=["label"]).table["label"]
        assert kept.type == pa.string()
        assert kept.to_pylist() == ["public"]


@pytest.mark.parametrize("kind", ["object", "string", "Int64"])
def test_missing_ids_of_pandas_are_numbers_of_rows(sanitizer: Sanitizer, kind: str) -> None:
    ids = pd.array([7, None] if kind == "Int64" else ["7", None], dtype=kind)
    frame = pd.DataFrame({"id": ids, "text": ["w1", "w2"]})
    named = pa.table({"id": ["7", None], "text": ["w1", "w2"]})
    released = sanitizer.sanitize_table(frame, id="id")
    expected = sanitizer.sanitize_table(named, id="id")
    assert _column(released.table, "text") == _column(expected.table, "text")


def test_epsilon_does_not_depend_on_the_text() -> None:
    levels = EpsilonByField("text", {"w1": 1.0}, 9.0)
    sanitizer = Sanitizer(tiny.vocabulary(), Configuration(Laplace(9.0), epsilon_by=levels))
    with pytest.raises(ConfigurationError, match="must depend on a public column"):
        sanitizer.sanitize_table(pa.table({"text": ["w1", "w2"]}))


def test_no_metadata_of_a_schema_is_kept(sanitizer: Sanitizer) -> None:
    fields = [pa.field(name, pa.array(values).type, metadata={"secret": "secret"})
              for name, values in COLUMNS.items()]  # fmt: skip
    table = pa.table(COLUMNS, schema=pa.schema(fields, metadata={"secret": "secret"}))
    schema = sanitizer.sanitize_table(table, id="id", keep=["stars"]).table.schema
    assert schema.metadata is None
    assert not any(field.metadata for field in schema)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_cannot_be_used_are_left_out_and_named(sanitizer: Sanitizer, kind: str) -> None:
    table = KINDS[kind](
        {
            "id": ["a", "b", "a", None, "d"],
            "text": ["w1", "sec\0ret", "w3", "w4", None],
            "n": [1, 2, 3, 4, 5],
        }
    )
    result = sanitizer.sanitize_table(table, id="id", keep=("n",))
    assert _column(result.table, "n") == [4]
    assert [rejected.where for rejected in result.rejected] == ["row 1", "row 2", "row 3", "row 5"]
    assert "secret" not in str(result.rejected).replace("\0", "")
    if kind == "pandas":
        assert list(result.table.index) == [0]


def test_a_public_column_can_decide_epsilon() -> None:
    levels = EpsilonByField("consent", {"low": 1.0, "high": 9.0})
    sanitizer = Sanitizer(tiny.vocabulary(), Configuration(Laplace(9.0), epsilon_by=levels))
    table = pa.table({"text": ["w1 w2"] * 3, "consent": ["low", "high", "other"]})
    result = sanitizer.sanitize_table(table)
    assert result.table.num_rows == 2
    assert [rejected.where for rejected in result.rejected] == ["row 3"]


@pytest.mark.parametrize(
    ("table", "given", "said"),
    [
        ([{"text": "a"}], {}, "takes a pyarrow.Table or a pandas.DataFrame"),
        (pa.table({"body": ["a"]}), {}, "no columns 'text'"),
        (pa.table({"text": ["a"]}), {"id": "id"}, "no columns 'id'"),
        (pa.table({"text": ["a"]}), {"keep": "text"}, "`keep` is a list"),
        (pa.table({"text": ["a"]}), {"keep": ["text"]}, "are different columns"),
        (pa.table({"text": ["a"]}), {"id": "text"}, "are different columns"),
        (pa.table({"text": ["a"]}), {"n_jobs": 0}, "`n_jobs` is a number of threads"),
    ],
)
def test_tables_that_cannot_be_used(
    sanitizer: Sanitizer, table: Any, given: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        sanitizer.sanitize_table(table, **given)


def test_integer_ids_are_their_digits(sanitizer: Sanitizer) -> None:
    by_number = sanitizer.sanitize_table(pa.table({"id": [7], "text": ["w1 w2 w3"]}), id="id")
    by_digits = sanitizer.sanitize_table(pa.table({"id": ["7"], "text": ["w1 w2 w3"]}), id="id")
    assert _column(by_number.table, "text") == _column(by_digits.table, "text")
