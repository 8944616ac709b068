"""Where ``dxbeam audit`` writes its report."""

from __future__ import annotations

import itertools
import json
from typing import Any

from dxbeam import storage
from dxbeam.errors import OutputError


def report_place(named: str | None) -> str:
    """The new file to write: the one named, or the first of audit.json, audit-2.json and so on."""
    names = itertools.chain(["audit.json"], map("audit-{}.json".format, itertools.count(2)))
    report = named or next(name for name in names if not storage.exists(name))
    if (reason := storage.why_no_file(report)) is not None:
        raise OutputError(f"--report {report} cannot be written: {reason}")
    if storage.exists(report):
        raise OutputError(f"--report {report} is there already; choose another, or delete it")
    return report


def write_report(path: str, report: dict[str, Any]) -> str:
    """Writes a report where none is; returns where."""
    content = json.dumps(report, indent=1, ensure_ascii=False)
    storage.create_once(path, (content + "\n").encode())
    return path
