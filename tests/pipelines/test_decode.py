"""Decoded releases from the command line: release.json, verification, ledger and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dxbeam.errors import DxbeamError
from dxbeam.language.artifact import open_language_model
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.release import ledger
from dxbeam.release.accounts import accounts
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import Decoder
from dxbeam.text.sanitizer import Sanitizer
from tests.support import tiny
from tests.support.refusals import refused

TEXTS = ["The film is one of the best of the year.", "It was not very good, they said.", ""]
DECODED = ("--decode=context", "--language_model=demo")
CONTEXT = " ".join(DECODED)


def _run(folder: Path, name: str, *flags: str) -> dict[str, Any]:
    return tiny.run_demo(folder, name, TEXTS, *flags)


def test_a_decoded_release_says_how_and_verifies(tmp_path: Path) -> None:
    manifest = _run(tmp_path, "release", *DECODED, "--decode_loss=distance")
    model = open_language_model("demo", open_vocabulary("demo"))
    said = manifest["configuration"]["decoder"]
    assert said["decode"] == "context"
    assert said["loss"] == "distance"
    assert said["language_model"] == model.digest
    assert {"candidates", "window", "overlap"} <= set(said)
    assert "Whoever sees one released document" in manifest["guarantee"]["sentence"]
    assert any("language model must be public" in each for each in manifest["guarantee"]["caveats"])
    assert tiny.verified(tmp_path / "release", "demo").unchecked == ()


def test_the_job_releases_what_a_notebook_does(tmp_path: Path) -> None:
    _run(tmp_path, "release", *DECODED)
    vocabulary = open_vocabulary("demo")
    sanitizer = Sanitizer(
        vocabulary,
        Configuration(Laplace(12.0), decoder=Decoder("context")),
        tiny.KEY,
        open_language_model("demo", vocabulary),
    )
    right = {f"d{i}": sanitizer.sanitize_text(text, f"d{i}") for i, text in enumerate(TEXTS)}
    assert tiny.released(tmp_path / "release") == right


def test_one_key_read_in_two_ways_is_charged_once(tmp_path: Path) -> None:
    book = (f"--ledger={tmp_path / 'ledger'}", "--corpus_id=c", "--max_epsilon=12")
    plain = _run(tmp_path, "nearest", *book)
    decoded = _run(tmp_path, "context", *DECODED, *book)
    again = _run(tmp_path, "prior", "--decode=prior", "--language_model=demo", *book)
    assert plain["configuration_digest"] == decoded["configuration_digest"]
    assert plain["corpus_digest"] == decoded["corpus_digest"] == again["corpus_digest"]
    [account] = accounts(ledger.read(str(tmp_path / "ledger")))
    assert account.epsilon == 12
    assert account.releases == 1
    assert account.repeats == 2


@refused(
    f"""
    --decode=context  --decode context needs a --language_model
    --language_model=demo  --language_model is of use with --decode
    --decode_loss=word  --decode_loss is of use with --decode
    --decode=best --language_model=demo  must be one of nearest, prior, context
    {CONTEXT} --decode_loss=none  must be one of word, distance
    {CONTEXT} --bag_of_words=10  choose --decode prior
    {CONTEXT} --mechanism=santext_plus --allow_unsound  cannot be used with --mechanism santext_plus
    """
)
def test_what_does_not_go_together_is_refused_before_work_starts(
    flags: list[str], said: str, tmp_path: Path
) -> None:
    with pytest.raises(DxbeamError, match=said):
        _run(tmp_path, "release", *flags)
    assert not (tmp_path / "release").exists()
