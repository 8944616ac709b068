"""The launcher of vector releases by its outcome: units in, vectors out, what is promised."""

from __future__ import annotations

import gzip
import io
import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dxbeam.corpus.parsing.given_vectors import encode
from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError, CorpusError, DxbeamError, RunError
from dxbeam.release import manifest
from dxbeam.space.artifact import artifact
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.vectors import sensitivity
from dxbeam.vectors.configuration import VectorConfiguration
from dxbeam.vectors.projections import Projection, make_projection
from dxbeam.vectors.release import VectorReleaser
from dxbeam.vectors.sensitivity import Sensitivity
from pipelines.release_vectors import release_vectors
from tests.support import tiny
from tests.support.refusals import refused

SECRETS = [f"zqxsecret{i}y" for i in range(12)]
TEXTS = [*tiny.texts(8), f"w1 {' '.join(SECRETS)}", ""]
RECORDS = [{"id": f"d{i}", "text": text, "label": "ab"[i % 2]} for i, text in enumerate(TEXTS)]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return tiny.write_jsonl(tmp_path / "in.jsonl", RECORDS)


def _run(corpus: Path, output: Path, *flags: str) -> dict[str, Any]:
    usual = {"--epsilon": "5", "--projected_dimensions": "3"}
    given = {flag.partition("=")[0] for flag in flags}
    left = [f"{name}={value}" for name, value in usual.items() if name not in given]
    release_vectors([f"--input={corpus}", f"--output={output}", *left, *flags])
    return manifest.verify(str(output))


def _vectors(output: Path) -> dict[str, list[float]]:
    tables = [pq.read_table(path) for path in output.glob("part-*")]
    for table in tables:
        assert table.schema.field("vector").type.equals(pa.list_(pa.float32(), 3))
    rows = pa.concat_tables(tables).to_pylist()
    assert len({row["id"] for row in rows}) == len(rows)
    return {row["id"]: row["vector"] for row in rows}


