"""Canaries planted under the settings of a release: secrets of several classes of words.

A canary's secret is released once in each of its documents, by the code that releases corpora and
with other random numbers than any release. What surrounds it is known to the attacker and released
independently, so the secret's place is all that is drawn here. The attacker knows the settings and
the words that a secret may be. How probable each of them makes a released word is computed where
that is a formula. Elsewhere the attacker releases these words itself, 64 times each, and estimates
it: what such an attacker gets is a lower bound.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dxbeam.analysis.attackers.draws import draw, draws_needed
from dxbeam.analysis.attackers.make_channel import make_channel, pair_draws
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.exposure.attack import Attack
from dxbeam.analysis.exposure.canaries import Exposure, exposure_of_scores
from dxbeam.mechanisms import ChoosesWords, Mechanism
from dxbeam.randomness import Random, draws_a_word, fill
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch

COPIES = (1, 2, 5, 10)
"""In how many documents a canary occurs."""

CANDIDATES = 512
"""Of each class: the words that a secret may be."""

COMMON = 2_000

_PAIRS_A_CANDIDATE = 64
_OTHERS = 0.01
"""Of the words that an attacker releases to estimate a channel, the share of all the others."""

_KEY = b"canaries that are planted under the settings of a release"


def classes_of_secrets(words: Sequence[str]) -> dict[str, Ids]:
    """The words of each class by their ids; classes of fewer than two words are left out.

    Args:
      words: of the vocabulary, the commonest first, as embeddings mostly list them.
    """
    every = np.arange(len(words))
    digits = [place for place, word in enumerate(words) if any(map(str.isdigit, word))]
    classes = {
        "all words": every,
        f"the first {COMMON:,} words": every[:COMMON],
        "the last quarter of the words": every[-max(1, len(every) // 4) :],
        "numbers": np.array(digits, np.int64),
    }
    return {name: ids for name, ids in classes.items() if len(ids) > 1}


def plant(
    mechanism: Mechanism,
    rank_c: float | None,
    classes: Mapping[str, Ids],
    canaries: int,
    search: NeighborSearch,
) -> Iterator[tuple[str, int, list[Exposure]]]:
    """Plants canaries of each class and attacks them.

    Args:
      mechanism: with its epsilon.
      rank_c: of rank resampling; None for none.
      classes: int64 arrays of ids, by name.
      canaries: how many of each class.
      search: the vocabulary.

    Yields:
      The class, how many words a secret may be, and the exposure for each number of copies.

    Raises:
      ConfigurationError: ranks spread too far for an attacker to follow.
    """
    for name, ids in classes.items():
        candidates = _some(ids, f"candidates: {name}", CANDIDATES)
        chosen = _numbers(f"secrets: {name}", canaries, 1)[:, 0] % np.uint64(len(candidates))
        inserted = chosen.astype(np.int64)
        copied = np.repeat(candidates[inserted], max(COPIES))
        draws = draws_needed(mechanism, rank_c, search.vocabulary.dimensions)
        random = _numbers(f"documents: {name}", len(copied), draws)
        released = draw(mechanism, rank_c, copied, random, search).released
        outputs, which = np.unique(released, return_inverse=True)
        logs = _log_chances(mechanism, rank_c, outputs, candidates, search)
        scores = logs[which].reshape(canaries, max(COPIES), -1)
        exposed = [exposure_of_scores(scores[:, :k].sum(axis=1), inserted, k) for k in COPIES]
        yield name, len(candidates), exposed


def rows_of(name: str, candidates: int, exposed: Sequence[Exposure]) -> Iterator[Attack]:
    """What attackers get of the canaries of a class, in shares and in bits."""
    knows = f"the settings, and the {candidates:,} words that a secret may be"
    bits = f"bits of {np.log2(candidates):.3g}"
    for each in exposed:
        documents = "1 document" if each.copies == 1 else f"{each.copies} documents"
        who = ("adds up what releases say", f"the secret's place in {documents}", knows)
        measure = f"canaries, {name}, in {documents}"
        share = (each.first, each.first_low, each.first_high, 1 / candidates)
        yield Attack(*who, f"{measure}: first guess right", *share, each.canaries)
        yield Attack(
            *who, f"{measure}: exposure, {bits}", each.bits, each.low, each.high, each.chance,
            each.canaries,
        )  # fmt: skip


def _some(ids: Ids, name: str, count: int) -> Ids:
    """Some of the words, none twice, in random order."""
    return ids[np.argsort(_numbers(name, len(ids), 1)[:, 0], kind="stable")[:count]]


def _numbers(name: str, rows: int, draws: int) -> Random:
    """Random numbers of this analysis, with which nothing is released: uint64 [rows, draws]."""
    numbers = np.empty((rows, draws_a_word(draws)), np.uint64)
    fill(hashlib.blake2b(name.encode(), key=_KEY, digest_size=32).digest(), 0, numbers)
    return numbers[:, :draws]


def _log_chances(
    mechanism: Mechanism,
    rank_c: float | None,
    outputs: Ids,
    candidates: Ids,
    search: NeighborSearch,
) -> Floats:
    """Ln Pr[candidate -> output] but for what depends on the output only: float64 [U, R]."""
    if isinstance(mechanism, ChoosesWords) and not rank_c:
        words = np.broadcast_to(candidates, (len(outputs), len(candidates)))
        return mechanism.channel(search).logs(outputs, words)
    shares = np.full(len(search.vocabulary), _OTHERS / len(search.vocabulary))
    shares[candidates] += (1 - _OTHERS) / len(candidates)
    prior = Prior("the words that a secret may be", shares)
    draws = pair_draws(mechanism, search.vocabulary.dimensions)
    pairs = _numbers("pairs", _PAIRS_A_CANDIDATE * len(candidates), draws)
    channel = make_channel(mechanism, rank_c, prior, [pairs], search)
    logs = np.empty((len(outputs), len(candidates)))
    for part, joint in channel.joint(outputs):
        logs[part] = np.log(np.maximum(joint[:, candidates] / shares[candidates], 1e-300))
    return logs
