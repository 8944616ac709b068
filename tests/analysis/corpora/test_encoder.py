"""Sentence encoders in a directory: tiny ones, made here. Skipped where transformers is not there.

What does not need it, the files around a model and what is done with vectors, is tested anywhere.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dxbeam.analysis.corpora.encoder import check_encoder, open_encoder
from dxbeam.errors import ConfigurationError
from tests.support import tiny_models

PIECES = [*tiny_models.SPECIAL, "a", "film", "was", "good", "bad"]
TEXTS = ["a film was good", "bad", "", "a good bad film was a film"]


def _model(path: Path) -> Any:
    return tiny_models.save(
        path, "BertModel", PIECES, hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=8, max_position_embeddings=8,
    )  # fmt: skip


def _states(model: Any, text: str) -> Any:
    import torch

    row = [2, *(PIECES.index(word) for word in text.split()[:6]), 3]
    with torch.no_grad():
        return model(torch.tensor([row])).last_hidden_state[0].numpy()


def _sentence_transformer(path: Path, mode: str) -> Any:
    model = _model(path / "0_Transformer")
    (path / "1_Pooling").mkdir()
    modes = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": False, mode: True}
    (path / "1_Pooling" / "config.json").write_text(json.dumps(modes))
    kinds = {"0_Transformer": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    parts = [{"path": at, "type": f"x.models.{kind}"} for at, kind in kinds.items()]
    (path / "modules.json").write_text(json.dumps(parts))
    return model


def test_the_mean_of_all_states_is_taken(tmp_path: Path) -> None:
    """Whatever a text is in a batch with; the text of nine pieces is cut off at eight."""
    model = _model(tmp_path / "m")
    vectors = open_encoder(str(tmp_path / "m")).encode(TEXTS)
    expected = [_states(model, text).mean(axis=0) for text in TEXTS]
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_a_causal_model_encodes_likewise(tmp_path: Path) -> None:
    model = tiny_models.causal(tmp_path, PIECES, 8).transformer
    vectors = open_encoder(str(tmp_path)).encode(TEXTS)
    expected = [_states(model, text).mean(axis=0) for text in TEXTS]
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("mode", "of"),
    [
        ("pooling_mode_cls_token", lambda states: states[0]),
        ("pooling_mode_mean_tokens", lambda states: states.mean(axis=0)),
    ],
)
def test_encoders_of_sentence_transformers_say_what_is_taken(
    tmp_path: Path, mode: str, of: Any
) -> None:
    model = _sentence_transformer(tmp_path, mode)
    vectors = open_encoder(str(tmp_path)).encode(TEXTS[:2])
    expected = [of(_states(model, text)) for text in TEXTS[:2]]
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(ConfigurationError, match=r"`encoder` .*config\.json"):
        check_encoder(str(tmp_path / "nowhere"))
    _sentence_transformer(tmp_path / "max", "pooling_mode_max_tokens")
    with pytest.raises(ConfigurationError, match="this has pooling_mode_max_tokens"):
        check_encoder(str(tmp_path / "max"))
    (tmp_path / "max" / "modules.json").write_text("[{}]")
    with pytest.raises(ConfigurationError, match=r"modules\.json.*cannot be read"):
        check_encoder(str(tmp_path / "max"))
    _model(tmp_path / "pickled")
    (tmp_path / "pickled" / "model.safetensors").rename(tmp_path / "pickled" / "pytorch_model.bin")
    with pytest.raises(ConfigurationError, match=r"`encoder` .*cannot read this model"):
        open_encoder(str(tmp_path / "pickled"))


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dxbeam.analysis.corpora.hugging_face_encoder", None)
    with pytest.raises(ConfigurationError, match=r"dxbeam\[neural\]"):
        check_encoder("m")
