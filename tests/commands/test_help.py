"""--help: flags under headings, what is required, defaults, and the parameters of mechanisms."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from dxbeam.commands import command_help
from dxbeam.commands.flags.flag import HEADINGS
from dxbeam.commands.flags.registry import (
    AUDIT,
    BUILD_VOCABULARY,
    COMMANDS,
    RELEASE_VECTORS,
    SANITIZE,
    Command,
)
from dxbeam.commands.options import parse
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import MECHANISMS
from pipelines.build_vocabulary import build_vocabulary
from pipelines.release_vectors import release_vectors
from pipelines.sanitize import sanitize


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """What a launcher prints for a command line, as it would look in a wide terminal."""

    def show(own: Command, *argv: str) -> str:
        with pytest.raises(SystemExit) as stopped:
            parse(argv, own, "The manual.")
        assert stopped.value.code == 0
        return capsys.readouterr().out

    return show


@pytest.mark.parametrize("own", COMMANDS, ids=lambda own: own.name)
def test_every_flag_stands_under_a_heading(own: Command, shown: Callable[..., str]) -> None:
    told = shown(own, "--help", "--no_such_flag")
    assert told.startswith(f"usage: dxbeam {own.name} --flag value …\n\nThe manual.\n")
    assert max(map(len, told.splitlines())) <= 100
    headings = re.findall(r"^([a-z ]+):$", told, re.MULTILINE)
    assert headings == [heading for heading in HEADINGS if heading in headings]
    flags = [name for flag in own.flags() for name in flag.option_strings]
    assert sorted(re.findall(r"^  (--\w+)", told, re.MULTILINE)) == sorted(
        [*flags, "--dry_run", "--help", "--help_beam"]
    )


@pytest.mark.parametrize("own", COMMANDS, ids=lambda own: own.name)
def test_what_is_required_is_marked_and_all_else_has_a_default(
    own: Command, shown: Callable[..., str]
) -> None:
    told = " ".join(shown(own, "-h").split())
    assert told.count("(required)") == len(own.needed)
    for flag in own.flags():
        if flag.dest in own.needed:
            assert f"(required) {' '.join(str(flag.help).split())}" in told
        elif flag.nargs != 0 and flag.dest not in ("vocabulary", "epsilon"):
            assert re.search("default|needed with", str(flag.help)), flag.option_strings
        if flag.default and flag.nargs != 0 and flag.dest != "largest_document":
            default = f"{flag.default:g}" if flag.dest == "projection_delta" else str(flag.default)
            assert default in str(flag.help).replace("1e-6", "1e-06"), flag.option_strings


@pytest.mark.parametrize(
    ("launcher", "own"),
    [
        (sanitize, SANITIZE),
        (release_vectors, RELEASE_VECTORS),
        (build_vocabulary, BUILD_VOCABULARY),
    ],
)
def test_what_is_marked_as_required_is(
    launcher: Callable[[Sequence[str]], None], own: Command, tmp_path: Path
) -> None:
    given = {name: str(tmp_path / name) for name in own.needed} | {"dry_run": "true"}
    if "epsilon" in given:
        given["epsilon"] = "5"
    for name in own.needed:
        flags = [f"--{other}={value}" for other, value in given.items() if other != name]
        with pytest.raises(ConfigurationError, match=f"--{name} is needed"):
            launcher(flags)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_is_explained_with_all_its_parameters(
    name: str, shown: Callable[..., str]
) -> None:
    for own in (SANITIZE, AUDIT):
        told = shown(own, "--help", "--mechanism", name)
        assert told == shown(own, f"--mechanism={name}", "--help")
        assert f"dxbeam {own.name} --mechanism {name} " in told
        assert "--text_field" not in told
        assert max(map(len, told.splitlines())) <= 100
    mechanism: Any = MECHANISMS[name]
    told = " ".join(told.split())
    for field in dataclasses.fields(mechanism):
        [(default, meaning)] = [
            row[1:] for row in command_help.parameters(mechanism) if row[0] == field.name
        ]
        assert meaning, f"{name}: say what {field.name} is, in the docstring's Attributes"
        assert f"{field.name} ({default}) {meaning}" in told
        if field.default is dataclasses.MISSING:
            assert default == "required"
        elif field.default is not None:
            assert default == f"default {field.default}".removesuffix(".0")
    assert mechanism(epsilon=10.0).guarantee().sentence in told
    refused = not mechanism(epsilon=10.0).guarantee().sound or name == "santext_plus"
    assert ("--allow_unsound" in told) == refused


def test_without_a_known_mechanism_the_launcher_is_explained(shown: Callable[..., str]) -> None:
    for argv in (["--mechanism", "none_such"], ["--mechanism"], ["--mechanism=all"]):
        assert "The manual." in shown(AUDIT, *argv, "--help")
    assert "The manual." in shown(BUILD_VOCABULARY, "--mechanism=tem", "--help")


def test_beams_flags_are_shown_when_asked_for(shown: Callable[..., str]) -> None:
    told = shown(SANITIZE, "--help_beam")
    assert "--runner" in told
    assert "--direct_num_workers" in told
    assert "--epsilon" not in told
    assert "The manual." not in told
    assert "--direct_running_mode {" not in shown(SANITIZE, "--help")
