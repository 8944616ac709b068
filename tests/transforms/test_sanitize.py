"""SanitizeDocuments as a public transform: rows in, rows out, windows kept, no key in the job."""

from __future__ import annotations

import logging
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import pytest
from apache_beam.metrics import MetricsFilter
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing import test_pipeline, test_stream
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.window import FixedWindows, SlidingWindows, TimestampedValue
from apache_beam.typehints.row_type import RowTypeConstraint

from dxbeam.corpus.files import CorpusFile
from dxbeam.corpus.splits import Split
from dxbeam.documents import REPEATED_ID, Document, Rejected, UnreadableFile
from dxbeam.errors import ConfigurationError
from dxbeam.keys import fingerprint
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.release.manifest import Shard
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.text.tally import Tally
from dxbeam.transforms import yaml as declarative
from dxbeam.transforms.sanitize import SanitizeDocuments
from pipelines.sanitize import build, read_options
from tests.support import tiny

# Noise far smaller than the words' distances: what comes out is known, the way there is the same.
QUIET = Configuration(Laplace(5000.0))


class Review(NamedTuple):
    id: str
    text: str
    stars: int


@pytest.fixture(scope="module")
def key_uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("key") / "key"
    path.write_bytes(tiny.KEY)
    return str(path)


@pytest.mark.parametrize(
    "row", [CorpusFile, Document, Rejected, UnreadableFile, Split, Shard, Tally, VocabularyHandle]
)
def test_what_travels_between_workers_has_a_schema(row: type) -> None:
    """No pickled fields: they are slow, and opaque to every other language's runner."""
    fields = RowTypeConstraint.from_user_type(row)._fields
    assert {kind for _, kind in fields} <= {str, int}
    assert isinstance(beam.coders.registry.get_coder(row), beam.coders.RowCoder)


def test_rows_keep_their_id_and_the_fields_that_are_asked_for(uri: str) -> None:
    reviews = [Review("a", "W1, w2!", 5), Review("b", "", 1)]
    with tiny.pipeline() as pipeline:
        rows = pipeline | beam.Create(reviews).with_output_types(Review)
        result = rows | SanitizeDocuments(QUIET, uri, keep_fields=["stars"], group_by="stars")
        fields = result.documents.element_type._fields
        assert [(name, kind) for name, kind in fields] == [
            ("id", str),
            ("text", str),
            ("stars", int),
        ]
        assert_that(
            result.documents | beam.Map(lambda row: (row.id, row.text, row.stars)),
            equal_to([("a", "w1, w2!", 5), ("b", "", 1)]),
        )
        counts = result.tallies | beam.MapTuple(lambda group, tally: (group, tally.original))
        assert_that(counts, equal_to([("5", 2), ("1", 0)]), label="tallies")


def test_beam_rows_serve_as_well(uri: str) -> None:
    with tiny.pipeline() as pipeline:
        rows = pipeline | beam.Create(["w1", "w2"]) | beam.Map(lambda w: beam.Row(id=w, text=w))
        result = rows | SanitizeDocuments(QUIET, uri)
        texts = result.documents | beam.Map(lambda row: row.text)
        assert_that(texts, equal_to(["w1", "w2"]))


def test_nothing_is_lost_in_front_of_a_dofn_that_takes_batches(uri: str) -> None:
    """Data frames start with one. Beam flushes what waits for it before finish_bundle."""
    convert = pytest.importorskip("apache_beam.dataframe.convert")
    with tiny.pipeline() as pipeline:
        rows = pipeline | beam.Create([Document(f"d{i}", "w1 w2") for i in range(25)])
        documents = (rows | SanitizeDocuments(QUIET, uri)).documents
        again = convert.to_pcollection(convert.to_dataframe(documents))
        ids = again | beam.Map(lambda row: row.id)
        assert_that(ids, equal_to([f"d{i}" for i in range(25)]))


def test_rows_without_what_is_needed_are_refused_when_the_pipeline_is_built(uri: str) -> None:
    with pytest.raises(TypeError, match="SanitizeDocuments needs rows with the fields id, text, x"):
        (
            tiny.pipeline()
            | beam.Create([Review("a", "w1", 5)]).with_output_types(Review)
            | SanitizeDocuments(QUIET, uri, keep_fields=["x"])
        )


def test_rejected_rows_say_why_and_not_what(uri: str) -> None:
    with tiny.pipeline() as pipeline:
        rows = pipeline | beam.Create([Review("a", "secret\0", 5)]).with_output_types(Review)
        result = rows | SanitizeDocuments(QUIET, uri)
        assert_that(result.documents, equal_to([]))
        said = result.rejected | beam.Map(lambda r: (r.where, "null byte" in r.reason))
        assert_that(said, equal_to([("a", True)]), label="rejected")
        assert_that(
            result.rejected | beam.Filter(lambda r: "secret" in str(r)), equal_to([]), label="no"
        )


