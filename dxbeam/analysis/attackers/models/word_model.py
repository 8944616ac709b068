"""A language model that a user brings, as attackers ask it: how probable words are at a place.

The model is read from a directory on this machine and runs here, so no text leaves. How a model of
pieces of words is asked for whole words is in hugging_face.py, the only file that needs PyTorch and
transformers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from dxbeam.analysis.attackers.models.neural import neural
from dxbeam.space.search.neighbors import Floats, Ids


class WordModel(Protocol):
    """A model over the words of a vocabulary."""

    def log_chances(self, text: Ids, candidates: Ids) -> Floats:
        """Logarithms of p(candidate | the words around its place).

        Args:
          text: int64 [T], the words around; the one at a place itself is not looked at.
          candidates: int64 [T, k].

        Returns:
          float64 [T, k]. A candidate that the model cannot judge gets the logarithm of its prior.
        """
        ...

    def likeliest(self, text: Ids, count: int) -> Ids:
        """The most probable words at each place, given the words around it: int64 [T, count]."""
        ...


def open_model(path: str, words: Sequence[str], shares: Floats) -> WordModel:
    """Opens the model in a directory.

    Args:
      path: of a directory, as ``save_pretrained`` of transformers writes it, with the tokenizer.
      words: the vocabulary.
      shares: float64 [N], the prior of each word.

    Raises:
      ConfigurationError: PyTorch or transformers is not installed, or there is no such model.
    """
    model: WordModel = _hugging_face().opened(path, words, shares)
    return model


def check_model(path: str) -> None:
    """Raises a ConfigurationError where the directory holds no model that could be opened."""
    _hugging_face().kind_of(path)


def _hugging_face() -> Any:
    return neural("dxbeam.analysis.attackers.models.hugging_face", "`attacker_model`")
