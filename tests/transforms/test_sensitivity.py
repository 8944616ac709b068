"""The exact sensitivity as a pipeline: what the plain function finds, however it is spread."""

from __future__ import annotations

import json
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.space.artifact import artifact
from dxbeam.transforms.sensitivity import WriteExactSensitivity
from dxbeam.vectors import sensitivity
from dxbeam.vectors.projections import make_projection
from tests.support import tiny


@pytest.mark.parametrize(
    "flags",
    [
        [],
        ["--direct_runner_bundle_repeat=1"],
        ["--direct_running_mode=multi_processing", "--direct_num_workers=1"],
    ],
    ids=["memory", "repeated", "processes"],
)
def test_the_pipeline_finds_what_the_function_finds(tmp_path: Path, flags: list[str]) -> None:
    vocabulary = tiny.vocabulary(words=1300, dimensions=8)
    handle = artifact.handle(tiny.write_artifact(tmp_path / "vocabulary", vocabulary))
    projection = make_projection("gaussian", 8, 3)
    path = str(tmp_path / "sensitivity.json")
    with beam.Pipeline("FnApiRunner", PipelineOptions(flags)) as pipeline:
        pipeline | WriteExactSensitivity(handle, projection, path)
    expected = sensitivity.exact(artifact.open_vocabulary(handle), projection).as_dict()
    assert json.loads(Path(path).read_text()) == expected
