"""The frontier of decoders and ``fluent``, from the command line."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dxbeam.errors import DxbeamError
from dxbeam.language.artifact import write_language_model
from dxbeam.language.model import language_model_of
from dxbeam.space.artifact import artifact
from pipelines.frontier import measure_frontier
from tests.support import tiny

SENTENCES = ["w1 w2 w3 w4 w5", "w1 w2 w7 w8", "w11 w12 w5 w3", "w2 w3 w9 w1 w15"]
DECODED = "laplace,laplace:decode=context,santext:decode=prior:decode_loss=distance,fluent"


def _flags(folder: Path, mechanisms: str) -> list[str]:
    """With a vocabulary, texts, and a model of them."""
    uri = tiny.write_artifact(folder / "vocabulary")
    words = artifact.open_vocabulary(artifact.handle(uri))
    sentences = [[int(word[1:]) for word in sentence.split()] for sentence in SENTENCES]
    model = language_model_of(sentences * 10, words, 3)
    write_language_model(str(folder / "model"), model, None)
    records = [
        {"id": str(number), "text": SENTENCES[number % 4], "side": number % 2}
        for number in range(40)
    ]
    corpus = tiny.write_jsonl(folder / "corpus.jsonl", records)
    places = [f"--input={corpus}", f"--public_input={corpus}", f"--output={folder / 'out'}"]
    sizes = ["--attacked_words=20", "--pairs=200", "--task_documents=40"]
    return [*places, *sizes, f"--vocabulary={uri}", f"--mechanisms={mechanisms}", "--epsilons=2"]


def test_decoders_and_fluent_are_measured_on_texts(tmp_path: Path) -> None:
    model = f"{tmp_path}/model"
    flags = [f"--language_model={model}", "--context_documents=30", "--task=side"]
    given = _flags(tmp_path, DECODED)
    measure_frontier([*given, *flags, "--rank_cs=0.05", "--most_risk=0.99"])
    rows = pq.read_table(tmp_path / "out" / "frontier.parquet").to_pylist()
    assert [(row["mechanism"], row["parameters"], row["rank_c"]) for row in rows] == [
        ("laplace", "", None),
        ("laplace", "", 0.05),
        ("laplace", f"decode=context,language_model={model}", None),
        ("santext", f"decode=prior,decode_loss=distance,language_model={model}", None),
        ("fluent", f"language_model={model}", None),
    ]
    _, _, context, prior, fluent = rows
    for row in rows:
        for name in ("useful", "unchanged", "context", "task_accuracy"):
            assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
    assert context["released_word"] == context["unchanged"] > rows[0]["unchanged"]
    assert context["noisy_vector"] is not None
    assert prior["noisy_vector"] is None
    assert prior["noisy_context"] is not None
    assert fluent["noisy_context"] is None
    assert fluent["context"] >= fluent["unchanged"] - 0.1
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"laplace (decode=context,language_model={model})" in page


@pytest.mark.parametrize(
    ("mechanisms", "flags", "said"),
    [
        ("laplace", ["--language_model=MODEL"], "--language_model is read by fluent and"),
        ("fluent", ["--language_model=MODEL"], "so it is measured on texts"),
        ("laplace:decode=context", ["--context_documents=9"], "name it with --language_model"),
    ],
)
def test_what_is_missing_is_named(
    mechanisms: str, flags: list[str], said: str, tmp_path: Path
) -> None:
    given = [flag.replace("MODEL", f"{tmp_path}/model") for flag in flags]
    with pytest.raises(DxbeamError, match=said):
        measure_frontier([*_flags(tmp_path, mechanisms), *given])
    assert not (tmp_path / "out").exists()
