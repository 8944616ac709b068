"""The nominal epsilon with which a mechanism keeps a guaranteed one, in one vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.constants.exponents import Exponents
from dxbeam.mechanisms.constants.scan import Say, ScannedConstant, scan
from dxbeam.mechanisms.public.weighed_choice import WeighedChoice
from dxbeam.space.vocabulary.words import Vocabulary

_TOLERANCE = 1e-4
"""Epsilon is used up to this share of itself."""

_MOST_SCANS = 16


class Level(NamedTuple):
    """What was solved for one epsilon.

    Attributes:
      epsilon: the guaranteed one.
      nominal: that by which words are drawn, from epsilon to twice epsilon.
      scanned: the scan at the nominal epsilon.
      scans: how many scans it took.
    """

    epsilon: float
    nominal: float
    scanned: ScannedConstant
    scans: int


Scan = Callable[[Exponents], ScannedConstant]


def exponents_of(mechanism: Any, vocabulary: Vocabulary, scale: float = 1.0) -> Exponents:
    """The exponents of a mechanism, times a scale.

    Raises:
      ConfigurationError: the mechanism does not draw every word by probabilities that fall with
        their distance.
    """
    check_prefix(mechanism)
    if not isinstance(mechanism, WeighedChoice):
        raise ConfigurationError(
            f"`mechanism` {mechanism.name} has no constant to scan for; santext and tem have one"
        )
    drawn = mechanism.distribution(vocabulary)
    weights = drawn.half_weights(vocabulary)
    return Exponents.make(
        vocabulary,
        scale * drawn.rate,
        drawn.cap,
        None if drawn.base is None else drawn.base.logs(vocabulary),
        None if weights is None else scale * weights,
    )


def check_prefix(mechanism: Any) -> None:
    """Refuses a mechanism, or a class of them, that reads the words it has released."""
    if hasattr(mechanism, "release_in_order"):
        raise ConfigurationError(
            f"`mechanism` {mechanism.name} has no constant to scan for: its normaliser Z depends "
            "on the words released before, and after some of them the worst case is all but "
            "reached, so its epsilon stays the worst case"
        )


def solve(
    mechanism: Any,
    vocabulary: Vocabulary,
    say: Say = lambda _: None,
    scanned_by: Scan = scan,
) -> Level:
    """The largest nominal epsilon, nearly, with which the mechanism's epsilon is guaranteed.

    With exponents of scale h, the loss is at most scale c(scale) times what is guaranteed, c being
    the scanned constant. That is 1 at most for scale = 1, and 1 at least for 2. The interval is
    halved, or cut where the line through the last two scans reaches 1. What is returned was scanned
    itself, so nothing depends on how c changes in between.
    """
    epsilon = mechanism.epsilon

    def spent(scale: float) -> tuple[float, ScannedConstant]:
        scan = scanned_by(exponents_of(mechanism, vocabulary, scale))
        say(f"nominal epsilon {scale * epsilon:.6g}: {scale * epsilon * scan.constant:.6g} true")
        return scale * scan.constant, scan

    low, high = 1.0, 2.0
    below, best = spent(low)
    scans = 1
    if below > 1:  # by rounding, where the worst case is reached
        return Level(epsilon, epsilon, best._replace(constant=1.0), scans)
    tried, guess = [(low, below)], min(2.0, 1 / below)
    while scans < _MOST_SCANS and below < 1 - _TOLERANCE and high - low > _TOLERANCE * low:
        value, scan = spent(guess)
        scans += 1
        tried = [*tried[-1:], (guess, value)]
        if value <= 1:
            low, below, best = guess, value, scan
        else:
            high = guess
        (first, at_first), (second, at_second) = tried
        slope = (at_second - at_first) / (second - first)
        aim = 1 - _TOLERANCE / 3
        guess = second + (aim - at_second) / slope if slope > 0 else high
        if not low < guess < high:
            guess = (low + high) / 2
    return Level(epsilon, low * epsilon, best, scans)
