"""Options of a run: as Beam's own, but each view is made once."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from apache_beam.options.pipeline_options import (
    PipelineOptions,
    PrismRunnerOptions,
    StandardOptions,
    TypeOptions,
)

from dxbeam.commands.flags.mechanism import MechanismOptions
from dxbeam.commands.flags.registry import SANITIZE
from dxbeam.commands.flags.run import ProcessOptions
from dxbeam.commands.options import parse

FLAGS = ["--input=a.jsonl", "--vocabulary=demo", "--epsilon=10", "--output=out"]


def _parsed() -> PipelineOptions:
    return parse(FLAGS, SANITIZE, "")


def test_a_command_line_is_parsed_once_for_each_kind_of_flag() -> None:
    options = _parsed()
    assert options.view_as(TypeOptions) is options.view_as(TypeOptions)
    assert options.view_as(MechanismOptions).epsilon == 10.0


def test_what_is_set_in_one_view_is_seen_in_all() -> None:
    options = _parsed()
    seen_before = options.view_as(StandardOptions)
    options.view_as(StandardOptions).runner = "PrismRunner"
    assert seen_before.runner == "PrismRunner"
    assert seen_before.view_as(StandardOptions).runner == "PrismRunner"
    assert options.get_all_options()["runner"] == "PrismRunner"


def test_they_travel_to_workers() -> None:
    options = _parsed()
    options.view_as(ProcessOptions).search_threads = 3
    there = pickle.loads(pickle.dumps(options))
    assert there.view_as(ProcessOptions).search_threads == 3
    assert there.view_as(MechanismOptions).epsilon == 10.0
    assert there.get_all_options() == options.get_all_options()


def test_prism_is_taken_from_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prism = tmp_path / "prism"
    prism.write_text("#!/bin/sh\n")
    prism.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    located = {
        flags: parse([*FLAGS, *flags], SANITIZE, "").view_as(PrismRunnerOptions).prism_location
        for flags in (
            ("--runner=PrismRunner",),
            ("--runner=PrismRunner", "--prism_location=/elsewhere"),
            ("--runner=FnApiRunner",),
        )
    }
    assert list(located.values()) == [str(prism), "/elsewhere", None]
