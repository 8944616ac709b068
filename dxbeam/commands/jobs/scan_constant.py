"""The flags of ``dxbeam scan-constant``, and what it says as it scans."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from dxbeam import storage
from dxbeam.commands import program
from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.mechanisms.constants.metric_ratio import metric_ratio
from dxbeam.mechanisms.constants.record import record_of
from dxbeam.mechanisms.constants.scan import scan
from dxbeam.mechanisms.constants.solve import Level, exponents_of, solve
from dxbeam.mechanisms.parameters import checked_epsilon, recorded_settings
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.public.constant_file import StoppedScans, read_record

_OF_A_SCAN = ("vocabulary", "mechanism")
"""What a record is true of."""


def arguments() -> program.Arguments:
    """The flags."""
    parser = program.Arguments("scan-constant", __doc__ or "")
    parser.add_argument(
        "--vocabulary", required=True, metavar="DIR", help="what dxbeam build-vocabulary wrote"
    )
    parser.add_argument(
        "--mechanism", default="santext", metavar="NAME", help="santext (default) or tem"
    )
    parser.add_argument(
        "--epsilon", metavar="NUMBERS", help="to be guaranteed, one or several, such as 1.5,2"
    )
    parser.add_argument(
        "--nominal_epsilon", metavar="NUMBERS", help="of which to say what they guarantee"
    )
    for name, what in (
        ("parameters", "further parameters of the mechanism, as dxbeam sanitize takes them"),
        ("importance", "public weights of words, as dxbeam sanitize takes them"),
        ("base", "public base measure, as dxbeam sanitize takes it"),
    ):
        parser.add_argument(f"--{name}", default="", metavar="…", help=what)
    parser.add_argument("--base_exponent", type=float, default=1.0, metavar="TAU", help="of base")
    parser.add_argument(
        "--output", metavar="FILE", help="where to keep the result; needed with --epsilon"
    )
    return parser


def numbers(text: str) -> list[float]:
    """The epsilons of a flag."""
    try:
        return [checked_epsilon(float(part)) for part in text.split(",")]
    except ValueError:
        raise ConfigurationError(f"epsilon: {text} is no list of numbers such as 1.5,2") from None


def say_nominal(mechanism: Any, vocabulary: Vocabulary) -> None:
    """Scans, and says what a nominal epsilon guarantees."""
    started = time.monotonic()
    scanned = scan(exponents_of(mechanism, vocabulary))
    pair = record_of(mechanism, vocabulary, [Level(0.0, 0.0, scanned, 1)])["levels"][0]["pair"]
    words = f", reached by {' and '.join(pair)}" if pair else ""
    print(
        f"nominal epsilon {mechanism.epsilon:g} guarantees "
        f"{scanned.constant * mechanism.epsilon:.6g}"
        f"{words} ({time.monotonic() - started:.0f} seconds)",
        flush=True,
    )


def say_ratios(mechanisms: Sequence[Any], vocabulary: Vocabulary) -> None:
    """What epsilons in a metric of the mechanism's own are per unit of Euclidean distance."""
    started = time.monotonic()
    ratio = metric_ratio(mechanisms[0].density(NeighborSearch(vocabulary)), vocabulary)
    words = ""
    if ratio.pair:
        names = ("<unk>" if i == UNKNOWN else str(vocabulary.words[i]) for i in ratio.pair)
        words = f", reached by {' and '.join(names)}"
    for mechanism in mechanisms:
        worst = mechanism.guarantee().euclidean_epsilon
        print(
            f"epsilon {mechanism.epsilon:g} is at most {ratio.ratio * mechanism.epsilon:.6g} per "
            f"unit of Euclidean distance{words}; {worst:.6g} in the worst case "
            f"({time.monotonic() - started:.0f} seconds)",
            flush=True,
        )


def solve_and_keep(mechanisms: Sequence[Any], vocabulary: Vocabulary, output: str) -> int:
    """Solves for the nominal epsilons, and keeps each in the file; returns the exit code."""
    record = record_of(mechanisms[0], vocabulary, [])
    if storage.exists(output):
        before = read_record(output)
        if any(before[name] != record[name] for name in _OF_A_SCAN):
            raise OutputError(
                f"--output {output} is of another vocabulary or other settings; choose another file"
            )
        record = before
    elif (reason := storage.why_no_file(output)) is not None:
        raise OutputError(f"--output {output} cannot be written: {reason}")
    for mechanism in mechanisms:
        assert record["mechanism"] == recorded_settings(mechanism)
        if mechanism.epsilon in [level["epsilon"] for level in record["levels"]]:
            print(f"epsilon {mechanism.epsilon:g}: in {output} already")
            continue
        started = time.monotonic()
        stopped = StoppedScans(
            f"{output}.unfinished",
            {**{name: record[name] for name in _OF_A_SCAN}, "epsilon": mechanism.epsilon},
        )
        if stopped.goes_on:
            print(f"epsilon {mechanism.epsilon:g}: goes on where it was stopped", flush=True)
        level = solve(
            mechanism,
            vocabulary,
            lambda said: print(f"  {said}", flush=True),
            stopped.scanned_by,
        )
        levels = record["levels"] + record_of(mechanism, vocabulary, [level])["levels"]
        record["levels"] = sorted(levels, key=lambda each: float(each["epsilon"]))
        with storage.open_write(output) as file:
            file.write((json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode())
        stopped.delete()
        print(
            f"epsilon {level.epsilon:g} is guaranteed by the nominal epsilon {level.nominal:.6g} "
            f"({level.scans} scans, {time.monotonic() - started:.0f} seconds); kept in {output}",
            flush=True,
        )
    return 0
