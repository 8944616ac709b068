"""Embedding files to artifacts, by outcome; and the bundled vocabulary."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from dxbeam import storage
from dxbeam.errors import ArtifactError, DxbeamError
from dxbeam.mechanisms.cluster_response import ClusterResponse
from dxbeam.mechanisms.diffractor import Diffractor
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.manifest import digest_of
from dxbeam.space.artifact.word_files import write_words
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.clusters import clusters
from dxbeam.space.vocabulary.unused_words import UnusedWords
from dxbeam.space.vocabulary.word_order import word_orders
from dxbeam.space.vocabulary.words import Vocabulary
from pipelines import build_vocabulary as module
from pipelines.build_vocabulary import build_vocabulary
from tests.support import tiny
from tests.support.artifacts import is_mapped
from tests.support.refusals import refused

WORDS = ["Apple", "pear", "apple", "x-y", "plum", *(f"w{i}" for i in range(700))]
VECTORS = np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype(np.float32)


@pytest.fixture
def embeddings(tmp_path: Path) -> Path:
    rows = [f"{w} " + " ".join(map(repr, v.tolist())) for w, v in zip(WORDS, VECTORS, strict=True)]
    path = tmp_path / "vectors.txt.gz"
    path.write_bytes(gzip.compress("\n".join(rows).replace("Apple", "Apple", 1).encode()))
    return path


def _build(embeddings: Path, output: Path, *flags: str) -> Vocabulary:
    named = {flag.partition("=")[0] for flag in flags}
    read = [] if "--embeddings" in named else [f"--embeddings={embeddings}"]
    build_vocabulary([*read, f"--output={output}", *flags])
    return artifact.open_vocabulary(artifact.handle(str(output)))


def test_an_artifact_holds_the_words_vectors_and_neighbours(
    embeddings: Path, tmp_path: Path
) -> None:
    built = _build(embeddings, tmp_path / "out", "--neighbors=20")
    assert list(built.words) == WORDS
    assert np.array_equal(built.vectors, VECTORS)
    assert is_mapped(built.vectors)
    assert is_mapped(built.neighbor_ids)
    table, radii = NeighborSearch(Vocabulary(WORDS, VECTORS)).neighbor_table(
        np.arange(len(WORDS)), 20
    )
    assert np.array_equal(built.neighbor_ids, table)
    assert np.array_equal(built.close_radius, radii)  # type: ignore[arg-type]
    assert np.allclose(built.unknown_vector, VECTORS.mean(axis=0))  # type: ignore[arg-type]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "manifest.json", "words.arrow", "word_index.npy", "vectors.npy", "unknown_vector.npy",
        "neighbors.npy", "close_radius.npy",
        "integers.npy", "integer_scales.npy", "integer_bounds.npy",
    }  # fmt: skip


def test_clusters_and_orders_are_stored_when_asked_for(
    embeddings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is released is the same as without, and nothing is made anew."""
    flags = ["--neighbors=0", "--clusters=5", "--orders=2"]
    built = _build(embeddings, tmp_path / "out", *flags)
    bare = Vocabulary(WORDS, VECTORS, unknown_vector=built.unknown_vector)
    assert is_mapped(built.clusters)
    assert np.array_equal(built.clusters, clusters(bare, 5))
    assert np.array_equal(built.orders, word_orders(bare, 2))  # type: ignore[arg-type]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"clusters.npy", "orders.npy"} < names
    without = NeighborSearch(bare)
    ids = np.arange(len(WORDS))
    for mechanism in (ClusterResponse(2.0, 5), Diffractor(1.0, 2)):
        random = np.random.default_rng(1).integers(
            0, 2**64, (len(ids), mechanism.draws(6)), dtype=np.uint64
        )
        expected = mechanism.release(ids, random, without)
        with monkeypatch.context() as patch:
            patch.setattr(UnusedWords, "take", None)
            assert np.array_equal(mechanism.release(ids, random, NeighborSearch(built)), expected)


