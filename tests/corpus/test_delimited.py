"""CSV and TSV: rows as Python's csv module reads them, columns and their types, damaged rows."""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dxbeam.corpus import reading
from dxbeam.corpus.files import matching_files
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.parsing import csv_rows
from dxbeam.corpus.parsing.csv_rows import Dialect
from dxbeam.corpus.settings import Division, TableSettings
from dxbeam.documents import Document, Rejected
from dxbeam.errors import CorpusError
from tests.support import corpora

CSV = CorpusFormat("csv")
FEW = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
CELLS = st.text(alphabet='ab,;"\n\r é', max_size=12)


def _kept(*names: str, **table: object) -> CorpusFormat:
    return CorpusFormat("csv", keep_fields=names, table=TableSettings(**table))  # type: ignore[arg-type]


@FEW
@given(
    cells=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=20),
    end=st.sampled_from(["\n", "\r\n"]),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    size=st.integers(1, 60),
    mark=st.booleans(),
    packed=st.booleans(),
)
def test_rows_are_those_of_another_writer_however_they_are_divided(
    tmp_path: Path,
    cells: list[tuple[str, str]],
    end: str,
    delimiter: str,
    quoting: int,
    size: int,
    mark: bool,
    packed: bool,
) -> None:
    if end == "\n":  # then the csv module leaves carriage returns without quotes, which are damage
        cells = [(text.replace("\r", ""), label.replace("\r", "")) for text, label in cells]
    table = io.StringIO(newline="")
    writer = csv.writer(table, delimiter=delimiter, lineterminator=end, quoting=quoting)
    writer.writerows([("id", "text", "label"), *((i, *pair) for i, pair in enumerate(cells))])
    content = ("\ufeff" * mark + table.getvalue()).encode()
    path = tmp_path / ("c.csv.gz" if packed else "c.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    table_settings = TableSettings(delimiter)
    read_as = CorpusFormat("csv", table=table_settings, division=Division(size))
    assert sorted(corpora.read(path, read_as)) == sorted(
        (str(i), text, "{}", "", "") for i, (text, _) in enumerate(cells)
    )


@FEW
@given(st.text(alphabet='ab,"\n', max_size=40), st.integers(1, 9))
def test_where_rows_end_is_where_they_end_for_another_reader(content: str, block: int) -> None:
    """Of any text, unless it ends within quotes: with quotes in odd places, in small blocks."""
    try:
        rows = list(csv_rows.rows(io.BytesIO(content.encode()), Dialect(","), 1000, block=block))
    except CorpusError:
        return
    assert sum(row.size for row in rows) == len(content)
    assert [row.line for row in rows] == [
        1 + sum(before.lines for before in rows[:number]) for number in range(len(rows))
    ]
    assert len(rows) == len(list(csv.reader(io.StringIO(content, newline=""))))
    for row, expected in zip(rows, csv.reader(io.StringIO(content, newline="")), strict=True):
        try:
            found = csv_rows.fields((row.content or b"").decode(), Dialect(","))
        except ValueError:
            continue
        assert [field or "" for field in found] == (expected or [""])


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("b,one,secret,more", "it has 4 fields where the table has 3 columns"),
        ("b secret", "it has 1 field where the table has 3 columns"),
        ('b,"sec"ret,x', "between a closing quote and the next delimiter"),
        ('b,"two\nlines" secret,x', "between a closing quote and the next delimiter"),
        ("b,sec\rret,x", "a carriage return is outside of quotes"),
        ("b,secret \xff,x", "not valid UTF-8 at byte 9 of the record"),
        ("b,text,secret", "the column 'stars' does not hold a int64"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_damaged_row_is_rejected_with_its_line_and_never_its_text(
    tmp_path: Path, row: str, reason: str, packed: bool
) -> None:
    content = f'id,text,stars\na,"two\nlines",1\n\n{row}\nc,text,3\n'.encode("latin-1")
    path = tmp_path / ("c.csv.gz" if packed else "c.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    first, damaged, last = corpora.read(path, _kept("stars", types=(("stars", "int64"),)))
    assert (first[0], last[0]) == ("a", "c")
    assert isinstance(damaged, Rejected)
    assert damaged.where == f"{path.name}:2 (line 5)"
    assert reason in damaged.reason
    assert "secret" not in "".join(damaged)


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_ends_within_quotes_cannot_be_read(tmp_path: Path, packed: bool) -> None:
    """All rows after the open quote are doubtful, so none is guessed at."""
    content = b'id,text\na,x\nb,"secret\nc,y\nd,z\n'
    path = tmp_path / ("c.csv.gz" if packed else "c.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(CorpusError, match="starts in line 3 opens a quote that is never") as failed:
        corpora.read(path, CSV)
    assert "secret" not in str(failed.value)
    unquoted = CorpusFormat("csv", table=TableSettings(quotes=False))
    assert [result[1] for result in corpora.read(path, unquoted)] == ["x", '"secret', "y", "z"]


def test_null_and_empty_are_two(tmp_path: Path) -> None:
    """As other programs write them; a text that is left empty is an empty text."""
    (tmp_path / "c.csv").write_text('id,text,a,b\n,x,,""\n7,,1,"2"\n')
    assert corpora.read(tmp_path / "c.csv", _kept("a", "b")) == [
        Document("c.csv:1", "x", '{"a": null, "b": ""}'),
        Document("7", "", '{"a": "1", "b": "2"}'),
    ]


def test_kept_columns_have_the_types_that_they_are_given(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text(
        "id,text,zip,n,x,yes,day,at\na,t,01234,-5,1.50,TRUE,2024-02-29,2024-02-29 10:00:00\n"
    )
    types = {"n": "int64", "x": "float64", "yes": "bool", "day": "date", "at": "timestamp"}
    read_as = _kept("zip", *types, types=tuple(types.items()))
    [document] = corpora.read(tmp_path / "c.csv", read_as)
    assert document[2] == (
        '{"zip": "01234", "n": -5, "x": 1.5, "yes": true, "day": "2024-02-29", '
        '"at": "2024-02-29 10:00:00"}'
    )
    schema = reading.kept_schema(str(tmp_path / "c.csv"), read_as)
    assert [str(field.type) for field in schema] == [
        "string", "int64", "double", "bool", "date32[day]", "timestamp[us]",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("int64", "1.0"), ("int64", "9" * 30), ("int64", "1_0"), ("float64", "nan"),
        ("float64", "one"), ("bool", "1"), ("date", "2024-02-30"), ("timestamp", "noon"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_rejected(tmp_path: Path, kind: str, text: str) -> None:
    (tmp_path / "c.csv").write_text(f"id,text,a\nx,t,{text}\n")
    [rejected] = corpora.read(tmp_path / "c.csv", _kept("a", types=(("a", kind),)))
    assert rejected == ("c.csv:1 (line 2)", f"the column 'a' does not hold a {kind}")


def test_columns_can_be_named_where_there_is_no_header(tmp_path: Path) -> None:
    (tmp_path / "c.tsv").write_text("a\tone\nb\ttwo\n")
    table = TableSettings(columns=("id", "text"))
    assert [r[:2] for r in corpora.read(tmp_path / "c.tsv", CorpusFormat("tsv", table=table))] == [
        ("a", "one"), ("b", "two"),
    ]  # fmt: skip


@pytest.mark.parametrize("start", ["{hello}", "[a]", "%PDF"])
def test_no_text_at_the_start_of_a_file_without_header_refuses_it(
    tmp_path: Path, start: str
) -> None:
    (tmp_path / "c.tsv").write_text(f"{start}\tone\nb\ttwo\n")
    table = TableSettings(columns=("text", "id"))
    assert [r[:2] for r in corpora.read(tmp_path / "c.tsv", CorpusFormat("tsv", table=table))] == [
        ("one", start), ("two", "b"),
    ]  # fmt: skip


def test_ids_say_nothing_about_the_lines_of_texts(tmp_path: Path) -> None:
    """Rows are numbered, not lines; and an empty text in the only column is a row too."""
    found = []
    for number, texts in enumerate([["a", "", "c"], ["many\n\nlines", "x" * 99, "\n"]]):
        folder = tmp_path / str(number)
        folder.mkdir()
        with (folder / "c.csv").open("w", newline="") as file:
            file.write("text\n" + "".join(f'"{text}"\n' if text else "\n" for text in texts))
        found.append([result[0] for result in corpora.read(folder / "c.csv", CSV)])
    assert found[0] == found[1] == ["c.csv:1", "c.csv:2", "c.csv:3"]


@pytest.mark.parametrize(
    ("content", "settings", "said"),
    [
        (b"name,body\nsecret,secret\n", {}, "has no column 'text' among 2"),
        (b"secret words,and more\n", {}, "has no column 'text' among 2"),
        (b"id;text\na;secret\n", {}, "no column 'text' among 1; check the names of fields and"),
        (b"id,text,text\n1,a,b\n", {}, "several columns 'text'"),
        (b"id,id,text\n1,2,b\n", {}, "several columns 'id'"),
        (b'{"id": 1, "text": "secret"}\n', {}, "looks like JSON; use `input_format` jsonl"),
        (b"PAR1secret", {}, "it is Parquet; use `input_format` parquet"),
        ("id,text\n1,a\n".encode("utf-16"), {}, "give `encoding` utf-16"),
        (b"id,t\xe9xt\n", {"text_field": "t\xe9xt"}, "check `encoding` and `delimiter`"),
        (b'id,"te"xt\n1,a\n', {}, "first row cannot be read as names of columns"),
        (b"id,text\rb,secret\r", {}, "first row cannot be read as names of columns"),
        (b'id,"text\n', {}, "line 1 opens a quote that is never closed"),
        (b"\n\n", {}, "has no column 'text' among 1"),
    ],
)
def test_a_file_without_the_columns_is_refused_at_once(
    tmp_path: Path, content: bytes, settings: dict[str, str], said: str
) -> None:
    (tmp_path / "c.csv").write_bytes(content)
    with pytest.raises(CorpusError) as refused:
        reading.check_readable(
            matching_files(f"{tmp_path}/*"),
            CorpusFormat("csv", **settings),  # type: ignore[arg-type]
        )
    assert said in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_bad_file_counts_as_one_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("name,body\n1,2\n")
    (tmp_path / "b.csv").write_text("id,text\n1,2\n")
    files = matching_files(f"{tmp_path}/*")
    reading.check_readable(files, CSV, allow_unreadable=True)
    with pytest.raises(CorpusError, match="no column"):
        list(reading.splits(files[0], CSV))
