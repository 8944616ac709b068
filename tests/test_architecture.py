"""The house: which room may import from which, read from the folders and the import statements."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import dxbeam

ROOT = Path(__file__).parent.parent

ROOMS = """
errors documents guarantees storage stopping keys randomness
space language mechanisms corpus text vectors release transforms commands analysis audit demo
""".split()
"""Folders and files of the package; each may import only from those before it."""

MAY_IMPORT_BEAM = ("storage", "transforms", "commands", "audit", "analysis")

WITHOUT_RELEASES = ("analysis", "audit")
"""What a release never loads, so that scipy and the like stay in extras."""

SCIKIT_LEARN = "text.adapters.scikit_learn"
"""What a release never loads either: only the door ``dxbeam.scikit_learn`` knows it."""

MAY_SEED = {
    ("mechanisms.sampling.index_recall", "measure_recall"),
    ("analysis.measure.grids", "_tried"),
    ("analysis.measure.transform", "Seeded"),
    ("analysis.frontier.cost", "expected_seconds"),
    ("analysis.measure.word_sample", "uniform_sample"),
    ("analysis.measure.word_sample", "sample_by_frequency"),
    ("analysis.theory.noise_shape", "draw"),
    ("analysis.theory.one_dimension", "drawn_shares"),
    ("analysis.theory.bootstrap", "replicate_weights"),
}
"""Measurements, which release nothing."""

MOST_ROOMS, MOST_ARROWS = 19, 93

MOST_FILES = 16
"""In a folder, without its ``__init__.py``: what one can look over."""

MOST_LINES = 150
"""Of a file in ``pipelines/``."""

DOORS = ("", "__main__", "beam", "published", "scikit_learn")
"""``dxbeam``, ``dxbeam.beam``, ``dxbeam.published``, ``dxbeam.scikit_learn`` and the command: they
import from the rooms and hold no code."""


@cache
def _modules() -> dict[str, Path]:
    """Every file by its dotted name below ``dxbeam``; a folder's ``__init__`` by the folder's."""
    modules = {}
    for path in (ROOT / "dxbeam").rglob("*.py"):
        parts = path.relative_to(ROOT / "dxbeam").with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        if name not in DOORS:
            modules[name] = path
    return modules


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _imports(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported, and every name that is imported from one.

    A string that is a module's name counts: ``import_module`` imports what an extra brings.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module
            assert not node.level, "relative imports hide which room they reach into"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and str(node.value).startswith("dxbeam."):
            yield str(node.value)


@cache
def _imported(path: Path) -> frozenset[str]:
    return frozenset(_imports(_tree(path)))


@cache
def _known(name: str, path: Path) -> set[str]:
    """The package's own modules that a file imports, other than folders it only passes through."""
    modules = _modules()
    below = {imported.removeprefix("dxbeam.") for imported in _imported(path)}
    found = {imported for imported in below & modules.keys() if imported != name}
    return {
        module for module in found if not any(other.startswith(f"{module}.") for other in found)
    }


def _room(module: str) -> str:
    return module.split(".")[0]


@cache
def _arrows() -> set[tuple[str, str]]:
    """Pairs of rooms of which the first imports from the second."""
    pairs = {
        (_room(name), _room(imported))
        for name, path in _modules().items()
        for imported in _known(name, path)
    }
    return {(room, other) for room, other in pairs if room != other}


def test_every_room_has_its_place() -> None:
    assert {_room(name) for name in _modules()} == set(ROOMS)


def test_a_newcomer_can_draw_the_house() -> None:
    assert len(ROOMS) <= MOST_ROOMS
    assert len(_arrows()) <= MOST_ARROWS


def test_no_folder_holds_more_files_than_one_can_look_over() -> None:
    for folder in ("dxbeam", "pipelines"):
        files = Counter(
            path.parent for path in (ROOT / folder).rglob("*.py") if path.name != "__init__.py"
        )
        for where, number in files.items():
            assert number <= MOST_FILES, f"{where.relative_to(ROOT)} holds {number} files"


def test_imports_between_rooms_run_one_way() -> None:
    for room, other in _arrows():
        assert ROOMS.index(other) < ROOMS.index(room), f"{room} imports from {other}"


@pytest.mark.parametrize("room", ROOMS)
def test_imports_within_a_room_run_in_no_circle(room: str) -> None:
    inside = {name: path for name, path in _modules().items() if _room(name) == room}
    graph = {
        name: {other for other in _known(name, path) if other in inside and other != room}
        for name, path in inside.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_no_room_is_entered_by_a_door() -> None:
    for name, path in _modules().items():
        imported = _imported(path)
        assert not imported & {"dxbeam.beam", "dxbeam.published", "dxbeam.scikit_learn"}, name
        assert not imported & {f"dxbeam.{public}" for public in dxbeam.__all__}, name


def test_the_package_does_not_know_who_uses_it() -> None:
    for name, path in _modules().items():
        for imported in _imported(path):
            assert imported.split(".")[0] not in ("pipelines", "tests", "benchmarks"), name


def test_what_releases_knows_no_analysis() -> None:
    """So a release needs neither scipy nor anything else of the extra ``analysis``."""
    launchers = ("sanitize", "build_vocabulary", "release_vectors")
    assert not any(SCIKIT_LEARN in _known(name, path) for name, path in _modules().items())
    releasing = [
        path
        for name, path in _modules().items()
        if _room(name) not in WITHOUT_RELEASES and name != SCIKIT_LEARN
    ]
    releasing += [ROOT / "pipelines" / f"{name}.py" for name in launchers]
    for path in releasing:
        for imported in _imported(path):
            outside = (
                "scipy",
                "sklearn",
                "sacrebleu",
                "rouge_score",
                *(f"dxbeam.{room}" for room in WITHOUT_RELEASES),
            )
            assert not imported.startswith(outside), path


def test_launchers_do_not_import_one_another() -> None:
    for path in (ROOT / "pipelines").glob("*.py"):
        assert not any(name.startswith("pipelines") for name in _imported(path)), path


def test_a_launcher_reads_as_the_flow() -> None:
    """What it parses and prints is in ``commands/jobs`` or the room it measures with."""
    for path in (ROOT / "pipelines").glob("*.py"):
        lines = len(path.read_text("utf-8").splitlines())
        assert lines <= MOST_LINES, f"{path.name} has {lines} lines"


def test_beam_is_known_to_storage_and_transforms_alone() -> None:
    for name, path in _modules().items():
        if _room(name) not in MAY_IMPORT_BEAM:
            assert not any(i.split(".")[0] == "apache_beam" for i in _imported(path)), name


def _names_a_seeded_generator(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return ast.unparse(node) in ("np.random", "numpy.random")
    return isinstance(node, (ast.Import, ast.ImportFrom)) and bool(
        {"random", "numpy.random"} & set(_imports(node))
    )


def test_no_noise_comes_from_a_seeded_generator() -> None:
    found = {
        (name, getattr(statement, "name", "the module itself"))
        for name, path in _modules().items()
        for statement in _tree(path).body
        if any(map(_names_a_seeded_generator, ast.walk(statement)))
    }
    assert found == MAY_SEED


def test_nothing_reads_a_pickle() -> None:
    for name, path in _modules().items():
        assert not {"pickle", "dill", "cloudpickle"} & _imported(path), name
