"""A stream is sanitized message by message, counted by window, and repeated in the same bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing import test_pipeline, test_stream
from apache_beam.testing.util import assert_that
from apache_beam.transforms.window import FixedWindows, TimestampedValue

from dxbeam.corpus.messages import Message, MessageFormat
from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.release.streams.window_records import StreamRelease, WindowCounts, released_digest
from dxbeam.space.artifact import artifact
from dxbeam.text.batch import Sanitized
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.transforms.sanitize import SanitizeDocuments
from dxbeam.transforms.streams.messages import AddUpBundles, RecordWindows, SanitizeMessages
from tests.support import tiny

SECRET = "zyzzogeton"
TEXTS = ["w1 w2, w3!", f"w4 {SECRET} w5", "", "w6 " * 40, "w1 w2, w3!", "w7"]
SETTINGS = Configuration(Laplace(5.0))
MESSAGES = [
    Message(f"raw/{i % 2}", i, float(i), json.dumps({"id": f"m{i}", "text": text}).encode())
    for i, text in enumerate(TEXTS)
]
DAMAGED = [
    Message("raw/0", 90, 0.0, f"{{{SECRET}".encode()),
    Message("raw/1", 91, 0.0, b""),
]


@pytest.fixture(scope="module")
def expected(uri: str) -> dict[bytes, bytes]:
    """Key and value of each released message, without Beam."""
    sanitizer = Sanitizer(artifact.open_vocabulary(artifact.handle(uri)), SETTINGS, tiny.KEY)
    results = sanitizer.sanitize(Document(f"m{i}", text) for i, text in enumerate(TEXTS))
    released = {}
    for result in results:
        assert isinstance(result, Sanitized)
        key, value = MessageFormat().released(result.document)
        released[bytes(key)] = bytes(value)  # type: ignore[arg-type]
    return released


def _sanitize(uri: str, folder: Path) -> SanitizeMessages:
    (folder / "key").write_text(tiny.KEY.hex())
    documents = SanitizeDocuments(
        SETTINGS,
        uri,
        str(folder / "key"),
        keep_fields=("fields",),
        unique_ids=True,
        level="level",
        broadcast=False,
    )
    return SanitizeMessages(documents, MessageFormat(), 10)


def _at(second: int, messages: Iterable[Message]) -> list[TimestampedValue]:
    return [TimestampedValue(message, second) for message in messages]


def _stream() -> test_stream.TestStream:
    """Two windows, each message of the first twice; two of the second come late."""
    return (
        test_stream.TestStream(coder=beam.coders.registry.get_coder(Message))
        .add_elements(_at(1, MESSAGES[:3]))
        .add_elements(_at(2, MESSAGES[:3]))
        .add_elements(_at(3, DAMAGED[:1]))
        .advance_watermark_to(10)
        .add_elements(_at(12, MESSAGES[3:4]))
        .advance_watermark_to(20)
        .add_elements(_at(13, MESSAGES[4:]))
        .add_elements(_at(14, DAMAGED[1:]))
        .advance_processing_time(100)
        .advance_watermark_to_infinity()
    )


def _streaming() -> test_pipeline.TestPipeline:
    options = PipelineOptions(["--streaming"])
    return test_pipeline.TestPipeline(runner="BundleBasedDirectRunner", options=options)


def _records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(folder.glob("window-*.json"))]


def test_a_stream_is_published_and_counted_by_window(
    uri: str, tmp_path: Path, expected: dict[bytes, bytes]
) -> None:
    release = StreamRelease("s", str(tmp_path / "out"), str(tmp_path / "metrics"), {"name": "s"})
    release.begin()

    def published(found: list[tuple[bytes, bytes]]) -> None:
        assert sorted(found) == sorted(
            [*expected.items(), *((b"m%d" % i, expected[b"m%d" % i]) for i in range(3))]
        )

    def rejected(found: list[tuple[bytes, bytes]]) -> None:
        assert sorted(key for key, _ in found) == [b"raw/0:90", b"raw/1:91"]
        assert SECRET.encode() not in b"".join(value for _, value in found)

    with _streaming() as pipeline:
        sanitized = (
            pipeline | _stream().with_output_types(Message) | "Sanitize" >> _sanitize(uri, tmp_path)
        )
        assert_that(sanitized.released, published, label="published")
        assert_that(sanitized.dead_letters, rejected, label="rejected")
        sanitized.counts | RecordWindows(release)
    records = _records(tmp_path / "out")
    assert sum(record["documents_out"] for record in records) == 9
    assert sum(record["dead_letters"] for record in records) == 2
    first = next(r for r in records if r["start"].endswith("00:00:00+00:00"))
    assert (first["documents_out"], first["dead_letters"], first["late"]) == (6, 1, 0)
    twice = [pair for i in range(3) for pair in [(b"m%d" % i, expected[b"m%d" % i])] * 2]
    assert first["released_digest"] == released_digest(twice).hex()
    assert [r for r in records if r["late"]], "those of the second window that came later"
    whole = b"".join(tiny.contents(tmp_path / "out").values())
    whole += b"".join(tiny.contents(tmp_path / "metrics").values())
    assert SECRET.encode() not in whole


def test_a_repeated_bundle_publishes_the_same_bytes(
    uri: str, tmp_path: Path, expected: dict[bytes, bytes]
) -> None:
    """Bounded input passes too; every bundle is run twice."""

    def published(found: list[tuple[bytes, bytes]]) -> None:
        assert dict(found) == expected

    options = PipelineOptions(["--direct_runner_bundle_repeat=1"])
    with test_pipeline.TestPipeline(runner="FnApiRunner", options=options) as pipeline:
        sanitized = pipeline | beam.Create(MESSAGES) | _sanitize(uri, tmp_path)
        assert_that(sanitized.released, published)


@pytest.mark.parametrize("word", ["w4", SECRET * 9])
def test_twins_differ_in_what_noise_covers_only(uri: str, tmp_path: Path, word: str) -> None:
    """Streams that differ in one word: the same ids, gaps, dead letters and counts."""
    value = json.dumps({"id": "m1", "text": f"{word}, w5"}).encode()
    messages = [MESSAGES[0], MESSAGES[1]._replace(value=value), DAMAGED[0]]

    def published(found: list[tuple[bytes, bytes]]) -> None:
        texts = {key: json.loads(value)["text"] for key, value in found}
        gaps = {key: re.sub("[a-z0-9]+", "w", text) for key, text in texts.items()}
        assert gaps == {b"m0": "w w, w!", b"m1": "w, w"}

    def rejected(found: list[tuple[bytes, bytes]]) -> None:
        reason = '{"where": "raw/0:90", "reason": "the message is not valid JSON"}'
        assert found == [(b"raw/0:90", reason.encode())]

    def counted(found: list[Any]) -> None:
        [counts] = found
        assert (counts.documents, counts.rejected, counts.tally.tokens) == (2, 1, 5)

    with test_pipeline.TestPipeline(runner="FnApiRunner") as pipeline:
        sanitized = pipeline | beam.Create(messages) | _sanitize(uri, tmp_path)
        assert_that(sanitized.released, published, label="published")
        assert_that(sanitized.dead_letters, rejected, label="rejected")
        assert_that(sanitized.counts, counted, label="counted")


def test_a_stream_needs_a_kept_key(uri: str) -> None:
    with pytest.raises(ConfigurationError, match="`key_uri` is needed"):
        SanitizeDocuments(SETTINGS, uri, broadcast=False)


def test_messages_are_never_sanitized_under_a_key_that_is_not_kept(uri: str) -> None:
    """Also not where the key would be drawn in the job and broadcast."""
    documents = SanitizeDocuments(SETTINGS, uri, keep_fields=("fields",), unique_ids=True)
    with pytest.raises(ConfigurationError, match="`key_uri` is needed for a stream"):
        SanitizeMessages(documents, MessageFormat(), 10)


def test_a_stream_is_one_connected_job(uri: str, tmp_path: Path) -> None:
    """What is not connected would go on after a failure, and keep Beam from replacing a worker."""
    pipeline = beam.Pipeline()
    pipeline | beam.Create(MESSAGES) | _sanitize(uri, tmp_path)
    transforms = pipeline.to_runner_api().components.transforms.values()
    roots = [
        each.unique_name for each in transforms if each.spec.urn == "beam:transform:impulse:v1"
    ]
    assert roots == ["Create/Impulse"]


def test_engines_keep_a_row_for_each_bundle_not_for_each_message() -> None:
    """Whatever goes into the combiner is kept until its window, of a day perhaps, is over."""

    def few(rows: list[WindowCounts]) -> None:
        assert sum(row.documents for row in rows) == 1_000
        assert len(rows) < 100

    with test_pipeline.TestPipeline() as pipeline:
        rows = (
            pipeline
            | beam.Create([TimestampedValue(WindowCounts(documents=1), i) for i in range(1_000)])
            | beam.Map(lambda row: row)
            | beam.WindowInto(FixedWindows(500))
            | beam.ParDo(AddUpBundles())
        )
        assert_that(rows, few)


def test_a_stream_combines_bundles_first(uri: str, tmp_path: Path) -> None:
    pipeline = beam.Pipeline()
    pipeline | beam.Create(MESSAGES) | _sanitize(uri, tmp_path)
    transforms = pipeline.to_runner_api().components.transforms
    [whole] = [each for each in transforms.values() if each.unique_name.endswith("/AddUp")]
    [bundles] = [each for each in transforms.values() if each.unique_name.endswith("/AddUpBundles")]
    assert set(whole.inputs.values()) == set(bundles.outputs.values())


def test_a_window_has_a_length(uri: str, tmp_path: Path) -> None:
    documents = _sanitize(uri, tmp_path)._sanitize
    with pytest.raises(ConfigurationError, match="`window` must be at least one second"):
        SanitizeMessages(documents, MessageFormat(), 0)
