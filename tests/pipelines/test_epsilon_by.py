"""A release with an epsilon for each document: the job, its manifest, its ledger, its refusals."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.testing import util

from dxbeam.documents import Document
from dxbeam.errors import DxbeamError
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.release.verification.verify import verify_release
from dxbeam.space.artifact import artifact
from dxbeam.text.batch import Batch
from dxbeam.text.configuration import Configuration
from dxbeam.text.epsilon_by_field import EpsilonByField
from dxbeam.text.parts.batch_sizes import BatchSizes
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.transforms import sanitize_rows
from dxbeam.transforms.sanitize import SanitizeDocuments
from dxbeam.transforms.sanitize_rows import MOST_CHARACTERS
from pipelines.sanitize import sanitize
from tests.support import tiny
from tests.support.refusals import refused

LEVELS = EpsilonByField("consent", (("low", 2.0), ("high", 8.0)))
TEXTS = tiny.texts(9)


def leveled(number: int) -> str:
    return ("low", "high", "none")[number % 3]


def released_alone(uri: str, epsilon: float, number: int) -> str:
    vocabulary = artifact.open_vocabulary(artifact.handle(uri))
    sanitizer = Sanitizer(vocabulary, Laplace(epsilon), tiny.KEY)
    [result] = sanitizer.sanitize([Document(f"d{number}", TEXTS[number])])
    assert result.document
    return result.document.text


def write(folder: Path, name: str, **levels: str) -> Path:
    records = [
        {"id": f"d{number}", "text": text, "consent": levels.get(f"d{number}", leveled(number))}
        for number, text in enumerate(TEXTS)
    ]
    (folder / "key").write_text(tiny.KEY.hex())
    (folder / "key").chmod(0o600)
    return tiny.write_jsonl(folder / f"{name}.jsonl", records)


@pytest.mark.slow
def test_the_job_releases_each_document_with_its_epsilon(uri: str, tmp_path: Path) -> None:
    flags = (
        "--epsilon_by=consent:low=2,high=8",
        f"--key_uri={tmp_path / 'key'}",
        f"--ledger={tmp_path / 'ledger'}",
        "--corpus_id=c",
    )
    first, changed = write(tmp_path, "first"), write(tmp_path, "changed", d0="high")
    release = tiny.run(uri, first, tmp_path / "out", *flags)
    assert release["guarantee"]["epsilon"] == 8.0
    assert release["configuration"]["epsilon_by"]["epsilons"] == {"high": 8.0, "low": 2.0}
    assert verify_release(str(tmp_path / "out")).manifest == release
    assert tiny.released(tmp_path / "out") == {
        f"d{number}": released_alone(uri, LEVELS.epsilon_of(leveled(number)) or 5.0, number)
        for number in range(len(TEXTS))
    }
    spent = [json.loads(line) for line in (tmp_path / "ledger").read_text().splitlines()]
    assert {entry["epsilon"] for entry in spent if "epsilon" in entry} == {8.0}
    # With another level of one document it is no copy of the release.
    other = tiny.run(uri, changed, tmp_path / "other", *flags)
    assert other["configuration_digest"] == release["configuration_digest"]
    assert other["corpus_digest"] != release["corpus_digest"]


@pytest.mark.parametrize("longest", [0, MOST_CHARACTERS])
def test_the_order_of_a_file_does_not_show_the_levels(
    uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, longest: int
) -> None:
    """Also where a long text makes those before it too many to wait."""
    monkeypatch.setattr(sanitize_rows, "Batch", partial(Batch, sizes=BatchSizes(64)))
    texts = tiny.texts(60, longest=9)
    texts[30] += " " * longest
    records = [
        {"id": f"d{n}", "text": text, "consent": "high" if n % 20 == 3 else "low"}
        for n, text in enumerate(texts)
    ]
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", records)
    flags = ("--epsilon_by=consent:low=2,high=8", "--local_processes=1")
    tiny.run(uri, corpus, tmp_path / "out", *flags)
    assert list(tiny.released(tmp_path / "out")) == [record["id"] for record in records]


def test_without_an_epsilon_for_the_others_they_are_dead_letters(uri: str, tmp_path: Path) -> None:
    corpus = write(tmp_path, "in", d2="secret")
    out = tmp_path / "out"
    flags = ["--epsilon_by=consent:low=2,high=8", f"--vocabulary={uri}", f"--input={corpus}"]
    sanitize([*flags, f"--output={out}"])
    assert set(tiny.released(out)) == {f"d{n}" for n in range(9) if n % 3 != 2}
    letters = tiny.dead_letters(out)
    assert len(letters) == 3
    assert {letter["reason"] for letter in letters} == {LEVELS.problem}
    assert "secret" not in json.dumps(letters)


def test_rows_are_released_by_an_attribute_and_others_rejected(uri: str) -> None:
    settings = Configuration(Laplace(8.0), epsilon_by=LEVELS)
    with tiny.pipeline() as pipeline:
        rows = pipeline | beam.Create(
            [
                beam.Row(id=f"d{number}", text=text, consent=leveled(number))
                for number, text in enumerate(TEXTS)
            ]
        )
        results = rows | SanitizeDocuments(settings, uri)
        util.assert_that(
            results.documents | beam.Map(lambda row: row.id),
            util.equal_to([f"d{n}" for n in range(9) if n % 3 != 2]),
        )
        util.assert_that(
            results.rejected | "Where" >> beam.Map(lambda row: row.where),
            util.equal_to(["d2", "d5", "d8"]),
            label="rejected",
        )


@refused(
    """
    --epsilon_by=text:a=1                         the field that is sanitized
    --epsilon_by=consent                          write it as FIELD
    --epsilon_by=missing:a=1                      has a field 'missing'
    --epsilon_by=consent:a=1 --input_format=text  plain text has no fields
    """
)
def test_fields_that_cannot_decide_are_refused(
    uri: str, tmp_path: Path, flags: list[str], said: str
) -> None:
    corpus = write(tmp_path, "in")
    with pytest.raises(DxbeamError, match=said):
        tiny.run(uri, corpus, tmp_path / "out", *flags)
    assert not (tmp_path / "out").exists()
