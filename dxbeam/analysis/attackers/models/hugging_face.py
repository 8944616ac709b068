"""Models in a directory of Hugging Face's transformers, asked for words; needs PyTorch.

Models know pieces of words. A word is cut as it is in the middle of a text. How probable a word x
of m pieces is at a place:

- of a masked model P(m) times the product of p(piece_j | the text with m masks there), P(m) being
  the share of words of m pieces by the prior. Words of more than ``MOST_PIECES`` are not judged.
- of a causal model p(first piece | the text before) times the share that x has, by the prior, of
  the words that begin with this piece. One pass reads a whole text.

Only safetensors are read, no pickles, and no code of the directory is run. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import transformers

from dxbeam.errors import ConfigurationError
from dxbeam.space.search.neighbors import Floats, Ids

MOST_PIECES = 3
"""Of a word that a masked model judges: a place is read once for each number of pieces."""

AROUND = 60
"""Pieces of the text that a masked model is shown on each side of a place."""

_BEFORE = 128
"""Pieces that a causal model is shown before those that it judges."""

_AT_ONCE = 32

_CARRIER = "a"

MASKED, CAUSAL = "masked", "causal"

_LOCAL = {"local_files_only": True, "trust_remote_code": False}


class Pieces(NamedTuple):
    """The vocabulary in the model's pieces.

    Attributes:
      ids: of each word, its pieces.
      sizes: int64 [N], how many; 0 for a word that the model has no pieces for.
      first: int64 [N], the first one; 0 where there is none.
    """

    ids: list[list[int]]
    sizes: Ids
    first: Ids


def kind_of(path: str, flag: str = "attacker_model") -> str:
    """``MASKED`` or ``CAUSAL``; arguments as ``read_local``.

    Raises:
      ConfigurationError: there is no such model.
    """
    if not Path(path, "config.json").is_file():
        raise ConfigurationError(
            f"`{flag}` {path}: not a directory with a config.json; name what "
            "save_pretrained of transformers wrote, model and tokenizer"
        )
    config = read_local(path, transformers.AutoConfig, flag)
    architectures = " ".join(getattr(config, "architectures", None) or ())
    if "ForMaskedLM" in architectures:
        return MASKED
    if "ForCausalLM" in architectures or "LMHeadModel" in architectures:
        return CAUSAL
    raise ConfigurationError(
        f"`{flag}` {path}: neither a masked nor a causal language model; name one that "
        "was saved with its head"
    )


def opened(path: str, words: Sequence[str], shares: Floats) -> Masked | Causal:
    """Opens a model; arguments and errors as ``word_model.open_model``."""
    kind = kind_of(path)
    transformers.utils.logging.disable_progress_bar()
    tokenizer = read_local(path, transformers.AutoTokenizer)
    which = transformers.AutoModelForMaskedLM if kind == MASKED else None
    model = read_local(
        path, which or transformers.AutoModelForCausalLM, use_safetensors=True
    ).eval()
    cut = _pieces(tokenizer, words)
    return Masked(model, tokenizer, cut, shares) if which else Causal(model, tokenizer, cut, shares)


def read_local(path: str, kind: Any, flag: str = "attacker_model", **further: Any) -> Any:
    """Reads a part of a model: local files only, and no code of the directory is run.

    Args:
      path: the directory.
      kind: a class of transformers with ``from_pretrained``.
      flag: the parameter that named the directory, for messages.
      further: arguments of ``from_pretrained``.

    Raises:
      ConfigurationError: transformers cannot read it.
    """
    try:
        return kind.from_pretrained(path, **_LOCAL, **further)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise ConfigurationError(
            f"`{flag}` {path}: transformers cannot read this model "
            f"({type(error).__name__}); name a directory with config.json, model.safetensors and "
            "the tokenizer's files"
        ) from None


def _pieces(tokenizer: Any, words: Sequence[str]) -> Pieces:
    """Cuts each word as it is cut behind another word."""
    carrier = tokenizer(_CARRIER, add_special_tokens=False)["input_ids"]
    texts = [f"{_CARRIER} {word}" for word in words]
    every = tokenizer(texts, add_special_tokens=False)["input_ids"]
    unknown = tokenizer.unk_token_id
    ids = [
        whole[len(carrier) :]
        if whole[: len(carrier)] == carrier and (unknown is None or unknown not in whole)
        else []
        for whole in every
    ]
    first = [cut[0] if cut else 0 for cut in ids]
    return Pieces(ids, np.array([len(cut) for cut in ids], np.int64), np.array(first, np.int64))


class Masked:
    """A masked language model; arguments as its own parts.

    Args:
      model: of transformers.
      tokenizer: of the model, with a mask.
      pieces: the vocabulary.
      shares: float64 [N], the prior.
    """

    def __init__(self, model: Any, tokenizer: Any, pieces: Pieces, shares: Floats):
        self._model, self._pieces, self._logs = model, pieces, np.log(shares)
        self._mask, self._pad = tokenizer.mask_token_id, tokenizer.pad_token_id or 0
        self._begin = [tokenizer.cls_token_id] if tokenizer.cls_token_id is not None else []
        self._end = [tokenizer.sep_token_id] if tokenizer.sep_token_id is not None else []
        mass = np.bincount(pieces.sizes, shares, MOST_PIECES + 1)
        self._of_size = np.log(np.maximum(mass[: MOST_PIECES + 1], 1e-300))
        most = getattr(model.config, "max_position_embeddings", None) or 512
        self._around = max(1, min(AROUND, (most - MOST_PIECES - 4) // 2))
        self._single = np.flatnonzero(pieces.sizes == 1)

    def log_chances(self, text: Ids, candidates: Ids) -> Floats:
        """As ``WordModel`` says."""
        sizes = self._pieces.sizes[candidates]
        logs = self._logs[candidates]
        queries = [
            (place, size)
            for place, row in enumerate(sizes)
            for size in np.unique(row[(row > 0) & (row <= MOST_PIECES)]).tolist()
        ]
        for (place, size), scores in zip(queries, self._at(text, queries), strict=True):
            for which in np.flatnonzero(sizes[place] == size):
                cut = self._pieces.ids[candidates[place, which]]
                logs[place, which] = self._of_size[size] + scores[np.arange(size), cut].sum()
        return np.asarray(logs)

    def likeliest(self, text: Ids, count: int) -> Ids:
        """As ``WordModel`` says, of words of one piece."""
        queries = [(place, 1) for place in range(len(text))]
        best = np.full((len(text), count), -1, np.int64)
        pieces = self._pieces.first[self._single]
        for place, scores in enumerate(self._at(text, queries)):
            order = np.argsort(-scores[0, pieces], kind="stable")[:count]
            best[place, : len(order)] = self._single[order]
        return best

    def _at(self, text: Ids, queries: Sequence[tuple[int, int]]) -> Iterator[Any]:
        """Of each question, ln p of all pieces at masks in place of a word: float32 [masks, V]."""
        cut = [self._pieces.ids[word] for word in text]
        before = np.cumsum([0, *map(len, cut)])
        whole = [piece for word in cut for piece in word]
        for start in range(0, len(queries), _AT_ONCE):
            rows, masks = [], []
            for place, size in queries[start : start + _AT_ONCE]:
                left = whole[: before[place]][-self._around :]
                right = whole[before[place + 1] :][: self._around]
                rows.append([*self._begin, *left, *[self._mask] * size, *right, *self._end])
                masks.append(slice(len(self._begin) + len(left), len(rows[-1]) - len(right)))
            longest = max(map(len, rows))
            ids = torch.tensor([row + [self._pad] * (longest - len(row)) for row in rows])
            seen = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
            with torch.no_grad():
                logits = self._model(input_ids=ids, attention_mask=seen).logits
            for row, mask, (_, size) in zip(logits, masks, queries[start:], strict=False):
                some = row[mask.start : mask.start + size].float()
                yield torch.log_softmax(some, dim=-1).numpy()


class Causal:
    """A causal language model; arguments as ``Masked``."""

    def __init__(self, model: Any, tokenizer: Any, pieces: Pieces, shares: Floats):
        self._model, self._pieces, self._logs = model, pieces, np.log(shares)
        starts = (tokenizer.bos_token_id, model.config.bos_token_id, tokenizer.eos_token_id)
        self._begin = [start for start in starts if start is not None][:1]
        mass = np.bincount(pieces.first, shares)[pieces.first]
        self._of_first = self._logs - np.log(mass)
        self._of_first[pieces.sizes == 0] = -np.inf
        most = getattr(model.config, "max_position_embeddings", None) or 2 * _BEFORE
        self._before = min(_BEFORE, most // 2)

    def log_chances(self, text: Ids, candidates: Ids) -> Floats:
        """As ``WordModel`` says."""
        logs = self._logs[candidates]
        for place, scores in self._each(text):
            row = candidates[place]
            known = self._pieces.sizes[row] > 0
            judged = scores[self._pieces.first[row]] + self._of_first[row]
            logs[place] = np.where(known, judged, logs[place])
        return np.asarray(logs)

    def likeliest(self, text: Ids, count: int) -> Ids:
        """As ``WordModel`` says; a place without a word before it gets the commonest words."""
        best = np.tile(np.argsort(-self._logs, kind="stable")[:count], (len(text), 1))
        for place, scores in self._each(text):
            every = scores[self._pieces.first] + self._of_first
            some = np.argpartition(-every, count - 1)[:count]
            best[place] = some[np.lexsort((some, -every[some]))]
        return np.asarray(best)

    def _each(self, text: Ids) -> Iterator[tuple[int, Any]]:
        """Of each word with something before it, ln p of all pieces at its beginning."""
        cut = [self._pieces.ids[word] for word in text]
        starts = np.cumsum([0, *map(len, cut)])[:-1]
        whole = [piece for word in cut for piece in word]
        begin = self._begin
        for start in range(0, max(1, len(whole)), self._before):
            first = max(0, start - self._before + len(begin))
            shown = [*begin, *whole[first : start + self._before]]
            inside = (starts >= start) & (starts < start + self._before)
            places = np.flatnonzero(inside & (starts - first + len(begin) > 0))
            if not len(places):
                continue
            with torch.no_grad():
                logits = self._model(input_ids=torch.tensor([shown])).logits[0].float()
            rows = torch.log_softmax(logits, dim=-1).numpy()
            for place in places.tolist():
                yield place, rows[starts[place] - first + len(begin) - 1]
