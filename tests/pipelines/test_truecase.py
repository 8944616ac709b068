"""Capitals by the command line: what release.json says, what is released, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dxbeam
from dxbeam.errors import DxbeamError
from dxbeam.text.truecase import truecased
from pipelines.build_language_model import build_language_model
from tests.support import tiny

TEXTS = ["Mr. SMITH flew to PARIS on Monday.\nHe said: no!", "all lower case. really", ""]


def _run(folder: Path, name: str, *flags: str) -> dict[str, Any]:
    return tiny.run_demo(folder, name, TEXTS, *flags)


def test_a_release_with_capitals_is_the_one_without_written_again(tmp_path: Path) -> None:
    plain = _run(tmp_path, "plain")
    manifest = _run(tmp_path, "cased", "--truecase", "--language_model=demo")
    model = dxbeam.open_language_model("demo", dxbeam.open_vocabulary("demo"))
    assert model.casings is not None
    without = tiny.released(tmp_path / "plain")
    assert tiny.released(tmp_path / "cased") == {
        each: truecased(text, model.casings.forms) for each, text in without.items()
    }
    assert manifest["configuration"]["truecase"] == {"model": model.digest, "rule": "truecase-1"}
    assert manifest["configuration_digest"] == plain["configuration_digest"]
    assert any("model must be public" in each for each in manifest["guarantee"]["caveats"])
    assert tiny.verified(tmp_path / "cased", "demo").unchecked == ()


def test_it_goes_with_a_decoder(tmp_path: Path) -> None:
    manifest = _run(tmp_path, "both", "--truecase", "--decode=context", "--language_model=demo")
    assert {"decoder", "truecase"} <= set(manifest["configuration"])
    assert tiny.verified(tmp_path / "both", "demo").unchecked == ()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--truecase"], "--truecase needs a --language_model"),
        (["--truecase", "--language_model=demo", "--bag_of_words=5"], "leave one out"),
    ],
)
def test_what_does_not_go_together_is_refused(flags: list[str], said: str, tmp_path: Path) -> None:
    with pytest.raises(DxbeamError, match=said):
        _run(tmp_path, "release", *flags)
    assert not (tmp_path / "release").exists()


def test_a_model_of_the_corpus_itself_is_refused(tmp_path: Path) -> None:
    records = [{"id": f"d{number}", "text": text} for number, text in enumerate(TEXTS)]
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", records)
    build_language_model(
        [f"--input={corpus}", "--vocabulary=demo", f"--output={tmp_path / 'model'}", "--held_out=0"]
    )
    with pytest.raises(DxbeamError, match="voids the guarantee"):
        _run(tmp_path, "release", "--truecase", f"--language_model={tmp_path / 'model'}")
    assert not (tmp_path / "release").exists()
