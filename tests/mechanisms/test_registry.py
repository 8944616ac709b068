"""A mechanism is found by its file, and what else belongs to it is asked for by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dxbeam import mechanisms
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import MECHANISMS, find_mechanisms
from tests.support.mechanism_pages import missing

MADE_UP = """
from dataclasses import dataclass
from typing import ClassVar

from dxbeam.guarantees import Guarantee, pure


@dataclass(frozen=True)
class MadeUp:
    epsilon: float
    half_life: float = 2.0
    name: ClassVar[str] = "made_up"

    def draws(self, dimensions: int) -> int:
        return 1

    def release(self, ids, random, search):
        return ids.clip(0)

    def guarantee(self) -> Guarantee:
        return pure(self.epsilon, "none")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which mechanisms are looked for besides the package's own."""
    monkeypatch.setattr(mechanisms, "__path__", [*mechanisms.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "dxbeam.mechanisms.made_up", raising=False)
    return tmp_path


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_nothing_of_a_mechanism_is_missing(name: str) -> None:
    assert missing(MECHANISMS[name]) == []


def test_the_default_comes_first_and_the_others_by_name() -> None:
    first, *others = MECHANISMS
    assert first == "laplace"
    assert others == sorted(others)


def test_a_file_in_the_folder_is_a_mechanism(folder: Path) -> None:
    (folder / "made_up.py").write_text(MADE_UP)
    found = find_mechanisms()
    assert set(found) == {*MECHANISMS, "made_up"}
    assert found["made_up"].__name__ == "MadeUp"


def test_what_a_new_mechanism_lacks_is_named_with_its_place(folder: Path) -> None:
    (folder / "made_up.py").write_text(MADE_UP)
    assert missing(find_mechanisms()["made_up"]) == [
        "mechanism made_up: no row in the first table of docs/reference/mechanisms.md",
        "mechanism made_up: no section '## `made_up`' in docs/reference/mechanism-parameters.md",
        "mechanism made_up: no parameter `half_life` with its default (2.0) in its section of "
        "docs/reference/mechanism-parameters.md",
        "mechanism made_up: no public name in dxbeam/__init__.py (__all__, and the import for "
        "type checkers)",
        "mechanism made_up: no sentence in docs/guides/choosing-a-mechanism.md",
        "mechanism made_up: no reference distribution in dxbeam/audit/references/table.py",
        "mechanism made_up: no flag in templates/dataflow/sanitize_metadata.json (run "
        "templates/dataflow/metadata.py)",
        "mechanism made_up: no digest in tests/support/noise_digests.py",
        "mechanism made_up: no case in tests/support/promised_cases.py",
    ]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            '"made_up"',
            '"other"',
            "MadeUp has the name 'other'; a mechanism has the name of its file",
        ),
        ("(frozen=True)", "", r"MadeUp must be a dataclass\(frozen=True\)"),
        ("def release", "def give", "MadeUp has no method release"),
    ],
)
def test_what_is_no_mechanism_is_refused(folder: Path, before: str, after: str, said: str) -> None:
    (folder / "made_up.py").write_text(MADE_UP.replace(before, after))
    with pytest.raises(ConfigurationError, match=f"dxbeam/mechanisms/made_up.py: {said}"):
        find_mechanisms()
