"""The command line: what is not known is refused, and what is given comes before a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from apache_beam.options import pipeline_options
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions, StandardOptions

from dxbeam.errors import ConfigurationError
from dxbeam.transforms.options import (
    BuildVocabularyOptions,
    CommonOptions,
    SanitizeOptions,
    parse,
    require,
)


def _parse(*argv: str) -> PipelineOptions:
    return parse(argv, SanitizeOptions, "The manual.")


def _own(*argv: str) -> Any:
    return _parse(*argv).view_as(SanitizeOptions)


@pytest.fixture
def config(tmp_path: Path) -> Callable[[str], str]:
    """Writes a file of flags and returns the flag that names it."""

    def write(content: str) -> str:
        (tmp_path / "job.yaml").write_text(content)
        return f"--config={tmp_path}/job.yaml"

    return write


def test_flags_of_ours_and_of_beam_are_read() -> None:
    options = _parse("--epsilon=7.5", "--output", "out", "--direct_num_workers=3")
    assert options.view_as(SanitizeOptions).epsilon == 7.5
    assert options.view_as(CommonOptions).output == "out"
    assert options.view_as(DirectOptions).direct_num_workers == 3


@pytest.mark.parametrize(
    ("flag", "named"),
    [
        ("--epsilom=7", "--epsilom"),
        ("--eps=7", "--eps"),
        ("--keep_field=a", "--keep_field"),
        ("--embeddings=a", "--embeddings"),  # another launcher's
        ("--seed=1", "--seed"),
        ("-e", "-e"),
        ("in.jsonl", "in.jsonl"),
    ],
)
def test_what_nobody_knows_is_refused(flag: str, named: str) -> None:
    with pytest.raises(ConfigurationError, match=f"unknown flag {named};"):
        _parse(flag)


@pytest.mark.parametrize("flag", ["--epsilon=much", "--num_shards=1.5", "--epsilon"])
def test_what_is_not_a_number_is_refused(flag: str) -> None:
    with pytest.raises(ConfigurationError, match=f"argument {flag.partition('=')[0]}"):
        _parse(flag)


def test_each_launcher_has_flags_of_its_own() -> None:
    parsed = parse(["--embeddings=a", "--lowercase"], BuildVocabularyOptions, "")
    assert parsed.view_as(BuildVocabularyOptions).lowercase
    with pytest.raises(ConfigurationError, match="unknown flag --epsilon"):
        parse(["--epsilon=1"], BuildVocabularyOptions, "")


def test_the_local_runner_is_the_default_and_no_more() -> None:
    assert _parse().view_as(StandardOptions).runner == "FnApiRunner"
    assert _parse("--runner=FlinkRunner").view_as(StandardOptions).runner == "FlinkRunner"


def test_a_file_gives_flags_and_the_command_line_comes_first(
    config: Callable[[str], str],
) -> None:
    named = config(
        "epsilon: 7\nrank_c: null\nkeep_fields: [a, b]\nnum_shards: 3\n"
        "direct_num_workers: 2\noutput: there\n"
    )
    for argv in ((named, "--num_shards=5"), ("--num_shards=5", *named.split("="))):
        options = _parse(*argv)
        own = options.view_as(SanitizeOptions)
        assert own.epsilon == 7
        assert own.rank_c is None
        assert own.keep_fields == "a,b"
        assert own.num_shards == 5
        assert options.view_as(DirectOptions).direct_num_workers == 2
        assert options.view_as(CommonOptions).output == "there"


def test_a_file_sets_switches(config: Callable[[str], str]) -> None:
    for word, given in {"true": True, "false": False}.items():
        parsed = parse([config(f"lowercase: {word}")], BuildVocabularyOptions, "")
        assert parsed.view_as(BuildVocabularyOptions).lowercase is given


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("epsilom: 7", "unknown flag --epsilom"),
        ("epsilon: much", "argument --epsilon"),
        ("- epsilon", "must be a mapping"),
        ("", "must be a mapping"),
        ("a: [", "not valid YAML"),
        ("epsilon: {a: 1}", "epsilon must be a single value or a list"),
        ("keep_fields: [[a]]", "keep_fields must be a single value or a list"),
    ],
)
def test_files_that_cannot_be_used(config: Callable[[str], str], content: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        _parse(config(content))


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.yaml: cannot be read"):
        _parse(f"--config={tmp_path}/none.yaml")


def test_a_file_can_ask_for_a_dry_run(config: Callable[[str], str]) -> None:
    for argv in (["--dry_run"], [config("dry_run: true")]):
        assert _parse(*argv).view_as(pipeline_options.TestOptions).dry_run
    assert not _parse().view_as(pipeline_options.TestOptions).dry_run


def test_what_is_left_out_is_named() -> None:
    own = _own("--input=a", "--epsilon=0", "--vocabulary=")
    require(own, "input", "epsilon")  # 0 is refused elsewhere, by what it means
    for name in ("vocabulary", "key_uri"):
        with pytest.raises(ConfigurationError, match=f"--{name} is needed"):
            require(own, name)


def test_help_shows_the_manual_and_our_flags(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        _parse("--help", "--no_such_flag")
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    assert "The manual." in shown
    assert "--epsilon" in shown
    assert "--embeddings" not in shown
