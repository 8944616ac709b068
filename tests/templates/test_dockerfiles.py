"""Steps of the Dockerfiles in empty environments: no container runtime is needed, and none is used.

What a base image brings (Python, pip, Beam's worker) is played by an empty environment. COPY, ARG,
WORKDIR and RUN are done as they are written, but for Debian's packages and files from elsewhere.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TEMPLATES = ROOT / "templates"
IMAGES = ["docker/Dockerfile", "dataflow/Dockerfile", "kubernetes/workers.Dockerfile"]
_ELSEWHERE = ("apt-get ", "/opt/google/")
"""What begins steps that need a base image or another place."""


@dataclass
class Stage:
    """A stage of a build.

    Attributes:
      root: where its files are.
      folder: its working directory, as an absolute path of the image.
      variables: what ARG and ENV set.
      entrypoint: what the image runs.
    """

    root: Path
    folder: str = "/"
    variables: dict[str, str] = field(default_factory=dict)
    entrypoint: tuple[str, ...] = ()

    def place(self, path: str) -> Path:
        """Where a path of the image is."""
        return self.root / str(Path(self.folder) / path).lstrip("/")

    @property
    def programs(self) -> Path:
        """Where pip and what it installs are."""
        return self.root / "usr" / "bin"


def steps(dockerfile: Path) -> list[tuple[str, str]]:
    """Instructions and what follows them, with continued lines joined."""
    text = re.sub(r"^#.*\n", "", dockerfile.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(" ", 1)) for line in text.splitlines() if line.strip()]  # type: ignore[misc]


def build(dockerfile: Path, folder: Path) -> Stage:
    """Does the steps; returns the last stage."""
    stages: dict[str, Stage] = {}
    stage = Stage(folder)
    for instruction, rest in steps(dockerfile):
        if instruction == "FROM":
            name = rest.partition(" AS ")[2] or f"last {len(stages)}"
            stage = stages[name] = Stage(folder / name)
            subprocess.run([sys.executable, "-m", "venv", stage.root / "usr"], check=True)
        elif instruction == "WORKDIR":
            stage.folder = rest
            stage.place("").mkdir(parents=True, exist_ok=True)
        elif instruction in ("ARG", "ENV"):
            name, _, value = rest.partition("=")
            stage.variables[name] = value
        elif instruction == "COPY":
            _copy(rest.split(), stage, stages)
        elif instruction == "RUN" and not rest.startswith(_ELSEWHERE):
            _run(["bash", "-euc", rest], stage)
        elif instruction == "ENTRYPOINT":
            stage.entrypoint = tuple(json.loads(rest))
        else:
            assert instruction in ("RUN", "ADD", "USER"), f"{instruction} is not known here"
    return stage


def _copy(arguments: list[str], stage: Stage, stages: dict[str, Stage]) -> None:
    start = arguments[0].removeprefix("--from=") if arguments[0].startswith("--from=") else None
    *sources, target = arguments[start is not None :]
    if any(source.startswith(_ELSEWHERE) for source in sources):
        return
    for source in sources:
        path = stages[start].place(source) if start else ROOT / source
        assert path.exists(), f"{source} is not there"
        if path.is_dir():
            left_out = shutil.ignore_patterns("__pycache__")
            shutil.copytree(path, stage.place(target), ignore=left_out, dirs_exist_ok=True)
        else:
            shutil.copy(path, stage.place(target))


def _run(command: list[str], stage: Stage) -> subprocess.CompletedProcess[str]:
    kept = {name: os.environ[name] for name in os.environ if name.startswith("PIP_")}
    path = f"{stage.programs}:/usr/bin:/bin"
    done = subprocess.run(
        command,
        cwd=stage.place(""),
        env={**kept, **stage.variables, "PATH": path, "HOME": str(stage.root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done


@pytest.mark.parametrize("image", IMAGES)
def test_what_is_copied_is_there_and_nothing_private_is(image: str) -> None:
    copied = [
        rest.split() for instruction, rest in steps(TEMPLATES / image) if instruction == "COPY"
    ]
    from_here = [source for each in copied if "--from" not in each[0] for source in each[:-1]]
    assert set(from_here) == {
        "pyproject.toml", "setup.py", "README.md", "LICENSE", "dxbeam", "pipelines",
    }  # fmt: skip
    assert all((ROOT / source).exists() for source in from_here)


@pytest.mark.exhaustive
@pytest.mark.parametrize("image", IMAGES)
def test_its_steps_make_a_command_that_works(image: str, tmp_path: Path) -> None:
    """Everything comes from the package index, nothing from this environment."""
    stage = build(TEMPLATES / image, tmp_path)
    command = list(stage.entrypoint) if stage.entrypoint == ("dxbeam",) else ["dxbeam"]
    assert "sanitize" in _run([*command, "--help"], stage).stdout
    assert "--epsilon" in _run([*command, "sanitize", "--help"], stage).stdout
    corpus = ROOT / "dxbeam" / "demo" / "sample_corpus.jsonl"
    stage.place("").mkdir(parents=True, exist_ok=True)
    shutil.copy(corpus, stage.place("corpus.jsonl"))
    flags = ["--input=corpus.jsonl", "--vocabulary=demo", "--epsilon=10", "--output=release"]
    assert "Released" in _run([*command, "sanitize", *flags], stage).stdout
    assert "exp(10 * d(x, x'))" in _run([*command, "verify", "release"], stage).stdout
