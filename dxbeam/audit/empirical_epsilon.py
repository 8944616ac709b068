"""An empirical epsilon: how well whole releases tell two documents apart, as a lower bound.

Two documents of equally many words are released again and again. A distinguisher gives each release
a score, one third of the releases teaches it, another third decides from which score on it says
"the first", and the last third is counted. Clopper and Pearson's intervals of the two shares bound
ln(P(S | first) / P(S | second)) from below. Any distinguisher gives a valid bound; a poor one gives
a small one. A bound above the promised loss refutes the promise at the stated error.

Samples show little of a large loss: M counted releases of each document show at most about
ln(M / 4), which ``largest_bound`` computes. Of a mechanism that draws words by a known law the loss
needs no samples, and ``exact_loss`` computes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable

import numpy as np

from dxbeam.audit.evidence import loss_lower_bound
from dxbeam.mechanisms.channels.word_channel import WordChannel
from dxbeam.space.search.neighbors import Floats, Ids

Distinguisher = Callable[[Ids], Floats]
"""Releases, int64 [M, k], to scores, float64 [M]: the higher, the more like the first document."""

_THRESHOLDS = 200

_CHOOSING = 0.01
"""The error of the bounds by which a threshold is chosen; it has no part in the result's."""


def empirical_epsilon(
    first: Ids,
    second: Ids,
    error: float,
    distinguisher: Distinguisher | None = None,
    delta: float = 0.0,
) -> float:
    """A lower bound on the privacy loss between two documents, in nats.

    Args:
      first: int64 [M, k], what was released of the first document, each row independently.
      second: int64 [M', k], the same of the second.
      error: the probability that the bound is above the loss, at most.
      distinguisher: None for one that learns from a third of the releases which words, and which
        words together, are commoner for which document.
      delta: of a promise of (epsilon, delta).

    Returns:
      The bound; -inf where nothing can be said.
    """
    learning, choosing, counting = ((first[part::3], second[part::3]) for part in range(3))
    score = distinguisher or learnt(*learning)
    ours, theirs = (score(side) for side in choosing)
    tried = [_threshold(ours, theirs, delta), _threshold(-theirs, -ours, delta)]
    one, other = (score(side) for side in counting)
    if tried[1][1] > tried[0][1]:
        one, other = -other, -one
    threshold = max(tried, key=lambda each: each[1])[0]
    hits, other_hits = int((one >= threshold).sum()), int((other >= threshold).sum())
    return float(loss_lower_bound(hits, len(one), other_hits, len(other), delta, error))


def largest_bound(draws: int, error: float) -> float:
    """What M releases of each document show at most: where they share no release, in nats."""
    counted = draws // 3
    return float(loss_lower_bound(counted, counted, 0, counted, 0.0, error))


def learnt(first: Ids, second: Ids) -> Distinguisher:
    """The logarithm of how much commoner a release is for the first document, int64 [M, k] each.

    A release that was not seen is judged by its words one by one.
    """
    whole = _log_ratios(map(tuple, first.tolist()), map(tuple, second.tolist()))
    places = [
        _log_ratios(first[:, place].tolist(), second[:, place].tolist())
        for place in range(first.shape[1])
    ]

    def score(released: Ids) -> Floats:
        def of(row: tuple[int, ...]) -> float:
            known = whole.get(row)
            if known is not None:
                return known
            return sum(ratios.get(word, 0.0) for ratios, word in zip(places, row, strict=True))

        return np.array([of(tuple(row)) for row in released.tolist()], np.float64)

    return score


def exact(channel: WordChannel, first: Ids, second: Ids) -> Distinguisher:
    """The exact likelihood ratio of documents, int64 [k], of a mechanism with a known law."""

    def score(released: Ids) -> Floats:
        total = np.zeros(len(released))
        for place in np.flatnonzero(first != second).tolist():
            logs = _logs(channel, released[:, place], first[place], second[place])
            total += logs[:, 0] - logs[:, 1]
        return total

    return score


def exact_loss(channel: WordChannel, first: Ids, second: Ids, words: int) -> float:
    """The largest log likelihood ratio of two documents over all releases, in either direction.

    The channel draws each of ``words`` by a known law, alike whatever the others are.
    """
    forward = backward = 0.0
    for one, other in zip(first, second, strict=True):
        logs = _logs(channel, np.arange(words), one, other)
        possible = np.isfinite(logs).any(axis=1)
        ratios = logs[possible, 0] - logs[possible, 1]
        forward, backward = forward + float(ratios.max()), backward - float(ratios.min())
    return max(forward, backward)


def _logs(channel: WordChannel, drawn: Ids, one: np.int64, other: np.int64) -> Floats:
    """Ln P(z | x) of both words, float64 [B, 2]."""
    return channel.logs(drawn, np.broadcast_to(np.array([one, other]), (len(drawn), 2)))


def _log_ratios(first: Iterable[Hashable], second: Iterable[Hashable]) -> dict[Hashable, float]:
    ours, theirs = Counter(first), Counter(second)
    return {
        key: float(np.log((ours[key] + 0.5) / (theirs[key] + 0.5))) for key in ours.keys() | theirs
    }


def _threshold(first: Floats, second: Floats, delta: float) -> tuple[float, float]:
    """The score from which on "the first" is said, and the bound that it would give.

    Scores are tried whose counts from the top grow by a constant factor.
    """
    scores = np.sort(np.concatenate([first, second]))[::-1]
    counts = np.unique(np.geomspace(1, len(scores), _THRESHOLDS).astype(np.int64))
    tried = np.unique(scores[counts - 1])
    hits, other_hits = (
        len(side) - np.searchsorted(np.sort(side), tried, side="left") for side in (first, second)
    )
    bounds = loss_lower_bound(hits, len(first), other_hits, len(second), delta, _CHOOSING)
    best = int(np.argmax(bounds))
    return float(tried[best]), float(bounds[best])
