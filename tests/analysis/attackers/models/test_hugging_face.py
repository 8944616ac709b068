"""Models in a directory: tiny ones, made here. Skipped where transformers is not installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dxbeam.analysis.attackers.models.word_model import check_model, open_model
from dxbeam.errors import ConfigurationError
from tests.support import tiny_models

WORDS = ["a", "film", "was", "good", "bad", "rather", "goodness", "unseen\u2603"]
PIECES = [*tiny_models.SPECIAL, *WORDS[:6], "##ness"]
SHARES = np.array([8, 4, 4, 4, 2, 2, 1, 1]) / 26


def _masked(path: Path) -> Any:
    return tiny_models.save(
        path, "BertForMaskedLM", PIECES, hidden_size=16, num_hidden_layers=1,
        num_attention_heads=2, intermediate_size=16, max_position_embeddings=16,
    )  # fmt: skip


def _logs(model: Any, row: list[int]) -> Any:
    import torch

    with torch.no_grad():
        return torch.log_softmax(model(torch.tensor([row])).logits[0], dim=-1).numpy()


def test_a_masked_model_is_asked_for_each_number_of_pieces(tmp_path: Path) -> None:
    own = _masked(tmp_path / "m")
    model = open_model(str(tmp_path / "m"), WORDS, SHARES)
    text, candidates = np.array([0, 1, 2, 3]), np.array([[3, 6, 7]] * 4)
    found = model.log_chances(text, candidates)
    cls, sep, mask, ness = 2, 3, 4, PIECES.index("##ness")
    pieces = [PIECES.index(word) for word in ("a", "film", "was", "good")]
    one = _logs(own, [cls, *pieces[:2], mask, pieces[3], sep])
    two = _logs(own, [cls, *pieces[:2], mask, mask, pieces[3], sep])
    np.testing.assert_allclose(found[2, 0], np.log(24 / 26) + one[3, pieces[3]], atol=1e-5)
    expected = np.log(1 / 26) + two[3, pieces[3]] + two[4, ness]
    np.testing.assert_allclose(found[2, 1], expected, atol=1e-5)
    np.testing.assert_allclose(found[:, 2], np.log(1 / 26), err_msg="it has no pieces for this one")
    best = model.likeliest(text, 10)
    order = sorted(range(6), key=lambda word: -one[3, PIECES.index(WORDS[word])])
    assert best[2].tolist() == [*order, -1, -1, -1, -1]


def test_what_is_far_away_is_cut_off(tmp_path: Path) -> None:
    """The model has 16 places, and the text 60 words."""
    _masked(tmp_path / "m")
    model = open_model(str(tmp_path / "m"), WORDS, SHARES)
    text = np.tile([0, 1, 2, 3, 6], 12)
    found = model.log_chances(text, text[:, None])
    assert found.shape == (60, 1)
    assert np.isfinite(found).all()
    changed = text.copy()
    changed[0] = 4
    again = model.log_chances(changed, text[:, None])
    assert not np.allclose(again[1], found[1])
    np.testing.assert_allclose(again[20:], found[20:], atol=1e-5)


def test_a_causal_model_reads_what_is_before(tmp_path: Path) -> None:
    own = tiny_models.causal(tmp_path / "c", PIECES, 16)
    model = open_model(str(tmp_path / "c"), WORDS, SHARES)
    text, candidates = np.array([0, 1, 2, 3]), np.array([[3, 6, 7, 4]] * 4)
    found = model.log_chances(text, candidates)
    rows = _logs(own, [2, *(PIECES.index(word) for word in ("a", "film", "was", "good"))])
    good, bad = PIECES.index("good"), PIECES.index("bad")
    for place in range(4):
        both = rows[place, good]
        np.testing.assert_allclose(found[place, 0], both + np.log(4 / 5), atol=1e-5)
        np.testing.assert_allclose(found[place, 1], both + np.log(1 / 5), atol=1e-5)
        np.testing.assert_allclose(found[place, 2], np.log(1 / 26))
        np.testing.assert_allclose(found[place, 3], rows[place, bad], atol=1e-5)
    assert (model.likeliest(text, 3)[:, 0] != -1).all()
    whole = np.tile(text, 15)  # longer than the model
    assert np.isfinite(model.log_chances(whole, whole[:, None])).all()
    same = model.log_chances(whole, whole[:, None])[:4]
    np.testing.assert_allclose(same, model.log_chances(text, text[:, None]), atol=1e-5)


def test_what_is_no_model_is_refused_in_a_sentence(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(ConfigurationError, match=r"not a directory with a config\.json"):
        check_model(str(tmp_path))
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ConfigurationError, match="transformers cannot read this model"):
        check_model(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "vocab_size": 9}))
    with pytest.raises(ConfigurationError, match="neither a masked nor a causal"):
        check_model(str(tmp_path))


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    model = _masked(tmp_path / "m")
    (tmp_path / "m" / "model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "m" / "pytorch_model.bin")
    with pytest.raises(ConfigurationError, match=r"name a directory with config\.json, model\.saf"):
        open_model(str(tmp_path / "m"), WORDS, SHARES)


def test_without_transformers_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    monkeypatch.delitem(
        __import__("sys").modules, "dxbeam.analysis.attackers.models.hugging_face", raising=False
    )
    with pytest.raises(ConfigurationError, match=r"dxbeam\[neural\]"):
        check_model("anywhere")
