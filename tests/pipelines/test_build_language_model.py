"""Public text to a language model, by outcome."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from dxbeam.errors import DxbeamError
from dxbeam.language.artifact import open_language_model
from dxbeam.language.model import LanguageModel, arrays, language_model_of
from dxbeam.language.sentences import sentence_ends
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.tokenization import split
from pipelines.build_language_model import build_language_model
from tests.support import tiny

WORDS = [f"w{i}" for i in range(60)]


@pytest.fixture
def vocabulary(tmp_path: Path) -> str:
    made = tiny.vocabulary(60, 2)
    (tmp_path / "vocabulary").mkdir()
    return tiny.write_artifact(tmp_path / "vocabulary", made, 5)


def _texts(number: int = 40) -> list[str]:
    generator = np.random.default_rng(0)
    texts = []
    for _ in range(number):
        words = [f"w{min(i, 70)}" for i in generator.zipf(1.4, 50)]
        gaps = generator.choice(
            [" ", ", ", ". ", "! ", "\n"], len(words), p=[0.7, 0.1, 0.1, 0.05, 0.05]
        )
        texts.append("".join(w.upper() + g for w, g in zip(words, gaps, strict=True)))
    return texts


def _write(folder: Path, texts: Iterable[str], files: int = 1) -> str:
    texts = list(texts)
    folder.mkdir()
    for number in range(files):
        rows = [
            json.dumps({"id": f"{number}-{i}", "text": t})
            for i, t in enumerate(texts[number::files])
        ]
        (folder / f"part-{number}.jsonl").write_text("\n".join(rows) + "\n")
    return str(folder / "*.jsonl")


def _direct(texts: Iterable[str], vocabulary: Vocabulary, order: int) -> LanguageModel:
    sentences = []
    for text in texts:
        gaps, words = split(text)
        ids = vocabulary.ids_of(words)
        ends = [i for i in range(1, len(words)) if sentence_ends(gaps[i])]
        sentences += np.split(ids, ends)
    return language_model_of(sentences, vocabulary, order)


WORKER_PROCESS = ["--direct_running_mode=multi_processing", "--direct_num_workers=1"]


@pytest.mark.parametrize(
    ("order", "files", "flags"),
    [
        (2, 1, []),
        (3, 3, []),
        pytest.param(2, 3, WORKER_PROCESS, marks=pytest.mark.slow),
        (2, 1, ["--direct_runner_bundle_repeat=1"]),
    ],
)
def test_the_job_makes_what_the_library_makes(
    tmp_path: Path, vocabulary: str, order: int, files: int, flags: list[str]
) -> None:
    corpus = _write(tmp_path / "public", _texts(), files)
    output = str(tmp_path / "model")
    build_language_model([
        f"--input={corpus}", f"--vocabulary={vocabulary}", f"--output={output}",
        f"--order={order}", "--held_out=0", *flags,
    ])  # fmt: skip
    opened = open_vocabulary(vocabulary)
    built, expected = open_language_model(output, opened), _direct(_texts(), opened, order)
    for name, array in arrays(expected.numbers).items():
        assert np.array_equal(arrays(built.numbers)[name], array), name
    manifest = json.loads((tmp_path / "model" / "manifest.json").read_text())
    assert manifest["held_out"]["perplexity"] is None
    assert manifest["counted"]["documents"] == 40
    assert manifest["counted"]["words"] == 2000
    assert manifest["counted"]["unknown_words"] > 0
    left = {path.name for path in (tmp_path / "model").rglob("*")}
    assert left == {"manifest.json", *manifest["files"]}


def test_an_exponent_is_in_the_manifest_and_in_every_probability(
    tmp_path: Path, vocabulary: str
) -> None:
    corpus, output = _write(tmp_path / "public", _texts()), str(tmp_path / "model")
    flags = [f"--input={corpus}", f"--vocabulary={vocabulary}", f"--output={output}"]
    build_language_model([*flags, "--held_out=0", "--exponent=1.5"])
    opened = open_vocabulary(vocabulary)
    built, plain = open_language_model(output, opened), _direct(_texts(), opened, 2)
    power = plain.probabilities(plain.start) ** 1.5
    assert np.allclose(built.probabilities(built.start), power / power.sum(), rtol=1e-9, atol=0)
    assert json.loads((tmp_path / "model" / "manifest.json").read_text())["exponent"] == 1.5


def test_documents_held_out_are_in_no_count(tmp_path: Path, vocabulary: str) -> None:
    corpus = _write(tmp_path / "public", _texts(200))
    build_language_model([
        f"--input={corpus}", f"--vocabulary={vocabulary}", f"--output={tmp_path / 'model'}",
        "--held_out=0.3", "--prune=1",
    ])  # fmt: skip
    manifest = json.loads((tmp_path / "model" / "manifest.json").read_text())
    held_out, counted = manifest["held_out"], manifest["counted"]
    assert held_out["documents"] + counted["documents"] == 200
    assert 30 < held_out["documents"] < 90  # beyond 4 standard deviations of 60
    assert held_out["words"] == 50 * held_out["documents"]
    assert 2 < held_out["perplexity"] < 61


def test_casings_are_counted_before_folding(tmp_path: Path, vocabulary: str) -> None:
    texts = ["W1 met W2 in W3. W4 saw w2.", "a W2, w5 W2. W5 w5 w3 W3 W3", "W6! W6! W6! then w6"]
    build_language_model([
        f"--input={_write(tmp_path / 'public', texts)}", f"--vocabulary={vocabulary}",
        f"--output={tmp_path / 'model'}", "--held_out=0",
    ])  # fmt: skip
    with pa.memory_map(str(tmp_path / "model" / "casings.arrow")) as file:
        rows = pa.ipc.open_file(file).read_all().to_pylist()
    assert rows == [
        {"word": 2, "form": "W2", "inside": 3, "first": 0},
        {"word": 2, "form": "w2", "inside": 1, "first": 0},
        {"word": 3, "form": "W3", "inside": 3, "first": 0},
        {"word": 3, "form": "w3", "inside": 1, "first": 0},
    ]


def test_a_published_model_is_read(
    tmp_path: Path, vocabulary: str, capsys: pytest.CaptureFixture
) -> None:
    arpa = "\\data\\\nngram 1=3\nngram 2=1\n\n\\1-grams:\n-0.5\tw1\t-0.3\n-0.5\tw2\n-0.5\t<unk>\n\n"
    arpa += "\\2-grams:\n-0.1\tw1 w2\n\n\\end\\\n"
    (tmp_path / "m.arpa.gz").write_bytes(gzip.compress(arpa.encode()))
    flags = [f"--arpa={tmp_path / 'm.arpa.gz'}", f"--vocabulary={vocabulary}"]
    build_language_model([*flags, f"--output={tmp_path / 'model'}"])
    model = open_language_model(tmp_path / "model", open_vocabulary(vocabulary))
    assert model.successors(1)[0].tolist() == [2]
    assert "58 words it lacks" in capsys.readouterr().out
    with pytest.raises(DxbeamError, match="no 3-grams"):
        build_language_model([*flags, f"--output={tmp_path / 'other'}", "--order=3"])


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ([], "give one of them"),
        (["--input={corpus}", "--arpa=x"], "give one of them"),
        (["--input={corpus}", "--order=4"], "2 or 3"),
        (["--input={corpus}", "--held_out=1"], "share"),
        (["--input={corpus}", "--exponent=0"], "up to 4"),
        (["--input={corpus}", "--held_out=nan"], "share"),
        (["--input={corpus}", "--orders=2"], "orders"),
        (["--input={corpus}.none"], "no file matches"),
        (["--arpa={tmp}/none"], "cannot be read"),
        (["--arpa={tmp}/public/part-0.jsonl"], "cut off"),
    ],
)
def test_what_cannot_be_built_is_refused_before_anything_is_written(
    tmp_path: Path, vocabulary: str, flags: list[str], sentence: str
) -> None:
    corpus = _write(tmp_path / "public", _texts(3))
    filled = [flag.format(corpus=corpus, tmp=tmp_path) for flag in flags]
    with pytest.raises(DxbeamError, match=sentence):
        build_language_model(
            [*filled, f"--vocabulary={vocabulary}", f"--output={tmp_path / 'model'}"]
        )
    assert not (tmp_path / "model").exists()


def test_a_text_without_words_leaves_nothing(tmp_path: Path, vocabulary: str) -> None:
    corpus = _write(tmp_path / "public", ["... !"])
    with pytest.raises(DxbeamError, match="no words"):
        build_language_model(
            [f"--input={corpus}", f"--vocabulary={vocabulary}", f"--output={tmp_path / 'model'}"]
        )
    assert not [path for path in (tmp_path / "model").rglob("*") if path.is_file()]
