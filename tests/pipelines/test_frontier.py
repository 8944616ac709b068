"""The frontier, as dxbeam frontier tells it: a table, a page, and refusals."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from dxbeam.analysis.measure import transform
from dxbeam.analysis.measure.public_parameters import taken_apart, written
from dxbeam.errors import ConfigurationError, DxbeamError
from dxbeam.transforms.progress import Progress, read_report
from pipelines.calibrate import calibrate
from pipelines.frontier import measure_frontier
from pipelines.measure import measure_settings
from pipelines.scan_constant import scan_constant
from tests.support import chat_stub, tiny
from tests.support.refusals import refused

pytestmark = pytest.mark.usefixtures("undrawn")

FLAGS = [
    "--mechanisms=laplace,santext",
    "--epsilons=1,2,20",
    "--rank_cs=0.05",
    "--attacked_words=100",
    "--pairs=1000",
]


def _measured(uri: str, output: Path, *flags: str) -> list[dict[str, Any]]:
    return tiny.table_of(measure_frontier, uri, output, "frontier.parquet", *FLAGS, *flags)


@pytest.fixture(scope="module")
def output(uri: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    _measured(uri, folder := tmp_path_factory.mktemp("frontier") / "out")
    return folder


def test_a_row_per_mechanism_epsilon_and_c(output: Path) -> None:
    rows = pq.read_table(output / "frontier.parquet").to_pylist()
    assert [(row["mechanism"], row["epsilon"], row["rank_c"]) for row in rows] == [
        (name, epsilon, c)
        for name in ("laplace", "santext")
        for epsilon in (1.0, 2.0, 20.0)
        for c in (None, 0.05)
    ]
    for row in rows:
        assert row["words"] == 100
        for name in ("useful", "unchanged", "released_word"):
            assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
        assert (row["noisy_vector"] is None) == (row["mechanism"] == "santext")
    plain = [row for row in rows if row["rank_c"] is None and row["epsilon"] == 20]
    assert all(row["released_word"] > 0.9 for row in plain)


def test_the_page_recommends_settings_as_flags(output: Path) -> None:
    page = (output / "report.html").read_text()
    assert "At most 20 % recovered" in page
    assert "--mechanism laplace --epsilon" in page
    assert "<svg" in page


def test_the_same_seed_gives_the_same_rows(output: Path, uri: str, tmp_path: Path) -> None:
    again = _measured(uri, tmp_path / "again", "--direct_num_workers=1")
    assert again == pq.read_table(output / "frontier.parquet").to_pylist()


def test_weights_are_recorded_and_known_to_the_attacker(uri: str, tmp_path: Path) -> None:
    """A word that stays is told by whoever knows that it stays."""
    flags = ["--mechanisms=santext", "--epsilons=1", "--attacked_words=100"]
    output = tmp_path / "out"
    measure_frontier(
        [f"--vocabulary={uri}", f"--output={output}", *flags, "--importance=frequency=60",
         "--most_risk=0.99"]
    )  # fmt: skip
    [row] = pq.read_table(output / "frontier.parquet").to_pylist()
    assert (row["mechanism"], row["parameters"]) == ("santext", "importance=frequency=60")
    assert row["released_word"] >= row["unchanged"] > 0.6
    page = (output / "report.html").read_text()
    assert "--mechanism santext --epsilon 1 --importance frequency=60" in page
    assert "Words have public weights (frequency: 60 (1 - ln(r) / ln(N))" in page


def test_a_base_measure_and_a_scan_are_points_beside_the_plain_mechanism(tmp_path: Path) -> None:
    """At one guaranteed epsilon; the page says which flags of sanitize choose them."""
    uri = tiny.write_artifact(tmp_path / "voc", tiny.vocabulary(200, 8))
    scan = tmp_path / "scan.json"
    scan_constant([f"--vocabulary={uri}", "--epsilon=1,2", f"--output={scan}"])
    output = tmp_path / "out"
    mechanisms = f"santext,santext:base=frequency:base_exponent=0.5,santext:constant_scan={scan}"
    flags = [f"--vocabulary={uri}", "--attacked_words=200", "--epsilons=1,3", "--most_risk=0.9"]
    measure_frontier([*flags, f"--mechanisms={mechanisms}", f"--output={output}"])
    rows = pq.read_table(output / "frontier.parquet").to_pylist()
    assert [(row["parameters"], row["epsilon"]) for row in rows] == [
        ("", 1.0),
        ("", 3.0),
        ("base=frequency,base_exponent=0.5", 1.0),
        ("base=frequency,base_exponent=0.5", 3.0),
        (f"constant_scan={scan}", 1.0),  # which is not solved for 3
    ]
    plain, *_, exact = [row["unchanged"] for row in rows]
    assert exact > plain
    page = (output / "report.html").read_text()
    assert f"--mechanism santext --epsilon 1 --constant exact --constant_scan {scan}" in page
    other = tiny.write_artifact(tmp_path / "other", tiny.vocabulary(200, 8, seed=1))
    for vocabulary, epsilons, message in ((other, "1", "another vocabulary"), (uri, "3", "solved")):
        with pytest.raises(DxbeamError, match=message):
            measure_frontier(
                [
                    f"--vocabulary={vocabulary}",
                    f"--epsilons={epsilons}",
                    f"--mechanisms={mechanisms}",
                    f"--output={tmp_path / 'no'}",
                ]
            )
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize(
    ("parameters", "importance", "text", "flags"),
    [
        ("clip=2", "", "clip=2", ""),
        ("", "a,b.tsv", "importance=a,b.tsv", "--importance a,b.tsv"),
        (
            "base=gs://q/x.csv:base_exponent=2:beta=0.1",
            "frequency=5",
            "beta=0.1,base=gs://q/x.csv,base_exponent=2,importance=frequency=5",
            "--base gs://q/x.csv --base_exponent 2 --importance frequency=5",
        ),
        (
            "decode=context:decode_loss=distance:language_model=gs://m",
            "",
            "decode=context,decode_loss=distance,language_model=gs://m",
            "--decode context --decode_loss distance --language_model gs://m",
        ),
    ],
)
def test_a_column_of_parameters_becomes_flags(
    parameters: str, importance: str, text: str, flags: str
) -> None:
    pairs = [part.partition("=")[::2] for part in re.split(r":(?!//)", parameters) if part]
    assert written(pairs, importance) == text
    first, *_ = [part for part in text.split(",") if part[:4] in ("clip", "beta")] or [""]
    assert taken_apart(text) == (first, flags)


def test_weights_for_a_mechanism_that_takes_none_are_refused(uri: str, tmp_path: Path) -> None:
    with pytest.raises(DxbeamError, match="not with laplace: noise whose scale"):
        _measured(uri, tmp_path / "out", "--importance=frequency")
    assert not (tmp_path / "out").exists()


def test_words_of_a_corpus_are_attacked_with_what_public_text_tells(
    uri: str, tmp_path: Path
) -> None:
    """No word of it is named. The attacker who knows the one word there is needs no release."""
    for name in ("private", "public"):
        tiny.write_jsonl(tmp_path / f"{name}.jsonl", [{"id": "a", "text": "w251 " * 20_000}])
    rows = _measured(
        uri,
        tmp_path / "out",
        f"--input={tmp_path}/private.jsonl",
        f"--public_input={tmp_path}/public.jsonl",
        "--largest_document=1000000",
    )
    assert [row["released_word"] for row in rows if row["epsilon"] == 1] == [1.0] * 4
    page = (tmp_path / "out" / "report.html").read_text()
    assert "w251" not in page
    assert "Computed from raw text" in page


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each class has separate words, and both have a word that the vocabulary does not know."""
    folder = tmp_path_factory.mktemp("corpus")
    records = [
        {
            "id": str(i),
            "text": f"w{i % 7 + 100 * (i % 2)} w{i % 5 + 100 * (i % 2)} hush",
            "side": i % 2,
        }
        for i in range(60)
    ]
    return tiny.write_jsonl(folder / "corpus.jsonl", records)


