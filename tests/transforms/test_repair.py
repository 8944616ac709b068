"""RepairGrammar sees sanitized text only, loses no document and changes no promise."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.ml.inference.base import ModelHandler
from apache_beam.testing.util import assert_that, equal_to

from dxbeam.commands.options import LOCAL_RUNNER
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError, RunError
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.text.configuration import Configuration
from dxbeam.transforms.reading.sources import ReadDocuments
from dxbeam.transforms.repair import RepairGrammar
from dxbeam.transforms.sanitize import SanitizeDocuments
from tests.support import chat_stub, tiny

RECORDS = [
    {"id": f"id-{i}", "text": text, "label": f"label-{i}"} for i, text in enumerate(tiny.texts(25))
]
BLANK = sum(not record["text"].strip() for record in RECORDS)
VARIABLE = "DXBEAM_TEST_KEY"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return tiny.write_jsonl(tmp_path / "in.jsonl", RECORDS)


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long would be waited between attempts; nobody does."""
    slept: list[float] = []

    class Clock:
        sleep = staticmethod(slept.append)

    monkeypatch.setattr("dxbeam.text.chat_model.time", Clock)
    return slept


def _flags(stub: chat_stub.Stub, *more: str) -> list[str]:
    return ["--repair_model=m", f"--repair_endpoint={stub.endpoint}", *more]


@pytest.mark.parametrize(
    "runner",
    [
        (),
        ("--direct_running_mode=multi_processing", "--direct_num_workers=1"),
        ("--num_shards=2", "--output_format=parquet"),
    ],
    ids=["memory", "processes", "parquet"],
)
def test_the_model_is_given_what_would_be_released_and_nothing_else(
    uri: str,
    corpus: Path,
    key: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    runner: tuple[str, ...],
) -> None:
    monkeypatch.setenv(VARIABLE, "hunter2")
    keep = "--keep_fields=label"
    before = tiny.run(uri, corpus, tmp_path / "before", key, keep)
    sanitized = tiny.released(tmp_path / "before")
    with chat_stub.serve() as stub:
        flags = [*_flags(stub, f"--repair_api_key_env={VARIABLE}"), key, keep, *runner]
        after = tiny.run(uri, corpus, tmp_path / "after", *flags)

    assert Counter(stub.texts) == Counter(text for text in sanitized.values() if text.strip())
    for body in stub.bodies:
        asked = json.loads(body)
        assert set(asked) == {"model", "messages"}
        assert [message["role"] for message in asked["messages"]] == ["system", "user"]
        assert b"id-" not in body
        assert b"label-" not in body
        assert b"strange" not in body, "words that only the raw text holds"

    if "--output_format=parquet" not in runner:
        assert tiny.released(tmp_path / "after") == {
            name: chat_stub.rewritten(text) if text.strip() else text
            for name, text in sanitized.items()
        }
    assert after["post_processing"]["grammar_repair"] == {
        "model": "m",
        "endpoint": stub.endpoint.split("/")[2],
        "prompt_sha256": after["post_processing"]["grammar_repair"]["prompt_sha256"],
        "failures": "keep",
        "repaired": len(RECORDS) - BLANK,
        "blank": BLANK,
        "kept": 0,
        "withheld": 0,
    }
    promised = dict(after["guarantee"])
    added = promised.pop("caveats")[len(before["guarantee"]["caveats"]) :]
    assert promised.items() <= before["guarantee"].items(), "the promise is what it was"
    assert len(added) == 1
    assert "private corpus" in added[0]
    assert after["configuration_digest"] == before["configuration_digest"]
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"hunter2" in path.read_bytes() for path in written)


def _sometimes(text: str) -> chat_stub.Answer:
    """By the text's length: overloaded for ever, refused, no answer, or an answer."""
    return [
        (503, {}, b""),
        (400, {}, text.encode()),
        (200, {}, text.encode()),
        chat_stub.completion(chat_stub.rewritten(text)),
    ][len(text) % 4]


