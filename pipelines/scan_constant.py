r"""Finds the smallest epsilon that is true of one vocabulary, for santext and tem.

    dxbeam scan-constant --vocabulary V --mechanism santext --epsilon 1.5,2 --output scan.json
    dxbeam sanitize … --mechanism santext --epsilon 2 --constant exact --constant_scan scan.json
    dxbeam scan-constant --vocabulary V --mechanism santext --nominal_epsilon 2,3

The worst case of these mechanisms is rarely reached: of all pairs of words of a vocabulary the one
that is distinguished best decides. The first form finds, for each epsilon that you want to
guarantee, a larger nominal one by which words may be drawn, and keeps it in a file. A file that is
there already, of the same vocabulary and settings, is added to; a command that was stopped goes on
where it was, from FILE.unfinished. The last form says what nominal epsilons guarantee, and writes
nothing; of mahalanobis and coordinate_laplace, which keep their epsilon in separate metrics, it
says what that is per unit of Euclidean distance. docs/guides/exact-constants.md explains all.

Nothing private is read. All pairs are scanned, with a bound on rounding; the time grows with the
square of the number of words, and words are drawn no more slowly afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dxbeam.commands import program
from dxbeam.commands.jobs.scan_constant import (
    arguments,
    numbers,
    say_nominal,
    say_ratios,
    solve_and_keep,
)
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import MECHANISMS
from dxbeam.mechanisms.constants.solve import check_prefix, exponents_of
from dxbeam.space.artifact import artifact
from dxbeam.text.plain_settings import mechanism_of

_OTHER_METRICS = ("mahalanobis", "coordinate_laplace")
"""Of which to say what their epsilon is per unit of Euclidean distance."""


def scan_constant(argv: Sequence[str]) -> int:
    """Scans and prints; returns the exit code."""
    flags = arguments().parse_args(argv)
    if bool(flags.epsilon) == bool(flags.nominal_epsilon):
        raise ConfigurationError("give --epsilon, to be guaranteed, or --nominal_epsilon")
    if flags.epsilon and not flags.output:
        raise ConfigurationError("--output is needed with --epsilon; a release reads it")
    check_prefix(MECHANISMS.get(flags.mechanism))  # before it asks for a language model

    def mechanism(epsilon: float) -> Any:
        return mechanism_of(
            flags.mechanism,
            epsilon,
            flags.parameters,
            importance=flags.importance,
            base=flags.base,
            base_exponent=flags.base_exponent if flags.base else None,
        )

    wanted = numbers(flags.epsilon or flags.nominal_epsilon)
    mechanisms = [mechanism(epsilon) for epsilon in wanted]
    vocabulary = artifact.open_vocabulary(artifact.handle(flags.vocabulary))
    if flags.nominal_epsilon and flags.mechanism in _OTHER_METRICS:
        say_ratios(mechanisms, vocabulary)
        return 0
    for each in mechanisms:
        exponents_of(each, vocabulary)  # refuses what has no constant, before anything starts
    if flags.nominal_epsilon:
        for each in mechanisms:
            say_nominal(each, vocabulary)
        return 0
    return solve_and_keep(mechanisms, vocabulary, flags.output)


if __name__ == "__main__":
    program.main(scan_constant)
