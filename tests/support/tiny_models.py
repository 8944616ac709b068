"""Models of Hugging Face's transformers, tiny and random; without it, their tests are skipped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def save(path: Path, kind: str, pieces: Sequence[str], **further: Any) -> Any:
    """Saves a model with its tokenizer, and returns it.

    Args:
      path: of the directory.
      kind: the class: BertModel, BertForMaskedLM or GPT2LMHeadModel.
      pieces: all that the tokenizer knows, ``SPECIAL`` first.
      further: arguments of the model's configuration.
    """
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    path.mkdir(parents=True, exist_ok=True)
    (path / "vocab.txt").write_text("\n".join(pieces))
    transformers.BertTokenizer(str(path / "vocab.txt")).save_pretrained(path)
    torch.manual_seed(0)
    configuration = transformers.GPT2Config if kind.startswith("GPT2") else transformers.BertConfig
    config = configuration(vocab_size=len(pieces), initializer_range=0.5, **further)
    model = getattr(transformers, kind)(config).eval()
    model.save_pretrained(path)
    return model


def causal(path: Path, pieces: Sequence[str], places: int) -> Any:
    """Saves a causal model that reads so many pieces at most; arguments as ``save``."""
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": places}
    return save(path, "GPT2LMHeadModel", pieces, **sizes, bos_token_id=2, eos_token_id=3)
