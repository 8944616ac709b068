"""Causal models that judge texts: tiny ones, made here. Skipped where transformers is not there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dxbeam.analysis.corpora.perplexity import check_judge, open_judge
from dxbeam.errors import ConfigurationError
from tests.support import tiny_models

PIECES = [*tiny_models.SPECIAL, "a", "film", "was", "good", "bad"]
TEXTS = ["a film was good", "bad", "", "a good bad film was a film a film was bad bad"]


def _loss(model: Any, pieces: list[int]) -> float:
    import torch

    with torch.no_grad():
        logs = torch.log_softmax(model(torch.tensor([[2, *pieces]])).logits[0], dim=-1)
    return -sum(float(logs[place, piece]) for place, piece in enumerate(pieces))


def test_the_loss_of_a_text_is_that_of_its_pieces(tmp_path: Path) -> None:
    """Whatever a text is in a batch with; the text of twelve pieces is read in two parts."""
    model = tiny_models.causal(tmp_path / "m", PIECES, 8)
    losses = open_judge(str(tmp_path / "m")).losses(TEXTS)
    rows = [[PIECES.index(word) for word in text.split()] for text in TEXTS]
    expected = [sum(_loss(model, row[at : at + 7]) for at in (0, 7)) for row in rows]
    np.testing.assert_allclose(losses, expected, atol=1e-4)
    assert losses[2] == 0


def test_what_is_no_causal_model_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(ConfigurationError, match=r"`perplexity_model` .*config\.json"):
        check_judge(str(tmp_path / "nowhere"))
    tiny_models.causal(tmp_path / "m", PIECES, 8)
    config = (tmp_path / "m" / "config.json").read_text()
    (tmp_path / "m" / "config.json").write_text(config.replace("GPT2LMHead", "BertForMaskedLM"))
    with pytest.raises(ConfigurationError, match=r"`perplexity_model` .*a masked language model"):
        check_judge(str(tmp_path / "m"))


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dxbeam.analysis.corpora.hugging_face_judge", None)
    with pytest.raises(ConfigurationError, match=r"`perplexity_model` .*dxbeam\[neural\]"):
        check_judge("m")
