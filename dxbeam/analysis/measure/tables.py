"""The rows of the tables that a measurement writes."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dxbeam import storage
from dxbeam.analysis.measure.plausible_deniability import Repeated, transition
from dxbeam.analysis.measure.proportions import Sums, shares_of
from dxbeam.analysis.measure.rank_histogram import first_ranks
from dxbeam.analysis.measure.settings import Setting
from dxbeam.analysis.theory.geometry import Bounds, Nearer, Threshold
from dxbeam.analysis.theory.intervals import CONFIDENCE, mean_interval

PROPORTIONS, RANKS = "proportions.parquet", "ranks.parquet"
WORDS, GEOMETRY = "words.parquet", "geometry.parquet"
NAMES = PROPORTIONS, RANKS, WORDS, GEOMETRY

Row = dict[str, Any]

_GEOMETRY_COLUMNS = (
    "quantity", "between", "epsilon", "value", "low", "high", "median", "words", "left_out",
)  # fmt: skip


def proportion_rows(
    setting: Setting, weighting: str, sums: Sums, confidence: float = CONFIDENCE
) -> Iterator[Row]:
    """proportions.parquet: shares of original, close and distant words, each with its interval."""
    for shares in shares_of(sums, setting.epsilons, setting.rank_cs, confidence):
        row = {
            **_of(setting),
            "weighting": weighting,
            "epsilon": shares.epsilon,
            "rank_c": shares.rank_c,
            "words": shares.words,
        }
        for name in ("original", "close", "distant"):
            share, low, high = getattr(shares, name)
            row |= {name: share, f"{name}_low": low, f"{name}_high": high}
        yield row


def rank_rows(setting: Setting, weighting: str, sums: Sums, vocabulary: int) -> Iterator[Row]:
    """ranks.parquet: the share of released words by rank, without rank resampling."""
    first = first_ranks(vocabulary)
    last = np.append(first[1:] - 1, vocabulary - 1)
    for column, epsilon in enumerate(setting.epsilons):
        for bin_, (low, high) in enumerate(zip(first, last, strict=True)):
            yield {
                **_of(setting),
                "weighting": weighting,
                "epsilon": epsilon,
                "first_rank": int(low),
                "last_rank": int(high),
                "share": float(sums.ranks[column, bin_] / sums.words),
                "words": sums.words,
            }


def word_rows(setting: Setting, repeated: Repeated) -> Iterator[Row]:
    """words.parquet: N_w and S_w of a word at every epsilon, and where its transition is."""
    turning = transition(setting.epsilons, repeated.unchanged, repeated.repeats)
    for column, epsilon in enumerate(setting.epsilons):
        yield {
            **_of(setting),
            "word": repeated.word,
            "epsilon": epsilon,
            "repeats": repeated.repeats,
            "n_w": float(repeated.unchanged[column]),
            "s_w": float(repeated.distinct[column]),
            "transition_epsilon": turning,
        }


def geometry_rows(
    thresholds: Iterable[Threshold],
    points: Iterable[Nearer],
    bounds: Sequence[Bounds],
    repeated: Iterable[Repeated],
) -> Iterator[Row]:
    """geometry.parquet: Table 2, Figure 6 both ways, and bounds next to what was measured.

    Args:
      thresholds: Table 2.
      points: Figure 6.
      bounds: of some words, for Laplace noise.
      repeated: words that Laplace noise was added to again and again, these among them.
    """
    for row in thresholds:
        yield _geometry_row(
            quantity="threshold",
            between=row.pair,
            value=row.mean,
            low=row.low,
            high=row.high,
            median=row.median,
            words=len(row.values),
            left_out=row.left_out,
        )
    for point in points:
        for quantity, value in (
            ("probability at the mean threshold", point.at_mean),
            ("mean probability", point.mean),
        ):
            yield _geometry_row(
                quantity=quantity, between=point.pair, epsilon=point.epsilon, value=value
            )
    epsilons = list(dict.fromkeys(point.epsilon for point in points))
    yield from bound_rows(epsilons, bounds, repeated)


def bound_rows(
    epsilons: Sequence[float], bounds: Sequence[Bounds], repeated: Iterable[Repeated]
) -> Iterator[Row]:
    """Means over words of the bounds of Eqs 20 and 21, and of the shares that were measured."""
    by_word = {word.id: word for word in repeated}
    bounded = [by_word[bound.word] for bound in bounds if bound.word in by_word]
    if not bounded:
        return
    for released, bound_of, count_of in (
        ("w", "original", "unchanged"),
        ("x1", "nearest", "nearest"),
    ):
        limits = np.array([getattr(bound, bound_of) for bound in bounds if bound.word in by_word])
        shares = np.array([getattr(word, count_of) / word.repeats for word in bounded])
        for epsilon, limit, values in zip(epsilons, limits.T, shares.T, strict=True):
            row = {"between": released, "epsilon": epsilon, "words": len(bounded)}
            bound, share = "bound on the share released", "share released"
            yield _geometry_row(quantity=bound, value=float(limit.mean()), **row)
            mean, low, high = mean_interval(values.sum(), np.square(values).sum(), len(bounded))
            yield _geometry_row(quantity=share, value=mean, low=low, high=high, **row)


def _geometry_row(**values: Any) -> Row:
    return {column: values.get(column) for column in _GEOMETRY_COLUMNS}


def _of(setting: Setting) -> Row:
    return {"mechanism": setting.mechanism, "parameters": setting.parameters_text}


def texts(*names: str) -> list[pa.Field]:
    """Columns of strings."""
    return [pa.field(name, pa.string()) for name in names]


def numbers(*names: str) -> list[pa.Field]:
    """Columns of float64."""
    return [pa.field(name, pa.float64()) for name in names]


def write_table(path: str, rows: Sequence[Row], columns: pa.Schema | None = None) -> None:
    """Writes rows, which all have the same columns, as Parquet; with types where they are given."""
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows), columns), buffer)
    storage.create_once(path, buffer.getvalue())
