"""What settings do to words after decoding: dxbeam measure and dxbeam calibrate."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dxbeam.errors import ConfigurationError
from dxbeam.language.artifact import write_language_model
from dxbeam.space.artifact import artifact
from pipelines.calibrate import calibrate
from pipelines.measure import measure_settings
from pipelines.sanitize import sanitize
from tests.support import decoded, tiny

Launcher = Callable[[Sequence[str]], None]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Flags of a vocabulary, and a language model in which a word follows the one before it."""
    folder = tmp_path_factory.mktemp("public")
    uri = tiny.write_artifact(folder / "vocabulary", decoded.vocabulary())
    words = artifact.open_vocabulary(uri)
    write_language_model(str(folder / "model"), decoded.language_model(words), None)
    return [f"--vocabulary={uri}", f"--language_model={folder}/model"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> str:
    records = [
        {"id": document.id, "text": f"{document.text} qzxqzx"} for document in decoded.texts()
    ]
    path = tiny.write_jsonl(tmp_path_factory.mktemp("corpus") / "texts.jsonl", records)
    return f"--input={path}"


def _rows(output: Path, table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(output / table).to_pylist()
    return rows


def test_decoders_are_measured_on_the_texts_of_a_corpus(
    places: list[str], corpus: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Next to the same words without them; nothing that is written names a word."""
    named = "laplace,laplace:decode=prior,laplace:decode=context,fluent,santext"
    output = tmp_path / "out"
    flags = [f"--mechanisms={named}", "--epsilons=2", "--words=300", "--rank_cs=0.05"]
    measure_settings([*places, corpus, f"--output={output}", *flags])
    rows = _rows(output, "proportions.parquet")
    plain = [row for row in rows if row["rank_c"] is None]
    nearest, prior, context, fluent, _ = (row["original"] for row in plain)
    assert context > nearest + 0.1
    assert fluent > 0
    assert prior != nearest
    assert len({row["words"] for row in rows}) == 1
    assert 300 <= plain[0]["words"] < 330
    for row in rows:
        assert row["original_low"] < row["original"] < row["original_high"]
        assert sum(row[share] for share in ("original", "close", "distant")) == pytest.approx(1)
    page = (output / "report.html").read_text()
    assert "the first 200 words" in page
    assert "any two original words in the same place" in page  # of documents
    told = "".join(capfd.readouterr()) + page + tiny.told(output / "proportions.parquet")
    assert not re.search(r"\b(w\d\d|qzxqzx)\b", told)


def test_words_of_the_vocabulary_are_decoded_by_themselves(
    places: list[str], tmp_path: Path
) -> None:
    flags = ["--mechanisms=laplace,santext", "--epsilons=1,2", "--words=60", "--repeats=3"]
    given = [*places, f"--output={tmp_path}/out", *flags]
    measure_settings([*given, "--decode=prior", "--decode_loss=distance"])
    measure_settings([places[0], f"--output={tmp_path}/plain", *flags])
    rows, before = (_rows(tmp_path / name, "proportions.parquet") for name in ("out", "plain"))
    named = f"decode=prior,decode_loss=distance,{places[1][2:]}"
    assert {row["parameters"] for row in rows} == {named}
    for row, other in zip(rows, before, strict=True):
        assert [row[share] for share in ("original", "close")] != [
            other[share] for share in ("original", "close")
        ]
    of_noise = [row["quantity"] for row in _rows(tmp_path / "out", "geometry.parquet")]
    assert set(of_noise) == {"threshold"}  # the paper's bounds are of the nearest word
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"--decode prior --decode_loss distance {places[1].replace('=', ' ')}" in page


def test_the_answer_is_for_decoded_words(
    places: list[str], corpus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Context needs less epsilon, and the flags that are printed decode."""
    target = ["--at_least=original=0.6", "--rank_cs=none", "--epsilons=0.5:5:0.5", "--words=400"]
    answers, told = [], ""
    for decode in ("nearest", "context"):
        given = places if decode == "context" else places[:1]
        output = f"--output={tmp_path}/{decode}"
        calibrate([*given, corpus, output, f"--decode={decode}", *target])
        told = capsys.readouterr().out
        answers += re.findall(r"Answer .*: epsilon = ([\d.]+) with no", told)
    assert float(answers[1]) < float(answers[0])
    assert "every word counts alike" not in told
    flags = told.splitlines()[-1]
    assert f" --decode context {places[1].replace('=', ' ')} --input" in flags
    page = (tmp_path / "context" / "report.html").read_text()
    assert "Computed from raw text" in page
    assert "find one on texts that are public and alike" in page
    pasted = flags.replace("--input …", corpus).replace("…", f"{tmp_path}/release")
    sanitize([*shlex.split(pasted)[2:], "--dry_run"])  # is not refused


@pytest.mark.parametrize(
    ("launcher", "flags", "said"),
    [
        (measure_settings, ["--decode=context"], "so it is measured on texts; name them with"),
        (measure_settings, ["--mechanisms=fluent"], "so it is measured on texts; name them with"),
        (measure_settings, [], "--language_model is read by fluent and by decoders"),
        (measure_settings, ["--decode_loss=word"], "--decode_loss is of use with --decode"),
        (measure_settings, ["--decode=best"], "--decode"),
        (measure_settings, ["--decode=prior", "--mechanisms=vickrey,fluent"], "fluent"),
        (
            measure_settings,
            ["--decode=prior", "--mechanisms=laplace:decode=context"],
            "decode is given for all of them",
        ),
        (calibrate, ["--decode=context"], "so it is measured on texts; name them with --input"),
        (calibrate, [], "--language_model is read by fluent and by decoders"),
        (calibrate, ["--decode=prior", "--mechanism=fluent"], "fluent"),
    ],
)
def test_what_cannot_be_known_is_refused(
    launcher: Launcher, flags: list[str], said: str, places: list[str], tmp_path: Path
) -> None:
    target = ["--at_most=distant=0.5"] if launcher is calibrate else []
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        launcher([*places, f"--output={tmp_path}/out", *target, *flags])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("launcher", [measure_settings, calibrate])
def test_a_decoder_needs_a_language_model_of_this_vocabulary(
    launcher: Launcher, places: list[str], tmp_path: Path
) -> None:
    target = ["--at_most=distant=0.5"] if launcher is calibrate else []
    for given, said in (
        (places[:1], "name it with --language_model"),
        (["--vocabulary=demo", places[1]], "vocabulary"),
    ):
        with pytest.raises(Exception, match=said):
            launcher([*given, f"--output={tmp_path}/out", "--decode=prior", *target, "--dry_run"])
