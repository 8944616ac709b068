"""A tiny vocabulary, tiny corpora, and pipelines and the launcher run on them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing import test_pipeline

from dxbeam import storage
from dxbeam.errors import DxbeamError
from dxbeam.release.verification.verify import VerifiedRelease, verify_release
from dxbeam.space.artifact import artifact, this_host
from dxbeam.space.artifact import contents as artifact_contents
from dxbeam.space.artifact import manifest as artifact_manifest
from dxbeam.space.artifact.word_files import open_words
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from pipelines.sanitize import sanitize
from tests.support import beam_signatures

beam_signatures.remember()

KEY = bytes(range(32))


def vocabulary(words: int = 300, dimensions: int = 8, seed: int = 0) -> Vocabulary:
    """Words w0, w1, … around the origin, a few units apart."""
    vectors = np.random.default_rng(seed).normal(0, 2, (words, dimensions)).astype(np.float32)
    return Vocabulary([f"w{i}" for i in range(words)], vectors, lowercase=True)


def write_artifact(folder: Path, vocabulary: Vocabulary | None = None, depth: int = 20) -> str:
    """Writes an artifact and returns its URI."""
    made = vocabulary or globals()["vocabulary"]()
    (folder / artifact_manifest.MANIFEST).unlink(missing_ok=True)
    shape = artifact.write_words_and_vectors([(list(made.words), made.vectors)], folder)
    neighbors, radii = NeighborSearch(made).neighbor_table(np.arange(len(made)), depth)
    np.save(folder / artifact_manifest.NEIGHBORS, neighbors)
    np.save(folder / artifact_manifest.CLOSE_RADIUS, radii)
    artifact.write_manifest(str(folder), shape, made.lowercase, {"name": "tiny"})
    return str(folder)


def write_version_1(folder: Path, vocabulary: Vocabulary | None = None, depth: int = 20) -> str:
    """As ``write_artifact``, in the form that artifacts had before there was another."""
    write_artifact(folder, vocabulary, depth)
    manifest = json.loads((folder / artifact_manifest.MANIFEST).read_text())
    words = list(open_words(folder))
    required, optional = artifact_manifest.LAYOUTS[1]
    kept = {*required, *(name for group in optional.values() for name in group)}
    for path in folder.iterdir():
        if path.name not in kept:
            path.unlink()
    schema = pa.schema([("word", pa.string())])
    with pq.ParquetWriter(folder / artifact_manifest.WORDS_OF_VERSION_1, schema) as writer:
        writer.write_table(pa.table([words], schema=schema))
    files = {}
    for name in sorted(kept):
        digest, size = storage.sha256(str(folder / name))
        files[name] = {"bytes": size, "sha256": digest}
    del manifest["longest"], manifest["digest"]
    manifest |= {"version": 1, "files": files}
    manifest["digest"] = artifact_manifest.digest_of(manifest)
    (folder / artifact_manifest.MANIFEST).write_text(json.dumps(manifest))
    return str(folder)


def texts(documents: int, seed: int = 0, longest: int = 120) -> list[str]:
    """Texts of known and unknown words with punctuation; the fifth of each five is empty."""
    generator = np.random.default_rng(seed)
    made = []
    for number in range(documents):
        length = 0 if number % 5 == 4 else int(generator.integers(1, longest))
        words = [
            f"W{generator.integers(300)}" if generator.random() < 0.9 else f"strange{number}"
            for _ in range(length)
        ]
        made.append(", ".join(words) + ("!\n" if length else ""))
    return made


def write_jsonl(path: Path, records: Iterable[dict[str, Any] | bytes]) -> Path:
    """One record a line; bytes are written as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        record if isinstance(record, bytes) else json.dumps(record).encode() for record in records
    ]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def pipeline() -> beam.Pipeline:
    """A pipeline that runs in this process when its ``with`` block ends."""
    return test_pipeline.TestPipeline(runner="FnApiRunner", options=PipelineOptions([]))


def run(uri: str, corpus: Path | str, output: Path, *flags: str) -> dict[str, Any]:
    """Runs the launcher in this process; the release's manifest."""
    sanitize(arguments(uri, corpus, output, flags))
    manifest: dict[str, Any] = json.loads((output / "release.json").read_text())
    return manifest