@pytest.mark.parametrize(("name", "value"), [("clusters.npy", 0), ("orders.npy", 3)])
def test_clusters_and_orders_that_are_none_are_refused(
    embeddings: Path, tmp_path: Path, name: str, value: int
) -> None:
    _build(embeddings, tmp_path / "out", "--neighbors=0", "--clusters=5", "--orders=2")
    path = tmp_path / "out" / name
    stored = np.load(path)
    stored.ravel()[-3:] = value
    np.save(path, stored)
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    manifest["files"][name]["sha256"] = storage.sha256(str(path))[0]
    del manifest["digest"]
    manifest["digest"] = digest_of(manifest)
    (tmp_path / "out/manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(ArtifactError, match="do not fit together"):
        artifact.open_vocabulary(artifact.handle(str(tmp_path / "out")))


@pytest.mark.parametrize("flag", ["--clusters=1", "--orders=99"])
def test_sizes_that_no_mechanism_takes_are_refused(
    embeddings: Path, tmp_path: Path, flag: str
) -> None:
    with pytest.raises(DxbeamError, match="must be a whole number from"):
        _build(embeddings, tmp_path / "out", flag)


def test_a_build_that_was_stopped_goes_on_from_the_pieces_that_were_kept(
    embeddings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ["--neighbors=20", f"--table_pieces={tmp_path / 'pieces'}"]
    with monkeypatch.context() as patch:
        patch.setattr(module, "store_index", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            _build(embeddings, tmp_path / "out", *flags)
    assert not list((tmp_path / "out").glob("*"))
    [first, *_] = sorted((tmp_path / "pieces").rglob("*-radii.npy"))
    first.unlink()
    searched = tiny.counted(monkeypatch, NeighborSearch, "neighbor_table")
    built = _build(embeddings, tmp_path / "out", *flags)
    assert len(searched) == 1, "one piece of two was lost"
    assert not list((tmp_path / "pieces").rglob("*.npy"))
    plain = _build(embeddings, tmp_path / "plain", "--neighbors=20")
    assert built.digest == plain.digest


def test_pieces_of_another_table_are_left_alone(embeddings: Path, tmp_path: Path) -> None:
    pieces = f"--table_pieces={tmp_path / 'pieces'}"
    other = tmp_path / "pieces" / "other" / "000000000-0-radii.npy"
    other.parent.mkdir(parents=True)
    other.touch()
    _build(embeddings, tmp_path / "out", "--neighbors=20", pieces)
    assert other.exists()
    with pytest.raises(DxbeamError, match="is in `output`"):
        _build(embeddings, tmp_path / "new", f"--table_pieces={tmp_path / 'new' / 'pieces'}")


def test_a_vocabulary_without_a_neighbour_table_is_as_good(
    embeddings: Path, tmp_path: Path
) -> None:
    built = _build(embeddings, tmp_path / "out", "--neighbors=0")
    assert built.neighbor_ids is None
    assert built.close_radius is None
    table, radii = NeighborSearch(built).neighbor_table(np.arange(len(WORDS)), 20)
    search = NeighborSearch(built)
    assert np.array_equal(search.nearest_neighbors(np.arange(len(WORDS)), 21)[:, 1:], table)
    assert np.array_equal(search.close_radius(np.arange(len(WORDS))), radii)
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", [{"id": "a", "text": " ".join(WORDS[1:300])}])
    tiny.run(str(tmp_path / "out"), corpus, tmp_path / "release", "--epsilon=2", "--rank_c=0.05")
    metrics = json.loads((tmp_path / "release-metrics" / "metrics.json").read_text())
    assert 0 < metrics["share_close"] < 1


def test_lower_case_keeps_the_first_and_counts_the_rest(embeddings: Path, tmp_path: Path) -> None:
    built = _build(embeddings, tmp_path / "out", "--lowercase", "--max_words=10")
    assert list(built.words) == ["apple", "pear", "x-y", "plum", *(f"w{i}" for i in range(6))]
    assert np.array_equal(built.vectors[0], VECTORS[0])
    assert built.id_of("APPLE") == 0
    assert artifact.read_manifest(str(tmp_path / "out"))["source"]["duplicates"] == 1
    assert built.neighbor_ids is not None
    assert built.neighbor_ids.shape == (10, 9), "no word has more neighbours than there are"


def test_words_that_would_spoil_a_release_are_left_out_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["pear", "a\0b", "two\u2028lines", "\x85", ". . .", "plum"]
    path = tmp_path / "odd.txt"
    path.write_text("".join(f"{w} {i} {i + 1}\n" for i, w in enumerate(words)), newline="")
    built = _build(path, tmp_path / "out")
    assert list(built.words) == ["pear", "plum"]
    assert artifact.read_manifest(str(tmp_path / "out"))["source"]["unusable"] == 4
    assert "4 with white space or control characters" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["a\0b", "two\u2028lines", "\x85", "\n", ""])
def test_an_artifact_with_words_that_would_spoil_a_release_is_not_opened(
    tmp_path: Path, word: str
) -> None:
    """Neither are they written, nor opened where another program wrote them."""
    vectors = np.eye(2, dtype=np.float32)
    with pytest.raises(ArtifactError, match="a word is empty or holds a null byte or the end of"):
        artifact.write_words_and_vectors([(["pear", word], vectors)], tmp_path / "refused")
    shape = artifact.write_words_and_vectors([(["pear", "plum"], vectors)], tmp_path)
    write_words([pa.array(["pear", word])], tmp_path)
    artifact.write_manifest(str(tmp_path), shape, False, {"name": "tiny"}, table=False)
    with pytest.raises(ArtifactError, match="a word is empty or holds a null byte or the end of"):
        artifact.open_vocabulary(str(tmp_path))


@pytest.mark.parametrize("flags", [(), ("--rank_c=0.1",), ("--bag_of_words=2",)])
def test_a_vocabulary_of_one_word_releases_that_word(tmp_path: Path, flags: tuple[str]) -> None:
    (tmp_path / "one.txt").write_text("pear 1 2\n")
    _build(tmp_path / "one.txt", tmp_path / "out")
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", [{"id": "a", "text": "plum pear"}])
    tiny.run(str(tmp_path / "out"), corpus, tmp_path / "release", *flags)
    assert tiny.released(tmp_path / "release") == {"a": "pear pear"}


def test_half_precision_and_an_approximate_index(embeddings: Path, tmp_path: Path) -> None:
    flags = ("--vector_dtype=float16", "--index_factory=IVF4,Flat", "--index_parameters=nprobe=2")
    built = _build(embeddings, tmp_path / "out", *flags)
    assert np.array_equal(built.vectors, VECTORS.astype(np.float16).astype(np.float32))
    index = artifact.read_manifest(str(tmp_path / "out"))["index"]
    assert index["exact"] is False
    assert built.index.nprobe == 2
    assert set(index["recall_by_epsilon"]) == {"1", "5", "10", "20"}
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", [{"id": "a", "text": "pear plum w3"}])
    tiny.run(str(tmp_path / "out"), corpus, tmp_path / "release", "--epsilon=5000")
    assert tiny.released(tmp_path / "release") == {"a": "pear plum w3"}
    release = json.loads((tmp_path / "release" / "release.json").read_text())
    assert release["vocabulary"]["search"] == "approximate: IVF4,Flat nprobe=2"


@refused(
    """
    --index_factory=Magic        FAISS knows no such index
    --index_parameters=nprobe=2  the index Flat has no such parameters
    --neighbors=-1               whole number from 1
    --max_words=0                max_words
    --embeddings=/nowhere.txt    nowhere.txt
    --embeddings_format=magic    choose auto or one of glove, word2vec, word2vec_binary
    """
)
def test_what_cannot_be_built_leaves_nothing(
    embeddings: Path, tmp_path: Path, flags: list[str], said: str
) -> None:
    with pytest.raises(DxbeamError, match=said):
        _build(embeddings, tmp_path / "out", *flags)
    assert not any(path.is_file() for path in (tmp_path / "out").rglob("*"))


def test_half_precision_cannot_hold_large_values(tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_text("pear 1 1e6\nplum 1 2\n")
    with pytest.raises(DxbeamError, match="--vector_dtype float16 holds values up to 65,504, and"):
        _build(tmp_path / "large.txt", tmp_path / "out", "--vector_dtype=float16")


def test_two_builds_are_the_same_to_the_byte(embeddings: Path, tmp_path: Path) -> None:
    one, two = (
        _build(embeddings, tmp_path / name, *flags).digest
        for name, flags in {
            "one": (),
            "two": ("--direct_running_mode=multi_processing", "--direct_num_workers=1"),
        }.items()
    )
    assert one == two


def test_a_handle_does_not_open_another_artifact(embeddings: Path, tmp_path: Path) -> None:
    _build(embeddings, tmp_path / "out")
    handle = artifact.handle(str(tmp_path / "out"))
    with pytest.raises(DxbeamError, match="replaced in between"):
        artifact.open_vocabulary(handle._replace(digest="0" * 64))


def test_files_that_are_whole_but_do_not_fit_together(embeddings: Path, tmp_path: Path) -> None:
    _build(embeddings, tmp_path / "out")
    np.save(tmp_path / "out" / "vectors.npy", VECTORS[:, :3])
    (tmp_path / "out" / "manifest.json").unlink()
    shape = artifact.WordsAndVectors(len(WORDS), 6, "", 1.0)
    artifact.write_manifest(str(tmp_path / "out"), shape, False, {})
    with pytest.raises(DxbeamError, match="do not fit together"):
        artifact.open_vocabulary(artifact.handle(str(tmp_path / "out")))


def test_an_artifact_elsewhere_is_copied_to_this_host_once(
    embeddings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _build(embeddings, tmp_path / "out")
    monkeypatch.setattr(artifact.storage, "is_local", lambda path: False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "host"))
    (tmp_path / "host").mkdir()
    handle = artifact.handle(str(tmp_path / "out"))
    copied: list[str] = []
    copy = artifact.storage.copy

    def counted(source: str, target: str) -> None:
        copied.append(source)
        copy(source, target)

    monkeypatch.setattr(artifact.storage, "copy", counted)
    for _ in range(2):
        assert list(artifact.open_vocabulary(handle).words) == WORDS
    assert len(copied) == 9
    kept = [path.name for path in (tmp_path / "host").glob("*/*") if path.is_dir()]
    assert kept == [handle.digest]


def test_the_bundled_vocabulary_is_small_and_knows_its_words() -> None:
    folder = Path(artifact.resolve("demo"))
    assert sum(path.stat().st_size for path in folder.iterdir()) < 6_000_000
    bundled = artifact.open_vocabulary(artifact.handle("demo"))
    assert len(bundled) >= 15_000
    assert bundled.dimensions == 100
    assert json.loads((folder / "manifest.json").read_text())["lowercase"]
    search = NeighborSearch(bundled)
    for word, near in {"january": "february", "seven": "eight", "germany": "austria"}.items():
        first = search.neighbor(np.full(5, bundled.id_of(word)), np.arange(1, 6))
        assert near in [bundled.words[i] for i in first]
