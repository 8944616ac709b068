"""dxbeam sanitize-stream: what it asks for, what it refuses in a sentence, and what it says."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.testing import test_pipeline

from dxbeam.commands.flags.registry import SANITIZE_STREAM
from dxbeam.commands.jobs.sanitize_stream import prepare
from dxbeam.commands.options import parse
from dxbeam.corpus.messages import Message
from dxbeam.errors import ConfigurationError, DxbeamError, RunError
from dxbeam.transforms.streams import kafka
from pipelines import sanitize_stream as launcher
from pipelines.sanitize_stream import sanitize_stream
from tests.support import tiny


@pytest.fixture
def flags(uri: str, tmp_path: Path) -> dict[str, str]:
    (tmp_path / "key").write_text(tiny.KEY.hex())
    (tmp_path / "properties").write_text("# TLS\n\nsecurity.protocol = SSL\n")
    return {
        "brokers": "localhost:9092",
        "input_topic": "raw",
        "output_topic": "released",
        "vocabulary": uri,
        "epsilon": "5",
        "key_uri": str(tmp_path / "key"),
        "output": str(tmp_path / "out"),
        "kafka_properties": str(tmp_path / "properties"),
    }


def _argv(flags: dict[str, str]) -> list[str]:
    return [f"--{name}={value}" for name, value in flags.items()]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        *(
            ({name: ""}, f"--{name} is needed")
            for name in ("brokers", "input_topic", "output_topic", "vocabulary", "key_uri")
        ),
        ({"output_topic": "raw"}, "must be three topics"),
        ({"dead_letter_topic": "raw"}, "must be three topics"),
        ({"message_time": "yesterday"}, "--message_time: choose from processing, log_append"),
        ({"window": "0"}, "--window"),
        ({"largest_message": "-1"}, "--largest_message"),
        ({"oldest_message": "0"}, "--oldest_message must be a positive number"),
        ({"keep_fields": "text"}, "--keep_fields names 'text'"),
        ({"epsilon_by": "text:a=1"}, "--epsilon_by names 'text'"),
        ({"kafka_properties": "/nowhere"}, "--kafka_properties /nowhere: cannot be read"),
        ({"metrics_output": "OUT/metrics"}, "is within --output"),
        ({"ledger": "OUT/ledger", "corpus_id": "raw"}, "--ledger is within --output"),
        ({"ledger": "L"}, "--corpus_id is needed"),
        ({"runner": "FnApiRunner"}, "a stream needs an engine"),
        ({"experiments": "enable_data_sampling"}, "--experiments enable_data_sampling shows"),
        ({"input": "x.jsonl"}, "unknown flag --input"),
        ({"bag_of_words": "50"}, "unknown flag --bag_of_words"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    flags: dict[str, str], changes: dict[str, str], sentence: str
) -> None:
    changed = {n: v.replace("OUT", flags["output"]) for n, v in changes.items()}
    with pytest.raises(DxbeamError) as refused:
        sanitize_stream(_argv(flags | changed))
    assert sentence in str(refused.value)
    assert not Path(flags["output"]).exists()


def test_a_line_that_is_no_property_is_not_shown() -> None:
    with pytest.raises(ConfigurationError, match="line 2: no name=value") as refused:
        kafka.read_properties("f", "a=b=c\nsecret words\n")
    assert "secret" not in str(refused.value)
    assert kafka.read_properties("f", " a = b=c \n#x\n\n") == (("a", "b=c"),)


def test_a_dry_run_says_what_would_be_promised(
    flags: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    sanitize_stream([*_argv(flags), "--dry_run"])
    said = capsys.readouterr().out
    assert "raw to released, dead letters to released-dead-letters" in said
    assert "likelihood ratio of at most exp(5 * d(x, x'))" in said
    assert not Path(flags["output"]).exists()


def test_the_pipeline_publishes_what_it_reads(
    flags: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With a transport in memory in Kafka's place."""
    messages = [Message("raw/0", 0, 0.0, b'{"text": "w1 w2"}'), Message("raw/0", 1, 0.0, b"{")]

    def publish(_: object, topic: str) -> beam.PTransform:
        return beam.Map(lambda pair: f"{topic} {pair[0].decode()}") | beam.io.WriteToText(
            str(tmp_path / topic)
        )

    monkeypatch.setattr(kafka.Kafka, "read", lambda *_: beam.Create(messages))
    monkeypatch.setattr(kafka.Kafka, "publish", publish)
    monkeypatch.setattr(
        launcher.launch, "new_pipeline", lambda _: test_pipeline.TestPipeline("FnApiRunner")
    )
    options = parse(_argv(flags), SANITIZE_STREAM, "")
    job = launcher.read_options(options)
    assert job.kafka.properties == (("security.protocol", "SSL"),)
    assert job.group == f"dxbeam-{job.release.name}"
    job.release.begin()
    launcher.build(job).run().wait_until_finish()
    [record] = [json.loads(p.read_text()) for p in Path(flags["output"]).glob("window-*")]
    assert (record["documents_out"], record["dead_letters"], record["tokens"]) == (1, 1, 2)
    stream = json.loads((Path(flags["output"]) / "stream.json").read_text())
    assert stream["key"]["kept"]
    assert any("Each message is a document" in c for c in stream["guarantee"]["caveats"])
    assert not {tiny.KEY.hex(), str(tmp_path / "key")} & set(json.dumps(stream).split('"'))
    written = "".join(path.read_text() for path in tmp_path.glob("released*"))
    assert sorted(written.split()) == ["raw/0:0", "raw/0:1", "released", "released-dead-letters"]


def test_a_stream_that_fails_does_not_say_that_nothing_was_released(
    flags: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("the engine\nlost all its workers")

    monkeypatch.setattr(launcher, "prepare", lambda _: None)
    monkeypatch.setattr(launcher, "build", lambda _: None)
    monkeypatch.setattr(launcher.launch, "run", fail)
    with pytest.raises(RunError, match=r"what was published stays.*: lost all its workers"):
        sanitize_stream(_argv(flags))


def test_beams_own_service_is_asked_where_no_other_is_named() -> None:
    service = kafka.Kafka("localhost:9092")._service
    assert "expansion-service" in str(vars(service))
    assert kafka.Kafka("h:1", expansion_service="h:2")._service == "h:2"
    assert sys.modules["apache_beam.io.kafka"]


def test_flink_keeps_no_raw_message_in_its_checkpoints(flags: dict[str, str]) -> None:
    """Bundles end, and all is handed on, before the state is kept."""
    argv = [*_argv(flags), "--runner=FlinkRunner", "--checkpoint_seconds=7"]
    options = parse(argv, SANITIZE_STREAM, "")
    prepare(options)
    assert options._flags[-2:] == [
        "--checkpointing_interval=7000",
        "--finish_bundle_before_checkpointing",
    ]
