"""The house: which module may import which, kept by looking at the import statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent

ROOMS = """
errors guarantees documents tally stopping
storage places
vocabulary embeddings integer_search neighbors artifact
randomness noise approximate_index parameters exponential_choice
mechanisms.laplace mechanisms.mahalanobis mechanisms.vickrey mechanisms.gaussian
mechanisms.coordinate_laplace mechanisms.trlaplace mechanisms.trlaplace_published
mechanisms.santext mechanisms.santext_plus mechanisms.tem mechanisms.truncated_gumbel
mechanisms resampling
projections sensitivity
tokenization bag_of_words configuration given_vectors corpus sanitizer vector_release
context repair manifest ledger attempt plan
transforms.arguments transforms.options transforms.launch transforms.sources
transforms.neighbor_table transforms.sensitivity transforms.sanitize
transforms.repair_grammar transforms.metrics
transforms.shards transforms.sinks transforms.vectors transforms.declarative transforms
analysis analysis.noisy_dot_product analysis.attacks
analysis.evidence analysis.reference_laws analysis.audit_subject analysis.noise_battery
analysis.word_battery analysis.wide_battery analysis.bag_battery analysis.promise_battery
analysis.text_battery analysis.delta_battery analysis.vector_battery
analysis.audit analysis.audit_report
demo.show demo.train_vectors demo
"""
"""Every module of the package; each may import only from those before it."""

ORDER = ROOMS.split()

MAY_IMPORT_BEAM = ("storage", "transforms.", "analysis.")

MAY_SEED = {("approximate_index", "measure_recall")}
"""A measurement, which protects nothing. demo.train_vectors, which is no part of a run, may too."""


def _modules() -> dict[str, Path]:
    modules = {}
    for path in (ROOT / "dxbeam").rglob("*.py"):
        parts = path.relative_to(ROOT / "dxbeam").with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        if name:  # the package's own __init__ holds no code
            modules[name] = path
    return modules


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _imports(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported, and every name that is imported from one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module
            assert not node.level, "relative imports hide which room they reach into"
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_every_module_has_its_place() -> None:
    assert sorted(_modules()) == sorted(ORDER)


def test_imports_run_one_way() -> None:
    for name, path in _modules().items():
        for imported in _imports(_tree(path)):
            below = imported.removeprefix("dxbeam.")
            if imported.startswith("dxbeam.") and below in ORDER:
                assert ORDER.index(below) < ORDER.index(name), f"{name} imports {below}"


def test_the_package_does_not_know_who_uses_it() -> None:
    for name, path in _modules().items():
        for imported in _imports(_tree(path)):
            assert imported.split(".")[0] not in ("pipelines", "tests", "benchmarks"), name


def test_what_releases_knows_no_analysis() -> None:
    """So a release needs neither scipy nor anything else of the extra ``analysis``."""
    launchers = ("sanitize", "build_vocabulary", "release_vectors")
    releasing = [path for name, path in _modules().items() if not name.startswith("analysis")]
    releasing += [ROOT / "pipelines" / f"{name}.py" for name in launchers]
    for path in releasing:
        for imported in _imports(_tree(path)):
            assert not imported.startswith(("dxbeam.analysis", "scipy")), path


def test_launchers_do_not_import_one_another() -> None:
    for path in (ROOT / "pipelines").glob("*.py"):
        assert not any(name.startswith("pipelines") for name in _imports(_tree(path))), path


def test_beam_is_known_to_storage_and_transforms_alone() -> None:
    for name, path in _modules().items():
        if not name.startswith(MAY_IMPORT_BEAM):
            assert not any(i.split(".")[0] == "apache_beam" for i in _imports(_tree(path))), name


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
        if name != "demo.train_vectors"
        for statement in _tree(path).body
        if any(map(_names_a_seeded_generator, ast.walk(statement)))
    }
    assert found == MAY_SEED


def test_nothing_reads_a_pickle() -> None:
    for name, path in _modules().items():
        assert not {"pickle", "dill", "cloudpickle"} & set(_imports(_tree(path))), name
