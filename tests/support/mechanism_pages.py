"""What else belongs to a mechanism than its file, and what of it is missing."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import dxbeam
from dxbeam.audit.references.table import REFERENCES
from tests.support import noise_digests, promised_cases

ROOT = Path(__file__).parent.parent.parent


def missing(mechanism: type[Any]) -> list[str]:
    """One sentence for each thing that a mechanism lacks: what, and where it belongs."""
    name = mechanism.name
    fields = [field for field in dataclasses.fields(mechanism) if field.name != "epsilon"]
    page = (ROOT / "docs/reference/mechanisms.md").read_text("utf-8")
    parameters = (ROOT / "docs/reference/mechanism-parameters.md").read_text("utf-8")
    choosing = (ROOT / "docs/guides/choosing-a-mechanism.md").read_text("utf-8")
    flags = json.loads((ROOT / "templates/dataflow/sanitize_metadata.json").read_text("utf-8"))
    [flag] = [each for each in flags["parameters"] if each["name"] == "mechanism"]
    wanted = {
        "row in the first table of docs/reference/mechanisms.md": f"\n| `{name}` |" in page,
        f"section '## `{name}`' in docs/reference/mechanism-parameters.md": (
            f"\n## `{name}`\n" in parameters
        ),
        **{
            f"parameter `{field.name}` with its default ({field.default}) in its section of "
            "docs/reference/mechanism-parameters.md": _states_default(
                _section(parameters, name), field
            )
            for field in fields
        },
        "public name in dxbeam/__init__.py (__all__, and the import for type checkers)": (
            mechanism.__name__ in dxbeam.__all__
        ),
        "sentence in docs/guides/choosing-a-mechanism.md": f"`{name}`" in choosing,
        "reference distribution in dxbeam/audit/references/table.py": name in REFERENCES,
        "flag in templates/dataflow/sanitize_metadata.json (run templates/dataflow/metadata.py)": (
            re.search(rf"\b{name}\b", json.dumps(flag)) is not None
        ),
        "digest in tests/support/noise_digests.py": any(
            name in digests for digests in noise_digests.DIGESTS.values()
        ),
        "case in tests/support/promised_cases.py": any(
            name == case[0] for case in promised_cases.PARAMETERS
        ),
    }
    return [f"mechanism {name}: no {what}" for what, there in wanted.items() if not there]


def _section(page: str, name: str) -> str:
    """The section of a mechanism, up to the next heading."""
    return page.partition(f"\n## `{name}`\n")[2].partition("\n#")[0]


def _states_default(section: str, field: dataclasses.Field[Any]) -> bool:
    """Whether a section says "`clip` (5)" of a parameter, or "`clip` (none)"."""
    stated = re.search(rf"`{field.name}` \(([^)]*)\)", section)
    if stated is None:
        return False
    if field.default is None or isinstance(field.default, str):
        return stated[1] == str(field.default or "none")
    return float(stated[1]) == field.default
