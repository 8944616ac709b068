"""bq://: tables are read by Google's own clients, from servers that play BigQuery."""

from __future__ import annotations

import datetime
import json
import traceback
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dxbeam.corpus import reading
from dxbeam.corpus.files import matching_files
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.parsing.given_vectors import decode
from dxbeam.documents import Document
from dxbeam.errors import CorpusError, DxbeamError, RunError
from dxbeam.release import ledger
from pipelines.build_language_model import build_language_model
from pipelines.sanitize import sanitize
from tests.cloud.bigquery_tables import DATASET, PROJECT, column
from tests.support import tiny
from tests.support.refusals import changed

UTC = datetime.timezone.utc
KEPT = {
    "stars": ("INTEGER", [3, None, -(2**63)]),
    "share": ("FLOAT", [0.125, None, 1e300]),
    "price": ("NUMERIC", [Decimal("12.5"), None, Decimal("-0.000000001")]),
    "exact": ("BIGNUMERIC", [Decimal("1.25"), None, Decimal(f"1e{-38}")]),
    "label": ("STRING", ["good", None, "naïve 日本"]),
    "fresh": ("BOOLEAN", [True, None, False]),
    "day": ("DATE", [datetime.date(2024, 2, 29), None, datetime.date(1, 1, 1)]),
    "local": ("DATETIME", [datetime.datetime(2024, 1, 2, 3, 4, 5, 678901), None, None]),
    "seen": ("TIMESTAMP", [datetime.datetime(2024, 1, 2, 3, 4, 5, 6, UTC), None, None]),
}
"""A column of each type that can be kept, and its values."""

TEXT = [column("id", "STRING", "REQUIRED"), column("text", "STRING")]
SECRET = "zyzzyva"


def _rows(count: int) -> list[dict[str, Any]]:
    return [
        {"id": f"d{number}", "text": text, **{n: each[1][number % 3] for n, each in KEPT.items()}}
        for number, text in enumerate(tiny.texts(count, longest=12))
    ]


def _columns() -> list[dict[str, str]]:
    return [*TEXT, *(column(name, each[0]) for name, each in KEPT.items())]


def _released(output: Path) -> pa.Table:
    shards = [pq.read_table(path) for path in sorted(output.glob("part-*"))]
    return pa.concat_tables(shards).sort_by("id")


def test_a_table_is_released_as_a_file_of_its_rows_is(
    bigquery: Any, uri: str, key: str, tmp_path: Path
) -> None:
    """Whatever their order, with types and nulls, over streams that break off and go on."""
    rows = _rows(500)
    source = bigquery.put("reviews", _columns(), rows)
    bigquery.block_rows, bigquery.broken, bigquery.unavailable = 50, 2, 1
    flags = [f"--keep_fields={','.join(KEPT)}", key, "--num_shards=2", "--corpus_id=c"]
    release = tiny.run(uri, source, tmp_path / "out", *flags, f"--ledger={tmp_path}/ledger")
    assert release["documents_out"] == len(rows)
    assert release["output_format"] == "parquet"
    assert bigquery.sessions == 1, "ids and texts are of one snapshot"
    assert bigquery.resumed >= 1
    assert [entry.state for entry in ledger.read(f"{tmp_path}/ledger")] == ["begun", "released"]

    plain = [{"id": row["id"], "text": row["text"]} for row in rows]
    tiny.run(uri, tiny.write_jsonl(tmp_path / "in.jsonl", plain), tmp_path / "plain", key)
    released = _released(tmp_path / "out")
    by_id = {row["id"]: row for row in released.to_pylist()}
    assert {name: row["text"] for name, row in by_id.items()} == tiny.released(tmp_path / "plain")
    for row in rows:
        assert {name: by_id[row["id"]][name] for name in KEPT} == {name: row[name] for name in KEPT}
    stored = bigquery.tables[source.removeprefix("bq://")].rows.schema
    assert released.schema.equals(stored), "types as BigQuery has them"
    tiny.verified(tmp_path / "out", uri)


