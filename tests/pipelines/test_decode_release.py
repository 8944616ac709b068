"""dxbeam decode: what it writes, what it reads, what it refuses, and how verify checks it."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from dxbeam import storage
from dxbeam.errors import ConfigurationError, DamagedReleaseError, DxbeamError
from dxbeam.language.artifact import write_language_model
from dxbeam.language.model import language_model_of
from dxbeam.release import claim, ledger
from dxbeam.release.card import card
from dxbeam.release.verification.verify import VerifiedRelease, verify_release
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.text.repair import Repair
from pipelines.decode import decode
from pipelines.release_vectors import release_vectors
from tests.support import tiny

WORDS = 60
TEXTS = [
    re.sub(r"W(\d+)", lambda word: f"w{int(word[1]) % WORDS}", text)
    for text in tiny.texts(20, longest=30)
]
SANTEXT = "--mechanism=santext"


class World:
    """A vocabulary, a public model of it, a key, and a corpus that can be taken away."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.vocabulary = tiny.write_artifact(folder / "vocabulary", tiny.vocabulary(WORDS, 6))
        opened = open_vocabulary(self.vocabulary)
        starts = np.random.default_rng(8).integers(0, WORDS, 300)
        model = language_model_of([(start + np.arange(9)) % WORDS for start in starts], opened)
        self.model = str(folder / "model")
        write_language_model(self.model, model, None)
        (folder / "key").write_text(tiny.KEY.hex())
        (folder / "key").chmod(0o600)

    def release(self, name: str, *flags: str) -> Path:
        records = [
            {"id": f"d{n}", "text": text, "label": n % 2, "consent": "low" if n % 3 else "high"}
            for n, text in enumerate(TEXTS)
        ]
        corpus = tiny.write_jsonl(self.folder / "raw" / "corpus.jsonl", records)
        given = any(flag.startswith("--epsilon_by") for flag in flags)
        key, epsilon = f"--key_uri={self.folder / 'key'}", () if given else ("--epsilon=2",)
        tiny.run(self.vocabulary, corpus, self.folder / name, key, *epsilon, *flags)
        return self.folder / name

    def decoded(self, release: Path, name: str, *flags: str) -> dict[str, Any]:
        decode([
            str(release), f"--vocabulary={self.vocabulary}", f"--language_model={self.model}",
            f"--output={self.folder / name}", *flags,
        ])  # fmt: skip
        manifest: dict[str, Any] = json.loads((self.folder / name / "release.json").read_text())
        return manifest

    def verified(self, name: str, first: Path | None = None) -> VerifiedRelease:
        made = self.folder / name
        digest, _ = storage.sha256(str(made / "release.json"))
        return verify_release(
            str(made), self.vocabulary, digest=digest, decoded_from=str(first) if first else None
        )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return World(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def first(world: World) -> Path:
    """A release of drawn words."""
    book = (f"--ledger={world.folder / 'ledger'}", "--corpus_id=c")
    return world.release("first", SANTEXT, "--keep_fields=label", *book)


@pytest.fixture(scope="module")
def later(world: World, first: Path) -> dict[str, Any]:
    """The release.json of that release decoded."""
    return world.decoded(first, "later")


def test_what_is_decoded_is_what_sanitizing_with_a_decoder_releases(
    world: World, first: Path, later: dict[str, Any]
) -> None:
    model = f"--language_model={world.model}"
    at_once = world.release("at once", SANTEXT, "--decode=context", model)
    assert tiny.released(world.folder / "later") == tiny.released(at_once)
    digest, _ = storage.sha256(str(first / "release.json"))
    said = later["post_processing"]["decoding"]
    assert said["release_sha256"] == digest
    assert (said["decode"], said["loss"], said["channel"]) == ("context", "word", "exact")
    assert "Whoever sees one released document" in later["guarantee"]["sentence"]
    assert later["documents_in"] == later["documents_out"] == len(TEXTS)
    assert later["kept_fields"] == ["label"]
    with pytest.raises(DxbeamError, match="it was decoded already"):
        world.decoded(world.folder / "later", "refused")
    with pytest.raises(DxbeamError, match="was decoded already"):
        world.decoded(at_once, "refused")


@pytest.mark.usefixtures("later")
def test_verify_checks_it_and_the_release_that_it_was_made_of(world: World, first: Path) -> None:
    apart = world.verified("later")
    assert len(apart.unchecked) == 1
    assert "--decoded_from" in apart.unchecked[0]
    both = world.verified("later", first)
    assert both.unchecked == ()
    assert "decoded from" in both.report
    assert card(both).promise == both.manifest["guarantee"]["sentence"]


def test_it_opens_nothing_but_release_vocabulary_and_model(
    world: World, first: Path, tmp_path: Path
) -> None:
    """Corpus, key and metrics are deleted before, and every file that is opened is looked at."""
    apart = shutil.copytree(first, tmp_path / "orphan")
    shutil.rmtree(world.folder / "raw", ignore_errors=True)
    shutil.rmtree(world.folder / "first-metrics", ignore_errors=True)
    opened: list[str] = []
    listening = True

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and listening:
            opened.append(str(arguments[0]))

    sys.addaudithook(hear)  # which nothing can take away again
    world.decoded(apart, "of an orphan")
    listening = False
    ours = [path for path in opened if path.startswith((str(world.folder), str(tmp_path)))]
    out = str(world.folder / "of an orphan")
    assert any(path.startswith(str(apart)) for path in ours)
    assert all(path.startswith((str(apart), world.vocabulary, world.model, out)) for path in ours)


@pytest.mark.slow
def test_two_processes_write_the_same_bytes(world: World) -> None:
    """Of noise with rank resampling: all that is estimated and followed back is the same."""
    made = world.release("resampled", "--rank_c=0.1", "--num_shards=4")
    one, two = "in one process", "in two processes"
    manifest = world.decoded(made, one, "--local_processes=1", "--num_shards=1")
    world.decoded(made, two, "--local_processes=2", "--num_shards=1")
    assert manifest["post_processing"]["decoding"]["channel"] == "approximate"
    assert any("an estimate" in each for each in manifest["guarantee"]["caveats"])
    assert tiny.released(world.folder / one) == tiny.released(world.folder / two)


@pytest.mark.usefixtures("later")
def test_every_format_comes_out_as_it_was(world: World) -> None:
    expected = tiny.released(world.folder / "later")
    parquet = world.release("parquet", SANTEXT, "--output_format=parquet", "--keep_fields=label")
    world.decoded(parquet, "parquet decoded")
    [shard] = (world.folder / "parquet decoded").glob("part-*.parquet")
    table = pq.read_table(shard)
    assert dict(zip(table["id"].to_pylist(), table["text"].to_pylist(), strict=True)) == expected
    [before] = parquet.glob("part-*.parquet")
    assert table.schema == pq.read_schema(before)
    text = world.release("text", SANTEXT, "--output_format=text", "--compression=gzip")
    world.decoded(text, "text decoded")
    [shard] = (world.folder / "text decoded").glob("part-*")
    lines = sorted(line.strip() for line in shard.read_text().splitlines())
    assert lines == sorted(line.strip() for line in expected.values())
    assert world.verified("text decoded", text).unchecked == ()


def test_each_level_is_read_with_its_epsilon(world: World) -> None:
    levels = ("--epsilon_by=consent:low=1,high=3", SANTEXT)
    kept = world.release("levels", *levels, "--keep_fields=consent")
    at_once = world.release(
        "levels at once", *levels, "--decode=context", f"--language_model={world.model}"
    )
    world.decoded(kept, "levels decoded")
    assert tiny.released(world.folder / "levels decoded") == tiny.released(at_once)
    with pytest.raises(DxbeamError, match="'consent', which the release does not hold"):
        world.decoded(world.release("levels lost", *levels), "refused")


def test_what_cannot_be_decoded_is_refused(world: World, first: Path) -> None:
    refused = [(world.release("bags", "--bag_of_words=5"), "bags of words")]
    vectors = world.folder / "vectors"
    release_vectors([
        f"--input={world.folder / 'raw' / '*.jsonl'}", f"--output={vectors}", "--epsilon=5",
        "--projection=none", f"--vocabulary={world.vocabulary}",
    ])  # fmt: skip
    refused.append((vectors, "it holds noisy vectors"))
    repaired = shutil.copytree(first, world.folder / "repaired")
    refused.append((repaired, "rewritten by a language model"))
    manifest = json.loads((repaired / "release.json").read_text())
    manifest["post_processing"] = {"grammar_repair": {"model": "m", "endpoint": "e"}}
    manifest["guarantee"]["caveats"] += Repair("m", "https://e").caveats
    (repaired / "release.json").write_text(json.dumps(manifest))
    for release, said in refused:
        with pytest.raises(DxbeamError, match=said):
            world.decoded(release, "refused")
        assert not (world.folder / "refused").exists()


def _cut(release: Path) -> None:
    [shard] = release.glob("part-*")
    shard.write_bytes(shard.read_bytes()[:-20])


def _unfinished(release: Path) -> None:
    (release / "release.json").unlink()


@pytest.mark.parametrize(
    ("change", "flags", "said"),
    [
        (_cut, (), "not the file that was released"),
        (_unfinished, (), "no whole release here"),
        (None, ("--language_model=demo",), "vocabulary"),
        (None, ("--vocabulary=demo",), "vocabulary"),
        (None, ("--decode=nearest",), "what the release is already"),
        (None, ("--truecase",), "knows capitals"),
        (None, ("--output={first}/inside",), "within one another"),
        (None, ("--epsilon=3",), "--epsilon"),
        (None, ("--ledger=l",), "--ledger"),
    ],
)
def test_wrong_input_is_refused_in_one_sentence_and_nothing_is_left(
    world: World,
    first: Path,
    change: Callable[[Path], None] | None,
    flags: tuple[str, ...],
    said: str,
    tmp_path: Path,
) -> None:
    release = shutil.copytree(first, tmp_path / "first")
    if change:
        change(release)
    given = {
        "--vocabulary": world.vocabulary,
        "--language_model": world.model,
        "--output": str(tmp_path / "out"),
    }
    given |= dict(flag.format(first=release).split("=") for flag in flags if "=" in flag)
    argv = [str(release), *(f"{name}={value}" for name, value in given.items())]
    with pytest.raises(DxbeamError, match=said) as raised:
        decode([*argv, *(flag for flag in flags if "=" not in flag)])
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_a_run_that_fails_leaves_nothing_that_looks_finished(
    world: World, first: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(claim, "complete", fails)
        with pytest.raises((DxbeamError, OSError, RuntimeError)):
            world.decoded(first, "failed")
    assert not (world.folder / "failed" / "release.json").exists()
    world.decoded(first, "failed")  # and the place can be used again


def test_a_dry_run_says_what_would_be_done(
    world: World, first: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = world.folder / "not there"
    decode([
        f"--release={first}", f"--vocabulary={world.vocabulary}", f"--output={out}",
        f"--language_model={world.model}", "--dry_run",
    ])  # fmt: skip
    assert "context, loss word, exact channel" in capsys.readouterr().out
    assert not out.exists()


@pytest.mark.usefixtures("later")
def test_a_ledger_has_no_line_of_it_and_has_the_first_release(world: World, first: Path) -> None:
    book, made = str(world.folder / "ledger"), str(world.folder / "later")
    assert {entry.run for entry in ledger.read(book)} == {
        json.loads((first / "release.json").read_text())["run"]
    }
    with pytest.raises(ConfigurationError, match="costs nothing"):
        verify_release(made, ledger=book)
    verify_release(made, ledger=book, decoded_from=str(first))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda made: made["post_processing"]["decoding"].update(release_sha256="1" * 64),
            "decoded from another release",
        ),
        (
            lambda made: made["post_processing"]["decoding"].update(channel="approximate"),
            "decoding",
        ),
        (lambda made: made["guarantee"].update(epsilon=1.0), "guarantee"),
        (lambda made: made["key"].update(fingerprint="ab"), "'key'"),
    ],
)
@pytest.mark.usefixtures("later")
def test_a_decoded_release_that_was_changed_is_found(
    world: World, first: Path, change: Callable[[dict[str, Any]], None], said: str, tmp_path: Path
) -> None:
    changed = shutil.copytree(world.folder / "later", tmp_path / "changed")
    manifest = json.loads((changed / "release.json").read_text())
    change(manifest)
    (changed / "release.json").write_text(json.dumps(manifest))
    with pytest.raises(DamagedReleaseError, match=said):
        verify_release(str(changed), decoded_from=str(first))
