"""The language model that goes with the bundled vocabulary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dxbeam
from dxbeam.language.artifact_manifest import LANGUAGE_MODEL
from pipelines.build_language_model import build_language_model

MASC = Path(__file__).parent.parent.parent.parent / "shared/data/corpora/masc.jsonl.gz"
MOST_BYTES = 1_500_000


def test_it_opens_and_knows_english() -> None:
    vocabulary = dxbeam.open_vocabulary("demo")
    model = dxbeam.open_language_model("demo", vocabulary)
    new, york, mexico, of = vocabulary.ids_of(["new", "york", "mexico", "of"])
    after = model.probabilities(new)
    assert after.sum() == pytest.approx(1, abs=1e-12)
    assert after[york] > after[mexico] > after[of]
    assert (
        sum(path.stat().st_size for path in Path(LANGUAGE_MODEL.resolve("demo")).iterdir())
        < MOST_BYTES
    )


@pytest.mark.slow
@pytest.mark.skipif(not MASC.exists(), reason="MASC is not here")
def test_the_command_of_its_page_makes_it_again(tmp_path: Path) -> None:
    build_language_model(
        [f"--input={MASC}", "--vocabulary=demo", "--prune=1", f"--output={tmp_path / 'model'}"]
    )
    for path in Path(LANGUAGE_MODEL.resolve("demo")).glob("*.npy"):
        made, bundled = np.load(tmp_path / "model" / path.name), np.load(path)
        assert made.dtype == bundled.dtype
        assert np.allclose(made, bundled, rtol=1e-6, atol=0), path.name
