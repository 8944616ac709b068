"""``fluent`` from the command line: the same words as in a notebook, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import dxbeam
from dxbeam.documents import Document
from dxbeam.errors import DxbeamError
from dxbeam.release.verification.verify import verify_release
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitizer
from pipelines.sanitize import sanitize
from tests.support import tiny

TEXTS = ["The film is one of the best of the year.", "It was not very good, they said.", ""]


def _run(folder: Path, *flags: str) -> None:
    records = [{"id": f"d{number}", "text": text} for number, text in enumerate(TEXTS)]
    corpus = tiny.write_jsonl(folder / "corpus.jsonl", records)
    key = folder / "key"
    key.write_text(tiny.KEY.hex())
    key.chmod(0o600)
    places = [f"--input={corpus}", "--vocabulary=demo", f"--output={folder / 'out'}"]
    sanitize([*places, "--epsilon=3", "--mechanism=fluent", f"--key_uri={key}", *flags])


def test_the_job_releases_what_a_notebook_does(tmp_path: Path) -> None:
    _run(tmp_path, "--language_model=demo", "--parameters=gamma=5")
    vocabulary = dxbeam.open_vocabulary("demo")
    model = dxbeam.open_language_model("demo", vocabulary)
    settings = Configuration(dxbeam.Fluent(3.0, gamma=5.0, model=model))
    expected = {}
    for result in Sanitizer(vocabulary, settings, tiny.KEY).sanitize(
        Document(f"d{number}", text) for number, text in enumerate(TEXTS)
    ):
        assert result.document
        expected[result.document.id] = result.document.text
    assert tiny.released(tmp_path / "out") == expected
    verified = verify_release(str(tmp_path / "out"))
    assert not any("rebuilt" in each or "configuration" in each for each in verified.unchecked)
    assert "document" in verified.manifest["guarantee"]["sentence"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "needs a --language_model"),
        (["--language_model=nowhere"], "no language model here"),
        (["--language_model=demo", "--bag_of_words=5"], "order"),
        (["--language_model=demo", "--decode=context"], "decode"),
        (["--language_model=demo", "--parameters=gamma=-1"], "gamma"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, flags: list[str], message: str) -> None:
    with pytest.raises(DxbeamError, match=message):
        _run(tmp_path, *flags)
    assert not (tmp_path / "out").exists()
