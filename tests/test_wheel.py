"""The wheel: what it installs works by itself, in a folder with a separate ``pipelines``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import dxbeam
from tests.support import foreign_pipelines

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, as old builds leave files that would get into the wheel."""
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("dxbeam", "pipelines"):
        shutil.copytree(
            ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.md")
        )
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and, for speed, the packages of this one but not its dxbeam."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    [packages] = folder.glob("lib/python*/site-packages")
    # A folder named in a .pth file is searched, but its own .pth files, which would add the
    # editable dxbeam, are not read.
    shared = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "shared.pth").write_text("\n".join(shared) + "\n")
    _pip(
        "--python",
        folder / "bin" / "python",
        "install",
        "--ignore-installed",
        "--no-compile",
        "--no-deps",
        "--no-index",
        wheel,
    )
    return folder / "bin"


def _pip(*arguments: str | Path) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--quiet", *arguments], check=True)


def _run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, cwd=cwd, env=environment, check=False
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where somebody works who has pipelines too."""
    foreign_pipelines.write(tmp_path, "verify", "ledger")
    return tmp_path


def test_it_holds_launchers_demo_data_and_types_and_no_name_but_dxbeam(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"dxbeam"}
    launchers = {f"dxbeam/pipelines/{path.name}" for path in (ROOT / "pipelines").glob("*.py")}
    demo = {"dxbeam/py.typed", "dxbeam/demo/sample_corpus.jsonl"}
    pages = ("page", "parts", "report", "calibration", "evaluation", "frontier", "card", "preview")
    demo |= {f"dxbeam/analysis/pages/{name}.html.jinja" for name in pages}
    demo.add("dxbeam/analysis/pages/preview.js")
    demo |= {
        f"dxbeam/demo/vocabulary/{path.name}"
        for path in (ROOT / "dxbeam" / "demo" / "vocabulary").iterdir()
    }
    assert launchers | demo <= set(names)


def test_it_works_where_it_is_installed(programs: Path, folder: Path) -> None:
    where = "import dxbeam; print(dxbeam.__file__)"
    found = Path(_run(programs / "python", "-c", where, cwd=folder).stdout.strip())
    assert found.is_relative_to(programs.parent), "the wheel, and not the source, is tested here"
    dxbeam_command = programs / "dxbeam"

    told = _run(dxbeam_command, "--version", cwd=folder)
    assert (told.returncode, told.stdout) == (0, f"dxbeam {dxbeam.__version__}\n")

    corpus = found.parent / "demo" / "sample_corpus.jsonl"
    (folder / "corpus.jsonl").write_text("".join(corpus.open().readlines()[:20]))
    flags = ["--input=corpus.jsonl", "--vocabulary=demo", "--epsilon=10", "--output=release"]
    ledger = ["--ledger=ledger.jsonl", "--corpus_id=notes", "--max_epsilon=30"]
    workers = ["--direct_running_mode=multi_processing", "--direct_num_workers=1"]
    told = _run(dxbeam_command, "sanitize", *flags, *ledger, *workers, cwd=folder)
    assert told.returncode == 0, told.stderr
    assert "Released 20 documents" in told.stdout

    told = _run(dxbeam_command, "verify", "release", cwd=folder)
    assert told.returncode == 0, told.stderr
    assert "exp(10 * d(x, x'))" in told.stdout

    told = _run(dxbeam_command, "ledger", "ledger.jsonl", "--json", cwd=folder)
    assert told.returncode == 0, told.stderr
    [notes] = json.loads(told.stdout)["corpora"]
    assert (notes["corpus"], notes["epsilon"]) == ("notes", 10.0)
