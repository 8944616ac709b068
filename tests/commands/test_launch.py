"""What a launcher says: the library names parameters, a command line has flags."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions

from dxbeam.commands import launch, options
from dxbeam.commands.flags.registry import SANITIZE
from dxbeam.commands.launch import naming_flags
from dxbeam.commands.options import LARGE_CORPUS
from dxbeam.errors import ConfigurationError, RunError


def test_a_launcher_names_flags_where_the_library_names_parameters() -> None:
    @naming_flags
    def fails(argv: object) -> None:
        raise RunError(f"`key_uri` {argv}: not `Mine`, use `repair_api_key_env`; `a b` stays")

    with pytest.raises(RunError) as told:
        fails(["x"])
    assert str(told.value) == ("--key_uri ['x']: not `Mine`, use --repair_api_key_env; `a b` stays")


def test_other_errors_and_their_causes_pass_as_they_are() -> None:
    cause = ValueError("`key_uri`")

    @naming_flags
    def fails(argv: object) -> None:
        if argv:
            raise ConfigurationError("`output`") from cause
        raise cause

    with pytest.raises(ValueError, match="`key_uri`"):
        fails([])
    with pytest.raises(ConfigurationError, match="--output") as told:
        fails(["x"])
    assert told.value.__cause__ is cause


def _spread(*flags: str, text_bytes: int) -> tuple[str, int, int]:
    """Running mode, number of processes and threads of a search, on a machine of four cores."""
    parsed = options.parse(flags, SANITIZE, "")
    launch.spread(parsed, text_bytes)
    local = parsed.view_as(DirectOptions)
    return local.direct_running_mode, local.direct_num_workers, launch.search_threads(parsed)


@pytest.mark.parametrize(
    ("flags", "large", "small"),
    [
        ([], ("multi_processing", 4, 1), ("in_memory", 1, 4)),
        (["--local_processes=1"], ("in_memory", 1, 4), ("in_memory", 1, 4)),
        (["--local_processes=2"], ("multi_processing", 2, 2), ("multi_processing", 2, 2)),
        (["--direct_running_mode=in_memory"], ("in_memory", 1, 4), ("in_memory", 1, 4)),
        (["--direct_num_workers=2"], ("in_memory", 2, 2), ("in_memory", 2, 2)),
        (["--runner=DirectRunner"], ("in_memory", 1, 1), ("in_memory", 1, 1)),
    ],
    ids=str,
)
def test_large_corpora_use_all_cores_unless_a_flag_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
    flags: list[str],
    large: tuple[str, int, int],
    small: tuple[str, int, int],
) -> None:
    monkeypatch.setattr(launch, "cores", lambda: 4)
    monkeypatch.setattr(options, "cores", lambda: 4)
    assert _spread(*flags, text_bytes=LARGE_CORPUS + 1) == large
    assert _spread(*flags, text_bytes=LARGE_CORPUS) == small


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--direct_num_workers=2"], "--direct_num_workers say the same"),
        (["--runner=FlinkRunner"], "--runner FlinkRunner starts workers"),
    ],
)
def test_processes_are_said_once(flags: list[str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        options.parse(["--local_processes=2", *flags], SANITIZE, "")


def test_a_pipeline_that_is_not_run_leaves_no_folder() -> None:
    pipeline = launch.new_pipeline(PipelineOptions([]))
    folder = Path(pipeline.local_tempdir)
    assert folder.is_dir()
    del pipeline
    gc.collect()
    assert not folder.exists()
