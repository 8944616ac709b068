"""What is released does not depend on how the work was divided.

One key, one corpus: processes, threads, repeated bundles, input and output shards, compression, and
no Beam at all give the same bytes and the same metrics.
"""

from __future__ import annotations

import gzip
import json
from functools import partial
from pathlib import Path

import apache_beam as beam
import numpy as np
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that, equal_to

from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError
from dxbeam.language.artifact import open_language_model, write_language_model
from dxbeam.language.model import language_model_of
from dxbeam.mechanisms.fluent import Fluent
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.public.base_measure import ListedBase
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.mechanisms.santext import SanText
from dxbeam.space.artifact import artifact
from dxbeam.space.search.backends.choose_backend import is_exact_here
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.batch import Batch
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import Decoder
from dxbeam.text.parts.batch_sizes import BatchSizes
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.transforms import sanitize_rows
from dxbeam.transforms.sanitize import SanitizeDocuments
from tests.support import corpora, tiny

TEXTS = [*tiny.texts(60), "w1 w2 strange " * 2000]  # the last is longer than one search
RECORDS = [{"id": f"doc{i}", "text": text, "label": str(i % 3)} for i, text in enumerate(TEXTS)]
FLOAT32 = "--search=float32"
FLAGS = ("--epsilon=3", "--rank_c=0.05", "--group_by=label")


def _exact(search: str) -> str:
    """This search, or one that is exact here."""
    return search if is_exact_here(search) else "float32"


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("key") / "key"
    path.write_text(tiny.KEY.hex())
    return f"--key_uri=file://{path}"


@pytest.fixture(scope="module")
def expected(uri: str) -> dict[str, str]:
    """Without Beam."""
    vocabulary = artifact.open_vocabulary(artifact.handle(uri))
    settings = Configuration(Laplace(3.0), RankResampling(0.05))
    sanitizer = Sanitizer(vocabulary, settings, tiny.KEY)
    results = sanitizer.sanitize(Document(r["id"], r["text"]) for r in RECORDS)
    return {result.document.id: result.document.text for result in results if result.document}


