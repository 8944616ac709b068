"""Causal language models in a directory of Hugging Face's transformers, asked for whole texts.

Only safetensors are read, no pickles, and no code of the directory is run. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
import transformers

from dxbeam.analysis.attackers.models.hugging_face import CAUSAL, kind_of, read_local
from dxbeam.errors import ConfigurationError
from dxbeam.space.search.neighbors import Floats

MOST_PIECES = 512
"""That are read together; what comes after them in a longer text is read by itself."""

_AT_ONCE = 2_048

_FLAG = "perplexity_model"


def check(path: str) -> None:
    """Raises a ConfigurationError where there is no causal model."""
    if kind_of(path, _FLAG) != CAUSAL:
        raise ConfigurationError(
            f"`{_FLAG}` {path}: a masked language model, which gives texts no probability; name a "
            "causal one"
        )


def opened(path: str) -> CausalJudge:
    """Opens a model; errors as ``perplexity.open_judge``."""
    check(path)
    transformers.utils.logging.disable_progress_bar()
    tokenizer = read_local(path, transformers.AutoTokenizer, _FLAG)
    model = read_local(path, transformers.AutoModelForCausalLM, _FLAG, use_safetensors=True)
    return CausalJudge(model.eval(), tokenizer)


class CausalJudge:
    """A causal model of transformers; as ``Judge``.

    Args:
      model: of transformers.
      tokenizer: of the model.
    """

    def __init__(self, model: Any, tokenizer: Any):
        self._model, self._tokenizer = model, tokenizer
        starts = (tokenizer.bos_token_id, model.config.bos_token_id, tokenizer.eos_token_id)
        self._begin = next((start for start in starts if start is not None), 0)
        known = getattr(model.config, "max_position_embeddings", None) or MOST_PIECES
        self._most = min(MOST_PIECES, int(known)) - 1

    def losses(self, texts: Sequence[str]) -> Floats:
        """As ``Judge`` says."""
        rows: list[tuple[int, list[int]]] = []
        for place, text in enumerate(texts):
            pieces = self._tokenizer(text, add_special_tokens=False)["input_ids"]
            starts = range(0, len(pieces), self._most)
            rows += [(place, pieces[start : start + self._most]) for start in starts]
        rows.sort(key=lambda row: len(row[1]))
        losses = np.zeros(len(texts))
        for some in _batches(rows):
            for (place, _), loss in zip(some, self._each([row for _, row in some]), strict=True):
                losses[place] += loss
        return losses

    def _each(self, rows: Sequence[Sequence[int]]) -> list[float]:
        longest = max(map(len, rows))
        padded = [[self._begin, *row, *[0] * (longest - len(row))] for row in rows]
        seen = [[1] * (1 + len(row)) + [0] * (longest - len(row)) for row in rows]
        ids, mask = torch.tensor(padded), torch.tensor(seen)
        with torch.no_grad():
            logits = self._model(input_ids=ids, attention_mask=mask).logits[:, :-1].float()
            logs = torch.log_softmax(logits, dim=-1).gather(2, ids[:, 1:, None])[:, :, 0]
        sums: list[float] = (-logs.double() * mask[:, 1:]).sum(dim=1).tolist()
        return sums


def _batches(rows: Sequence[tuple[int, list[int]]]) -> Iterator[Sequence[tuple[int, list[int]]]]:
    """Rows in order of their lengths, in batches whose size falls with the longest row."""
    start = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or (end - start + 1) * len(rows[end][1]) > _AT_ONCE:
            yield rows[start:end]
            start = end