def test_rows_that_cannot_be_used_are_dead_letters_by_their_ids(
    bigquery: Any, uri: str, tmp_path: Path
) -> None:
    columns = [*TEXT, column("share", "FLOAT")]
    rows = [
        {"id": "a", "text": "w1 w2", "share": 1.0},
        {"id": None, "text": SECRET, "share": 1.0},
        {"id": "b", "text": None, "share": 1.0},
        {"id": "c", "text": SECRET, "share": float("nan")},
        {"id": "d", "text": SECRET, "share": 1.0},
        {"id": "d", "text": SECRET, "share": 1.0},
        {"id": "e", "text": f"{SECRET}\0", "share": 1.0},
    ]
    source = bigquery.put("reviews", columns, rows)
    release = tiny.run(uri, source, tmp_path / "out", "--keep_fields=share")
    assert (release["documents_out"], release["dead_letters"]) == (1, 6)
    letters = {(each["where"], each["reason"]) for each in tiny.dead_letters(tmp_path / "out")}
    table = f"{PROJECT}.{DATASET}.reviews"
    places = {where for where, _ in letters}
    assert places == {table, *(f"{table}:{name}" for name in "bcde")}
    assert (table, "the row has no id") in letters
    assert SECRET not in str(letters)


def test_integers_are_ids_and_other_columns_can_be_read(
    bigquery: Any, uri: str, key: str, tmp_path: Path
) -> None:
    columns = [column("number", "INTEGER"), column("body", "STRING"), column("unread", "BYTES")]
    rows = [{"number": number, "body": f"w{number}"} for number in range(5)]
    source = bigquery.put("reviews", columns, rows)
    flags = ("--id_field=number", "--text_field=body", "--output_format=jsonl", key)
    tiny.run(uri, source, tmp_path / "out", *flags)
    assert sorted(tiny.released(tmp_path / "out")) == list("01234")
    assert not any(b"unread" in request for request in bigquery.requests), "no other columns"


def test_lists_of_numbers_are_vectors(bigquery: Any) -> None:
    columns = [*TEXT[:1], column("vector", "FLOAT", "REPEATED")]
    source = bigquery.put("vectors", columns, [{"id": "a", "vector": [0.5, 1.0]}])
    read_as = CorpusFormat("bigquery", "vector", vector_dimensions=2)
    [file] = matching_files(source)
    [split] = reading.splits(file, read_as)
    assert list(reading.ids(split, read_as)) == ["a"]
    [document] = reading.read(split, read_as)
    assert isinstance(document, Document)
    assert decode(document.text).tolist() == [0.5, 1.0]
    assert reading.count_records(split, read_as) == 0
    with pytest.raises(CorpusError, match="repeated FLOAT, not strings"):
        reading.check_readable([file], CorpusFormat("bigquery", "vector"))


def _refusing(bigquery: Any) -> None:
    """Tables, most of which cannot be read so."""
    row = [{"id": "a", "text": SECRET}]
    listed = [column("id", "STRING"), column("text", "STRING", "REPEATED")]
    further = {"tags": ("STRING", "REPEATED"), "raw": ("BYTES", "NULLABLE")}
    columns = [*TEXT, *(column(name, *kind) for name, kind in further.items())]
    bigquery.put("good", columns, row)
    bigquery.put("hidden", TEXT, row)
    bigquery.forbidden = {f"{PROJECT}.{DATASET}.hidden"}
    bigquery.put("view", TEXT, row, kind="VIEW")
    bigquery.put("fresh", TEXT, row, kind="MATERIALIZED_VIEW")
    bigquery.put("cut", TEXT, row, facts={"requirePartitionFilter": True})
    bigquery.put("sorted", TEXT, row, facts={"clustering": {"fields": ["text"]}})
    bigquery.put("empty", TEXT, [])
    bigquery.put("listed", listed, [{"id": "a", "text": [SECRET]}])
    bigquery.put("anonymous", TEXT[1:], [{"text": SECRET}])


