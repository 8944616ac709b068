"""The job as Dataflow would get it: translated and staged, and not submitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam import storage
from pipelines.sanitize import build, read_options
from tests.cloud.bucket import names
from tests.cloud.front import BUCKET, Front
from tests.support import tiny

ROOT = Path(__file__).parent.parent.parent
LARGEST_REQUEST = 1 << 20  # bytes; Dataflow takes 20 MB
SECRET = "zyzzyva"


@pytest.fixture
def translated(cloud: Front, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip(
        "apache_beam.runners.dataflow.internal.apiclient",
        reason="the package google-cloud-dataflow-client is not installed",
    )
    from apache_beam.runners.dataflow.dataflow_runner import DataflowRunner
    from apache_beam.runners.dataflow.internal import apiclient

    sent: list[Any] = []
    monkeypatch.setattr(
        apiclient.DataflowApplicationClient,
        "submit_job_description",
        lambda _, job: sent.append(job),
    )
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", [{"id": "a", "text": f"w1 {SECRET}"}])
    (tmp_path / "key").write_text(tiny.KEY.hex())
    options = PipelineOptions(
        tiny.arguments(
            tiny.write_artifact(tmp_path / "vocabulary"),
            corpus,
            tmp_path / "out",
            (
                f"--key_uri=file://{tmp_path / 'key'}",
                "--runner=DataflowRunner",
                "--project=a-project",
                "--region=europe-west1",
                "--job_name=nightly",
                f"--staging_location=gs://{BUCKET}/staging",
                f"--temp_location=gs://{BUCKET}/temp",
                f"--setup_file={ROOT / 'setup.py'}",
                "--number_of_worker_harness_threads=1",
                "--resource_hints=min_ram=4GB",
            ),
        )
    )
    pipeline = build(read_options(options))
    try:
        DataflowRunner().run_pipeline(pipeline, pipeline.options)
    except Exception:
        if not sent:
            raise
    return sent[0]


def test_the_request_is_small_and_holds_neither_key_nor_text(translated: Any) -> None:
    job = translated
    request = type(job.proto).to_json(job.proto).encode()
    graph = job.proto_pipeline.SerializeToString()
    assert len(request) < LARGEST_REQUEST
    assert len(graph) < LARGEST_REQUEST
    staged = [storage.read(f"gs://{BUCKET}/{name}") for name in names()]
    assert staged
    everything = request + graph + b"".join(staged)
    for secret in (SECRET.encode(), tiny.KEY, tiny.KEY.hex().encode(), b'"w250"'):
        assert secret not in everything
    assert b"key" in graph, "the key travels as where it lies"
    assert b"disable_always_on_exception_sampling" in request, "no text at which it fails is kept"


def test_the_vocabulary_is_a_side_input_and_the_package_is_staged(translated: Any) -> None:
    job = translated
    components = job.proto_pipeline.components
    inputs = {
        transform.unique_name: len(transform.inputs)
        for transform in components.transforms.values()
        if transform.spec.urn == "beam:transform:pardo:v1"
    }
    [sanitize] = [name for name in inputs if "ParDo(SanitizeDoFn)" in name]
    assert inputs[sanitize] == 3, "documents, the key and the vocabulary's handle"
    hints = [
        environment.resource_hints
        for environment in components.environments.values()
        if environment.resource_hints
    ]
    assert hints, "--resource_hints reach the job"
    assert any("dxbeam" in name or "workflow" in name for name in names("staging")), names()