def test_failures_are_kept_as_they_were_or_withheld_and_counts_add_up(
    uri: str, corpus: Path, key: str, tmp_path: Path, waits: list[float]
) -> None:
    plain = tiny.run(uri, corpus, tmp_path / "before", key)
    sanitized = tiny.released(tmp_path / "before")
    good = {
        name: chat_stub.rewritten(text)
        for name, text in sanitized.items()
        if text.strip() and len(text) % 4 == 3
    }
    blank = {name: text for name, text in sanitized.items() if not text.strip()}
    bad = set(sanitized) - set(good) - set(blank)
    assert bad
    with chat_stub.serve(_sometimes) as stub:
        kept = tiny.run(uri, corpus, tmp_path / "keep", key, *_flags(stub))
        asked = Counter(stub.texts)
        reject = _flags(stub, "--repair_failures=reject")
        withheld = tiny.run(uri, corpus, tmp_path / "reject", key, *reject)

    assert tiny.released(tmp_path / "keep") == {**sanitized, **good}
    assert kept["post_processing"]["grammar_repair"]["kept"] == len(bad)
    assert (kept["documents_out"], kept["dead_letters"]) == (len(RECORDS), 0)
    assert {count for text, count in asked.items() if len(text) % 4 == 0} == {5}, "four repeats"
    assert {count for text, count in asked.items() if len(text) % 4} == {1}, "of no use to repeat"
    assert waits

    assert tiny.released(tmp_path / "reject") == {**good, **blank}
    letters = tiny.dead_letters(tmp_path / "reject")
    assert {letter["where"] for letter in letters} == bad
    reasons = " ".join(letter["reason"] for letter in letters)
    for reason in ("HTTP 503", "HTTP 400", "not a chat completion"):
        assert reason in reasons
    assert not any(text in reasons for text in sanitized.values() if text.strip())
    counts = json.loads((tmp_path / "reject-metrics" / "metrics.json").read_text())
    for told in (withheld, counts):
        assert (told["documents_in"], told["dead_letters"]) == (len(RECORDS), len(bad))
    assert withheld["documents_in"] == withheld["documents_out"] + withheld["dead_letters"]
    assert counts["tokens"] == plain["tokens"], "metrics are of all that was sanitized"


def test_what_fails_and_passes_is_repeated(uri: str, tmp_path: Path, waits: list[float]) -> None:
    failures = iter([(503, {}, b""), (429, {}, b"")])

    def answer(text: str) -> chat_stub.Answer:
        return next(failures, chat_stub.completion("Good."))

    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", [{"id": "a", "text": "w1 w2"}])
    with chat_stub.serve(answer) as stub:
        tiny.run(uri, corpus, tmp_path / "out", *_flags(stub))
    assert tiny.released(tmp_path / "out") == {"a": "Good."}
    assert len(stub.bodies) == 3
    assert waits


@pytest.mark.parametrize(("status", "rule"), [(401, "keep"), (503, "reject"), (None, "keep")])
def test_a_dead_endpoint_costs_a_minute_and_nothing_is_released(
    uri: str,
    corpus: Path,
    tmp_path: Path,
    waits: list[float],
    caplog: pytest.LogCaptureFixture,
    status: int | None,
    rule: str,
) -> None:
    """However many documents there are; and no log has a text."""
    with chat_stub.serve(lambda text: (status or 503, {}, text.encode())) as stub:
        flags = _flags(stub, f"--repair_failures={rule}")
        if status is None:  # nobody listens there any more
            stub.endpoint = flags[1] = "--repair_endpoint=http://127.0.0.1:9/v1"
        with pytest.raises(RunError, match=f"repaired none of {len(RECORDS) - BLANK} texts"):
            tiny.run(uri, corpus, tmp_path / "out", *flags)
    assert sum(waits) == (0 if status == 401 else 4 * 15)
    assert len(stub.bodies) == {401: 4, 503: 4 * 5, None: 0}[status]
    assert not list((tmp_path / "out").iterdir())
    said = [
        record.getMessage() for record in caplog.records if record.name == "dxbeam.text.chat_model"
    ]
    reason = f"HTTP {status}" if status else "no answer (ConnectionRefusedError)"
    assert len(said) == 2
    assert all(reason in line for line in said)
    assert not any(text in caplog.text for text in stub.texts)