def _expected(
    uri: str, unit: str, projection: Projection, bound: Sensitivity, texts: dict[str, str]
) -> dict[str, list[float]]:
    vocabulary = artifact.open_vocabulary(artifact.handle(uri)) if uri else None
    settings = VectorConfiguration(unit, 5.0, projection, bound)
    releaser = VectorReleaser(vocabulary, settings, tiny.KEY)
    return {
        name: releaser.release_one(Document(name, text)).tolist() for name, text in texts.items()
    }


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--direct_running_mode=multi_processing", "--direct_num_workers=1", "--num_shards=2"),
        ("--direct_runner_bundle_repeat=1",),
    ],
    ids=["memory", "processes", "repeated"],
)
def test_texts(uri: str, key: str, texts: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    flags = (f"--vocabulary={uri}", key, "--keep_fields=label", *flags)
    release = _run(texts, tmp_path / "out", *flags)
    vocabulary = artifact.open_vocabulary(artifact.handle(uri))
    projection = make_projection("pca", 8, 3, vocabulary=vocabulary)
    bound = sensitivity.spectral(projection)
    given = {str(record["id"]): str(record["text"]) for record in RECORDS}
    assert _vectors(tmp_path / "out") == _expected(uri, "text", projection, bound, given)
    saved = np.load(tmp_path / "out" / "projection.npy", allow_pickle=False)
    assert (saved == projection.matrix).all()
    labels = [pq.read_table(path)["label"] for path in (tmp_path / "out").glob("part-*")]
    assert sorted(label.as_py() for column in labels for label in column) == sorted("ab" * 5)
    settings = VectorConfiguration("text", 5.0, projection, bound)
    assert release["guarantee"] == settings.guarantee().as_dict()
    assert release["configuration"] == settings.as_dict()
    assert release["unprotected"] == ["record ids", "number of records", "the field 'label'"]
    assert release["documents_out"] == len(RECORDS)
    assert release["tokens"] is None
    assert release["key"]["kept"] is True


def test_words_with_the_exact_sensitivity(uri: str, key: str, tmp_path: Path) -> None:
    words = {f"r{i}": f"W{i}" for i in range(10)} | {"r10": "strange"}
    records = [{"id": name, "text": word} for name, word in words.items()]
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", records)
    flags = (f"--vocabulary={uri}", key, "--unit=word", "--projection=gaussian")
    release = _run(corpus, tmp_path / "out", *flags, "--projection_seed=a")
    vocabulary = artifact.open_vocabulary(artifact.handle(uri))
    projection = make_projection("gaussian", 8, 3, "a")
    bound = sensitivity.exact(vocabulary, projection)
    assert _vectors(tmp_path / "out") == _expected(uri, "word", projection, bound, words)
    found = json.loads((tmp_path / "out" / "sensitivity.json").read_text())
    assert found == bound.as_dict() == release["configuration"]["sensitivity"]
    assert release["guarantee"]["metric"].startswith("Euclidean distance between the words'")


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_given_vectors(key: str, tmp_path: Path, kind: str) -> None:
    drawn = np.random.default_rng(0).normal(size=(6, 5)).astype(np.float32).tolist()
    path = tmp_path / f"in.{kind}"
    if kind == "jsonl":
        tiny.write_jsonl(path, [{"id": f"v{i}", "vector": v} for i, v in enumerate(drawn)])
    else:
        vectors = pa.array(drawn, pa.list_(pa.float32(), 5))
        pq.write_table(pa.table({"id": [f"v{i}" for i in range(6)], "vector": vectors}), path)
    flags = ("--unit=vector", "--dimensions=5", "--projection=orthogonal", key)
    release = _run(path, tmp_path / "out", f"--input_format={kind}", *flags)
    projection = make_projection("orthogonal", 5, 3)
    texts = {f"v{i}": encode(vector, 5) for i, vector in enumerate(drawn)}
    bound = sensitivity.spectral(projection)
    assert _vectors(tmp_path / "out") == _expected("", "vector", projection, bound, texts)
    assert release["vocabulary"] is None


def test_kept_columns_keep_their_types(key: str, tmp_path: Path) -> None:
    table = pa.table(
        {
            "id": ["a", "b"],
            "vector": [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]],
            "stars": pa.array([5, None], pa.int16()),
            "when": pa.array([1, None], pa.timestamp("us")),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    flags = ("--input_format=parquet", "--unit=vector", "--dimensions=3", "--projection=none", key)
    _run(tmp_path / "in.parquet", tmp_path / "out", *flags, "--keep_fields=stars,when")
    [shard] = (tmp_path / "out").glob("part-*")
    kept = ["id", "stars", "when"]
    assert pq.read_table(shard, columns=kept).sort_by("id").equals(table.select(kept))


def test_two_units_and_two_settings_never_share_noise(uri: str, key: str, tmp_path: Path) -> None:
    """The word w1 has one vector as a word and as a text, and yet its releases differ."""
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", [{"id": "a", "text": "w1"}])
    released = []
    for number, flags in enumerate(
        [("--unit=word", "--sensitivity=spectral"), ("--unit=text",), ("--epsilon=5.5",)]
    ):
        _run(corpus, tmp_path / str(number), f"--vocabulary={uri}", key, *flags)
        released.append(_vectors(tmp_path / str(number))["a"])
    assert released[0] != released[1] != released[2] != released[0]


def test_a_dry_run_writes_nothing(
    uri: str, texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [f"--input={texts}", f"--vocabulary={uri}", f"--output={tmp_path / 'out'}"]
    release_vectors([*flags, "--epsilon=5", "--projected_dimensions=3", "--dry_run"])
    printed = capsys.readouterr().out
    assert "exp(5 * d(x, x'))" in printed
    assert "Nothing was written" in printed
    assert not (tmp_path / "out").exists()


@refused(
    """
    --rank_c=0.1                       unknown flag --rank_c
    --mechanism=laplace                unknown flag --mechanism
    --unit=sentence                    --unit sentence: choose from
    --projection=jl                    --projection jl: choose from
    --projected_dimensions=9           9: .*has 1 to 8
    --sensitivity=guess                --sensitivity guess: choose from
    --sensitivity=published            for --projection gaussian, not pca
    --unit=vector --sensitivity=exact  choose spectral
    --dimensions=7                     the vocabulary has 8
    --epsilon=-1                       epsilon must be a positive
    --metrics_output={output}/m        is within --output
    --key_uri=/nowhere                 --key_uri /nowhere: cannot be read
    --unit=vector --input_format=text  plain text holds no vectors
    """
)
def test_mistakes_are_told_before_work_starts(
    uri: str, texts: Path, tmp_path: Path, flags: list[str], said: str
) -> None:
    output = tmp_path / "out"
    with pytest.raises(DxbeamError, match=said):
        _run(texts, output, f"--vocabulary={uri}", *(f.format(output=output) for f in flags))
    assert not output.exists()


def test_one_word_has_no_exact_sensitivity(key: str, tmp_path: Path) -> None:
    vocabulary = Vocabulary(["pear"], np.ones((1, 4), np.float32))
    uri = tiny.write_artifact(tmp_path / "one", vocabulary)
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", [{"id": "a", "text": "pear"}])
    flags = (f"--vocabulary={uri}", "--unit=word", "--projection=orthogonal", key)
    with pytest.raises(DxbeamError, match=r"--sensitivity exact is 0: .*choose spectral"):
        _run(corpus, tmp_path / "out", *flags)
    assert not any(path.is_file() for path in (tmp_path / "out").rglob("*"))
    _run(corpus, tmp_path / "other", *flags, "--sensitivity=spectral")
    assert set(_vectors(tmp_path / "other")) == {"a"}


def test_given_vectors_need_to_be_told_apart_from_text(texts: Path, tmp_path: Path) -> None:
    with pytest.raises(DxbeamError, match="--dimensions is needed"):
        _run(texts, tmp_path / "out", "--unit=vector")
    with pytest.raises(DxbeamError, match="--vocabulary is needed"):
        _run(texts, tmp_path / "out")


def test_a_run_in_which_no_record_can_be_used_releases_nothing(uri: str, tmp_path: Path) -> None:
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", [{"id": "a", "vector": [1, 2]}])
    with pytest.raises(DxbeamError, match="no document could be released: 1 records"):
        _run(corpus, tmp_path / "out", f"--vocabulary={uri}", "--unit=vector")
    assert not any(path.is_file() for path in (tmp_path / "out").rglob("*"))
    [letter] = tiny.dead_letters(tmp_path / "out")
    assert "has 2 numbers where 8 are expected" in letter["reason"]


def _holds(content: bytes) -> list[str]:
    return [secret for secret in SECRETS if secret.encode() in content.lower()]


def test_no_word_leaves_a_run(
    uri: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    bad: list[Any] = [
        {"id": "twice", "text": SECRETS[0]},
        {"id": "twice", "text": SECRETS[1]},
        {"id": "x", "text": [SECRETS[2]]},
        f'{{"id": "y", "text": "{SECRETS[3]}'.encode(),
        f'{{"id": "z", "text": "{SECRETS[4]} \\u0000"}}'.encode(),
    ]
    corpus = tiny.write_jsonl(tmp_path / "in" / "a.jsonl", [*RECORDS, *bad])
    with caplog.at_level(logging.DEBUG, logger="dxbeam"):
        _run(corpus, tmp_path / "out", f"--vocabulary={uri}")
    assert len(tiny.dead_letters(tmp_path / "out")) == 5
    printed = capfd.readouterr()
    assert not _holds((caplog.text + printed.out + printed.err).encode())
    written = [*(tmp_path / "out").rglob("*"), *(tmp_path / "out-metrics").rglob("*")]
    for path in filter(Path.is_file, written):
        content = path.read_bytes()
        if path.suffix == ".parquet":
            content += json.dumps(pq.read_table(io.BytesIO(content)).to_pylist()).encode()
        assert not _holds(content), path
    assert _holds(corpus.read_bytes()) == SECRETS


def test_given_vectors_do_not_leave_a_run_either(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = [0.123456789, 0.987654321]
    records = [{"id": "a", "vector": secret}, {"id": "b", "vector": [*secret, 7.7654321]}]
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", records)
    flags = ("--unit=vector", "--dimensions=2", "--projection=none")
    _run(corpus, tmp_path / "out", *flags)
    [letter] = tiny.dead_letters(tmp_path / "out")
    printed = capfd.readouterr()
    written = "".join(
        path.read_text(errors="replace")
        for path in [*(tmp_path / "out").iterdir(), *(tmp_path / "out-metrics").iterdir()]
    )
    for text in (json.dumps(letter), printed.out, printed.err, written):
        assert "0.12345678" not in text
        assert "7.7654321" not in text


def test_as_a_program_with_the_demo_vocabulary(texts: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pipelines.release_vectors", f"--input={texts}"]
    command += ["--vocabulary=demo", "--epsilon=10", "--projected_dimensions=25"]
    finished = subprocess.run(
        [*command, f"--output={tmp_path / 'out'}"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert f"Released {len(RECORDS)} vectors of 25 dimensions" in finished.stdout
    assert manifest.verify(str(tmp_path / "out"))["documents_out"] == len(RECORDS)
    with pytest.raises(DxbeamError, match="is not empty"):
        release_vectors([*command[3:], f"--output={tmp_path / 'out'}"])


def test_files_fields_and_dead_letters_as_in_sanitize(
    uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records: list[Any] = [{"id": "a", "text": "w1"}, {"id": "b", "text": "w2"}, {"id": "c"}]
    whole = tiny.write_jsonl(tmp_path / "in" / "a.jsonl", records).read_bytes()
    (tmp_path / "in" / "b.jsonl.gz").write_bytes(gzip.compress(whole * 99)[:-9])
    words = f"--vocabulary={uri}"
    with pytest.raises(RunError, match=r"1 file could not be read \(b\.jsonl\.gz: "):
        _run(tmp_path / "in" / "*", tmp_path / "out", words)
    assert not any(path.is_file() for path in (tmp_path / "out").rglob("*"))
    _run(tmp_path / "in" / "*", tmp_path / "two", words, "--allow_unreadable_files")
    release = manifest.verify(str(tmp_path / "two"))
    assert (release["documents_out"], release["dead_letters"]) == (2, 1)
    assert [file["file"] for file in release["unreadable_files"]] == ["b.jsonl.gz"]
    assert "b.jsonl.gz: " in capsys.readouterr().out
    corpus = tmp_path / "in" / "a.jsonl"
    with pytest.raises(RunError, match="1 of 3 records"):
        _run(corpus, tmp_path / "three", words, "--max_dead_letters=10%")
    with pytest.raises(ConfigurationError, match="keep_fields names 'vector'"):
        _run(corpus, tmp_path / "four", words, "--keep_fields=vector")
    with pytest.raises(CorpusError, match="has a field 'label'"):
        _run(corpus, tmp_path / "four", words, "--keep_fields=label")
    with pytest.raises(ConfigurationError, match="id_field names 'id'"):
        _run(corpus, tmp_path / "four", words, "--unit=vector", "--vector_field=id")


@pytest.mark.parametrize("dry", [True, False], ids=["dry run", "run"])
def test_the_vocabulary_is_opened_once_in_each_process(
    dry: bool, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    openings = tiny.openings(monkeypatch, tmp_path)
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", RECORDS)
    places = (f"--vocabulary={uri}", f"--input={corpus}", f"--output={tmp_path / 'out'}")
    release_vectors([*places, "--epsilon=5", "--projected_dimensions=3", *["--dry_run"] * dry])
    openings.check(uri, dry)
