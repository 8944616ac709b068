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
      chance: what whoever sees lengths and gaps only gets: the document that these find, or the
        commonest word of public text, guessed everywhere. A uniform guess where there is no public
        text, and for the attackers that see lengths and gaps. None where it is not known.
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
