"""Where tests are: a room's tests in the folder of its name, and no test imports another.

``tests/ROOM/`` and its folders are those of ``dxbeam/ROOM/``; each test there imports something of
the folder it is in. What is tested of several rooms at once has a folder in ``WITHOUT_A_ROOM``, and
what is tested of the whole project is a file in ``tests/``. Tools that tests share are in
``tests/support``, fixtures in a ``conftest.py``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
MODULES = sorted((ROOT / "tests").rglob("*.py"))
TESTS = [path for path in MODULES if path.name.startswith("test_")]
FIXTURES = [path for path in MODULES if path.name == "conftest.py"]

WITHOUT_A_ROOM = {
    "": "the whole project, and the files of dxbeam/ that are in no room",
    "pipelines": "whole commands",
    "templates": "deployments",
    "examples": "the examples",
    "benchmarks": "what is compared with other programs",
    "cloud": "runs on Cloud Storage, which a process plays",
    "engines": "runs on Flink, Spark and Prism",
    "statistical": "samples of what is released against its distribution",
    "support": "tools",
}


def _folder(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "tests").parent.parts)


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_folders_of_tests_are_those_of_rooms() -> None:
    for folder in {_folder(path) for path in TESTS} - WITHOUT_A_ROOM.keys():
        assert (ROOT / "dxbeam").joinpath(*folder.split(".")).is_dir(), f"tests/{folder}: of what?"


def test_a_folder_is_without_a_room_or_in_one() -> None:
    for folder in WITHOUT_A_ROOM:
        assert not folder or not (ROOT / "dxbeam" / folder).exists()


def test_tests_are_in_the_folder_of_what_they_test() -> None:
    """Some import it in a program that they run."""
    for path in TESTS:
        if (folder := _folder(path)) not in WITHOUT_A_ROOM:
            name = re.compile(rf"\bdxbeam\.{re.escape(folder)}\b")
            parent, _, last = f"dxbeam.{folder}".rpartition(".")
            imported = f"from {parent} import {last}"
            text = path.read_text("utf-8")
            assert name.search(text) or imported in text, f"{path.relative_to(ROOT)}: of what room?"


def test_no_test_imports_another() -> None:
    """Nor a conftest, which has fixtures only; but the house is drawn by the test of the house."""
    paths = [path.relative_to(ROOT).with_suffix("") for path in (*TESTS, *FIXTURES)]
    modules = {".".join(path.parts) for path in paths}
    modules.remove("tests.test_architecture")
    for path in MODULES:
        imported = modules & set(_imported(path))
        assert not imported, f"{path.relative_to(ROOT)}: what tests share is in tests/support"


def test_tools_are_in_support_or_with_the_tests_of_no_room() -> None:
    for path in set(MODULES) - {*TESTS, *FIXTURES}:
        if path.name != "__init__.py":
            folder = path.relative_to(ROOT / "tests").parts[0]
            assert folder in WITHOUT_A_ROOM, (
                f"{path.relative_to(ROOT)}: a tool, or a test without test_?"
            )


def _sizes() -> set[str]:
    """Names of constants of the package that are numbers."""
    return {
        node.targets[0].id
        for path in (ROOT / "dxbeam").rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and all(map(_is_of_a_number, ast.walk(node.value)))
    }


def _is_of_a_number(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float))
    return isinstance(node, (ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop))


def _patched(path: Path) -> Iterator[str]:
    """Names of what a module sets by ``setattr``."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            names = [
                argument.value for argument in node.args[:2] if isinstance(argument, ast.Constant)
            ]
            if node.func.attr == "setattr" and names and isinstance(names[0], str):
                yield names[0].rpartition(".")[2]


def test_sizes_are_arguments_and_none_is_patched() -> None:
    """A test that wants a small size hands it to the function or to the class."""
    sizes = _sizes()
    patched = [(path.name, name) for path in MODULES for name in _patched(path) if name in sizes]
    assert not patched, "give it a keyword argument with a default"
