"""A table is made for one writer only; twins look alike; no raw word is in a file or a message."""

from __future__ import annotations

import json
import random
import re
import shutil
import string
import traceback
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dxbeam import storage
from dxbeam.corpus.iceberg import creating
from dxbeam.errors import DxbeamError, OutputError
from dxbeam.release.output_table import publish
from pipelines.sanitize import sanitize
from tests.support import iceberg_tables, iceberg_writers, large_corpora, tiny
from tests.support.iceberg_tables import address, write_table
from tests.support.refusals import changed

LAKE = "lake"


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Of the corpus."""
    return iceberg_tables.catalog(tmp_path / "in", monkeypatch)


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, catalog: Any) -> Any:
    """Of the releases."""
    return iceberg_tables.catalog(tmp_path / LAKE, monkeypatch, LAKE)


def _texts(*texts: str) -> pa.Table:
    numbers = range(len(texts))
    return pa.table({"id": [f"d{n}" for n in numbers], "text": texts, "stars": list(numbers)})


@pytest.fixture(scope="module")
def releases(uri: str, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two of one corpus, under two keys."""
    folder = tmp_path_factory.mktemp("releases")
    corpus = folder / "corpus.jsonl"
    tiny.write_jsonl(corpus, _texts("w1, w2", "w3").to_pylist())
    outputs = [folder / "first", folder / "second"]
    for output in outputs:
        tiny.run(uri, corpus, output, "--output_format=parquet")
    return outputs


def _ids_and_texts(read: pa.Table) -> list[tuple[str, str]]:
    return sorted(zip(read["id"].to_pylist(), read["text"].to_pylist(), strict=True))


@pytest.mark.exhaustive
def test_of_two_writers_at_once_one_makes_the_table(releases: list[Path], lake: Any) -> None:
    """Fifty times; the table is whole, and of the one that was told that it made it."""
    tables = [f"t{number}" for number in range(50)]
    told = iceberg_writers.make_at_once(releases, [address(table, LAKE) for table in tables])
    for table, first, second in zip(tables, *told, strict=True):
        assert [first, second].count(iceberg_writers.MADE) == 1
        assert re.search("of this name already|no table could be made", first + second)
        winner = releases[[first, second].index(iceberg_writers.MADE)]
        made = lake.load_table(f"texts.{table}")
        [snapshot] = made.snapshots()
        assert snapshot.summary[creating.DIGEST] == storage.sha256(f"{winner}/release.json")[0]
        shards = pq.read_table(sorted(map(str, winner.glob("part-*"))))
        assert _ids_and_texts(made.scan().to_arrow()) == _ids_and_texts(shards)


