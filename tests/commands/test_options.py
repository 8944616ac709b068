"""The command line: what is not known is refused, and what is given comes before a file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from apache_beam.options import pipeline_options
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions, StandardOptions

from dxbeam.commands.flags.building import BuildVocabularyOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import (
    AUDIT,
    BUILD_VOCABULARY,
    COMMANDS,
    MEASURE,
    RELEASE_VECTORS,
    SANITIZE,
    TOPICS,
    Command,
    SanitizeOptions,
    declared,
)
from dxbeam.commands.options import parse, require
from dxbeam.errors import ConfigurationError


def _parse(*argv: str) -> PipelineOptions:
    return parse(argv, SANITIZE, "The manual.")


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
    assert options.view_as(OutputOptions).output == "out"
    assert options.view_as(DirectOptions).direct_num_workers == 3


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--epsilom=7", "unknown flag --epsilom; did you mean --epsilon?"),
        (
            "--eps=7",
            "unknown flag --eps; did you mean --epsilon?",
        ),  # argparse would take an abbreviation
        ("--keep_field=a", "unknown flag --keep_field; did you mean --keep_fields?"),
        ("--embeddings=a", "unknown flag --embeddings;"),  # another launcher's
        ("--seed=1", "unknown flag --seed;"),
        ("-e", "unknown flag -e;"),
        ("--", "unknown flag --;"),
    ],
)
def test_what_nobody_knows_is_refused(flag: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        _parse(flag)


def test_an_argument_that_is_no_flag_is_counted_and_not_shown() -> None:
    with pytest.raises(
        ConfigurationError, match="argument 3 of the command line is not a flag"
    ) as it:
        _parse("--input", "a.jsonl", "b.jsonl")
    assert "b.jsonl" not in str(it.value)


@pytest.mark.parametrize("flag", ["--epsilon", "--key_uri", "--runner"])
def test_a_flag_without_its_value_is_refused(flag: str) -> None:
    for rest in ((), ("--output=out",)):
        with pytest.raises(ConfigurationError, match=f"{flag} needs a value"):
            _parse(flag, *rest)


@pytest.mark.parametrize("value", ["much", "nan", "", "1_0", "0x10", "1,5", "1 2"])
def test_what_is_not_a_number_is_refused(value: str) -> None:
    for flag in ("epsilon", "rank_c", "max_epsilon"):
        with pytest.raises(ConfigurationError, match=f"^--{flag}: '{value}' is not a number; "):
            _parse(f"--{flag}={value}")


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "", "1_0", "+3", "1e3", "٣", "9" * 5000])
@pytest.mark.parametrize(
    ("own", "flag"),
    [
        (SANITIZE, "search_threads"),
        (SANITIZE, "num_shards"),
        (SANITIZE, "largest_document"),
        (SANITIZE, "bag_of_words"),
        (RELEASE_VECTORS, "projected_dimensions"),
        (RELEASE_VECTORS, "dimensions"),
        (BUILD_VOCABULARY, "max_words"),
        (AUDIT, "runs"),
        (MEASURE, "words"),
        (MEASURE, "repeats"),
    ],
)
def test_how_many_is_a_whole_number_from_one(own: Command, flag: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^--{flag}: .* is not a whole number from 1"):
        parse([f"--{flag}={value}"], own, "")
    assert parse([f"--{flag}=7"], own, "").get_all_options()[flag] == 7


@pytest.mark.parametrize("value", ["-1", "1.5", "", "00", "none"])
def test_no_neighbours_is_a_number_too(value: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"^--neighbors: .* is not 0 or a whole number from 1"
    ):
        parse([f"--neighbors={value}"], BUILD_VOCABULARY, "")
    for given in (0, 7):
        options = parse([f"--neighbors={given}"], BUILD_VOCABULARY, "")
        assert options.view_as(BuildVocabularyOptions).neighbors == given


def test_a_flag_is_given_once() -> None:
    for flag, one, other in (("epsilon", 5, 7), ("key_uri", "a", "b"), ("runner", "X", "Y")):
        with pytest.raises(ConfigurationError, match=f"--{flag} is given twice with different"):
            _parse(f"--{flag}={one}", f"--{flag}={other}")
        with pytest.raises(ConfigurationError, match=f"--{flag} is given twice with different"):
            _parse(f"--{flag}={one}", f"--{flag}", str(other))
    with pytest.raises(ConfigurationError, match="--allow_unsound is given twice"):
        _parse("--allow_unsound", "--allow_unsound=false")
    assert _own("--epsilon=5", "--epsilon", "5").epsilon == 5
    options = _parse("--experiments=a", "--experiments=b")  # these add up
    assert options.view_as(pipeline_options.DebugOptions).experiments == ["a", "b"]


@pytest.mark.parametrize(
    "flag", ["--allow_unsound=maybe", "--dry_run=no", "--dry_run=", "--save_main_session=1"]
)
def test_a_switch_is_true_or_false(flag: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{flag.partition('=')[0]} is a switch"):
        _parse(flag)


def test_switches_as_templates_write_them() -> None:
    for word, given in (("", True), ("=true", True), ("=True", True), ("=false", False)):
        assert _own(f"--allow_unsound{word}").allow_unsound is given
        options = _parse(f"--dry_run{word}").view_as(pipeline_options.TestOptions)
        assert bool(options.dry_run) is given


@pytest.mark.parametrize("name", ["FlinkRuner", "no.such.Runner", "dxbeam.errors.Nothing", ""])
def test_a_runner_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="there is no such runner here"):
        _parse(f"--runner={name}")


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--runner=DataflowRunner", "--region=x"], "cannot run with these flags"),
        (["--resource_hint=nonsense"], "cannot run with these flags"),
        (["--direct_num_workers=-1"], "--direct_num_workers must be 0"),
        (["--direct_running_mode=fast"], "--direct_running_mode: invalid choice"),
    ],
)
def test_what_beam_would_refuse_later_is_refused_now(flags: list[str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as refusal:
        _parse(*flags)
    assert "\n" not in str(refusal.value)


def test_each_launcher_has_flags_of_its_own() -> None:
    parsed = parse(["--embeddings=a", "--lowercase"], BUILD_VOCABULARY, "")
    assert parsed.view_as(BuildVocabularyOptions).lowercase
    with pytest.raises(ConfigurationError, match="unknown flag --epsilon"):
        parse(["--epsilon=1"], BUILD_VOCABULARY, "")


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
        assert options.view_as(OutputOptions).output == "there"


def test_a_file_sets_switches(config: Callable[[str], str]) -> None:
    for word, given in {"true": True, "false": False}.items():
        parsed = parse([config(f"lowercase: {word}")], BUILD_VOCABULARY, "")
        assert parsed.view_as(BuildVocabularyOptions).lowercase is given


def test_the_command_line_replaces_what_a_file_says(config: Callable[[str], str]) -> None:
    named = config("lowercase: true\ndry_run: true\nexperiments: [a, b]\nlabels: [x=1, y=2]\n")

    def parsed(*more: str) -> PipelineOptions:
        return parse([named, *more], BUILD_VOCABULARY, "")

    assert parsed().view_as(BuildVocabularyOptions).lowercase
    assert parsed().view_as(pipeline_options.DebugOptions).experiments == ["a", "b"]
    assert parsed().view_as(pipeline_options.GoogleCloudOptions).labels == ["x=1", "y=2"]
    off = parsed("--lowercase=false", "--dry_run=false", "--experiment=c")
    assert not off.view_as(BuildVocabularyOptions).lowercase
    assert not off.view_as(pipeline_options.TestOptions).dry_run
    assert off.view_as(pipeline_options.DebugOptions).experiments == ["c"]


@pytest.mark.parametrize("text", ["1:30", "010", "0x10", "1_000", "2024-01-01", "no", "on", "1e3"])
def test_a_value_in_a_file_is_its_text_and_nothing_else(
    config: Callable[[str], str], text: str
) -> None:
    assert _own(config(f"group_by: {text}")).group_by == text
    assert _own(config(f"keep_fields: [{text}, b]")).keep_fields == f"{text},b"


def test_null_in_a_file_leaves_a_flag_out(config: Callable[[str], str]) -> None:
    for nothing in ("null", "~", ""):
        own = _own(config(f"group_by: {nothing}\nallow_unsound: {nothing}"))
        assert own.group_by is None
        assert not own.allow_unsound
    assert _own(config('group_by: "null"')).group_by == "null"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("epsilom: 7", "line 1: unknown flag; did you mean --epsilon?"),
        ("a: 1\nepsilon: 7", "line 1: unknown flag; --help"),
        ("--epsilon: 7", "line 1: unknown flag"),
        ("7: epsilon", "line 1: unknown flag"),
        ("? [epsilon]\n: 7", "line 1: unknown flag"),
        ("<<: {epsilon: 7}", "line 1: unknown flag"),
        ("epsilon: much", "--epsilon: 'much' is not a number"),
        ("epsilon: 1:30", "--epsilon: '1:30' is not a number"),
        ("epsilon: no", "--epsilon: 'no' is not a number"),
        ("epsilon: 1\nrank_c: 1\n'epsilon': 1", "line 3: epsilon is in line 1 already"),
        ("experiment: a\nrunner: X\nconfig: other.yaml", "line 3: a file of flags names no"),
        ("group_by: true", "line 1: group_by takes a value"),
        ("\nepsilon: false", "line 2: epsilon takes a value"),
        ('allow_unsound: "yes"', "line 1: --allow_unsound is a switch"),
        ("allow_unsound: on", "line 1: --allow_unsound is a switch"),
        ("dry_run: no", "line 1: --dry_run is a switch"),
        ("keep_fields: [a, 'b,c']", "line 1: an item of keep_fields must not hold a comma"),
        ("keep_fields: [a, null]", "keep_fields must be a single value or a list"),
        ("- epsilon", "must be a mapping"),
        ("epsilon", "must be a mapping"),
        ("", "must be a mapping"),
        ("# only a comment", "must be a mapping"),
        ("a: [", "line 1: not valid YAML"),
        ("epsilon: 1\n---\nepsilon: 2", "not valid YAML"),
        ("a: &x [*x", "not valid YAML"),
        ("[" * 100_000, "not valid YAML"),
        ("epsilon: \x00", "not valid YAML"),
        ("epsilon: {a: 1}", "epsilon must be a single value or a list"),
        ("keep_fields: [[a]]", "keep_fields must be a single value or a list"),
    ],
)
def test_files_that_cannot_be_used(config: Callable[[str], str], content: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        _parse(config(content))


def test_a_corpus_given_as_a_file_of_flags_is_not_shown(config: Callable[[str], str]) -> None:
    for line in (
        "Eve: secret",
        '{"secret": "Eve", "text": "Eve"}',
        '{"text": "Eve',
        "Eve\tsecret:",
    ):
        with pytest.raises(ConfigurationError) as refusal:
            _parse(config(line))
        assert "Eve" not in str(refusal.value)
        assert "secret" not in str(refusal.value)


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


def test_a_flag_that_would_do_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="unknown flag --output"):
        parse(["--output=a"], AUDIT, "")


def test_a_flag_is_declared_once() -> None:
    """Or Beam could make no pipeline at all."""
    names = [name for flag in declared(*TOPICS) for name in flag.option_strings]
    assert len(names) == len(set(names))
    PipelineOptions([])


def test_every_flag_that_a_command_names_exists() -> None:
    flags = {flag.dest for flag in declared(*TOPICS)}
    for command in COMMANDS:
        taken = {flag.dest for flag in command.flags()}
        single = {name for name in command.takes if isinstance(name, str)}
        assert single | set(command.needed) | set(command.meanings) <= taken, command.name
        assert set(command.without) <= flags - taken, command.name
    assert flags == {flag.dest for command in COMMANDS for flag in command.flags()}
