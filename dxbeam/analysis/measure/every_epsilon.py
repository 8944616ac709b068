"""The released word at every epsilon at once, from one draw of the noise.

Where the noise at epsilon is a scaled copy t u of one vector u (multidimensional Laplace noise with
t = 1 / epsilon, say), the word nearest to w + t u is the x with the largest score

    s_x(t) = <w, x> - |x|^2 / 2 + t <u, x>,

since |w + t u - x|^2 = |w + t u|^2 - 2 s_x(t). Every word is a line in t, so the released word as a
function of t is the upper envelope of N lines, and two rows of products, <w, X> and <u, X>, hold
the answer for every t.

Let p be best at the smallest t and q at the largest, and t* any t between. If x is best at some t
up to t*, the line x - p is at least 0 there, so it is at least 0 at the smallest t or at t*; from
t* on, the same holds of x - q at t* or at the largest t. Three passes over the N lines in float32
with a bound on their rounding therefore find all words that can be the answer at any t, and fewest
others where t* is about where p and q cross. The lines of these few are computed again in float64
and compared at every t.

The distribution of the answer at each t is exact. Answers at different t share one draw of noise,
so curves over epsilon are smooth, and intervals hold at each epsilon only, not for all together.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

_UNIT_ROUNDOFF = 2.0**-24
_WORDS_PER_BLOCK = 4096


class Sizes(NamedTuple):
    """What is computed at once; no answer depends on it.

    Attributes:
      scores: of a block, float32: 16 MiB, twice.
      rows: of a block, where that is more: fewer wait for the vectors to come from memory,
      most_scores: as long as they are no more than these: 128 MiB, twice.
      candidates: with more, the interval of t is halved first.
    """

    scores: int = 1 << 22
    rows: int = 64
    most_scores: int = 1 << 25
    candidates: int = 1024


SIZES = Sizes()


class Lines(NamedTuple):
    """What is computed once for a vocabulary.

    Attributes:
      vectors: float32 [N, n].
      half_squares: float64 [N], half the squared length of each vector.
      longest: the largest length.
    """

    vectors: Singles
    half_squares: Floats
    longest: float


def lines(vectors: Singles) -> Lines:
    """Prepares a vocabulary: float32 [N, n]."""
    squares = np.empty(len(vectors))
    for start in range(0, len(vectors), _WORDS_PER_BLOCK):
        block = vectors[start : start + _WORDS_PER_BLOCK].astype(np.float64)
        squares[start : start + len(block)] = np.einsum("ij,ij->i", block, block)
    return Lines(vectors, squares / 2, float(np.sqrt(squares.max())))


def released(
    starts: Floats,
    noise: Floats,
    scales: Floats,
    words: Lines,
    threads: int = 2,
    sizes: Sizes = SIZES,
) -> Ids:
    """The word nearest to start + scale * noise, for every row and every scale.

    Args:
      starts: float64 [B, n], where the noise is added.
      noise: float64 [B, n], the noise at scale 1.
      scales: float64 [E], in increasing order, none below 0.
      words: from ``lines``.
      threads: blocks of rows that are computed side by side.
      sizes: of the blocks.

    Returns:
      int64 [B, E]: word ids, equal to those of a search in float64 at each scale; of equally near
      words the one with the lowest id.
    """
    answers = np.empty((len(starts), len(scales)), np.int64)
    for row, candidates in _every_row(starts, noise, scales, words, threads, sizes):
        answers[row] = _settled(starts[row], noise[row], scales, words, candidates)
    return answers


class Spans(NamedTuple):
    """Which word is the answer from which scale on, along the scales.

    Attributes:
      first: int64 [k], increasing, the first 0: positions among the scales.
      ids: int64 [k], the words; no two neighbours are equal.
    """

    first: Ids
    ids: Ids


def spans(
    starts: Floats, noise: Floats, scales: Floats, words: Lines, threads: int = 2
) -> list[Spans]:
    """As ``released``, for very many scales: only where the answer changes, for every row."""
    result: list[Spans] = [Spans(np.zeros(0, np.int64), np.zeros(0, np.int64))] * len(starts)
    for row, candidates in _every_row(starts, noise, scales, words, threads, SIZES):
        at_zero, slopes = _exact_lines(starts[row], noise[row], words, candidates)
        first, best = _envelope(at_zero, slopes, scales)
        result[row] = Spans(first, candidates[best])
    return result


def _every_row(
    starts: Floats, noise: Floats, scales: Floats, words: Lines, threads: int, sizes: Sizes
) -> Iterator[tuple[int, Ids]]:
    """Yields each row's number, and the words that may be its answer at one of the scales."""
    with (
        threadpool_limits(1, "blas"),
        ThreadPoolExecutor(threads) as pool,
    ):
        for rows, computed in pool.map(
            lambda rows: (rows, _block(starts[rows], noise[rows], scales, words, sizes)),
            _blocks(len(starts), len(words.vectors), sizes),
        ):
            yield from enumerate(computed, rows.start)


