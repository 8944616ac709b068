"""A sentence encoder that a user brings: a vector for each text.

The model is read from a directory on this machine and runs here, so no text leaves. How it is read
is in hugging_face_encoder.py, which needs PyTorch and transformers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from dxbeam.analysis.attackers.models.neural import neural
from dxbeam.space.search.distance_rows import Singles


class Encoder(Protocol):
    """A model of texts."""

    def encode(self, texts: Sequence[str]) -> Singles:
        """A vector for each text, float32 [B, n]; of a text without pieces 0."""
        ...


def open_encoder(path: str) -> Encoder:
    """Opens the encoder in a directory.

    Args:
      path: of a directory, as sentence-transformers or ``save_pretrained`` of transformers writes
        it, with the tokenizer.

    Raises:
      ConfigurationError: PyTorch or transformers is not installed, or there is no such model.
    """
    encoder: Encoder = _hugging_face().opened(path)
    return encoder


def check_encoder(path: str) -> None:
    """Raises a ConfigurationError where the directory holds no encoder that could be opened."""
    _hugging_face().layout_of(path)


def _hugging_face() -> Any:
    return neural("dxbeam.analysis.corpora.hugging_face_encoder", "`encoder`")
