"""A small recurrent network that scores candidates at each place of a text; needs PyTorch.

The input of a place is the mean vector of its candidates, each as probable as the attacker with
context says. A bidirectional gated recurrent unit (Cho et al.: Learning phrase representations
using RNN encoder-decoder, 2014) reads the places in order. Its state h_t gives candidate x the
score

    a ln p(x | text) + b ln p(x | z_t) + d ln p(x) + h_t U e_x + c_x,

p(x | text) and p(x | z_t) from context.py, p(x) the prior, e_x a vector of the word, at first the
first principal components of the public vectors. Where words are seen, the released word z_t gets

    v h_t + w (1, ln p(z_t | text), ln p(z_t | z_t), ln p(z_t))

on top: what believing the release is worth at this place. U, c, b, d, v and w begin at 0 and a at
1, so that an untrained network answers as the attacker with context. It is trained by cross-entropy
over the candidates of places whose word is one of them, and kept as it was when it read held-out
text best, of those passes that read rare words no worse than the start: what is learnt of common
words may tell against rare ones.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from dxbeam.analysis.attackers.models.reads import Read
from dxbeam.analysis.evaluate.language_scores import RARE
from dxbeam.space.search.neighbors import Ids

HIDDEN, DIMENSIONS = 96, 64
"""Of a direction's state, and of words' vectors."""

EPOCHS, PATIENCE = 30, 5
"""The most passes, and after how many that read held-out text no better training ends."""

_TEXTS_AT_ONCE = 32
_RATE, _DECAY, _DROPOUT = 5e-3, 1e-4, 0.2
_LEAST = 1e-12
"""Of a probability whose logarithm is taken."""

Texts = tuple[Read, Sequence[Ids]]


class Network:
    """A network with its weights.

    Args:
      vectors: float32 [N, n], of the vocabulary.
    """

    def __init__(self, vectors: Any):
        words = _components(np.asarray(vectors, np.float32))
        size = words.shape[1]
        self.parts = nn.ModuleDict(
            {
                "words": nn.Embedding.from_pretrained(torch.from_numpy(words), freeze=False),
                "lean": nn.Embedding(len(words), 1),
                "reader": nn.GRU(size, HIDDEN, batch_first=True, bidirectional=True),
                "towards": nn.Linear(2 * HIDDEN, size, bias=False),
                "weights": nn.Linear(3, 1, bias=False),
                "believing": nn.Linear(2 * HIDDEN, 1),
                "believed": nn.Linear(3, 1, bias=False),
            }
        )
        for name in ("lean", "towards", "believing", "believed"):
            nn.init.zeros_(self.parts[name].weight)
        nn.init.zeros_(self.parts["believing"].bias)
        with torch.no_grad():
            self.parts["weights"].weight.copy_(torch.tensor([[1.0, 0.0, 0.0]]))

    def scores(self, read: Read) -> Any:
        """Of each candidate: a tensor [texts, longest, k]; beyond the end of a text they are 0."""
        ids, seen, chances, priors, same = _padded(read)
        words = self.parts["words"](ids)
        means = (chances.unsqueeze(2) @ words).squeeze(2)
        packed = nn.utils.rnn.pack_padded_sequence(
            means, torch.tensor(list(read.sizes)), batch_first=True, enforce_sorted=False
        )
        states, _ = nn.utils.rnn.pad_packed_sequence(
            self.parts["reader"](packed)[0], batch_first=True
        )
        states = nn.functional.dropout(states, _DROPOUT, self.parts.training)
        scores = (words @ self.parts["towards"](states).unsqueeze(-1)).squeeze(-1)
        scores = scores + self.parts["lean"](ids).squeeze(-1)
        logs = torch.stack([chances, seen, priors], dim=-1).clamp_min(_LEAST).log()
        belief = self.parts["believing"](states) + self.parts["believed"](logs).squeeze(-1)
        return scores + self.parts["weights"](logs).squeeze(-1) + same * belief

    def guesses(self, read: Read) -> list[Ids]:
        """The best word at each place of each text."""
        self.parts.eval()
        guesses: list[Ids] = []
        with torch.no_grad():
            for part in _batches(read, np.arange(len(read.sizes))):
                best = self.scores(part).argmax(dim=2).numpy()
                for row, where in zip(best, part.parts(), strict=True):
                    ids = part.candidates.ids[where]
                    guesses.append(ids[np.arange(len(ids)), row[: len(ids)]])
        return guesses


def trained(training: Texts, stopping: Texts, vectors: Any, seed: int) -> Network:
    """Trains a network.

    Args:
      training: releases of public text as they are read, and the originals.
      stopping: the same of other public text, which says when to stop.
      vectors: float32 [N, n], of the vocabulary.
      seed: of the first weights, of dropout and of the order of texts.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Network(vectors)
        (best, least_rare), kept, since = _right(network, stopping), _weights(network), 0
        optimizer = torch.optim.AdamW(
            network.parts.parameters(), _RATE, weight_decay=_DECAY, fused=True
        )
        for _ in range(EPOCHS):
            _pass(network, training, optimizer)
            right, rare = _right(network, stopping)
            since += 1
            if right > best and rare >= least_rare:
                best, kept, since = right, _weights(network), 0
            if since >= PATIENCE:
                break
        network.parts.load_state_dict(kept)
    return network


