"""Some parts of an audit, judged as in a whole one."""

from __future__ import annotations

from dataclasses import replace

from dxbeam.audit.run_audit import Part, judge, parts, run
from dxbeam.audit.subject import SMALL, Finding, Size, Subject

MIDDLE = Size(20_000, 6_000, 5_000, 6_000)
"""At which the mistakes of smaller parts show."""


QUICK = ("delta", "promises", "line", "noise")
"""Parts that take less than a second each in up to three dimensions."""


def _effort(part: Part) -> tuple[bool, bool]:
    """Sorts parts that take long last: released words in many dimensions take the longest."""
    return part.name == "line" and part.n > 3, part.name not in QUICK or part.n > 3


def failures(subject: Subject, wanted: set[str] | None = None) -> list[Finding]:
    """What an audit of some of its parts finds, the shortest parts first, until something fails."""
    findings: list[Finding] = []
    shortest_first = parts(subject)[::-1]
    for part in sorted(shortest_first, key=_effort):
        if wanted is None or part.name in wanted:
            findings += run(subject, part)
            failed = judge(findings).failures
            if failed:
                return failed
    return []


def finds(subject: Subject, wanted: set[str] | None = None) -> bool:
    """Whether an audit of some of its parts finds something.

    Most mistakes show in few samples, so these are drawn first, and all of the subject's only where
    nothing shows.
    """
    few = replace(subject, size=SMALL)
    return bool(failures(few, wanted) or (subject != few and failures(subject, wanted)))
