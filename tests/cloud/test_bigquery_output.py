"""--output_table: of a release one table is made, by one writer, with its rows and types."""

from __future__ import annotations

import datetime
import traceback
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dxbeam.errors import DxbeamError, OutputError
from dxbeam.storage.bigquery import loading, tables
from pipelines.sanitize import sanitize
from pipelines.verify import verify
from tests.cloud.bigquery_tables import DATASET, PROJECT, column
from tests.cloud.front import BUCKET, Front
from tests.support import calls, large_corpora, tiny
from tests.support.refusals import changed

TARGET = f"{PROJECT}.{DATASET}.released"
ROUNDS = 50
UTC = datetime.timezone.utc
KEPT = {
    "stars": ("INTEGER", [3, None]),
    "share": ("FLOAT", [0.125, None]),
    "price": ("NUMERIC", [Decimal("12.5"), None]),
    "exact": ("BIGNUMERIC", [Decimal("1.25"), Decimal(f"1e{-38}")]),
    "label": ("STRING", ["naïve 日本", None]),
    "fresh": ("BOOLEAN", [True, None]),
    "day": ("DATE", [datetime.date(2024, 2, 29), None]),
    "local": ("DATETIME", [datetime.datetime(2024, 1, 2, 3, 4, 5, 678901), None]),
    "seen": ("TIMESTAMP", [datetime.datetime(2024, 1, 2, 3, 4, 5, 6, UTC), None]),
}
TEXT = [column("id", "STRING"), column("text", "STRING")]
SCHEMA = pa.schema([("id", pa.string()), ("text", pa.string())])
PARQUET = "--output_format=parquet"


def _load(files: list[str], rows: int, release: str, table: str = TARGET) -> None:
    named = tables.table_of("output_table", f"bq://{table}")
    loading.load(named, files, SCHEMA, rows, f"of {release}")


def _client() -> Any:
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import bigquery

    return bigquery.Client(PROJECT, credentials=AnonymousCredentials())


def _listed(table: str = TARGET) -> dict[str, dict[str, Any]]:
    """Rows by their ids, as Google's client lists them by REST."""
    rows = [dict(row.items()) for row in _client().list_rows(table)]
    by_id = {row["id"]: row for row in rows}
    assert len(by_id) == len(rows)
    return by_id


def _corpus(bigquery: Any, count: int = 20) -> tuple[str, list[dict[str, Any]]]:
    columns = [*TEXT, *(column(name, each[0]) for name, each in KEPT.items())]
    rows = [
        {"id": f"d{number}", "text": text, **{n: each[1][number % 2] for n, each in KEPT.items()}}
        for number, text in enumerate(tiny.texts(count, longest=12))
    ]
    return bigquery.put("reviews", columns, rows), rows


def _file(folder: Path, ids: list[str], name: str = "part-1.parquet") -> str:
    folder.mkdir(exist_ok=True)
    texts = ["w1"] * len(ids)
    pq.write_table(pa.table({"id": ids, "text": texts}), folder / name)
    return str(folder / name)