GOOD = f"bq://{PROJECT}.{DATASET}.good"
CASES = changed(
    f"""
    no such table  --input=bq://{PROJECT}.{DATASET}.none  there is no such dataset
    no such dataset  --input=bq://{PROJECT}.none.good  there is no such dataset
    no permission  --input=bq://{PROJECT}.{DATASET}.hidden  bigquery.dataViewer
    a view  --input=bq://{PROJECT}.{DATASET}.view  only tables can be read
    a materialized view  --input=bq://{PROJECT}.{DATASET}.fresh  'materialized view'
    a filter that is needed  --input=bq://{PROJECT}.{DATASET}.cut  its partitions
    an order by texts  --input=bq://{PROJECT}.{DATASET}.sorted  clustered by 'text'
    an empty table  --input=bq://{PROJECT}.{DATASET}.empty  the table is empty
    texts in lists  --input=bq://{PROJECT}.{DATASET}.listed  repeated STRING
    no ids  --input=bq://{PROJECT}.{DATASET}.anonymous  a column of ids
    no such column of texts  --text_field=body  no column 'body'
    no such column of ids  --id_field=name  no column 'name'
    no such column to keep  --keep_fields=stars  no column 'stars'
    a list to keep  --keep_fields=tags  repeated STRING, which cannot be kept
    bytes to keep  --keep_fields=raw  BYTES, which cannot be kept
    a list to group by  --group_by=tags  repeated STRING
    a folder  --input=bq://  names no table
    a dataset  --input=bq://{PROJECT}.{DATASET}  names no table
    a glob  --input=bq://{PROJECT}.{DATASET}.g*  names no table
    a quoted name  --input=bq://`{PROJECT}.{DATASET}.good`  names no table
    the older form of a name  --input=bq://{PROJECT}:{DATASET}.good  names no table
    a format of files  --input_format=csv  is a table; leave it out
    a file as a table  --input="{__file__}" --input_format=bigquery  this is no table: use another
    an encoding  --encoding=latin-1  is for files of text
    a release of tables  --output_format=bigquery  --output_format
    a release to a table  --output={GOOD}  no file system here
    metrics to a table  --metrics_output={GOOD}  no file system here
    a ledger in a table  --ledger={GOOD} --corpus_id=c  no file system here
    a key in a table  --key_uri={GOOD}  no file system here
    """
)


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_used_is_said_in_a_sentence(
    bigquery: Any, uri: str, tmp_path: Path, name: str
) -> None:
    changed, expected = CASES[name]
    _refusing(bigquery)
    flags = {"input": GOOD, "output": f"{tmp_path}/out", "vocabulary": uri, "epsilon": "5"}
    with pytest.raises(DxbeamError, match=expected) as refused:
        sanitize([f"--{flag}={value}" for flag, value in (flags | changed).items()])
    said = str(refused.value)
    assert "\n" not in said
    assert not [word for word in (SECRET, "Traceback", "google") if word in said]
    assert refused.value.__cause__ is None
    assert SECRET not in "".join(traceback.format_exception(refused.value))
    assert not (tmp_path / "out").exists()


def test_a_session_that_ends_in_between_releases_nothing(
    bigquery: Any, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = bigquery.put("reviews", TEXT, [{"id": "a", "text": SECRET}])
    bigquery.ended = True
    with pytest.raises(RunError, match="as each does after six hours") as failed:
        tiny.run(uri, source, tmp_path / "out")
    assert SECRET not in "".join(traceback.format_exception(failed.value))
    assert not (tmp_path / "out" / "release.json").exists()


def test_no_language_model_is_made_of_a_table(bigquery: Any, uri: str, tmp_path: Path) -> None:
    flags = [f"--input={GOOD}", f"--vocabulary={uri}", f"--output={tmp_path}/model"]
    with pytest.raises(DxbeamError, match="export it to Parquet first"):
        build_language_model(flags)


def test_without_credentials_it_is_said_where_to_get_some(
    bigquery: Any, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in bigquery.variables:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    with pytest.raises(DxbeamError, match="log in with gcloud"):
        tiny.run(uri, GOOD, tmp_path / "out")


def test_a_plan_is_made_of_a_few_rows(
    bigquery: Any, uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = bigquery.put("reviews", _columns(), _rows(1000))
    flags = (f"--keep_fields={','.join(KEPT)}", "--dry_run")
    sanitize(tiny.arguments(uri, source, tmp_path / "out", flags))
    said = capsys.readouterr().out
    assert f"write       {tmp_path / 'out'}" in said
    assert json.dumps(SECRET) not in said
    assert not (tmp_path / "out").exists()
