"""--detect in whole runs: what is released and recorded, and that no address is anywhere."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import apache_beam as beam
import pytest

from dxbeam.errors import ConfigurationError, RunError
from dxbeam.text.detection import detector, presidio
from dxbeam.text.detection.spans import Span
from dxbeam.transforms.yaml import SanitizeRows
from tests.support import fake_recognizers, tiny

DETECT = ("--detect=presidio", "--allow_unsound")
RECORDS = [
    {"id": f"d{i}", "text": f"w1 secret{i}@clandestine.example, w2 +49 {i} 5550000! strange"}
    for i in range(30)
]
SECRETS = re.compile(rb"secret\d|clandestine|5550000")


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    fake_recognizers.install(monkeypatch)
    yield
    detector._open.cache_clear()


def test_a_release_with_placeholders(
    uri: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", RECORDS)
    with caplog.at_level(logging.DEBUG, logger="dxbeam"):
        release = tiny.run(uri, corpus, tmp_path / "out", *DETECT, "--num_shards=1")
    texts = tiny.released(tmp_path / "out").values()
    assert all(re.fullmatch(r"\S+ <EMAIL>, \S+ <PHONE>! \S+", text) for text in texts)
    assert release["configuration"]["detect"]["by"] == "presidio"
    assert release["tokens"] == 5 * len(RECORDS)
    assert "placeholders and their places" in release["unprotected"]
    assert "leaves in place" in release["guarantee"]["sentence"]
    tiny.verified(tmp_path / "out", uri)
    metrics = json.loads((tmp_path / "out-metrics" / "metrics.json").read_text())
    assert '"detected": 60' in json.dumps(metrics)
    printed = capfd.readouterr()
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    written = [content for content in written if content != corpus.read_bytes()]
    assert not SECRETS.search((caplog.text + printed.out + printed.err).encode())
    assert not any(SECRETS.search(content) for content in written)


def test_a_run_that_fails_in_a_recogniser_says_nothing_of_the_text(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object, text: str) -> Iterator[Span]:
        raise ValueError(text)
        yield

    monkeypatch.setattr(presidio, "recognized", fail)
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", RECORDS)
    with pytest.raises(RunError, match=r"^--detect: a recogniser failed on a document") as failed:
        tiny.run(uri, corpus, tmp_path / "out", *DETECT)
    assert not SECRETS.search((str(failed.value) + "".join(capfd.readouterr())).encode())
    assert not (tmp_path / "out" / "release.json").exists()


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--detect=presidio",), "--detect: nothing is promised for e-mail addresses"),
        ((*DETECT, "--bag_of_words=5"), "--bag_of_words releases no places"),
        (("--detect=regex",), "--detect is none or presidio, not 'regex'"),
        (("--detect_model=m",), "--detect_model is only of use with --detect presidio"),
        ((*DETECT, "--ledger=l", "--corpus_id=c"), "nothing for some words"),
    ],
)
def test_what_makes_no_sense_is_refused(
    uri: str, tmp_path: Path, flags: tuple[str, ...], sentence: str
) -> None:
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", RECORDS)
    with pytest.raises(ConfigurationError, match=re.escape(sentence)):
        tiny.run(uri, corpus, tmp_path / "out", *flags)


def test_the_transform_of_yaml_takes_it(uri: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(tiny.KEY.hex())
    sanitize = SanitizeRows(
        uri, 5.0, detect="presidio", allow_unsound=True, key_uri=str(tmp_path / "key")
    )
    with tiny.pipeline() as pipeline:
        rows = pipeline | beam.Create([beam.Row(**record) for record in RECORDS[:3]])
        documents = (rows | sanitize)["documents"] | beam.Map(lambda row: (row.id, row.text))
        documents | beam.Map(lambda row: _write(tmp_path, row))
    texts = [path.read_text() for path in (tmp_path / "texts").iterdir()]
    assert len(texts) == 3
    assert all("<EMAIL>, " in text and "<PHONE>!" in text for text in texts)


def _write(folder: Path, row: tuple[str, str]) -> None:
    (folder / "texts").mkdir(exist_ok=True)
    (folder / "texts" / row[0]).write_text(row[1])
