"""The command ``dxbeam``: finds the launchers by itself, whatever else is called pipelines."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import dxbeam
from dxbeam.__main__ import commands, main, summary
from pipelines.sanitize import sanitize
from tests.support import foreign_pipelines, stopped, tiny

ROOT = Path(__file__).parent.parent


def test_every_launcher_is_a_command_with_a_sentence() -> None:
    files = {path.name for path in (ROOT / "pipelines").glob("*.py")} - {"__init__.py"}
    assert {path.name for path in commands().values()} == files
    for name, path in commands().items():
        assert "_" not in name
        assert summary(path).endswith("."), f"{path}: the docstring's first sentence is the help"
        assert len(summary(path)) < 120


@pytest.mark.parametrize("argv", [[], ["--help"], ["-h"]])
def test_the_commands_are_listed(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 0
    shown = capsys.readouterr().out
    for name, path in commands().items():
        assert f"\n  {name} " in shown
        assert summary(path) in " ".join(shown.split())


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"dxbeam {dxbeam.__version__}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "argv",
    [["dxbeam", "--help"], ["pipelines.verify", "--help"], ["pipelines.sanitize", "--help"]],
    ids=" ".join,
)
def test_help_is_printed_on_a_terminal_that_knows_ascii_only(argv: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", *argv],
        capture_output=True,
        timeout=300,
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert ended.stdout.decode("ascii").startswith("usage: ")


def test_what_make_demo_says_to_type_next_can_be_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = (ROOT / "Makefile").read_text("utf-8").partition("\ndemo:")[2].partition("\n\n")[0]
    *_, last = recipe.splitlines()
    program, command, *flags = shlex.split(shlex.split(last.removeprefix("\t@"))[1])
    assert (program, command) == ("$(VENV)/bin/dxbeam", "sanitize")
    monkeypatch.chdir(ROOT)
    sanitize(flags)
    assert "Nothing was written" in capsys.readouterr().out
    readme = (ROOT / "README.md").read_text("utf-8")
    assert readme.index(". .venv/bin/activate\n") < readme.index("\n    dxbeam ")


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("sanitise", "there is no command sanitise; did you mean dxbeam sanitize?"),
        ("build-vocab", "did you mean dxbeam build-vocabulary?"),
        ("Evelyn", "the first argument is no command; dxbeam --help lists them"),
        ("--input=a", "the command comes first"),
        ("", "the first argument is no command"),
    ],
)
def test_an_unknown_command_gets_a_sentence(
    first: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([first, "--epsilon=1"]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.startswith("dxbeam: ")
    assert told.count("\n") == 1
    assert "Evelyn" not in told


@pytest.mark.slow
@pytest.mark.parametrize("command", ["release-vectors", "release_vectors"])
def test_mistakes_are_told_as_by_the_launcher(command: str, tmp_path: Path) -> None:
    """Also where another package is called as the launchers' is."""
    foreign_pipelines.write(tmp_path)
    ended = foreign_pipelines.dxbeam(tmp_path, command, "--epsilom=5")
    assert ended.returncode == 2
    assert ended.stderr == "dxbeam: unknown flag --epsilom; did you mean --epsilon?\n"


@pytest.mark.slow
def test_commands_that_only_read_do_without_beam(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.modules['apache_beam'] = None\n")
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", [{"id": "a", "text": "w1 w2"}])
    uri = tiny.write_artifact(tmp_path / "vocabulary")
    ledger = [f"--ledger={tmp_path / 'ledger'}", "--corpus_id=notes"]
    tiny.run(uri, corpus, tmp_path / "out", "--compression=gzip", *ledger)
    ended = foreign_pipelines.dxbeam(tmp_path, "verify", "out")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "out: the release is whole as far as it was checked\n" in ended.stdout
    ended = foreign_pipelines.dxbeam(tmp_path, "ledger", "ledger")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "notes" in ended.stdout
    ended = foreign_pipelines.dxbeam(tmp_path, "verify", "ledger")
    assert ended.returncode == 2
    assert ended.stderr.startswith("dxbeam: ledger: there is no release.json")


STUCK = """
import os, sys, threading
class Stuck:
    def find_spec(self, name, path=None, target=None):
        if name == "apache_beam":
            open(os.environ["STUCK"], "w").close()
            threading.Event().wait()
if "dxbeam" in sys.orig_argv: sys.meta_path.insert(0, Stuck())
"""


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_it_can_be_stopped_while_beam_is_imported(tmp_path: Path, by: signal.Signals) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "sitecustomize.py").write_text(STUCK)
    mark = tmp_path / "stuck"
    path = ":".join([str(tmp_path / "code"), *filter(None, sys.path)])
    with stopped.process(
        ["-m", "dxbeam", "sanitize", "--input=a"], PYTHONPATH=path, STUCK=str(mark)
    ) as launcher:
        while launcher.poll() is None and not mark.exists():
            stopped.wait(launcher, 0.02)
        ending = stopped.stop(launcher, by)
    assert ending.code == 1
    assert ending.said == "dxbeam: interrupted; nothing was released\n"
