"""Sentence encoders in a directory: of sentence-transformers, or any model of transformers.

sentence-transformers lists the parts of an encoder in modules.json: a model of transformers, how
the states of its pieces become one vector (their mean, or that of the first piece), and perhaps a
scaling to length 1, which a cosine does not see. Other parts are refused. Without modules.json the
mean of the last states is taken, of all pieces but those that fill a batch up.

Only safetensors are read, no pickles, and no code of the directory is run. Nothing is downloaded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers

from dxbeam.analysis.attackers.models.hugging_face import read_local
from dxbeam.errors import ConfigurationError
from dxbeam.space.search.distance_rows import Singles

MOST_PIECES = 512
"""Of a text that are read, the first ones; fewer where the model knows fewer places."""

_AT_ONCE = 32

_FLAG = "encoder"
_MEAN, _FIRST = "pooling_mode_mean_tokens", "pooling_mode_cls_token"
_PARTS = ("Transformer", "Pooling", "Normalize")


class Layout(NamedTuple):
    """Where an encoder's model is, and whether the first piece stands for a text."""

    model: str
    first_piece: bool


def layout_of(path: str) -> Layout:
    """How an encoder is stored.

    Raises:
      ConfigurationError: there is no such model, or it has parts that are not read.
    """
    modules = Path(path, "modules.json")
    layout = _sentence_transformer(path, modules) if modules.is_file() else Layout(path, False)
    if not Path(layout.model, "config.json").is_file():
        raise ConfigurationError(
            f"`encoder` {path}: not a directory with a config.json; name what "
            "sentence-transformers, or save_pretrained of transformers, wrote"
        )
    return layout


def _sentence_transformer(path: str, modules: Path) -> Layout:
    try:
        parts = {
            str(part["type"]).rpartition(".")[2]: str(Path(path, part["path"]))
            for part in json.loads(modules.read_text("utf-8"))
        }
        pooling: dict[str, Any] = {_MEAN: True}
        if "Pooling" in parts:
            pooling = json.loads(Path(parts["Pooling"], "config.json").read_text("utf-8"))
        modes = {name for name in pooling if name.startswith("pooling_mode") and pooling[name]}
        model = parts["Transformer"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise ConfigurationError(
            f"`encoder` {path}: its modules.json, or a file that this names, cannot be read; save "
            "the encoder again"
        ) from None
    further = ", ".join([*(set(parts) - set(_PARTS)), *(modes - {_MEAN, _FIRST})])
    if further or len(modes) != 1:
        raise ConfigurationError(
            f"`encoder` {path}: only encoders of a transformer and the mean of its states, or the "
            f"first one, are read, and this has {further or 'several of them'}; name another"
        )
    return Layout(model, _FIRST in modes)


def opened(path: str) -> HuggingFaceEncoder:
    """Opens an encoder; errors as ``encoder.open_encoder``."""
    layout = layout_of(path)
    transformers.utils.logging.disable_progress_bar()
    tokenizer = read_local(layout.model, transformers.AutoTokenizer, _FLAG)
    model = read_local(layout.model, transformers.AutoModel, _FLAG, use_safetensors=True).eval()
    return HuggingFaceEncoder(model, tokenizer, layout.first_piece)


class HuggingFaceEncoder:
    """A model of transformers whose states are made one vector; as ``Encoder``.

    Args:
      model: of transformers.
      tokenizer: of the model.
      first_piece: whether the state of the first piece is taken, and not the mean of all.
    """

    def __init__(self, model: Any, tokenizer: Any, first_piece: bool):
        self._model, self._tokenizer, self._first = model, tokenizer, first_piece
        self._pad = tokenizer.pad_token_id or 0
        known = getattr(model.config, "max_position_embeddings", None) or MOST_PIECES
        self._most = min(MOST_PIECES, int(known))
        self._size = int(model.config.hidden_size)

    def encode(self, texts: Sequence[str]) -> Singles:
        """As ``Encoder`` says."""
        vectors = np.zeros((len(texts), self._size), np.float32)
        pieces = [
            self._tokenizer(text, truncation=True, max_length=self._most)["input_ids"]
            for text in texts
        ]
        some = [place for place in np.argsort([len(row) for row in pieces]) if pieces[place]]
        for start in range(0, len(some), _AT_ONCE):
            places = some[start : start + _AT_ONCE]
            vectors[places] = self._states([pieces[place] for place in places])
        return vectors

    def _states(self, rows: Sequence[Sequence[int]]) -> Any:
        longest = max(map(len, rows))
        ids = torch.tensor([[*row, *[self._pad] * (longest - len(row))] for row in rows])
        seen = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
        with torch.no_grad():
            states = self._model(input_ids=ids, attention_mask=seen).last_hidden_state.float()
        if self._first:
            return states[:, 0].numpy()
        weights = seen[:, :, None].float()
        return ((states * weights).sum(dim=1) / weights.sum(dim=1)).numpy()