def test_documents_are_released_and_a_task_is_learnt_from_them(
    uri: str, corpus: Path, tmp_path: Path
) -> None:
    task = (f"--input={corpus}", "--task=side", "--task_documents=50")
    rows = _measured(uri, tmp_path / "out", *task)
    assert len(rows) == 12
    for row in rows:
        for column in ("task_accuracy", "wmd"):
            assert row[f"{column}_low"] <= row[column] <= row[f"{column}_high"]
    at = {(row["mechanism"], row["rank_c"], row["epsilon"]): row for row in rows}
    for name in ("laplace", "santext"):
        least, most = at[name, None, 1.0], at[name, None, 20.0]
        assert most["task_accuracy"] > 0.9 > least["task_accuracy"]
        assert most["wmd"] < 0.1 < least["wmd"]
        assert at[name, 0.05, 20.0]["wmd"] > most["wmd"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "50 documents" in page
    assert "hush" not in page
    assert "w101" not in page


def test_documents_are_read_with_context(uri: str, tmp_path: Path) -> None:
    """In both texts a word says which one comes next, and one in three is lost at this epsilon."""
    for name, documents in (("private", 30), ("public", 300)):
        starts = [number % 7 for number in range(documents)]
        texts = [" ".join(f"w{(start + i) % 7}" for i in range(20)) for start in starts]
        records = [{"id": str(i), "text": text} for i, text in enumerate(texts)]
        tiny.write_jsonl(tmp_path / f"{name}.jsonl", records)
    measure_frontier(
        [
            f"--vocabulary={uri}",
            f"--output={tmp_path / 'out'}",
            f"--input={tmp_path}/private.jsonl",
            f"--public_input={tmp_path}/public.jsonl",
            "--mechanisms=santext,laplace",
            "--epsilons=1",
            "--rank_cs=0.1",
            "--attacked_words=100",
            "--context_documents=20",
            "--pairs=1000",
        ]
    )
    rows = pq.read_table(tmp_path / "out" / "frontier.parquet").to_pylist()
    by = {(row["mechanism"], row["rank_c"]): row for row in rows}
    for row in rows:
        assert row["context_low"] <= row["context"] <= row["context_high"]
        assert row["context_rare"] is None, "every word is common"
        assert (row["noisy_context"] is None) == (row["mechanism"] == "santext")
    for c in (None, 0.1):
        assert by["santext", c]["context_low"] > by["santext", c]["released_word_high"]
        assert by["laplace", c]["noisy_context"] == by["laplace", None]["noisy_context"]
        assert by["laplace", c]["noisy_context"] >= by["laplace", c]["context"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "with context" in page
    assert "believes the release" in page
    attackers = pq.read_table(tmp_path / "out" / "attackers.parquet").to_pylist()
    assert {(row["attacker"], row["sees"]) for row in attackers} == {
        ("guesses the commonest word", "lengths and gaps"),
        ("believes the release", "released words"),
        ("word by word", "released words"),
        ("word by word", "what was drawn, not released"),
        ("context", "released words"),
        ("context", "what was drawn, not released"),
    }
    chances = {row["chance"] for row in attackers}
    assert len(chances) == 1, "the same documents under every setting"
    assert 1 / 7 <= min(chances) < 0.2, "there are seven words"
    for row in attackers:
        of = by[row["mechanism"], row["rank_c"]]
        assert row["attacker"] != "context" or row["success"] in (
            of["context"],
            of["noisy_context"],
        )


class _Follows:
    """A model that has a word followed by the next one of seven."""

    def log_chances(self, text: Any, candidates: Any) -> Any:
        logs = np.full(candidates.shape, np.log(0.001))
        logs[1:][candidates[1:] == (text[:-1, None] + 1) % 7] = np.log(0.99)
        return logs

    def likeliest(self, text: Any, count: int) -> Any:
        return (np.append(text[:1], text[:-1])[:, None] + 1 + np.arange(count)) % 7


def _run_with_models(
    asked: list[str], opened: list[Any], stub: chat_stub.Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dry run, which asks nothing, and a run; both say what they cost."""
    measure_frontier([*asked, "--dry_run"])
    assert not stub.bodies
    dry = capsys.readouterr().out
    opened.clear()
    measure_frontier(asked)
    assert len(stub.bodies) == 7
    for said in (dry, capsys.readouterr().out):
        assert "reads up to 16,000 words." in said
        assert "Up to 7 requests go to 127.0.0.1" in said


def test_a_model_that_is_brought_reads_documents(
    uri: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    undrawn: None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from dxbeam.analysis.attackers.models import word_model

    opened = []
    monkeypatch.setattr(word_model, "check_model", lambda path: None)
    monkeypatch.setattr(word_model, "open_model", lambda *given: opened.append(given) or _Follows())
    for name, documents in (("private", 30), ("public", 300)):
        texts = [" ".join(f"w{(number + i) % 7}" for i in range(20)) for number in range(documents)]
        records = [{"id": str(i), "text": text} for i, text in enumerate(texts)]
        tiny.write_jsonl(tmp_path / f"{name}.jsonl", records)
    flags = {
        "vocabulary": uri, "output": tmp_path / "out", "input": tmp_path / "private.jsonl",
        "public_input": tmp_path / "public.jsonl", "mechanisms": "santext", "epsilons": 1,
        "attacked_words": 100, "context_documents": 20, "attacker_model": "a-model",
        "attacker_endpoint_model": "m", "attacker_requests": 7,
    }  # fmt: skip
    asked = [f"--{name}={value}" for name, value in flags.items()]

    def repeat(message: str) -> chat_stub.Answer:
        return chat_stub.completion(json.dumps(json.loads(message)["released"]))

    with chat_stub.serve(repeat) as stub:
        asked.append(f"--attacker_endpoint={stub.endpoint}")
        _run_with_models(asked, opened, stub, capsys)
    [row] = pq.read_table(tmp_path / "out" / "frontier.parquet").to_pylist()
    assert row["model"] >= row["context_low"]
    assert row["masked_1"] <= row["masked_5"] <= row["masked_10"]
    assert row["blind"] < row["blind_5"]
    assert row["learned"] is None
    attackers = pq.read_table(tmp_path / "out" / "attackers.parquet").to_pylist()
    by = {row["attacker"]: row for row in attackers}
    assert by["with a language model"]["success"] == row["model"]
    assert by["asks an endpoint"]["success"] == row["endpoint"]
    assert by["language model, 5 guesses"]["chance"] == row["blind_5"]
    [(path, words, shares)] = opened
    assert path == "a-model"
    assert len(words) == len(shares)


def test_what_is_not_asked_for_is_empty(output: Path) -> None:
    for row in pq.read_table(output / "frontier.parquet").to_pylist():
        assert {row[column] for column in ("task_accuracy", "wmd", "context")} == {None}


@refused(
    """
    --task=side  --task side is a field of documents; name them with --input
    --task=text --input=CORPUS  this is the text or the id
    --context_documents=9 --input=CORPUS  learnt from --public_input; name both
    --attacker_model=m  --attacker_model m reads documents; say how many, with
    --attackers=learned  --attackers learned reads documents; say how many, with
    --task=nowhere --input=CORPUS  only 0 documents have this field
    """
)
def test_what_cannot_be_done_with_documents_is_refused(
    flags: list[str], said: str, uri: str, corpus: Path, tmp_path: Path
) -> None:
    given = [flag.replace("CORPUS", str(corpus)) for flag in flags]
    with pytest.raises(DxbeamError, match=re.escape(said)):
        _measured(uri, tmp_path / "out", *given)
    assert not (tmp_path / "out" / "report.html").exists()


def test_long_work_says_how_far_it_is(
    uri: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(transform, "Progress", partial(Progress, seconds=0.0))
    flags = ["--mechanisms=santext", "--epsilons=1,2,4", "--attacked_words=20"]
    measure_frontier([f"--vocabulary={uri}", f"--output={tmp_path / 'out'}", *flags])
    told = dict(filter(None, map(read_report, caplog.messages)))  # what each worker said last
    for name in ("found_settings", "settings"):
        assert sum(counts.get(name, 0) for counts in told.values()) == 3


def test_all_stands_for_what_promises_something(
    uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--mechanisms=all", "--rank_cs=0.05", "--dry_run"]
    measure_frontier([f"--vocabulary={uri}", f"--output={tmp_path / 'out'}", *flags])
    said = capsys.readouterr().out
    left_out = (
        "custext_published, mahalanobis_published, santext_plus, scaled_noise_published, "
        "tem_published, trlaplace_published, truncated_gumbel"
    )
    assert f"Left out: {left_out}. They guarantee" in said
    assert "under 13 mechanisms" in said
    listed = re.findall(r"^  (\w+): (\d+) values of epsilon, ([\d.]+) to ([\d.]+)$", said, re.M)
    assert len(listed) == 13
    assert all(int(values) >= 5 for _, values, _, _ in listed)
    assert f"at {2 * sum(int(values) for _, values, _, _ in listed)} points" in said
    assert re.search(r"Roughly \d+ \w+ on one worker process", said)


@refused(
    """
    --most_risk=1.5  most_risk
    --epsilons=0     epsilons
    --mechanisms=x   mechanism
    """
)
def test_what_cannot_be_measured_is_refused_at_once(
    flags: list[str], said: str, uri: str, tmp_path: Path
) -> None:
    with pytest.raises(DxbeamError, match=said):
        measure_frontier([f"--vocabulary={uri}", f"--output={tmp_path / 'out'}", *flags])
    assert not (tmp_path / "out").exists()


def test_a_dry_run_writes_nothing(
    uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measure_frontier([f"--vocabulary={uri}", f"--output={tmp_path / 'out'}", *FLAGS, "--dry_run"])
    assert "Would attack 100 words under 2 mechanisms" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", [measure_frontier, measure_settings, calibrate])
def test_what_is_computed_from_raw_text_is_not_written_into_a_release(
    uri: str, tmp_path: Path, command: Callable[[list[str]], None]
) -> None:
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "release.json").write_text("{}")
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("w1 w2\n")
    flags = [f"--input={corpus}", "--input_format=text", f"--vocabulary={uri}"]
    goal = ["--at_most=distant=0.4"] if command is calibrate else []
    with pytest.raises(ConfigurationError, match=r"within .*release.* computed from raw text"):
        command([*flags, *goal, f"--output={tmp_path / 'release' / 'out'}"])
    assert sorted(path.name for path in (tmp_path / "release").iterdir()) == ["release.json"]
