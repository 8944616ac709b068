"""ReleaseVectors as a public transform."""

from __future__ import annotations

from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing import test_pipeline
from apache_beam.testing.util import assert_that, equal_to

from dxbeam.documents import Document
from dxbeam.space.artifact import artifact
from dxbeam.transforms.vectors import ReleaseVectors
from dxbeam.vectors import sensitivity
from dxbeam.vectors.configuration import VectorConfiguration
from dxbeam.vectors.projections import make_projection
from tests.support import tiny


@pytest.mark.parametrize("text", ["w1", "w2", "\0"])
def test_documents_with_one_id_are_all_rejected_whatever_their_texts_are(
    tmp_path: Path, text: str
) -> None:
    """Their vectors would be equal if and only if their texts are."""
    handle = artifact.handle(tiny.write_artifact(tmp_path / "vocabulary"))
    projection = make_projection("none", handle.dimensions, handle.dimensions, "", None)
    settings = VectorConfiguration("text", 5.0, projection, sensitivity.identity("spectral"))
    documents = [Document("a", "w1"), Document("b", "w3"), Document("a", text)]
    pipeline = test_pipeline.TestPipeline(runner="FnApiRunner", options=PipelineOptions([]))
    with pipeline:
        result = pipeline | beam.Create(documents) | ReleaseVectors(settings, handle)
        assert_that(result.vectors | beam.Map(lambda row: row.id), equal_to(["b"]))
        where = result.rejected | beam.Map(lambda rejected: rejected.where)
        assert_that(where, equal_to(["a", "a"]), label="rejected")
