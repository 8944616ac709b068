"""Some parts of an audit, judged as in a whole one."""

from __future__ import annotations

from dxbeam.audit.run_audit import judge, parts, run
from dxbeam.audit.subject import Finding, Size, Subject

MIDDLE = Size(20_000, 6_000, 5_000, 6_000)
"""At which the mistakes of smaller parts show."""


def failures(subject: Subject, wanted: set[str] | None = None) -> list[Finding]:
    """What an audit of some of its parts finds, the shortest parts first, until something fails."""
    found: list[Finding] = []
    for part in reversed(parts(subject)):
        if wanted is None or part.name in wanted:
            found += run(subject, part)
            failed = judge(found).failures
            if failed:
                return failed
    return []
