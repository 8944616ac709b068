"""Documents that are divided among workers come out as they do in one piece."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing import test_pipeline
from apache_beam.testing.util import assert_that
from apache_beam.transforms.window import FixedWindows, TimestampedValue

from dxbeam.commands.flags.run import LARGE_DOCUMENT
from dxbeam.documents import Document
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.space.artifact import artifact
from dxbeam.text.configuration import Configuration
from dxbeam.text.epsilon_by_field import EpsilonByField
from dxbeam.text.parts import divided
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.text.tally import Tally
from dxbeam.transforms.long_documents.divided import SanitizeParts
from dxbeam.transforms.sanitize import SanitizeDocuments
from tests.support import tiny

SETTINGS = Configuration(
    Laplace(8.0), epsilon_by=EpsilonByField("level", (("low", 2.0), ("high", 8.0)))
)
LONG = ", ".join(f"w{i % 300}" for i in range(2 * divided.WORDS + 77))
TEXTS = {"short": "w1 w2", "long": LONG, "other": f"{LONG}. Strange", "empty": ""}
ROWS = [
    beam.Row(id=name, text=text, level=level, number=number)
    for number, ((name, text), level) in enumerate(
        zip(TEXTS.items(), ("low", "high", "low", "low"), strict=True)
    )
]
Expected = dict[str, tuple[str, int, Tally]]


@pytest.fixture(scope="module")
def expected(uri: str) -> Expected:
    """Text, kept field and counts of each document, without Beam."""
    sanitizer = Sanitizer(artifact.open_vocabulary(artifact.handle(uri)), SETTINGS, tiny.KEY)
    documents = [Document(row.id, row.text, level=row.level) for row in ROWS]
    results = zip(ROWS, sanitizer.sanitize(documents), strict=True)
    return {row.id: (made.document.text, row.number, made.tally) for row, made in results}  # type: ignore[union-attr]


@pytest.fixture
def sanitize(uri: str, tmp_path: Path) -> Callable[..., SanitizeDocuments]:
    (tmp_path / "key").write_text(tiny.KEY.hex())

    def made(divide_above: int | None = 100) -> SanitizeDocuments:
        return SanitizeDocuments(
            SETTINGS,
            uri,
            str(tmp_path / "key"),
            keep_fields=("number",),
            group_by="id",
            digest_corpus=True,
            divide_above=divide_above,
        )

    return made


def _released(of: Expected) -> Callable[[list[Any]], None]:
    def check(rows: list[Any]) -> None:
        assert sorted((row.id, row.text, row.number) for row in rows) == sorted(
            (name, text, number) for name, (text, number, _) in of.items()
        )

    return check


def _counted(of: Expected) -> Callable[[list[Any]], None]:
    def check(tallies: list[Any]) -> None:
        assert dict(tallies) == {name: tally for name, (_, _, tally) in of.items()}
        assert len(tallies) == len(of)

    return check


def test_divided_documents_come_out_as_whole_ones(
    sanitize: Callable[..., SanitizeDocuments], expected: Expected
) -> None:
    """Each bundle is run twice."""
    options = PipelineOptions(["--direct_runner_bundle_repeat=1"])
    with test_pipeline.TestPipeline(runner="FnApiRunner", options=options) as pipeline:
        rows = pipeline | beam.Create(ROWS)
        divided_ones, whole = rows | "Divided" >> sanitize(), rows | "Whole" >> sanitize(None)
        assert_that(divided_ones.documents, _released(expected), label="documents")
        assert_that(divided_ones.tallies, _counted(expected), label="tallies")
        digests = (divided_ones.corpus_digest, whole.corpus_digest) | beam.Flatten()

        def one(found: list[str]) -> None:
            assert len(found) == 2
            assert len(set(found)) == 1

        assert_that(digests, one, label="digests")


def test_what_is_put_together_keeps_its_time(sanitize: Callable[..., SanitizeDocuments]) -> None:
    def timed(row: Any, time: Any = beam.DoFn.TimestampParam) -> tuple[str, int]:
        return row.id, int(time)

    def times(found: list[Any]) -> None:
        assert sorted(found) == sorted((row.id, 100 + row.number) for row in ROWS)

    with test_pipeline.TestPipeline(runner="FnApiRunner") as pipeline:
        rows = pipeline | beam.Create(ROWS)
        rows |= "Time" >> beam.Map(lambda row: TimestampedValue(row, 100 + row.number))
        assert_that((rows | sanitize()).documents | beam.Map(timed), times)


def test_in_windows_nothing_is_divided(sanitize: Callable[..., SanitizeDocuments]) -> None:
    """There nobody knows when all parts of a document are there."""
    pipeline = beam.Pipeline()
    rows = pipeline | beam.Create(ROWS[:1]) | beam.WindowInto(FixedWindows(60))
    rows | sanitize()
    names = [each.unique_name for each in pipeline.to_runner_api().components.transforms.values()]
    assert not [name for name in names if SanitizeParts.__name__ in name]


@pytest.mark.slow
def test_a_large_document_is_divided_by_the_command(tmp_path: Path) -> None:
    """Two processes write what one writes, with capitals, and to the ledger it is one release.

    The ledger has enough left for one only, and takes the other as its repetition.
    """
    (tmp_path / "key").write_text(tiny.KEY.hex())
    sentence = "the doctor flew to paris on monday. he said: no!\n"
    long = sentence * (2 * divided.WORDS // len(sentence.split()) + 7) + " " * LARGE_DOCUMENT
    lines = [{"id": "a", "text": long}, {"id": "b", "text": "new york"}]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    flags = [f"--key_uri={tmp_path / 'key'}", "--truecase", "--language_model=demo"]
    flags += [f"--ledger={tmp_path / 'ledger'}", "--corpus_id=c", "--max_epsilon=5"]
    releases = []
    for processes in (1, 2):
        output, workers = tmp_path / f"out{processes}", f"--local_processes={processes}"
        tiny.run("demo", tmp_path / "corpus.jsonl", output, *flags, workers)
        releases.append(tiny.released(output))
    assert releases[0] == releases[1]
    assert any(word[0].isupper() for word in releases[0]["a"].split())
    entries = [json.loads(line) for line in (tmp_path / "ledger").read_text().splitlines()]
    assert len({entry["corpus_digest"] for entry in entries if entry.get("corpus_digest")}) == 1