def _pass(network: Network, training: Texts, optimizer: Any) -> None:
    read, originals = training
    network.parts.train()
    order = torch.randperm(len(originals)).numpy()
    originals_in_order = iter([originals[i] for i in order])
    for part in _batches(read, order):
        places = [next(originals_in_order) for _ in part.sizes]
        scores = network.scores(part)
        right = np.zeros(scores.shape[:2], np.int64)
        counted = np.zeros(scores.shape[:2], bool)
        for row, (where, words) in enumerate(zip(part.parts(), places, strict=True)):
            same = part.candidates.ids[where] == words[:, None]
            right[row, : len(words)] = same.argmax(axis=1)
            counted[row, : len(words)] = same.any(axis=1)
        which = torch.from_numpy(counted)
        if not counted.any():
            continue
        loss = nn.functional.cross_entropy(scores[which], torch.from_numpy(right)[which])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parts.parameters(), 1.0)
        optimizer.step()


def _right(network: Network, texts: Texts) -> tuple[int, int]:
    """How many words of texts are guessed, and how many of these are rare."""
    read, originals = texts
    guessed, actual = np.concatenate(network.guesses(read)), np.concatenate(originals)
    ids, _, priors = read.candidates
    right = (guessed == actual)[:, None] & (ids == actual[:, None])
    return int(right.sum()), int((right & (priors < RARE)).sum())


def _weights(network: Network) -> Any:
    return copy.deepcopy(network.parts.state_dict())


def _batches(read: Read, order: Ids) -> Any:
    for start in range(0, len(order), _TEXTS_AT_ONCE):
        yield read.some(order[start : start + _TEXTS_AT_ONCE].tolist())


def _padded(read: Read) -> tuple[Any, ...]:
    """Tensors [texts, longest, k], 0 beyond the end.

    Candidates, p(x | z), p(x | text), p(x), and whether a candidate is the released word.
    """
    ids, posterior, priors = read.candidates
    same = np.zeros(ids.shape, bool) if read.released is None else ids == read.released[:, None]
    columns = (
        ids,
        *(part.astype(np.float32) for part in (posterior, read.in_context, priors, same)),
    )
    padded = [
        np.zeros((len(read.sizes), max(read.sizes), ids.shape[1]), column.dtype)
        for column in columns
    ]
    for row, where in enumerate(read.parts()):
        for whole, column in zip(padded, columns, strict=True):
            whole[row, : where.stop - where.start] = column[where]
    return tuple(map(torch.from_numpy, padded))


def _components(vectors: Any) -> Any:
    """The vectors' first principal components, float32 [N, d], of mean squared length 1."""
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    components = centred @ axes[:, ::-1][:, :DIMENSIONS]
    return np.ascontiguousarray(
        components / np.sqrt(np.square(components).sum(axis=1).mean()), np.float32
    )