def test_a_table_made_in_between_is_not_written_over(
    releases: list[Path], lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other writer is done after this one has looked, and before it commits."""
    plain, looked = creating._is_made, []

    def look(*arguments: Any) -> bool:
        if looked:
            return plain(*arguments)
        looked.append(True)
        publish(str(releases[1]), address("b", LAKE))
        return False

    monkeypatch.setattr(creating, "_is_made", look)
    with pytest.raises(OutputError, match="there is a table of this name already"):
        publish(str(releases[0]), address("b", LAKE))
    [snapshot] = lake.load_table("texts.b").snapshots()
    assert snapshot.summary[creating.DIGEST] == storage.sha256(f"{releases[1]}/release.json")[0]


def test_a_lost_answer_is_looked_up(
    releases: list[Path], lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit succeeds, and its answer is lost."""
    from pyiceberg.catalog.sql import SqlCatalog

    plain = SqlCatalog.commit_table

    def lose(*arguments: Any) -> None:
        plain(*arguments)
        raise ConnectionError

    monkeypatch.setattr(SqlCatalog, "commit_table", lose)
    publish(str(releases[0]), address("b", LAKE))
    assert lake.load_table("texts.b").scan().to_arrow().num_rows == 2


def test_a_commit_that_fails_leaves_no_table(
    releases: list[Path], lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    def fail(*_: Any) -> None:
        raise ConnectionError("secret")

    with monkeypatch.context() as patch:
        patch.setattr(SqlCatalog, "commit_table", fail)
        with pytest.raises(OutputError) as refused:
            publish(str(releases[0]), address("b", LAKE))
    assert str(refused.value).endswith("no table could be made (ConnectionError)")
    assert not lake.table_exists("texts.b")
    publish(str(releases[0]), address("b", LAKE))


def test_an_altered_release_makes_no_table(releases: list[Path], lake: Any, tmp_path: Path) -> None:
    altered = tmp_path / "altered"
    shutil.copytree(releases[0], altered)
    [shard] = altered.glob("part-*")
    shard.write_bytes(shard.read_bytes() + b"x")
    with pytest.raises(OutputError, match="not the file that was released"):
        publish(str(altered), address("b", LAKE))
    assert not lake.table_exists("texts.b")


_DRAWN = r"[0-9a-f]{16,64}|[\d.,]+ (?=tokens per second|seconds)|\d{15,20}"
_SHARE = r"Of .+ came out unchanged: .+|Warning: [\d.]+ % of .+"
_KEYED = ("corpus_digest", "run", "started", "shards", "input_snapshot")
_OF_NOISE = ("added-files-size", "total-files-size", creating.DIGEST)


def _public(output: Path, lake: Any, table: str) -> Any:
    """All that a reader of the release and of the table sees, but what noise covers."""
    release = json.loads((output / "release.json").read_text())
    for name in (*_KEYED, "key"):
        release.pop(name, None)
    made = lake.load_table(f"texts.{table}")
    [snapshot] = made.snapshots()
    counts = dict(snapshot.summary.additional_properties)
    for name in _OF_NOISE:
        counts.pop(name, None)
    read = made.scan().to_arrow().to_pylist()
    records = sorted((row["id"], row["stars"], len(row["text"].split())) for row in read)
    return release, counts, made.properties, str(made.schema()), records


def test_twins_look_alike(
    uri: str, catalog: Any, lake: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Corpora that differ in one word of one text."""
    seen = []
    for number, word in enumerate(("w1", "strange" * 30)):
        write_table(catalog, "a", _texts("w5, w6!", f"the {word}, ran", "", "w7 w8 w9"))
        output, table = tmp_path / f"out{number}", f"t{number}"
        flags = ("--keep_fields=stars", "--num_shards=1", f"--output_table={address(table, LAKE)}")
        tiny.run(uri, address("a"), output, *flags)
        said = capfd.readouterr().out.replace(table, "t").replace(output.name, "out")
        seen.append((re.sub(f"{_SHARE}|{_DRAWN}", "", said), _public(output, lake, table)))
        catalog.drop_table("texts.a")
    assert seen[0] == seen[1]


_RANDOM = random.Random(9)
SECRETS = ["".join(_RANDOM.choices(string.ascii_lowercase, k=14)) for _ in range(40)]


def _told(file: Path) -> str:
    """What is in a file, however it is packed."""
    if file.suffix == ".avro":
        with file.open("rb") as packed:
            reader = fastavro.reader(packed)
            return f"{reader.metadata}{list(reader)}"
    return tiny.told(file) if file.suffix == ".parquet" else file.read_bytes().decode("latin-1")


def _leaked(told: str) -> set[str]:
    return {secret for secret in SECRETS if secret in told.lower()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "fails",
    [False, pytest.param(True, marks=pytest.mark.exhaustive)],
    ids=["released", "failed"],
)
def test_no_raw_word_is_in_a_file_or_a_message(
    uri: str, catalog: Any, lake: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    """Of the release, of the table's data, statistics and catalog, of metrics and messages."""
    secret = iter(SECRETS)
    texts = [f"{next(secret)} {next(secret)}, w{number}" for number in range(12)]
    spoilt = [f"{next(secret)} \0", next(secret)]
    table = write_table(catalog, "a", _texts(*texts), _texts(*spoilt))
    if fails:
        file = iceberg_tables.data_files(table)[0]
        path = Path(file.file_path.removeprefix("file://"))
        path.write_bytes(path.read_bytes()[:-40])
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    made, output = address("b", LAKE), tmp_path / "out"
    done = tiny.program(uri, address("a"), output, f"--output_table={made}")
    said = done.stdout + done.stderr
    assert done.returncode == (1 if fails else 0), said
    assert not _leaked(said)
    assert "Traceback" not in said
    assert lake.table_exists("texts.b") == (not fails)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    outside = [file for file in files if file.relative_to(tmp_path).parts[0] != "in"]
    assert not [file.name for file in outside if _leaked(_told(file) + str(file))]
    kinds = {file.suffix for file in outside}
    assert fails or {".avro", ".db", ".json", ".jsonl", ".parquet"} <= kinds
    assert fails or _leaked("".join(map(_told, files))), "they are in the corpus"


REFUSED = changed(
    f"""
    no address                --input=iceberg://tests  a table is named iceberg://CATALOG
    no such catalog           --input=iceberg://nobodys/texts.a  the catalog 'nobodys'
    no such table             --input="{address("nothing")}"  has no such table
    no such snapshot          --input="{address("a")}@7"  has no such snapshot
    an empty table            --input="{address("empty")}"  holds no rows
    no such column            --text_field=body  has no column 'body'
    no such id                --id_field=key  has no column 'key'
    no such level             --epsilon_by=level:x=1  has no column 'level'
    no text                   --text_field=stars  column 'stars' holds int64, not strings
    a list to keep            --keep_fields=list  cannot be kept
    the text to keep          --keep_fields=text  the text is never kept
    a format of files         --input_format=csv  --input_format csv is of files
    an encoding               --encoding=latin-1  --encoding is for files of text
    no such catalog to write  --output_table=iceberg://nobodys/t.b  'nobodys'
    no such namespace         --output_table=iceberg://lake/nowhere.b  no namespace 'nowhere'
    a table that is there     --output_table="{address("a")}"  of this name already
    a snapshot to write       --output_table="{address("b", LAKE)}@7"  has no snapshot yet
    no table to write         --output_table=release.b  a table is named iceberg://CATALOG
    no Parquet                --output_format=jsonl  release with --output_format parquet
    a table for a folder      --output="{address("b", LAKE)}"  no file system here
    a fragment in the path    --output=#out  path holds ?, #, ; or %
    """
)


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_said_in_a_sentence(
    uri: str, catalog: Any, lake: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str], case: str
) -> None:
    """Before anything is run: names of places and columns, never a text."""
    rows = pa.table({"id": ["d"], "text": ["secret"], "stars": [1], "list": [["secret"]]})
    write_table(catalog, "a", rows)
    catalog.create_table("texts.empty", rows.schema)
    changes, said = REFUSED[case]
    places = {"input": address("a"), "output": str(tmp_path / "out"), "vocabulary": uri}
    places |= {"epsilon": "5", "output_table": address("b", LAKE), **changes}
    with pytest.raises(DxbeamError) as refused:
        sanitize([f"--{name}={value}" for name, value in places.items()])
    sentence = str(refused.value)
    assert said in sentence
    assert "\n" not in sentence
    trace = traceback.format_exception_only(refused.value)
    assert "secret" not in "".join([sentence, *capfd.readouterr(), *trace])
    assert not lake.table_exists("texts.b")
    assert not (tmp_path / "out").exists()


def test_a_type_that_iceberg_does_not_have(uri: str, lake: Any, tmp_path: Path) -> None:
    """Its readers would read a number without a sign as one with it."""
    table = pa.table({"id": ["d"], "text": ["w1"], "bits": pa.array([2**63], pa.uint64())})
    pq.write_table(table, tmp_path / "a.parquet")
    flags = ("--input_format=parquet", "--keep_fields=bits", f"--output_table={address('b', LAKE)}")
    with pytest.raises(DxbeamError, match="'bits' holds uint64, which not every reader"):
        tiny.run(uri, tmp_path / "a.parquet", tmp_path / "out", *flags)


@pytest.mark.exhaustive
def test_a_hundred_thousand_records(uri: str, catalog: Any, lake: Any, tmp_path: Path) -> None:
    """From a table of three files, of which rows are deleted, to a table that Rust reads."""
    records = large_corpora.records()
    whole = pa.Table.from_pylist(records, large_corpora._SCHEMA)
    third = -(-len(records) // 3)
    parts = [whole.slice(start, third) for start in range(0, len(records), third)]
    table = write_table(catalog, "a", *parts, properties={"write.parquet.row-group-limit": "10000"})
    deleted = set()
    for file in iceberg_tables.data_files(table):
        ids = pq.read_table(file.file_path.removeprefix("file://"))["id"].to_pylist()
        iceberg_tables.delete_positions(table, file.file_path, range(0, len(ids), 1000))
        deleted |= set(ids[::1000])
    kept = f"--keep_fields={','.join(large_corpora.TYPES)}"
    output = tmp_path / "out"
    flags = (kept, "--local_processes=2", f"--output_table={address('b', LAKE)}")
    done = tiny.program(uri, address("a"), output, "--epsilon=1", *flags)
    assert done.returncode == 0, done.stderr[-2000:]
    expected = [record for record in records if record["id"] not in deleted]
    shards = {file.name: file.read_bytes() for file in output.glob("part-*")}
    large_corpora.check("parquet", expected, shards)
    read = iceberg_tables.read_in_rust(lake.load_table("texts.b"))
    assert read.num_rows == len(expected) == 99_898
    by_id = {row["id"]: row for row in expected}
    for row in read.to_pylist():
        for name in large_corpora.TYPES:
            assert row[name] == by_id[row["id"]][name]
