"""Settings at equal recovery of rare words: each curve read off between two of its epsilons.

A mechanism's share of rare words recovered grows with epsilon. Where it crosses a level, everything
else is read off by a straight line between the neighbouring points. The interval covers every
epsilon at which the level lies within the interval of the risk, so it is wide where points are few.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dxbeam.analysis.frontier.compute import Estimate, Point

READ_OFF = ("useful", "unchanged", "context", "task_accuracy")


class ReadOff(NamedTuple):
    """A curve where as many rare words are recovered as on the others.

    Attributes:
      point: a point of the curve, which names it.
      epsilon: where the curve crosses the level.
      values: the columns of ``READ_OFF`` there; those that were measured.
    """

    point: Point
    epsilon: float
    values: dict[str, Estimate]


def rare_risk(point: Point) -> Estimate | None:
    """What attackers get of rare words, by the best one of those that may read.

    One reads with context, one takes the text at its word. What was drawn counts as read where the
    text is decoded, as it is what the text says; where it is not decoded, it does not.
    """
    risks = [point.estimate("context_rare"), point.estimate("unchanged_rare")]
    if "decode=" in point.parameters:
        risks.append(point.estimate("noisy_context_rare"))
    return max(filter(None, risks), key=lambda risk: risk.value, default=None)


def read_off(points: Iterable[Point], level: float) -> list[ReadOff]:
    """Each curve at a level of rare words recovered; curves that do not cross it are left out.

    Args:
      points: of any number of curves.
      level: a share.

    Returns:
      in the order in which curves come first.
    """
    curves: dict[tuple[str, str, float | None], list[Point]] = {}
    for point in points:
        if rare_risk(point) is not None:
            curves.setdefault(point.curve, []).append(point)
    crossings = []
    for curve in curves.values():
        curve.sort(key=lambda point: point.epsilon)
        epsilons = [point.epsilon for point in curve]
        crossed = _crossing(epsilons, _risks(curve, 0), level)
        if crossed is None:
            continue
        first, last = _around(epsilons, curve, level)
        there = [first, crossed, last, *(x for x in epsilons if first < x < last)]
        values = {}
        for name in READ_OFF:
            column = [estimate for point in curve if (estimate := point.estimate(name))]
            if len(column) == len(curve):
                low = min(_at(epsilons, [each.low for each in column], x) for x in there)
                high = max(_at(epsilons, [each.high for each in column], x) for x in there)
                value = _at(epsilons, [each.value for each in column], crossed)
                values[name] = Estimate(value, low, high)
        crossings.append(ReadOff(curve[0], crossed, values))
    return crossings


def _around(epsilons: Sequence[float], curve: Sequence[Point], level: float) -> tuple[float, float]:
    """The least and the greatest epsilon at which the level is within the interval of the risk."""
    highs, lows = _risks(curve, 2), _risks(curve, 1)
    first = epsilons[0] if highs[0] >= level else _crossing(epsilons, highs, level)
    # The last rise of the lower ends: the first one from the other side.
    backwards = [-x for x in reversed(epsilons)], [-low for low in reversed(lows)]
    fallen = None if lows[-1] <= level else _crossing(*backwards, -level)
    return (
        epsilons[0] if first is None else first,
        epsilons[-1] if fallen is None else -fallen,
    )


def _risks(curve: Sequence[Point], part: int) -> list[float]:
    risks = [rare_risk(point) for point in curve]
    return [risk[part] for risk in risks if risk is not None]


def _crossing(epsilons: Sequence[float], risks: Sequence[float], level: float) -> float | None:
    """The least epsilon at which the risk rises to a level; None where no two points enclose it."""
    for place in range(len(risks) - 1):
        low, high = risks[place], risks[place + 1]
        if low <= level <= high:
            share = (level - low) / (high - low) if high > low else 0.0
            return epsilons[place] + share * (epsilons[place + 1] - epsilons[place])
    return None


def _at(epsilons: Sequence[float], values: Sequence[float], epsilon: float) -> float:
    """By a straight line between neighbouring points, within the first and the last."""
    for place in range(len(epsilons) - 1):
        if epsilon <= epsilons[place + 1]:
            share = (epsilon - epsilons[place]) / (epsilons[place + 1] - epsilons[place])
            return values[place] + share * (values[place + 1] - values[place])
    return values[-1]
