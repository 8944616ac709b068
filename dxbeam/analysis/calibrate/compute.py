"""Which epsilon and which c of rank resampling meet a target, and how sure that is.

The words are dealt into two halves. On the first half the answer is *chosen*: the smallest epsilon
at which some c, or no rank resampling, meets all targets. On the second half it is *verified*: a
number that was chosen for looking good looks better than it is, and on words that had no part in
the choice it does not. So the intervals of the answer are those of the second half, and the answer
holds where they are on the right side of every target as a whole.

The three intervals of the answer hold together with a probability of 95 %, as each holds with
98.3 % (Bonferroni).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from dxbeam.analysis.theory.intervals import CONFIDENCE
from dxbeam.errors import ConfigurationError

SHARES = ("original", "close", "distant")

CHOICE, VERIFICATION = "choice", "verification"
"""What a half of the words is for."""

EACH = 1 - (1 - CONFIDENCE) / len(SHARES)
"""The confidence of each interval, so that those of all shares hold together with CONFIDENCE."""

RANK_CS = (
    *(float(f"{first}e{power}") for power in (-3, -2, -1) for first in (1, 1.5, 2, 3, 5, 7)),
    1.0,
)
"""The values of c that are tried unless others are asked for."""

MARGIN = 2.0
"""How many half-widths of its interval a share must keep from its target to be chosen.

One would leave the second half an even chance to confirm it: its share is lower or higher by
about as much as that of the first half. At two it is confirmed in 95 of 100 cases.
"""

TIE = 0.02
"""By how much more of rank resampling must be better, as it changes words that would stay."""

Row = dict[str, Any]
"""A setting and its shares, as tables.proportion_rows writes them; with the half of the words."""


class Target(NamedTuple):
    """What is asked of a share.

    Attributes:
      share: one of SHARES.
      at_most: whether the share is to be at most the value; otherwise at least.
      value: between 0 and 1.
    """

    share: str
    at_most: bool
    value: float

    @property
    def sentence(self) -> str:
        """For a person to read."""
        return f"{self.share} {'at most' if self.at_most else 'at least'} {100 * self.value:g} %"

    def shortfall(self, row: Row) -> float:
        """By how much a share is on the wrong side; negative on the right one."""
        return float(self._sign * (row[self.share] - self.value))

    def slack(self, row: Row, margin: float = 1.0) -> float:
        """How far the interval's worse end, moved away by the margin, is on the right side."""
        share, end = row[self.share], row[f"{self.share}_{'high' if self.at_most else 'low'}"]
        return float(self._sign * (self.value - share - margin * (end - share)))

    @property
    def _sign(self) -> int:
        return 1 if self.at_most else -1


class Answer(NamedTuple):
    """The setting that was chosen.

    Attributes:
      targets: what was asked.
      weighting: what the words stand for (word_sample.py).
      chosen: the setting with its shares on the words that it was chosen on.
      verified: the same setting on other words.
    """

    targets: tuple[Target, ...]
    weighting: str
    chosen: Row
    verified: Row

    @property
    def confirmed(self) -> bool:
        """Whether all intervals on other words are on the right side."""
        return all(target.slack(self.verified) >= 0 for target in self.targets)

    @property
    def setting(self) -> str:
        """Epsilon and c, in words."""
        return setting_in_words(self.verified)

    @property
    def missed(self) -> str:
        """Which targets are not met for certain, and by how much; "" where all are."""
        said = []
        for target in self.targets:
            if target.slack(self.verified) >= 0:
                continue
            short = target.shortfall(self.verified)
            said.append(
                f"{shares_in_words(self.verified, [target.share])}, "
                + (
                    f"{100 * short:.3g} points short of {target.sentence}"
                    if short > 0
                    else f"which leaves open whether {target.sentence} is met; more words "
                    "narrow the interval"
                )
            )
        return "; ".join(said)


def parse_targets(at_most: str, at_least: str) -> tuple[Target, ...]:
    """``"distant=0.2,original=0.5"`` and the like as targets.

    Raises:
      ConfigurationError: there are none, or no words can meet them.
    """
    targets = (*_parsed("at_most", at_most), *_parsed("at_least", at_least))
    if not targets:
        raise ConfigurationError(
            "there is nothing to calibrate for: say what is wanted of the shares of original, "
            "close and distant words, such as `at_most` distant=0.2 or `at_least` close=0.3"
        )
    most = {target.share: target.value for target in targets if target.at_most}
    least = {target.share: target.value for target in targets if not target.at_most}
    for share in SHARES:
        if least.get(share, 0) > most.get(share, 1):
            raise ConfigurationError(
                f"`at_least` {share}={least[share]:g} and `at_most` {share}={most[share]:g} "
                "contradict each other; change one"
            )
    if sum(least.values()) > 1:
        raise ConfigurationError(
            f"`at_least` {at_least} asks for more than all words; the three shares add up to 1"
        )
    if len(most) == len(SHARES) and sum(most.values()) < 1:
        raise ConfigurationError(
            f"`at_most` {at_most} leaves words without a place; the three shares add up to 1"
        )
    return targets