def _blocks(rows: int, words: int, sizes: Sizes) -> Iterator[slice]:
    many = min(sizes.rows, sizes.most_scores // words)
    step = max(1, many, sizes.scores // words)
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def _block(starts: Floats, noise: Floats, scales: Floats, words: Lines, sizes: Sizes) -> list[Ids]:
    """For each row the words that may be the answer at one of the scales."""
    # One product for all: the vectors come from memory once. Draws of one word share their start.
    distinct, which = np.unique(starts, axis=0, return_inverse=True)
    both = np.concatenate([distinct, noise]).astype(np.float32) @ words.vectors.T
    at_zero, slopes = both[: len(distinct)], both[len(distinct) :]
    at_zero -= words.half_squares.astype(np.float32)
    lengths = np.sqrt(np.square(starts).sum(axis=1)), np.sqrt(np.square(noise).sum(axis=1))
    return [
        _candidates(
            at_zero[which[row]],
            slopes[row],
            scales,
            _error(words, lengths[0][row], lengths[1][row] * scales),
            sizes.candidates,
        )
        for row in range(len(starts))
    ]


def _error(words: Lines, start: float, noise: Floats) -> Floats:
    """A bound on the rounding of a score in float32 at each scale, float64 [E].

    A product of n terms computed in float32, in any order, is off by at most n u / (1 - n u) times
    the product of the lengths (Higham: Accuracy and stability of numerical algorithms, 2002,
    section 3.1); rounding the factors to float32, half the square, and the two further operations
    add a few u each.
    """
    n = words.vectors.shape[1]
    relative = (n + 8) * _UNIT_ROUNDOFF / (1 - (n + 8) * _UNIT_ROUNDOFF)
    lengths = (start + noise) * words.longest + words.longest**2
    return np.asarray(relative * lengths)


def _candidates(at_zero: Singles, slopes: Singles, scales: Floats, error: Floats, most: int) -> Ids:
    """Ids in increasing order of all words that may be the answer at one of the scales."""
    candidates: list[Ids] = []
    best: dict[int, int] = {}

    def look(index: int) -> int:
        if index not in best:
            scores = at_zero + np.float32(scales[index]) * slopes
            best[index] = int(scores.argmax())
            limit = scores[best[index]] - np.float32(2.1 * error[index])
            candidates.append(np.flatnonzero(scores >= limit))
        return best[index]

    intervals = [(0, len(scales) - 1)]
    while intervals:
        first, last = intervals.pop()
        p, q = look(first), look(last)
        if p == q or last - first < 2:  # p is best in between as well
            continue
        crossing = _crossing(at_zero, slopes, p, q, scales[first], scales[last])
        scores = at_zero + np.float32(crossing) * slopes
        limit = min(scores[p], scores[q]) - np.float32(2.1 * error[last])
        above = np.flatnonzero(scores >= limit)
        if len(above) > most:
            middle = min(max(int(np.searchsorted(scales, crossing)), first + 1), last - 1)
            intervals += [(first, middle), (middle, last)]
        else:
            candidates.append(above)
    return np.unique(np.concatenate(candidates))


def _crossing(
    at_zero: Singles, slopes: Singles, p: int, q: int, first: float, last: float
) -> float:
    """Where the lines of p and q meet, within the interval."""
    difference = float(slopes[q]) - float(slopes[p])
    if difference <= 0:
        return (first + last) / 2
    meeting = (float(at_zero[p]) - float(at_zero[q])) / difference
    return min(max(meeting, first), last)


def _settled(start: Floats, noise: Floats, scales: Floats, words: Lines, candidates: Ids) -> Ids:
    """The best of few words at every scale, in float64: int64 [E]."""
    at_zero, slopes = _exact_lines(start, noise, words, candidates)
    scores = at_zero[:, None] + slopes[:, None] * scales
    return np.asarray(candidates[scores.argmax(axis=0)])


def _exact_lines(
    start: Floats, noise: Floats, words: Lines, candidates: Ids
) -> tuple[Floats, Floats]:
    """Scores of few words at scale 0 and their slopes, in float64: [C] each."""
    vectors = words.vectors[candidates].astype(np.float64)
    return vectors @ start - words.half_squares[candidates], vectors @ noise


def _envelope(at_zero: Floats, slopes: Floats, scales: Floats) -> tuple[Ids, Ids]:
    """The upper envelope of lines: from which scale on which line is the highest, int64 [k] each.

    From the highest line at the smallest scale on, the next one is always the steeper line that
    meets it first.
    """
    best = int((at_zero + slopes * scales[0]).argmax())
    first, winners = [0], [best]
    while len(steeper := np.flatnonzero(slopes > slopes[best])):
        meeting = (at_zero[best] - at_zero[steeper]) / (slopes[steeper] - slopes[best])
        nearest = int(meeting.argmin())
        place = int(np.searchsorted(scales, meeting[nearest]))
        if place >= len(scales):
            break
        best = int(steeper[nearest])
        if place <= first[-1]:
            winners[-1] = best
        else:
            first.append(place)
            winners.append(best)
    return np.array(first), np.array(winners)