@pytest.fixture(scope="module")
def metrics(uri: str, key: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("plain")
    corpus = tiny.write_jsonl(folder / "in.jsonl", RECORDS)
    tiny.run(uri, corpus, folder / "out", key, *FLAGS)
    return (folder / "out-metrics" / "metrics.json").read_text()


@pytest.mark.parametrize(
    ("shards", "flags"),
    [
        (7, ()),
        (7, ("--direct_running_mode=multi_processing", "--direct_num_workers=2", FLOAT32)),
        (1, ("--direct_running_mode=multi_threading", "--direct_num_workers=3", "--search=faiss")),
        (7, ("--direct_runner_bundle_repeat=1", f"--search={_exact('int8')}")),
        (7, ("--num_shards=1", f"--search={_exact('int7')}")),
        (1, ("--num_shards=3", "--compression=none", "--search_threads=2")),
    ],
    ids=["memory", "processes", "threads", "repeated", "one", "sharded"],
)
def test_the_same_bytes(
    uri: str,
    key: str,
    tmp_path: Path,
    expected: dict[str, str],
    metrics: str,
    shards: int,
    flags: tuple[str, ...],
) -> None:
    for shard in range(shards):
        tiny.write_jsonl(tmp_path / "in" / f"{shard}.jsonl", RECORDS[shard::shards])
    release = tiny.run(uri, f"{tmp_path}/in/*", tmp_path / "out", key, *FLAGS, *flags)
    assert tiny.released(tmp_path / "out") == expected
    assert (tmp_path / "out-metrics" / "metrics.json").read_text() == metrics
    asked = [flag.partition("=")[2] for flag in flags if flag.startswith("--search=")]
    assert release.get("search_asked_for", "auto") == (asked or ["auto"])[0]
    assert release["vocabulary"]["search"] == "exact"


def test_the_same_bytes_from_packed_and_from_smaller_pieces(
    uri: str,
    key: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    expected: dict[str, str],
    metrics: str,
) -> None:
    """Files that several workers share, searches of a few words, batches of a few documents."""
    corpora.divide(monkeypatch, 4000)
    sizes = BatchSizes(words=97, characters=1000)
    monkeypatch.setattr(sanitize_rows, "Batch", partial(Batch, sizes=sizes))
    plain = tiny.write_jsonl(tmp_path / "in.jsonl", RECORDS)
    packed = tmp_path / "in.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for path in (plain, packed):
        output = tmp_path / f"out{path.suffix}"
        tiny.run(uri, path, output, key, *FLAGS)
        assert tiny.released(output) == expected
        assert Path(f"{output}-metrics", "metrics.json").read_text() == metrics


@pytest.mark.parametrize(
    "flags",
    [
        ("--direct_running_mode=multi_threading", "--direct_num_workers=3"),
        ("--direct_runner_bundle_repeat=1", "--num_shards=2"),
    ],
    ids=["threads", "repeated"],
)
def test_the_same_bags(
    uri: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    vocabulary = artifact.open_vocabulary(artifact.handle(uri))
    stop_words = frozenset(f"w{i}" for i in range(50))
    settings = Configuration(Laplace(3.0), bag=BagOfWords(30, stop_words))
    made = Sanitizer(vocabulary, settings, tiny.KEY)
    results = made.sanitize(Document(r["id"], r["text"]) for r in RECORDS)
    expected = {r.document.id: r.document.text for r in results if r.document}

    corpora.divide(monkeypatch, 4000)
    (tmp_path / "stop").write_text("\n".join(stop_words))
    path = tiny.write_jsonl(tmp_path / "in.jsonl", RECORDS)
    bag = ("--bag_of_words=30", f"--stop_words={tmp_path}/stop")
    release = tiny.run(uri, path, tmp_path / "out", key, "--epsilon=3", *bag, *flags)
    assert tiny.released(tmp_path / "out") == expected
    assert release["tokens"] == 30 * len(RECORDS), "not how many words the corpus holds"
    assert release["configuration"]["bag_of_words"]["stop_words"] == 50
    assert release["unprotected"] == ["document ids"]
    counts = json.loads((tmp_path / "out-metrics" / "metrics.json").read_text())
    in_all = sum(len(r["text"].replace(",", " ").replace("!", " ").split()) for r in RECORDS)
    assert counts["tokens"] - counts["fillers"] + counts["omitted"] == in_all


@pytest.fixture(scope="module")
def model(uri: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where a language model of the tiny vocabulary is."""
    vocabulary = artifact.open_vocabulary(uri)
    generator = np.random.default_rng(5)
    sentences = [(generator.zipf(1.3, 12) * 7) % 301 - 1 for _ in range(500)]
    folder = tmp_path_factory.mktemp("model")
    write_language_model(str(folder), language_model_of(sentences, vocabulary), None)
    return str(folder)


@pytest.fixture(scope="module")
def decoded(uri: str, model: str) -> dict[str, str]:
    """What decoded documents must be."""
    vocabulary = artifact.open_vocabulary(uri)
    settings = Configuration(Laplace(3.0), RankResampling(0.05), decoder=Decoder("context"))
    sanitizer = Sanitizer(vocabulary, settings, tiny.KEY, open_language_model(model, vocabulary))
    results = sanitizer.sanitize(Document(r["id"], r["text"]) for r in RECORDS)
    return {r.document.id: r.document.text for r in results if r.document}


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [
        ("--direct_running_mode=multi_threading", "--direct_num_workers=3", "--search=faiss"),
        ("--local_processes=2", f"--search={_exact('int8')}"),
        ("--direct_runner_bundle_repeat=1", f"--search={_exact('int7')}", "--search_threads=2"),
    ],
    ids=["threads", "processes", "repeated"],
)
def test_the_same_decoded_bytes(
    uri: str,
    key: str,
    model: str,
    decoded: dict[str, str],
    tmp_path: Path,
    flags: tuple[str, ...],
) -> None:
    for shard in range(4):
        tiny.write_jsonl(tmp_path / "in" / f"{shard}.jsonl", RECORDS[shard::4])
    decode = ("--decode=context", f"--language_model={model}")
    tiny.run(uri, f"{tmp_path}/in/*", tmp_path / "out", key, *FLAGS, *decode, *flags)
    assert tiny.released(tmp_path / "out") == decoded


@pytest.mark.parametrize(
    "mode", ["in_memory", pytest.param("multi_processing", marks=pytest.mark.slow)]
)
def test_what_a_mechanism_was_given_travels_to_other_processes(
    uri: str, key: str, model: str, mode: str
) -> None:
    """An opened language model travels by its handle; a list of words as it is."""
    vocabulary = artifact.open_vocabulary(uri)
    shares = {word: 1.0 + i for i, word in enumerate(vocabulary.words[:200])}
    flags = ["--direct_num_workers=1", f"--direct_running_mode={mode}"]
    with beam.Pipeline(options=PipelineOptions(flags)) as pipeline:
        rows = pipeline | beam.Create([beam.Row(**record) for record in RECORDS[:10]])
        for mechanism in (
            Fluent(3.0, model=open_language_model(model, vocabulary)),
            SanText(3.0, base=ListedBase(shares, 0.5)),
        ):
            settings = Configuration(mechanism)
            made = Sanitizer(vocabulary, settings, tiny.KEY)
            results = made.sanitize(Document(r["id"], r["text"]) for r in RECORDS[:10])
            expected = [r.document.text for r in results if r.document]
            released = rows | mechanism.name >> SanitizeDocuments(
                settings, uri, key.partition("=")[2]
            )
            texts = released.documents | f"{mechanism.name} text" >> beam.Map(lambda row: row.text)
            assert_that(texts, equal_to(expected), label=f"{mechanism.name} as without Beam")


def test_a_model_that_workers_cannot_open_is_refused(uri: str) -> None:
    made = Fluent(3.0, model=language_model_of([[1, 2]], artifact.open_vocabulary(uri)))
    with pytest.raises(ConfigurationError, match="build-language-model"):
        SanitizeDocuments(Configuration(made), uri)


def test_another_key_epsilon_or_c_gives_another_release(
    uri: str, key: str, tmp_path: Path, expected: dict[str, str]
) -> None:
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", RECORDS)
    others = {
        "key": (*FLAGS,),
        "epsilon": (key, "--epsilon=3.0001", "--rank_c=0.05"),
        "c": (key, "--epsilon=3", "--rank_c=0.0500001"),
    }
    for name, flags in others.items():
        tiny.run(uri, corpus, tmp_path / name, *flags)
        # The settings all but agree, so equal noise would give all but equal words.
        words = zip(
            tiny.released(tmp_path / name)["doc60"].split(), expected["doc60"].split(), strict=True
        )
        assert sum(a == b for a, b in words) < 3000, name


def test_another_text_or_id_gives_another_release(uri: str, expected: dict[str, str]) -> None:
    vocabulary = artifact.open_vocabulary(artifact.handle(uri))
    settings = Configuration(Laplace(3.0), RankResampling(0.05))
    made = Sanitizer(vocabulary, settings, tiny.KEY)
    last = TEXTS[-1]
    others = [Document("doc60", last + " "), Document("doc60", last[:-3]), Document("doc61", last)]
    before = expected["doc60"].split()
    for result in made.sanitize(others):
        assert result.document
        words = zip(result.document.text.split(), before, strict=False)
        assert sum(a == b for a, b in words) < 3000


def test_metrics_describe_what_was_written(
    uri: str, expected: dict[str, str], metrics: str
) -> None:
    counts = json.loads(metrics)
    pairs = [
        (before.lower(), after)
        for record in RECORDS
        for before, after in zip(
            record["text"].replace(",", " ").replace("!", " ").split(),
            expected[record["id"]].replace(",", " ").replace("!", " ").split(),
            strict=True,
        )
    ]
    assert counts["tokens"] == len(pairs)
    assert counts["original"] == sum(before == after for before, after in pairs)
    assert counts["unknown"] == sum(before.startswith("strange") for before, _ in pairs)
    parts = ("original", "close", "distant", "unknown")
    assert sum(counts[part] for part in parts) == counts["tokens"]
    for part in parts:
        assert counts[part] == sum(group[part] for group in counts["groups"].values())
