"""The smallest constant that is true of one vocabulary, certified, on one machine.

``scan`` adds up all Z (log_sums.py), looks for pairs that may have the largest excess
(pair_scan.py) and settles those that are left (near_pairs.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import numpy as np
import threadpoolctl

from dxbeam.mechanisms.constants.exponents import ROUNDOFF, ROWS, Exponents
from dxbeam.mechanisms.constants.log_sums import error_of, other_log_sums, partial_sums
from dxbeam.mechanisms.constants.near_pairs import difference, largest_gaps
from dxbeam.mechanisms.constants.pair_scan import PairScan, ScanState
from dxbeam.mechanisms.constants.unfinished import Unfinished
from dxbeam.space.search.neighbors import Floats, Ids

Say = Callable[[str], None]
T = TypeVar("T")

_ROOM = 1 + 1e-9
"""A pair is settled once its bounds are no further apart."""

_MOST_DIFFERENCES = 4096

_PRODUCTS, _FEW = 4, 1 << 16
"""Pairs whose word with the smaller Z cannot be released are settled for this many times the number
of words, or for this many. Of others the plain bound remains, which is true and may be loose."""


class ScannedConstant(NamedTuple):
    """What a scan has found.

    Attributes:
      constant: no pair's loss is above ``constant`` times 2 h; from 1/2 to 1, or a little above.
      reached: some pair's loss is at least ``reached`` times 2 h.
      pair: the ids of the two words; UNKNOWN for the unknown word; None where no pair exceeds h by
        more than the scan resolves.
    """

    constant: float
    reached: float
    pair: tuple[int, int] | None


def scan(
    exponents: Exponents,
    threads: int | None = None,
    say: Say = lambda _: None,
    unfinished: Unfinished | None = None,
) -> ScannedConstant:
    """The smallest c with loss(x, x') <= 2 c h(x, x') for all pairs of strings.

    ``unfinished`` is what a stopped scan of the same exponents found, and where to keep what this
    one finds.
    """
    starts = list(range(0, len(exponents.sources), ROWS))
    unfinished = unfinished or Unfinished()
    with worker_threads(threads) as pool:
        log_sums = unfinished.log_sums
        if log_sums is None:
            log_sums = _log_sums(exponents, pool, say, unfinished)
        pairs = PairScan(exponents, log_sums, error_of(exponents))
        done, state = unfinished.pairs() or (0, pairs.probe())

        def rows(start: int) -> ScanState:
            return pairs.rows(slice(start, min(start + ROWS, len(log_sums))), state.excess)

        for number, part in enumerate(pool.map(rows, starts[done:]), start=done + 1):
            state.merge(part)
            unfinished.keep_pairs(log_sums, number, state)
            _report(say, "pairs", number, len(starts))
    return settled(pairs, state)


@contextmanager
def worker_threads(threads: int | None = None) -> Iterator[ThreadPoolExecutor]:
    """Threads that multiply matrices each by itself; as many as there are cores by default."""
    threads = threads or os.cpu_count() or 1
    with (
        threadpoolctl.threadpool_limits(1, "blas"),
        ThreadPoolExecutor(threads, initializer=_one_thread) as pool,
    ):
        yield pool


def _one_thread() -> None:
    threadpoolctl.threadpool_limits(1, "blas")


def all_sums(
    exponents: Exponents,
    pool: ThreadPoolExecutor,
    say: Say = lambda _: None,
    base: Floats | None = None,
    unfinished: Unfinished | None = None,
) -> Floats:
    """The sums of exp(-h) times q, or another base, for words that can be released: float64 [K]."""
    count, unfinished = exponents.outputs, unfinished or Unfinished()
    done, sums = unfinished.sums(count)
    starts = range(done, count, ROWS)
    parts = pool.map(
        lambda start: partial_sums(exponents, slice(start, min(start + ROWS, count)), base), starts
    )
    for start, part in zip(starts, parts, strict=True):
        sums[start:] += part
        unfinished.keep_sums(start + ROWS, sums)
        _report(say, "sums", start // ROWS + 1, -(-count // ROWS))
    return sums


def _log_sums(
    exponents: Exponents, pool: ThreadPoolExecutor, say: Say, unfinished: Unfinished
) -> Floats:
    sums, count = all_sums(exponents, pool, say, unfinished=unfinished), exponents.outputs
    others = pool.map(lambda part: other_log_sums(exponents, part), exponents.blocks(count, ROWS))
    return np.concatenate([np.log(sums), *others])


def _report(say: Say, what: str, done: int, of: int) -> None:
    """Rows come shorter and shorter: a share of the pairs, in tenths."""
    tenths = [int(10 * (1 - (1 - part / of) ** 2)) for part in (done - 1, done)]
    if tenths[0] != tenths[1] and of >= 20:
        say(f"{what}: {10 * tenths[1]} %")


def settled(pairs: PairScan, state: ScanState) -> ScannedConstant:
    """Bounds on the largest excess, once all pairs were scanned."""
    exponents = pairs.exponents
    state.open = state.open.once(len(exponents.sources))
    _settle_unreleased(pairs, state)
    upper = max(state.excess, state.open.dropped)
    order = np.argsort(-state.open.upper, kind="stable")
    for number, place in enumerate(order):
        bound = float(state.open.upper[place])
        if bound <= upper * _ROOM or number == _MOST_DIFFERENCES:
            upper = max(upper, bound)  # it is that of all that follow
            break
        first, second = int(state.open.first[place]), int(state.open.second[place])
        apart = float(exponents.between(np.array([first]), np.array([second]))[0])
        differ = difference(exponents, first, second)
        share = _share(exponents)
        gap = differ.gap if first >= exponents.outputs else apart
        excess = (gap + abs(differ.log_sum)) / apart - 1
        room = differ.error / apart + 4 * (share - 1)
        upper = max(upper, min(excess + room, bound))
        if excess - room > state.excess:
            state.excess, state.pair = excess - room, (first, second)
    ids = exponents.sources
    pair = None if state.pair is None else (int(ids[state.pair[0]]), int(ids[state.pair[1]]))
    rounding = 1 + 8 * 2.0**-53
    reached = (1 + state.excess) / 2 if state.pair else 0.5
    return ScannedConstant((1 + upper) / 2 * rounding, reached, pair)


def _share(exponents: Exponents) -> float:
    """A distance of two vectors is off by this factor at most."""
    return 1 + 2 * (exponents.vocabulary.dimensions + 8) * ROUNDOFF


def _settle_unreleased(pairs: PairScan, state: ScanState) -> None:
    """Pairs whose word with the smaller Z cannot be released: by all words that can."""
    exponents, logs = pairs.exponents, pairs.log_sums
    loose = state.open.first >= exponents.outputs
    left = max(_PRODUCTS * len(logs), _FEW)
    words, rows = np.unique(state.open.first[loose], return_inverse=True)
    places = np.flatnonzero(loose)
    largest = np.zeros(len(words))
    np.maximum.at(largest, rows, state.open.upper[places])
    for word in np.argsort(-largest, kind="stable"):
        if largest[word] <= state.excess:
            break
        mine = places[rows == word]
        mine = mine[state.open.upper[mine] > state.excess]
        if len(mine) > left:
            break
        left -= len(mine)
        _settle_word(pairs, state, int(words[word]), mine)


def _settle_word(pairs: PairScan, state: ScanState, word: int, mine: Ids) -> None:
    exponents, logs = pairs.exponents, pairs.log_sums
    others = state.open.second[mine]
    apart = exponents.between(np.full(len(mine), word), others)
    gaps = largest_gaps(exponents, word, others)
    higher = logs[others] - logs[word]
    error = 2 * pairs.error + 2 * exponents.error
    share = _share(exponents)
    excess = (np.minimum(gaps, apart) + higher) / apart - 1
    room = error / apart + 4 * (share - 1)
    state.open.upper[mine] = np.minimum(state.open.upper[mine], excess + room)
    best = int((excess - room).argmax())
    if excess[best] - room[best] > state.excess:
        state.excess = float(excess[best] - room[best])
        state.pair = word, int(others[best])