def program(
    uri: str, corpus: Path | str, output: Path | str, *flags: str, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Runs the launcher as a program."""
    command = [sys.executable, "-m", "pipelines.sanitize"]
    return subprocess.run(
        command + arguments(uri, corpus, output, flags),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **options,
    )


def arguments(
    uri: str, corpus: Path | str, output: Path | str, flags: tuple[str, ...]
) -> list[str]:
    """The command line of a run; epsilon is 5 unless the flags name it."""
    given = {flag.split("=")[0] for flag in flags}
    epsilon = [] if "--epsilon" in given else ["--epsilon=5"]
    return [f"--vocabulary={uri}", f"--input={corpus}", f"--output={output}", *epsilon, *flags]


def verified(release: Path, vocabulary: str) -> VerifiedRelease:
    """What is found by the vocabulary, and by the digest as it is now."""
    digest, _ = storage.sha256(str(release / "release.json"))
    return verify_release(str(release), vocabulary, digest=digest)


def released(output: Path) -> dict[str, str]:
    """Text by id of a release in JSON Lines."""
    lines = [line for shard in sorted(output.glob("part-*")) for line in shard.open()]
    return {record["id"]: record["text"] for record in map(json.loads, lines)}


def counted(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> list[Any]:
    """Lets a function keep a list of the first arguments it was called with, from now on."""
    calls, plain = [], getattr(owner, name)

    def counting(*arguments: Any) -> Any:
        calls.append(arguments[0])
        return plain(*arguments)

    monkeypatch.setattr(owner, name, counting)
    return calls


def dead_letters(output: Path) -> list[dict[str, str]]:
    """The rejected records of a run, also of one that failed, with metrics in the usual place."""
    [path] = Path(f"{output}-metrics").glob("dead_letters*.jsonl")
    with path.open() as file:
        return [json.loads(line) for line in file]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, by its path there."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def told(path: Path) -> str:
    """All that a file tells in words: of a Parquet file its schema and its rows.

    In the bytes of packed numbers a short word like "w7" stands by chance every few runs.
    """
    if path.suffix != ".parquet":
        return path.read_text()
    table = pq.read_table(path)
    return f"{table.schema}{table.schema.metadata}{json.dumps(table.to_pylist(), default=str)}"


def let_an_hour_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets files have changed an hour ago, as far as notes on them are concerned."""
    clock = SimpleNamespace(time=lambda: time.time() + 3600)
    monkeypatch.setattr(this_host, "time", clock)


class Openings(NamedTuple):
    """What was done to open a vocabulary, a call each."""

    opened: list[Any]
    manifests: list[Any]
    hashed: list[Any]

    def check(self, uri: str, dry: bool) -> None:
        """The launcher opens once, and so does the workers' process; the first hashes each file."""
        opens = 1 if dry else 2
        assert len(self.opened) == opens
        assert len(self.hashed) == len(artifact.read_manifest(uri)["files"])
        assert len(self.manifests) - 1 == opens + 1, "the launcher reads it for the handle, too"


def openings(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Openings:
    """Counts from now on, in a folder where no file has been checked yet."""
    let_an_hour_pass(monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return Openings(
        counted(monkeypatch, artifact, "open_vocabulary"),
        counted(monkeypatch, artifact, "read_manifest"),
        counted(monkeypatch, artifact_contents, "check_file"),
    )


def run_demo(folder: Path, name: str, texts: Iterable[str], *flags: str) -> dict[str, Any]:
    """Releases texts with the bundled vocabulary and a kept key; the manifest."""
    records = [{"id": f"d{number}", "text": text} for number, text in enumerate(texts)]
    corpus = write_jsonl(folder / "corpus.jsonl", records)
    key = folder / "key"
    key.write_text(KEY.hex())
    key.chmod(0o600)
    places = (f"--input={corpus}", f"--output={folder / name}", f"--key_uri={key}")
    sanitize(["--vocabulary=demo", "--epsilon=12", *places, *flags])
    manifest: dict[str, Any] = json.loads((folder / name / "release.json").read_text())
    return manifest


def write_glove(path: Path, vocabulary: Vocabulary) -> Path:
    """Writes words and vectors as an embedding file."""
    vectors = vocabulary.vectors.tolist()
    rows = zip(vocabulary.words, vectors, strict=True)
    path.write_text("".join(" ".join([word, *map(str, vector)]) + "\n" for word, vector in rows))
    return path


def table_of(
    launcher: Callable[[list[str]], None], uri: str, output: Path, table: str, *flags: str
) -> list[dict[str, Any]]:
    """Runs a launcher that measures, and reads the rows of the table that it wrote."""
    launcher([f"--vocabulary={uri}", f"--output={output}", *flags])
    rows: list[dict[str, Any]] = pq.read_table(output / table).to_pylist()
    return rows


def check_refused_beside(run: Callable[[Path], object], folder: Path) -> None:
    """A run that writes nothing where something is already."""
    (folder / "note.txt").write_text("mine")
    with pytest.raises(DxbeamError, match=re.escape("is not empty")):
        run(folder)
    assert [path.name for path in folder.iterdir()] == ["note.txt"]