def test_each_document_keeps_its_window_and_timestamp(uri: str) -> None:
    class Where(beam.DoFn):
        def process(
            self,
            row: beam.Row,
            timestamp: object = beam.DoFn.TimestampParam,
            window: object = beam.DoFn.WindowParam,
        ) -> list[tuple[str, int, int]]:
            return [(row.text, int(timestamp), int(window.start))]  # type: ignore[call-overload, attr-defined]

    with tiny.pipeline() as pipeline:
        rows = (
            pipeline
            | beam.Create(range(0, 100, 7))
            | beam.Map(lambda t: TimestampedValue(Document(str(t), f"w{t}"), t)).with_output_types(
                Document
            )
            | beam.WindowInto(FixedWindows(10))
        )
        result = rows | SanitizeDocuments(QUIET, uri)
        expected = [(f"w{t}", t, t // 10 * 10) for t in range(0, 100, 7)]
        assert_that(result.documents | beam.ParDo(Where()), equal_to(expected))


def test_a_document_in_several_windows_comes_out_in_each(uri: str) -> None:
    with tiny.pipeline() as pipeline:
        rows = (
            pipeline
            | beam.Create([5, 25])
            | beam.Map(lambda t: TimestampedValue(Document(str(t), f"w{t}"), t)).with_output_types(
                Document
            )
            | beam.WindowInto(SlidingWindows(20, 10))
        )
        result = rows | SanitizeDocuments(QUIET, uri)
        counted = result.documents | beam.Map(lambda row: (row.text, 1))
        windows = counted | beam.CombinePerKey(sum) | beam.ParDo(_Start())
        assert_that(
            windows, equal_to([("w5", 1, -10), ("w5", 1, 0), ("w25", 1, 10), ("w25", 1, 20)])
        )
        tallies = result.tallies | beam.MapTuple(lambda group, tally: ("", tally.tokens))
        sums = tallies | "Sum" >> beam.CombinePerKey(sum) | "Where" >> beam.ParDo(_Start())
        assert_that(sums, equal_to([("", 1, start) for start in (-10, 0, 10, 20)]), label="tallies")


class _Start(beam.DoFn):
    """A pair and the start of its window."""

    def process(
        self, pair: tuple[str, int], window: Any = beam.DoFn.WindowParam
    ) -> list[tuple[str, int, int]]:
        return [(*pair, int(window.start))]


def test_counters_agree_with_what_comes_out(uri: str) -> None:
    pipeline = tiny.pipeline()
    reviews = [Review("a", "w1, w2!", 5), Review("b", "", 1), Review("c", "\0", 1)]
    rows = pipeline | beam.Create(reviews).with_output_types(Review)
    rows | SanitizeDocuments(QUIET, uri)
    counters = pipeline.run().metrics().query(MetricsFilter().with_namespace("dxbeam"))["counters"]
    counts = {counter.key.metric.name: counter.committed for counter in counters}
    assert counts == {"documents": 2, "tokens": 2, "rejected": 1}


def test_integers_are_ids_and_other_values_are_rejected(uri: str) -> None:
    with tiny.pipeline() as pipeline:
        rows = pipeline | beam.Create([7, 8, "8", 1.5])
        rows = rows | beam.Map(lambda n: beam.Row(id=n, text="w1"))
        result = rows | SanitizeDocuments(QUIET, uri)
        assert_that(result.documents, equal_to([beam.Row(id="7", text="w1")]))
        why = "the id is neither a string nor an integer"
        rejected = [Rejected("8", REPEATED_ID)] * 2 + [Rejected("a document without an id", why)]
        assert_that(result.rejected, equal_to(rejected), label="rejected")


def test_rows_without_an_id_fail_with_a_sentence(uri: str) -> None:
    pipeline = tiny.pipeline()
    without = beam.Map(lambda text: beam.Row(text=text)).with_output_types(Any)
    _ = pipeline | beam.Create(["w1"]) | without | SanitizeDocuments(QUIET, uri)
    with pytest.raises(Exception, match=r"rows need the fields `id` and `text`.*no field 'id'"):
        pipeline.run()


@pytest.mark.parametrize("texts", [("w1", "w1"), ("w1", "w2"), ("w1", "\0")])
def test_rows_with_one_id_are_all_rejected_whatever_their_texts_are(
    uri: str, texts: tuple[str, str]
) -> None:
    """Their noise would be equal if and only if their texts are."""
    rows = [Document("a", texts[0]), Document("b", "w3"), Document("a", texts[1])]
    with tiny.pipeline() as pipeline:
        result = pipeline | beam.Create(rows) | SanitizeDocuments(QUIET, uri)
        assert_that(result.documents | beam.Map(lambda row: row.id), equal_to(["b"]))
        where = result.rejected | beam.Map(lambda rejected: rejected.where)
        assert_that(where, equal_to(["a", "a"]), label="rejected")


def test_no_row_of_a_stream_waits_for_another(uri: str) -> None:
    """There, ids cannot be compared, and nothing is held back until all of them are known."""
    stream = test_stream.TestStream(
        coder=beam.coders.registry.get_coder(Document)
    ).with_output_types(Document)
    stream = stream.add_elements([Document("a", "w1"), Document("a", "w2")])
    with test_pipeline.TestPipeline("BundleBasedDirectRunner") as pipeline:
        result = pipeline | stream.advance_watermark_to_infinity() | SanitizeDocuments(QUIET, uri)
        texts = result.documents | beam.Map(lambda row: row.text)
        assert_that(texts, equal_to(["w1", "w2"]))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"keep_fields": ["text"]}, "`keep_fields` names 'text'"),
        ({"keep_fields": ["id"]}, "`keep_fields` names 'id'"),
        ({"keep_fields": ["stars", "stars"]}, "a field twice"),
        ({"group_by": "text"}, "`group_by` names 'text'"),
    ],
)
def test_the_text_is_neither_kept_nor_counted_by(
    uri: str, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        SanitizeDocuments(QUIET, uri, **settings)


def test_in_beam_yaml_too(uri: str) -> None:
    with pytest.raises(ConfigurationError, match="`keep_fields` names 'text'"):
        declarative.SanitizeRows(uri, 5.0, keep_fields="stars, text")


@pytest.mark.parametrize("own_id", [["w1"], b"w1", None, "a\ud800", "a\0"])
def test_an_id_that_cannot_be_written_is_not_quoted(uri: str, own_id: Any) -> None:
    with tiny.pipeline() as pipeline:
        rows = (
            pipeline
            | beam.Create([0])
            | beam.Map(lambda _: beam.Row(id=own_id, text="w1")).with_output_types(Any)
        )
        result = rows | SanitizeDocuments(QUIET, uri)
        assert_that(result.documents, equal_to([]))
        said = result.rejected | beam.Map(lambda rejected: rejected.reason.split(" ")[:2])
        assert_that(said, equal_to([["the", "id"]]), label="rejected")


def test_without_a_key_nobody_draws_the_same_noise_again(uri: str, tmp_path: Path) -> None:
    prints, texts = set(), set()
    for number in range(2):
        with tiny.pipeline() as pipeline:
            rows = pipeline | beam.Create([Document("a", "w1 w2 w3 " * 30)])
            result = rows | SanitizeDocuments(Configuration(Laplace(1.0)), uri)
            for name, lines in {
                "print": result.key_fingerprint,
                "text": result.documents | beam.Map(lambda row: row.text),
            }.items():
                lines | f"Write{name}" >> beam.io.WriteToText(
                    f"{tmp_path}/{name}{number}", shard_name_template="", num_shards=1
                )
        prints.add((tmp_path / f"print{number}").read_text())
        texts.add((tmp_path / f"text{number}").read_text())
    assert len(prints) == len(texts) == 2


def test_rows_without_the_group_are_refused_when_the_pipeline_is_built(uri: str) -> None:
    rows = tiny.pipeline() | beam.Create([Review("a", "w1", 5)]).with_output_types(Review)
    with pytest.raises(TypeError, match="SanitizeDocuments needs rows with the fields"):
        rows | SanitizeDocuments(QUIET, uri, group_by="label")


def test_the_key_is_named_and_never_carried(uri: str, key_uri: str) -> None:
    with tiny.pipeline() as pipeline:
        rows = pipeline | beam.Create([Review("a", "w1", 5)]).with_output_types(Review)
        result = rows | SanitizeDocuments(QUIET, uri, key_uri)
        assert_that(result.key_fingerprint, equal_to([fingerprint(tiny.KEY)]))
        graph = pipeline.to_runner_api().SerializeToString()
    assert tiny.KEY not in graph
    assert tiny.KEY.hex().encode() not in graph
    with pytest.raises(TypeError, match="secret key"):
        pickle.dumps(Sanitizer(tiny.vocabulary(), Laplace(5.0)))


def test_the_job_is_small_builds_without_a_warning_and_holds_no_text(
    uri: str, key_uri: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", [{"id": "a", "text": "secret words"}])
    arguments = [
        f"--input={corpus}",
        f"--vocabulary={uri}",
        f"--output={tmp_path / 'out'}",
        f"--key_uri={key_uri}",
        "--epsilon=5",
        "--group_by=label",
    ]
    with caplog.at_level(logging.WARNING):
        graph = build(read_options(PipelineOptions(arguments))).to_runner_api().SerializeToString()
    assert not caplog.records
    assert len(graph) < 300_000
    assert b"secret" not in graph
    assert tiny.KEY not in graph
