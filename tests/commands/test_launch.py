"""What a launcher says: the library names parameters, a command line has flags."""

from __future__ import annotations

import os

import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.launch import local_workers, naming_flags
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


@pytest.mark.parametrize(
    ("flags", "workers"),
    [
        (["--runner=FnApiRunner"], 1),
        (["--runner=FnApiRunner", "--direct_running_mode=multi_processing"], 1),
        (
            [
                "--runner=FnApiRunner",
                "--direct_running_mode=multi_processing",
                "--direct_num_workers=3",
            ],
            3,
        ),
        (
            [
                "--runner=FnApiRunner",
                "--direct_running_mode=multi_processing",
                "--direct_num_workers=0",
            ],
            os.cpu_count(),
        ),
        (["--runner=FlinkRunner"], 0),
    ],
)
def test_processes_that_share_the_work_on_this_machine(flags: list[str], workers: int) -> None:
    assert local_workers(PipelineOptions(flags)) == workers