def test_from_table_to_table_with_all_types(
    bigquery: Any, uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, rows = _corpus(bigquery)
    flags = (f"--keep_fields={','.join(KEPT)}", f"--output_table=bq://{TARGET}", "--num_shards=3")
    bigquery.lost = 1  # the answer to the job that loads
    release = tiny.run(uri, source, tmp_path / "out", *flags)
    assert f"Table: bq://{TARGET}" in capsys.readouterr().out
    assert (bigquery.loaded, len(bigquery.jobs)) == (1, 1)
    listed = _listed()
    assert {row["id"]: {name: row[name] for name in KEPT} for row in rows} == {
        name: {field: row[field] for field in KEPT} for name, row in listed.items()
    }
    shards = pa.concat_tables(
        pq.read_table(tmp_path / "out" / s["name"]) for s in release["shards"]
    )
    assert {row["id"]: row["text"] for row in shards.to_pylist()} == {
        name: row["text"] for name, row in listed.items()
    }
    made = _client().get_table(TARGET)
    kinds = {field.name: field.field_type for field in made.schema}
    assert kinds == {"id": "STRING", "text": "STRING", **{n: each[0] for n, each in KEPT.items()}}
    digest = tiny.verified(tmp_path / "out", uri)
    assert digest
    assert "SHA-256 of release.json: " in made.description


def test_files_on_cloud_storage_are_read_by_bigquery_itself(
    bigquery: Any, cloud: Front, uri: str, tmp_path: Path
) -> None:
    corpus = tiny.write_jsonl(
        tmp_path / "in.jsonl", [{"id": f"d{i}", "text": f"w{i}", "stars": i} for i in range(9)]
    )
    output = f"gs://{BUCKET}/out"
    flags = (PARQUET, "--keep_fields=stars", f"--output_table=bq://{TARGET}", "--num_shards=2")
    sanitize(tiny.arguments(uri, corpus, output, flags))
    [job] = bigquery.jobs.values()
    uris = job["configuration"]["load"]["sourceUris"]
    assert len(uris) == 2
    assert all(each.startswith(f"{output}/part-") for each in uris)
    assert {name: row["stars"] for name, row in _listed().items()} == {
        f"d{i}": str(i) for i in range(9)
    }, "kept fields of JSON are strings"


def test_large_files_are_sent_in_pieces(
    bigquery: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("google.cloud.bigquery.client._MAX_MULTIPART_SIZE", 0)
    files = [_file(tmp_path, ["a", "b"]), _file(tmp_path, ["c"], "part-2.parquet")]
    _load(files, 3, "one")
    assert sorted(_listed()) == ["a", "b", "c"]


def test_of_two_writers_at_once_one_makes_the_table_fifty_times(
    bigquery: Any, tmp_path: Path
) -> None:
    """Both send a release: the table has the winner's rows only, and the other writer fails."""
    files = [_file(tmp_path / str(writer), [f"{writer}-{i}" for i in range(5)]) for writer in "ab"]
    for number in range(ROUNDS):
        table = f"{TARGET}-{number}"

        def write(writer: int, to: str = table) -> None:
            _load([files[writer]], 5, f"release {writer}", to)

        won = calls.at_once(2, 2, write)
        assert sorted(won) == [False, True], number
        [winner] = {name.partition("-")[0] for name in _listed(table)}
        assert winner == "ab"[won.index(True)]
    assert bigquery.loaded == ROUNDS


def test_a_release_of_more_files_than_a_job_reads_is_refused(bigquery: Any) -> None:
    """A pattern of names might match files that are not of the release."""
    with pytest.raises(OutputError, match="the release has 10,001; release it in fewer shards"):
        _load([f"gs://{BUCKET}/part-{number}" for number in range(10_001)], 1, "many")
    assert bigquery.loaded == 0


def test_a_release_that_is_loaded_again_changes_nothing(bigquery: Any, tmp_path: Path) -> None:
    """Nor do two writers of one release at once."""
    file = _file(tmp_path, ["a"])
    assert calls.at_once(2, 2, lambda _: _load([file], 1, "one")) == [True, True]
    _load([file], 1, "one")
    assert bigquery.loaded == 1
    with pytest.raises(OutputError, match="exists already"):
        _load([file], 1, "another")
    stored = bigquery.tables[TARGET]
    stored.rows = stored.rows.slice(0, 0)
    with pytest.raises(OutputError, match="exists already"):
        _load([file], 1, "one")  # somebody has changed it since


SECRET = "zyzzyva"
CASES = changed(
    f"""
    a table that is there  --output_table=bq://{PROJECT}.{DATASET}.there  exists
    an empty one           --output_table=bq://{PROJECT}.{DATASET}.empty  exists already
    no such dataset        --output_table=bq://{PROJECT}.none.x  there is no such dataset
    no permission          --output_table=bq://{PROJECT}.{DATASET}.hidden  bigquery.jobUser
    no table               --output_table=bq://{PROJECT}  names no table
    another format         --output_format=jsonl  a table is made of a release in Parquet
    a name of a column     --keep_fields="star rating"  letters, digits and underscores
    a name of BigQuery's   --keep_fields=_PARTITIONTIME  letters, digits
    names that are alike   --keep_fields=Stars,stars  in lower case
    """
)


@pytest.mark.parametrize("name", CASES)
def test_what_cannot_be_made_is_said_before_the_run(
    bigquery: Any, uri: str, tmp_path: Path, name: str
) -> None:
    changed, expected = CASES[name]
    bigquery.put("there", TEXT, [{"id": "a", "text": SECRET}])
    bigquery.put("empty", TEXT, [])
    bigquery.forbidden = {f"{PROJECT}.{DATASET}.hidden"}
    names = ("star rating", "_PARTITIONTIME", "Stars", "stars")
    record = {"id": "a", "text": SECRET, **dict.fromkeys(names, 1)}
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", [record])
    flags = {"output_table": f"bq://{TARGET}", "output_format": "parquet", **changed}
    with pytest.raises(DxbeamError, match=expected) as refused:
        tiny.run(uri, corpus, tmp_path / "out", *(f"--{n}={value}" for n, value in flags.items()))
    assert "\n" not in str(refused.value)
    assert SECRET not in "".join(traceback.format_exception(refused.value))
    assert not (tmp_path / "out").exists()
    assert not bigquery.jobs


def test_a_release_whose_table_is_taken_meanwhile_stays_whole(
    bigquery: Any, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``dxbeam verify`` makes another table of it."""
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", [{"id": "a", "text": "w1"}])
    monkeypatch.setattr(loading, "check_absent", lambda table: None)
    bigquery.put("released", TEXT, [{"id": "theirs", "text": "w2"}])
    with pytest.raises(OutputError, match=r"exists already.* is complete: make a table of it by"):
        tiny.run(uri, corpus, tmp_path / "out", PARQUET, f"--output_table=bq://{TARGET}")
    assert list(_listed()) == ["theirs"]
    assert verify([str(tmp_path / "out"), f"--output_table=bq://{TARGET}2"]) == 0
    assert list(_listed(f"{TARGET}2")) == ["a"]


def test_whatever_keeps_a_table_from_being_made_the_release_is_said_to_be_complete(
    bigquery: Any, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No room for the file that is sent, for one: any other error would say nothing is released."""

    def full(*_: Any) -> None:
        raise OSError(28, SECRET)

    monkeypatch.setattr(loading, "_write_as_one", full)
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", [{"id": "a", "text": "w1"}])
    with pytest.raises(OutputError, match=r": OSError\. The release below .* is complete") as said:
        tiny.run(uri, corpus, tmp_path / "out", PARQUET, f"--output_table=bq://{TARGET}")
    assert SECRET not in "".join(traceback.format_exception(said.value))


@pytest.mark.exhaustive
def test_a_hundred_thousand_rows_from_table_to_table(
    bigquery: Any, uri: str, tmp_path: Path
) -> None:
    """Compared by Google's client over REST, and by pyarrow in the files."""
    rows = large_corpora.records()
    kinds = {"int64": "INTEGER", "float64": "FLOAT", "bool": "BOOLEAN", "date": "DATE"}
    kept = [column(name, kinds.get(k, "STRING")) for name, k in large_corpora.TYPES.items()]
    source = bigquery.put("reviews", [*TEXT, *kept], rows)
    flags = (f"--keep_fields={','.join(large_corpora.TYPES)}", f"--output_table=bq://{TARGET}")
    release = tiny.run(uri, source, tmp_path / "out", "--epsilon=1", *flags)
    assert release["documents_out"] == large_corpora.RECORDS
    shards = {path.name: path.read_bytes() for path in (tmp_path / "out").glob("part-*")}
    large_corpora.check("parquet", rows, shards)
    listed = _listed()
    assert len(listed) == len(rows) == large_corpora.RECORDS
    for row in rows:
        for name in large_corpora.TYPES:
            assert listed[row["id"]][name] == row[name]
            assert type(listed[row["id"]][name]) is type(row[name])
