"""The house: which module may import which, kept by looking at the import statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent

ORDER = """
errors guarantees documents tally
storage
vocabulary embeddings neighbors artifact
randomness noise approximate_index parameters mechanisms.laplace mechanisms resampling
tokenization configuration corpus sanitizer
manifest plan
transforms.options transforms.launch transforms.sources transforms.neighbor_table
transforms.sanitize transforms.metrics transforms.sinks transforms
demo.show demo.train_vectors demo
""".split()
"""Every module of the package; each may import only from those before it."""

MAY_IMPORT_BEAM = ("storage", "transforms.")


def _modules() -> dict[str, Path]:
    modules = {}
    for path in (ROOT / "dxbeam").rglob("*.py"):
        parts = path.relative_to(ROOT / "dxbeam").with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        if name:  # the package's own __init__ holds no code
            modules[name] = path
    return modules


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module
            assert not node.level, f"{path}: relative import"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_module_has_its_place() -> None:
    assert sorted(_modules()) == sorted(ORDER)


def test_imports_run_one_way() -> None:
    for name, path in _modules().items():
        for imported in _imports(path):
            below = imported.removeprefix("dxbeam.")
            if imported.startswith("dxbeam.") and below in ORDER:
                assert ORDER.index(below) < ORDER.index(name), f"{name} imports {below}"


def test_beam_is_known_to_storage_and_transforms_alone() -> None:
    for name, path in _modules().items():
        if not name.startswith(MAY_IMPORT_BEAM):
            assert not any(imported.startswith("apache_beam") for imported in _imports(path)), name


def test_launchers_do_not_import_one_another() -> None:
    for path in (ROOT / "pipelines").glob("*.py"):
        assert not any(imported.startswith("pipelines") for imported in _imports(path)), path


def test_nothing_draws_noise_from_a_seed_or_reads_a_pickle() -> None:
    """Seeds exist in tests, in training the demo vectors, and in measuring an index's recall."""
    for name, path in _modules().items():
        imported = set(_imports(path))
        assert not imported & {"pickle", "dill", "cloudpickle"}, name
        if name not in ("demo.train_vectors", "approximate_index"):
            assert "random" not in imported, name
            assert "np.random" not in path.read_text("utf-8"), name