def test_an_endpoint_that_dies_leaves_the_rest_unrepaired_and_says_how_many(
    uri: str, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter([chat_stub.completion("Good.")] * 7)
    with chat_stub.serve(lambda _: next(answers, (503, {}, b""))) as stub:
        release = tiny.run(uri, corpus, tmp_path / "out", *_flags(stub))
        assert len(stub.bodies) == 7 + 4 * 5
    outcomes = release["post_processing"]["grammar_repair"]
    unrepaired = len(RECORDS) - BLANK - 7
    assert (outcomes["repaired"], outcomes["kept"]) == (7, unrepaired)
    said = capsys.readouterr().out
    assert f"7 texts; of those that it did not, {unrepaired} were released as they were" in said
    assert " %) came out unchanged, before the language model: computed from the raw text" in said


def test_a_program_whose_model_repairs_nothing_fails_in_a_sentence(
    uri: str, corpus: Path, tmp_path: Path
) -> None:
    with chat_stub.serve(lambda _: (401, {}, b"")) as stub:
        done = tiny.program(uri, corpus, tmp_path / "out", *_flags(stub))
    assert done.returncode == 1
    *_, last = done.stderr.splitlines()
    assert last.startswith("dxbeam: --repair_endpoint: the language model repaired none of")
    assert "Traceback" not in done.stderr


def _raw(pipeline: beam.Pipeline, kind: str, corpus: Path) -> beam.PCollection:
    if kind == "documents":
        return (pipeline | ReadDocuments(str(corpus), CorpusFormat("jsonl"))).documents
    made = pipeline | beam.Create([Document("a", "secret")])
    rows = made | beam.Map(lambda row: beam.Row(id=row.id, text=row.text))
    return {"rows": rows, "named": made}[kind]


@pytest.mark.parametrize("kind", ["documents", "rows", "named"])
def test_raw_text_is_refused_when_the_pipeline_is_built(kind: str, corpus: Path) -> None:
    pipeline = beam.Pipeline(runner=LOCAL_RUNNER)
    rows = _raw(pipeline, kind, corpus)
    with pytest.raises(TypeError, match="may hold raw text"):
        _ = rows | RepairGrammar(_Loud())


def test_what_is_done_to_sanitized_rows_elsewhere_is_not_sanitized_any_more(uri: str) -> None:
    """Anybody could join raw text to them there."""
    pipeline = beam.Pipeline(runner=LOCAL_RUNNER)
    sanitized = _sanitized(pipeline, uri) | beam.Map(lambda row: row)
    with pytest.raises(TypeError, match="may hold raw text"):
        _ = sanitized | RepairGrammar(_Loud())


def _sanitized(pipeline: beam.Pipeline, uri: str) -> beam.PCollection:
    made = pipeline | beam.Create([Document("a", "w1"), Document("b", "w2 w3"), Document("c", "")])
    settings = Configuration(Laplace(5000.0))
    return (made | SanitizeDocuments(settings, uri, keep_fields=("fields",))).documents


class _Loud(ModelHandler[str, str, Callable[[str], str]]):
    """A model of Beam's own kind, in the process; it fails on what it is told to."""

    def __init__(self, fails_on: str = "", inference: Callable[[str], Any] | None = None):
        super().__init__()
        self._fails_on = fails_on
        self._inference = inference or (lambda text: text.upper())

    def load_model(self) -> Callable[[str], Any]:
        return self._inference

    def run_inference(
        self, batch: Sequence[str], model: Callable[[str], Any], inference_args: Any = None
    ) -> list[Any]:
        if self._fails_on in batch:
            raise RuntimeError("out of memory at " + self._fails_on)
        return [model(text) for text in batch]

    def batch_elements_kwargs(self) -> dict[str, int]:
        return {"min_batch_size": 1, "max_batch_size": 1 if self._fails_on else 10}


def test_any_model_handler_will_do(uri: str) -> None:
    with beam.Pipeline(runner=LOCAL_RUNNER) as pipeline:
        repaired = _sanitized(pipeline, uri) | RepairGrammar(_Loud())
        texts = repaired.documents | beam.Map(lambda row: (row.id, row.text, row.fields))
        assert_that(texts, equal_to([("a", "W1", "{}"), ("b", "W2 W3", "{}"), ("c", "", "{}")]))
        assert_that(repaired.outcomes, equal_to([("repaired", 2), ("blank", 1)]), "outcomes")
        assert_that(repaired.rejected, equal_to([]), "rejected")


def test_a_model_handler_that_fails_or_answers_something_else(uri: str) -> None:
    handlers = {"fails": _Loud("w1"), "list": _Loud("w1", lambda text: [text.upper()])}
    with beam.Pipeline(runner=LOCAL_RUNNER) as pipeline:
        rows = _sanitized(pipeline, uri)
        first = rows | "First" >> RepairGrammar(handlers["fails"], "reject")
        letters = first.rejected | "Letters" >> beam.Map(tuple)
        reason = "the language model did not repair this document: RuntimeError"
        assert_that(letters, equal_to([("a", reason)]), "letters")
        outcomes = [("repaired", 1), ("blank", 1), ("withheld", 1)]
        assert_that(first.outcomes, equal_to(outcomes), "outcomes")
        second = rows | "Second" >> RepairGrammar(handlers["list"])
        assert_that(second.outcomes, equal_to([("kept", 2), ("blank", 1)]), "no text")
        third = rows | "Third" >> RepairGrammar(handlers["list"], text_of=lambda made: made[0])
        outcomes = [("repaired", 1), ("kept", 1), ("blank", 1)]
        assert_that(third.outcomes, equal_to(outcomes), "read")


def test_an_unknown_rule_for_failures() -> None:
    with pytest.raises(ConfigurationError, match="keep, reject"):
        RepairGrammar(_Loud(), "ignore")


def test_a_dry_run_names_the_model_and_asks_it_nothing(
    uri: str, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from pipelines.sanitize import sanitize

    with chat_stub.serve() as stub:
        given = {"input": corpus, "vocabulary": uri, "epsilon": 5, "output": tmp_path / "out"}
        sanitize(
            [*(f"--{name}={value}" for name, value in given.items()), "--dry_run", *_flags(stub)]
        )
    said = capsys.readouterr().out
    assert "repair      model m, endpoint" in said
    assert "language model m, which was given sanitized text alone" in said
    assert "What comes out so is what the language model rewrites." in said
    assert not stub.bodies


def test_the_model_is_given_candidates_from_decoding_and_nothing_else(
    key: str, tmp_path: Path
) -> None:
    """The scripted model takes each word's second candidate: it has them all, and in order."""
    records = [{"id": "a", "text": "The film was good, they said.\nNo?"}, {"id": "b", "text": " "}]
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", records)
    decoder = ("--decode=context", "--language_model=demo")
    tiny.run("demo", corpus, tmp_path / "before", key, *decoder)
    before = tiny.released(tmp_path / "before")

    def second(asked: str) -> chat_stub.Answer:
        return chat_stub.completion(" ".join(row[:2][-1][0] for row in json.loads(asked)["words"]))

    with chat_stub.serve(second) as stub:
        flags = [*_flags(stub, "--repair_candidates=5"), key, *decoder]
        after = tiny.run("demo", corpus, tmp_path / "after", *flags)
    [asked] = [json.loads(text) for text in stub.texts]
    assert asked.keys() == {"text", "words"}
    assert asked["text"] == before["a"]
    assert [row[0][0] for row in asked["words"]] == re.findall(r"[\w']+", before["a"])
    for row in asked["words"]:
        chances = [chance for _, chance in row]
        assert chances == sorted(chances, reverse=True)
        assert 0 < sum(chances) <= 1.01
        assert len(row) <= 5
    assert "'words'" in json.loads(stub.bodies[0])["messages"][0]["content"]
    assert tiny.released(tmp_path / "after") == {
        "a": " ".join(row[:2][-1][0] for row in asked["words"]),
        "b": before["b"],
    }
    lines = [json.loads(line) for line in next((tmp_path / "after").glob("part-*")).open()]
    assert all(line.keys() == {"id", "text"} for line in lines)
    said = after["post_processing"]["grammar_repair"]
    assert said["candidates"] == 5
    assert any("5 candidates" in caveat for caveat in after["guarantee"]["caveats"])
    assert after["guarantee"]["sentence"].startswith("Whoever sees one released document")
    tiny.verified(tmp_path / "after", "demo")


@pytest.mark.parametrize(
    "flags", [(), ("--decode=prior", "--language_model=demo", "--bag_of_words=3")]
)
def test_candidates_need_a_decoder_and_an_order(
    flags: tuple[str, ...], corpus: Path, tmp_path: Path
) -> None:
    asked = ("--repair_model=m", "--repair_endpoint=http://localhost/v1", "--repair_candidates=5")
    with pytest.raises(ConfigurationError, match="choose --decode prior or context"):
        tiny.run("demo", corpus, tmp_path / "out", *asked, *flags)
