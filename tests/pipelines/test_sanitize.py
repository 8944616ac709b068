"""The launcher by its outcome: formats in and out, options, the manifest, the plan."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from dxbeam import storage
from dxbeam.documents import Document
from dxbeam.errors import CorpusError
from dxbeam.keys import fingerprint
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.release import manifest
from dxbeam.space.artifact import artifact
from dxbeam.text.sanitizer import Sanitizer
from pipelines.sanitize import sanitize
from tests.support import tiny

TEXTS = [text.replace("\n", " ") for text in tiny.texts(12)]
RECORDS = [{"id": f"d{i}", "text": text, "label": "ab"[i % 2]} for i, text in enumerate(TEXTS)]


def _expected(uri: str, documents: list[tuple[str, str]]) -> dict[str, str]:
    vocabulary = artifact.open_vocabulary(artifact.handle(uri))
    results = Sanitizer(vocabulary, Laplace(5.0), tiny.KEY).sanitize(
        Document(name, text) for name, text in documents
    )
    return {r.document.id: r.document.text for r in results if r.document}


def _rows(output: Path) -> list[dict[str, Any]]:
    [shard] = output.glob("part-*")
    if shard.suffix == ".parquet":
        rows: list[dict[str, Any]] = pq.read_table(shard).to_pylist()
        return rows
    content = shard.read_bytes()
    if shard.suffix == ".gz":
        content = gzip.decompress(content)
    if shard.suffix == ".zst":
        content = zstandard.ZstdDecompressor().stream_reader(content).read()
    lines = content.decode().splitlines()
    return (
        [json.loads(line) for line in lines]
        if ".jsonl" in shard.name
        else [{"text": x} for x in lines]
    )


@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
@pytest.mark.parametrize(
    "flags",
    [(), ("--compression=gzip",), ("--compression=zstd",), ("--output_format=parquet",)],
)
def test_json_lines_in_and_every_format_out(
    uri: str, key: str, tmp_path: Path, packed: str, flags: tuple[str, ...]
) -> None:
    plain = tiny.write_jsonl(tmp_path / "in.jsonl", RECORDS)
    path = tmp_path / f"in.jsonl{packed}"
    pack = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[packed]
    path.write_bytes(pack(plain.read_bytes()))
    tiny.run(uri, path, tmp_path / "out", key, "--keep_fields=label", *flags)
    expected = _expected(uri, [(r["id"], r["text"]) for r in RECORDS])
    rows = _rows(tmp_path / "out")
    assert {row["id"]: row["text"] for row in rows} == expected
    assert {row["id"]: row["label"] for row in rows} == {r["id"]: r["label"] for r in RECORDS}
    assert all(set(row) == {"id", "text", "label"} for row in rows)


def test_parquet_in_and_out(uri: str, key: str, tmp_path: Path) -> None:
    columns = {name: [record[name] for record in RECORDS] for name in RECORDS[0]}
    pq.write_table(pa.table(columns), tmp_path / "in.parquet", row_group_size=5)
    tiny.run(uri, tmp_path / "in.parquet", tmp_path / "out", key, "--input_format=parquet")
    rows = {row["id"]: row["text"] for row in _rows(tmp_path / "out")}
    assert rows == _expected(uri, [(r["id"], r["text"]) for r in RECORDS])


KEPT = pa.table(
    {
        "id": ["a", "b"],
        "text": ["w1", "w2"],
        "stars": pa.array([5, None], pa.int8()),
        "long": pa.array([2**64 - 1, 0], pa.uint64()),
        "score": pa.array([1.5, None], pa.float32()),
        "seen": [True, None],
        "day": pa.array([1, None], pa.date32()),
        "ns": pa.array([1_600_000_000_123_456_789, None], pa.timestamp("ns")),
        "zoned": pa.array([1_600_000_000_123, None], pa.timestamp("ms", "Europe/Berlin")),
        "label": pa.array(["x", None], pa.dictionary(pa.int32(), pa.string())),
        "nothing": pa.nulls(2),
    }
)


def test_kept_columns_keep_their_types(uri: str, tmp_path: Path) -> None:
    pq.write_table(KEPT, tmp_path / "in.parquet")
    names = KEPT.column_names[2:]
    flags = ("--input_format=parquet", f"--keep_fields={','.join(names)}")
    tiny.run(uri, tmp_path / "in.parquet", tmp_path / "out", *flags)
    [shard] = (tmp_path / "out").glob("part-*")
    nothing = KEPT.column_names.index("nothing")
    expected = KEPT.set_column(nothing, "nothing", pa.nulls(2, pa.string()))
    assert pq.read_table(shard).drop_columns("text").equals(expected.drop_columns("text"))

    tiny.run(uri, tmp_path / "in.parquet", tmp_path / "lines", *flags, "--output_format=jsonl")
    rows = {row["id"]: row for row in _rows(tmp_path / "lines")}
    assert {name: rows["a"][name] for name in names} == {
        "stars": 5,
        "long": 2**64 - 1,
        "score": 1.5,
        "seen": True,
        "day": "1970-01-02",
        "ns": "2020-09-13T12:26:40.123456789",
        "zoned": "2020-09-13T14:26:40.123+0200",
        "label": "x",
        "nothing": None,
    }
    assert {rows["b"][name] for name in names} - {0} == {None}


def test_a_column_of_nulls_takes_its_type_from_the_next_file(uri: str, tmp_path: Path) -> None:
    for name, stars in {"a": pa.nulls(1), "b": pa.array([3], pa.int16())}.items():
        table = pa.table({"id": [name], "text": ["w1"], "stars": stars})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    flags = ("--input_format=parquet", "--keep_fields=stars")
    tiny.run(uri, f"{tmp_path}/*.parquet", tmp_path / "out", *flags)
    tables = [pq.read_table(path) for path in (tmp_path / "out").glob("part-*")]
    assert {table.schema.field("stars").type for table in tables} == {pa.int16()}
    rows = {row["id"]: row["stars"] for row in pa.concat_tables(tables).to_pylist()}
    assert rows == {"a": None, "b": 3}


def test_a_column_that_cannot_be_kept_is_refused_before_work_starts(
    uri: str, tmp_path: Path
) -> None:
    table = pa.table({"id": ["a"], "text": ["w1"], "tags": [["x", "y"]]})
    pq.write_table(table, tmp_path / "in.parquet")
    flags = ("--input_format=parquet", "--keep_fields=tags")
    with pytest.raises(CorpusError, match=r"'tags' holds list<.*>, which cannot be kept; strings"):
        tiny.run(uri, tmp_path / "in.parquet", tmp_path / "out", *flags)
    assert not (tmp_path / "out").exists()


def test_plain_text_in_and_out(uri: str, key: str, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("w1 w2\n\nw3, odd\n")
    tiny.run(uri, tmp_path / "in.txt", tmp_path / "out", key, "--input_format=text")
    expected = _expected(uri, [("in.txt:1", "w1 w2"), ("in.txt:2", ""), ("in.txt:3", "w3, odd")])
    assert sorted(row["text"] for row in _rows(tmp_path / "out")) == sorted(expected.values())
    flags = ("--input_format=text", "--document_per=file")
    tiny.run(uri, tmp_path / "in.txt", tmp_path / "whole", key, *flags)
    [row] = _rows(tmp_path / "whole")
    assert {row["id"]: row["text"]} == _expected(uri, [("in.txt", "w1 w2\n\nw3, odd\n")])


def test_the_manifest_says_what_was_done(uri: str, key: str, tmp_path: Path) -> None:
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", RECORDS)
    flags = ("--rank_c=0.05", "--unknown_words=mask", "--allow_unsound", "--num_shards=3",
             "--keep_fields=label")  # fmt: skip
    release = tiny.run(uri, corpus, tmp_path / "out", key, *flags)
    assert manifest.verify(str(tmp_path / "out")) == release
    assert release["guarantee"]["epsilon"] == 5
    assert release["configuration"]["rank_resampling"] == {"c": 0.05}
    assert any("words outside the vocabulary" in what for what in release["unprotected"])
    assert release["key"] == {"fingerprint": fingerprint(tiny.KEY), "kept": True}
    assert release["vocabulary"]["digest"] == artifact.handle(uri).digest
    assert len(release["shards"]) == 3
    assert release["kept_fields"] == ["label"]
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "key"]
    assert not any(tiny.KEY.hex().encode() in path.read_bytes() for path in written)


def test_metrics_for_each_group(uri: str, tmp_path: Path) -> None:
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", RECORDS)
    tiny.run(uri, corpus, tmp_path / "out", "--group_by=label")
    counts = json.loads((tmp_path / "out-metrics" / "metrics.json").read_text())
    rows = pq.read_table(tmp_path / "out-metrics" / "metrics.parquet").to_pylist()
    assert {row.pop("group"): row for row in rows} == counts["groups"]
    assert sum(row["tokens"] for row in rows) == counts["tokens"]
    assert "not covered by the guarantee" in counts["note"]


def test_documents_without_an_id_get_the_same_one_each_time(uri: str, tmp_path: Path) -> None:
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", [{"text": "w1"}, {"text": "w1"}])
    for name in ("one", "two"):
        tiny.run(uri, corpus, tmp_path / name)
        assert set(tiny.released(tmp_path / name)) == {"in.jsonl:1", "in.jsonl:2"}


def test_flags_from_a_file(uri: str, tmp_path: Path) -> None:
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", RECORDS)
    (tmp_path / "job.yaml").write_text(
        f"input: {corpus}\nvocabulary: {uri}\nepsilon: 7\noutput: {tmp_path}/unused\n"
        "keep_fields: [label]\nnum_shards: 2\n"
    )
    sanitize([f"--config={tmp_path}/job.yaml", "--epsilon=9", f"--output={tmp_path}/out"])
    release = json.loads((tmp_path / "out" / "release.json").read_text())
    assert release["guarantee"]["epsilon"] == 9, "the command line comes first"
    assert (len(release["shards"]), release["kept_fields"]) == (2, ["label"])


def test_a_dry_run_says_what_would_be_and_writes_nothing(
    uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", RECORDS)
    before = set(tmp_path.rglob("*"))
    given = {"input": corpus, "vocabulary": uri, "epsilon": 5, "output": f"{tmp_path}/out"}
    sanitize([*(f"--{name}={value}" for name, value in given.items()), "--dry_run"])
    said = capsys.readouterr().out
    assert "exp(5 * d(x, x'))" in said
    assert "tokens per second" in said
    assert set(tmp_path.rglob("*")) == before


_SHARE = re.compile(
    r"^  (unchanged|original|close|distant|unknown) +([\d.]+) % \(([\d.]+) % to ([\d.]+) %\)",
    re.MULTILINE,
)


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--rank_c=0.1",),
        ("--unknown_words=keep", "--allow_unsound"),
        ("--bag_of_words=40", "--stop_words=none"),
    ],
    ids=["text", "resampled", "keep", "bags"],
)
def test_a_dry_run_expects_what_the_run_then_does(
    uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...]
) -> None:
    """Four half-widths of an interval are 7.8 standard errors of the sample. The run has at least
    as many words, so the difference of the two has a standard error at most √2 times as large: 5.5
    of its own, or a false alarm in 10^7 shares."""
    generator = np.random.default_rng(1)
    texts = [
        " ".join(
            f"w{generator.integers(300)}" if generator.random() < 0.7 else f"odd{i}"
            for _ in range(generator.integers(20, 160))
        )
        for i in range(60)
    ]
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts])
    flags = ("--epsilon=3", *flags)
    sanitize(
        [
            f"--input={corpus}",
            f"--vocabulary={uri}",
            f"--output={tmp_path}/out",
            "--dry_run",
            *flags,
        ]
    )
    planned = capsys.readouterr().out
    assert not re.search(r"\b(w|odd)\d", planned), "no word of the corpus is shown, nor a new one"
    expected = {name: [float(x) for x in rest] for name, *rest in _SHARE.findall(planned)}
    assert len(expected) == 5
    tiny.run(uri, corpus, tmp_path / "out", *flags)
    metrics = json.loads((tmp_path / "out-metrics" / "metrics.json").read_text())
    known = metrics["original"] + metrics["close"] + metrics["distant"]
    words = metrics["tokens"] - metrics["fillers"]
    for name, (share, low, high) in expected.items():
        actual = 100 * metrics[name] / (words if name in ("unchanged", "unknown") else known)
        assert low <= share <= high
        assert abs(actual - share) < 2 * (high - low), name
    said = capsys.readouterr().out
    assert f"{metrics['unchanged']:,} ({100 * metrics['unchanged'] / words:.1f} %)" in said


@pytest.mark.parametrize("bags", [False, True], ids=["text", "bags"])
def test_a_run_ends_with_the_share_of_words_that_came_out_unchanged(
    uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], bags: bool
) -> None:
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", [{"text": "w1 W2"}, {"text": "w3 odd?"}])
    flags = ("--bag_of_words=3", "--stop_words=none") if bags else ()
    release = tiny.run(uri, corpus, tmp_path / "out", "--epsilon=1000", *flags)
    said = capsys.readouterr().out
    kind = "words drawn for bags" if bags else "words"
    assert (
        f"Of 4 {kind} 1 (25.0 %) are not in the vocabulary and 3 (75.0 %) came out unchanged: "
        "computed from the raw text"
    ) in said
    assert "Warning: 25.0 % of the words are not in the vocabulary" in said
    assert f"{tmp_path}/out-metrics/metrics.json" in said
    assert "unchanged" not in json.dumps(release)


@pytest.mark.parametrize("flags", [(), ("--bag_of_words=3",)], ids=["text", "bags"])
def test_a_run_without_a_word_ends_without_a_share(
    uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...]
) -> None:
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", [{"text": "..."}, {"text": ""}])
    tiny.run(uri, corpus, tmp_path / "out", *flags)
    said = capsys.readouterr().out
    assert "Released 2 documents" in said
    assert "unchanged" not in said


def test_a_release_is_made_also_where_its_metrics_cannot_be_read(
    uri: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    read = storage.read

    def refuse(path: str) -> bytes:
        if path.endswith("metrics.json"):
            raise PermissionError
        return read(path)

    monkeypatch.setattr(storage, "read", refuse)
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", RECORDS)
    tiny.run(uri, corpus, tmp_path / "out")
    assert "which cannot be read from here (PermissionError)" in capsys.readouterr().out


def test_help_names_every_flag_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        sanitize(["--help"])
    said = capsys.readouterr().out
    for flag in ("input", "vocabulary", "epsilon", "rank_c", "key_uri", "dry_run", "config"):
        assert f"--{flag}" in said


def test_the_demo_is_worth_looking_at(tmp_path: Path) -> None:
    from dxbeam.demo.show import show

    corpus = Path(artifact.resolve("demo")).parent / "sample_corpus.jsonl"
    decoded = ("--decode=context", "--truecase", "--language_model=demo")
    tiny.run("demo", corpus, tmp_path / "out", "--epsilon=10", *decoded)
    said = show(corpus, tmp_path / "out", tmp_path / "out-metrics")
    for part in ("Maria Gonzalez", "Before", "After", "release.json", "Guarantee", "close"):
        assert part in said


@pytest.mark.parametrize("dry", [True, False], ids=["dry run", "run"])
def test_the_vocabulary_is_opened_once_by_the_launcher_and_once_by_the_workers_process(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dry: bool
) -> None:
    """Only the first hashes every file, which takes a while where a vocabulary is large."""
    openings = tiny.openings(monkeypatch, tmp_path)
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", RECORDS)
    places = (f"--vocabulary={uri}", f"--input={corpus}", f"--output={tmp_path / 'out'}")
    sanitize([*places, "--epsilon=5", *["--dry_run"] * dry])
    openings.check(uri, dry)