def _parsed(flag: str, text: str) -> list[Target]:
    targets: list[Target] = []
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        share, _, written = (piece.strip() for piece in part.partition("="))
        try:
            value = float(written)
        except ValueError:
            value = 0.0
        if share not in SHARES or not 0 < value < 1:
            raise ConfigurationError(
                f"`{flag}` {text}: write it as share=number, as distant=0.2; shares are "
                f"{', '.join(SHARES)}, and a number must be between 0 and 1"
            )
        if share in [target.share for target in targets]:
            raise ConfigurationError(f"`{flag}` {text} names {share} twice")
        targets.append(Target(share, flag == "at_most", value))
    return targets


def best_at_each_epsilon(rows: Sequence[Row], targets: Sequence[Target]) -> list[Row]:
    """For each epsilon, in increasing order, the c that is best for the targets.

    That is the one whose least slack is largest, first among those that meet all targets. Of
    several within TIE of the best it is the largest c, or none: the least resampling.

    Args:
      rows: a row for every epsilon and every c, None among them.
      targets: at least one.
    """
    best = []
    ordered = sorted(rows, key=lambda row: float(row["epsilon"]))
    for _, group in itertools.groupby(ordered, key=lambda row: float(row["epsilon"])):
        tried = [(least_slack(row, targets), row) for row in group]
        candidates = [pair for pair in tried if pair[0] >= 0] or tried
        most = max(slack for slack, _ in candidates)
        as_good = [row for slack, row in candidates if slack >= most - TIE]
        best.append(
            max(as_good, key=lambda row: math.inf if row["rank_c"] is None else row["rank_c"])
        )
    return best


def least_slack(row: Row, targets: Sequence[Target]) -> float:
    """How far a setting keeps from the target that it is nearest to missing, with MARGIN."""
    return min(target.slack(row, MARGIN) for target in targets)


def answers(rows: Sequence[Row], targets: tuple[Target, ...]) -> list[Answer]:
    """For each weighting the smallest epsilon that meets all targets, or what comes closest.

    Args:
      rows: for each weighting, half, epsilon and c, None among them.
      targets: at least one.

    Returns:
      answers in the order in which the weightings occur.
    """
    best_answers = []
    for weighting in dict.fromkeys(row["weighting"] for row in rows):
        best = best_at_each_epsilon(of_half(rows, weighting, CHOICE), targets)
        meets = [row for row in best if least_slack(row, targets) >= 0]
        chosen = meets[0] if meets else max(best, key=lambda row: least_slack(row, targets))
        others = of_half(rows, weighting, VERIFICATION)
        best_answers.append(Answer(targets, weighting, chosen, same_setting(others, chosen)))
    return best_answers


def of_half(rows: Sequence[Row], weighting: str, half: str) -> list[Row]:
    """The rows of one half of the words."""
    return [row for row in rows if (row["weighting"], row["half"]) == (weighting, half)]


def same_setting(rows: Sequence[Row], row: Row) -> Row:
    """The row of the same epsilon and c among others."""
    wanted = row["epsilon"], row["rank_c"]
    return next(other for other in rows if (other["epsilon"], other["rank_c"]) == wanted)


def setting_in_words(row: Row) -> str:
    """Epsilon and c of a row."""
    c = row["rank_c"]
    resampling = "no rank resampling" if c is None else f"c = {c:g}"
    return f"epsilon = {row['epsilon']:g} with {resampling}"


def grid_in_words(epsilons: Sequence[float], rank_cs: Sequence[float]) -> str:
    """Which settings are tried: epsilons and values of c, both in increasing order."""

    def span(name: str, values: Sequence[float]) -> str:
        if len(values) == 1:
            return f"{name} = {values[0]:g}"
        return f"{len(values)} values of {name} from {values[0]:g} to {values[-1]:g}"

    resampling = f" and {span('c', rank_cs)}" if rank_cs else ""
    return f"{span('epsilon', epsilons)} with no rank resampling{resampling}"


def shares_in_words(row: Row, shares: Sequence[str] = SHARES, intervals: bool = True) -> str:
    """Shares of a row, in per cent."""
    return ", ".join(
        f"{share} {100 * row[share]:.1f} %"
        + (f" ({100 * row[f'{share}_low']:.1f} to {100 * row[f'{share}_high']:.1f})" * intervals)
        for share in shares
    )


def compared(answer: Answer, uniform: Answer, rows: Sequence[Row]) -> str:
    """How the answer for the words of a corpus differs from that for all words alike.

    Args:
      answer: for the words of the corpus.
      uniform: for the words of the vocabulary.
      rows: the curves of both.
    """
    at_own = same_setting(of_half(rows, uniform.weighting, VERIFICATION), answer.verified)
    agree = answer.confirmed == uniform.confirmed and (
        not answer.confirmed or answer.setting == uniform.setting
    )
    setting = uniform.setting if uniform.confirmed else "no setting was found"
    return (
        f"The answers {'agree' if agree else 'differ'}: for the vocabulary, where every word "
        f"counts alike, it is {setting}. In a text a common word counts as often as it occurs: at "
        f"{answer.setting} the shares of its words are "
        f"{shares_in_words(answer.verified, intervals=False)}, "
        f"and those of the vocabulary's words {shares_in_words(at_own, intervals=False)}"
    )
