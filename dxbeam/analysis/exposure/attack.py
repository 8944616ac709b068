"""What one attacker gets of a release, as a row of a table."""

from __future__ import annotations

from typing import NamedTuple


class Attack(NamedTuple):
    """A row.

    Attributes:
      attacker: what it does.
      sees: of the release.
      knows: besides.
      measure: what counts as success.
      success: the share of successes; low and
      high: its 95 % interval.
      chance: what a guess gets to which all words or candidates are alike; guessing the commonest
        word may get more. None where it is not known.
      n: of how many documents, spans or words, as the measure says.
    """

    attacker: str
    sees: str
    knows: str
    measure: str
    success: float
    low: float
    high: float
    chance: float | None
    n: int
