"""Rejected records by Beam's conventions: the tags, the handlers and the names that others have."""

from __future__ import annotations

from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing import test_pipeline
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.error_handling import ErrorHandler

from dxbeam.corpus.formats import CorpusFormat
from dxbeam.documents import Rejected
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.text.configuration import Configuration
from dxbeam.transforms.exceptions import error_output
from dxbeam.transforms.reading.sources import ReadDocuments
from dxbeam.transforms.sanitize import SanitizeDocuments

ROWS = [beam.Row(id="a", text="w1 w2"), beam.Row(id="b", text="zyzzogeton\0")]
REJECTED = ["b"]


@pytest.fixture
def sanitize(uri: str) -> SanitizeDocuments:
    return SanitizeDocuments(Configuration(Laplace(5.0)), uri)


def _where(rejected: Rejected) -> str:
    assert "zyzzogeton" not in str(rejected)
    return rejected.where


def test_good_and_bad_are_told_apart(sanitize: SanitizeDocuments) -> None:
    with test_pipeline.TestPipeline(runner="FnApiRunner") as pipeline:
        good, bad = pipeline | beam.Create(ROWS) | sanitize.with_exception_handling()
        assert_that(good | "Id" >> beam.Map(lambda row: row.id), equal_to(["a"]), label="good")
        assert_that(bad | beam.Map(_where), equal_to(REJECTED), label="bad")


def test_both_have_the_names_that_are_chosen(sanitize: SanitizeDocuments) -> None:
    outputs = (
        beam.Pipeline()
        | beam.Create(ROWS)
        | sanitize.with_exception_handling(main_tag="released", dead_letter_tag="errors")
    )
    assert outputs.released.element_type == outputs[0].element_type
    assert outputs.errors.element_type is Rejected
    with pytest.raises(ConfigurationError, match="choose two names"):
        sanitize.with_exception_handling(main_tag="all", dead_letter_tag="all")


def test_a_handler_gets_what_is_rejected(sanitize: SanitizeDocuments) -> None:
    with test_pipeline.TestPipeline(runner="FnApiRunner") as pipeline:
        rows = pipeline | beam.Create(ROWS)
        with ErrorHandler(beam.Map(_where)) as handler:
            good = rows | sanitize.with_exception_handling(error_handler=handler)
        assert_that(good | "Id" >> beam.Map(lambda row: row.id), equal_to(["a"]), label="good")
        assert_that(handler.output(), equal_to(REJECTED), label="bad")


@pytest.mark.parametrize(
    "wrong", [{"output": "errors", "threshold": 1}, {"output": "rows"}, {"name": "errors"}]
)
def test_yaml_names_one_further_output(wrong: dict[str, Any]) -> None:
    assert error_output(None, "rows") is None
    assert error_output({"output": "errors", "__line__": 3}, "rows") == "errors"
    with pytest.raises(ConfigurationError, match="`error_handling` names the output"):
        error_output(wrong, "rows")


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("--runtime_type_check", "`runtime_type_check` quotes elements"),
        ("--performance_runtime_type_check", "quotes elements"),
        ("--experiments=enable_data_sampling", "`experiments` enable_data_sampling shows"),
        ("--experiments=enable_always_on_exception_sampling", "exception_sampling shows elements"),
    ],
)
def test_no_pipeline_may_quote_texts(sanitize: SanitizeDocuments, flag: str, expected: str) -> None:
    """Not only those that a launcher builds: in a notebook and in YAML, too."""
    pipeline = beam.Pipeline(options=PipelineOptions([flag]))
    with pytest.raises(ConfigurationError, match=expected):
        _ = pipeline | beam.Create(ROWS) | sanitize
    with pytest.raises(ConfigurationError, match=expected):
        _ = pipeline | ReadDocuments("corpus.jsonl", CorpusFormat("jsonl"))


def test_no_element_is_kept_at_which_a_worker_fails(sanitize: SanitizeDocuments) -> None:
    """Dataflow keeps it, unless this experiment is named; naming it is allowed, too."""
    unsampled = "disable_always_on_exception_sampling"
    for flags in [], ["--experiments=other"], [f"--experiments={unsampled}"]:
        reading, sanitizing = (beam.Pipeline(options=PipelineOptions(flags)) for _ in range(2))
        _ = reading | ReadDocuments("corpus.jsonl", CorpusFormat("jsonl"))
        _ = sanitizing | beam.Create(ROWS) | sanitize
        for pipeline in reading, sanitizing:
            assert pipeline.options.get_all_options()["experiments"].count(unsampled) == 1
