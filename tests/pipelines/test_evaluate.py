"""A release next to its originals, as dxbeam evaluate tells it: scores, a page, and refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from dxbeam.errors import DxbeamError
from dxbeam.language.artifact import write_language_model
from dxbeam.language.model import language_model_of
from dxbeam.space.artifact import artifact
from dxbeam.text.tokenization import split
from pipelines.evaluate import evaluate_release
from tests.support import releases, tiny
from tests.support.refusals import refused
from tests.support.releases import DOCUMENTS, SECRET

TEXT_METRICS = (
    "unchanged unchanged_known out_of_vocabulary out_of_vocabulary_released bleu chrf rouge1 "
    "rouge2 rougeL embedding_similarity wmd wmd_relaxed"
).split()


@pytest.fixture(scope="module")
def output(uri: str, corpus: Path, release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluated") / "out"
    flags = [f"--vocabulary={uri}", "--group_by=label", "--task=label", "--attack=author"]
    releases.rows(corpus, release, folder, *flags)
    return folder


@pytest.fixture(scope="module")
def rows(output: Path) -> list[dict[str, Any]]:
    return pq.read_table(output / "scores.parquet").to_pylist()


def test_all_documents_and_each_group_have_their_scores(rows: list[dict[str, Any]]) -> None:
    for group, documents in ((None, DOCUMENTS), ("calm", DOCUMENTS // 2), ("loud", DOCUMENTS // 2)):
        own = [row for row in rows if row["group"] == group and row["model"] is None]
        assert [row["metric"] for row in own] == TEXT_METRICS
        for row in own:
            assert row["low"] <= row["value"] <= row["high"]
            assert row["n"] == documents
            assert row["interval"]


def test_shares_are_those_that_the_run_counted(rows: list[dict[str, Any]], release: Path) -> None:
    counted = json.loads(Path(f"{release}-metrics/metrics.json").read_text())
    value = {row["metric"]: row["value"] for row in rows if row["group"] is None}
    assert value["unchanged"] == pytest.approx(counted["share_original"])
    assert value["out_of_vocabulary"] == pytest.approx(1 / 13)
    assert value["out_of_vocabulary_released"] == 0
    assert 0 < value["wmd_relaxed"] <= value["wmd"]


def test_classifiers_are_told_beside_the_majority_and_the_originals(
    rows: list[dict[str, Any]],
) -> None:
    columns = ("metric", "model", "trained_on", "tested_on")
    found = {tuple(row[name] for name in columns): row for row in rows if row["model"]}
    task = {key[1:] for key in found if key[0] == "task_accuracy"}
    models = ("TF-IDF of words", "mean word vector")
    trials = (("released", "original"), ("original", "original"))
    majority = ("majority class", None, None)
    assert task == {majority, *((model, *trial) for model in models for trial in trials)}
    assert {key[0] for key in found} - {"gain_over_majority"} == {
        *("task_accuracy", "task_macro_f1", "task_auc", "gain"),
        *("attack_author_accuracy", "attack_author_macro_f1"),
    }
    for row in found.values():
        assert row["low"] <= row["value"] <= row["high"]
        assert row["n"] == DOCUMENTS
        assert row["group"] is None
    best = found["task_accuracy", "TF-IDF of words", "original", "original"]
    assert best["value"] > 0.7


def test_nothing_raw_and_no_document_is_named_anywhere(
    uri: str, corpus: Path, release: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    flags = [f"--vocabulary={uri}", "--group_by=label", "--task=label", "--attack=author"]
    releases.rows(corpus, release, tmp_path / "out", *flags)
    written = {path.name: tiny.told(path) for path in (tmp_path / "out").iterdir()}
    assert sorted(written) == ["attackers.parquet", "report.html", "scores.parquet"]
    out, err = capfd.readouterr()
    told = "".join([*written.values(), out, err])
    assert not re.search(r"(?i)\bw\d+\b|secret-id|" + SECRET, told)
    for said in (out, written["report.html"]):
        assert "Computed from the original text" in said
        assert "Keep them with the corpus" in said


def test_attackers_are_in_a_table_and_on_the_page(
    uri: str, corpus: Path, release: Path, tmp_path: Path
) -> None:
    records = [json.loads(line) for line in corpus.read_text().splitlines()]
    for record in records:
        record["spans"] = json.dumps([[0, record["text"].index(","), "opening"]])
    marked = tiny.write_jsonl(tmp_path / "marked.jsonl", records)
    flags = [f"--vocabulary={uri}", "--reidentify=30", "--entities=spans"]
    releases.rows(marked, release, tmp_path / "out", *flags)
    rows = pq.read_table(tmp_path / "out" / "attackers.parquet").to_pylist()
    assert {row["release"] for row in rows} == {str(release)}
    by_measure = {(row["attacker"], row["measure"]): row for row in rows}
    for row in rows:
        assert row["low"] <= row["success"] <= row["high"]
    first = by_measure["nearest by TF-IDF of words", "right one first"]
    assert first["n"] == 30
    assert first["knows"] == "the 30 originals"
    gaps = by_measure["nearest by length and gaps", "right one first"]
    assert first["low"] > first["chance"] == pytest.approx(gaps["success"])
    assert gaps["chance"] == 1 / 30
    length = by_measure["nearest by length", "right one first"]
    assert length["success"] == pytest.approx(length["chance"])
    whole = by_measure["believes the release", "opening: whole spans unchanged"]
    words = by_measure["believes the release", "opening: words unchanged"]
    assert whole["n"] == words["n"] == DOCUMENTS
    assert whole["success"] == words["success"] > words["chance"] == 1 / 300
    page = (tmp_path / "out" / "report.html").read_text()
    assert "nearest by length and gaps" in page
    assert not re.search(r"(?i)\bw\d+\b|secret-id|" + SECRET, page)


def test_releases_are_linked_with_the_one_before(uri: str, corpus: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        releases.release(uri, corpus, tmp_path / "of" / name, "--epsilon=1000")
    flags = [f"--vocabulary={uri}", "--reidentify=1000"]
    both = Path(f"{tmp_path}/of/a,{tmp_path}/of/b")
    releases.rows(corpus, both, tmp_path / "out", *flags)
    rows = pq.read_table(tmp_path / "out" / "attackers.parquet").to_pylist()
    linked = [row for row in rows if row["knows"] == f"the {DOCUMENTS} texts of the release before"]
    assert len({row["release"] for row in linked}) == 1
    of = {(row["attacker"], row["measure"]): row["success"] for row in linked}
    assert of["nearest by TF-IDF of words", "right one first"] == 1


def test_values_that_are_no_spans_are_refused_unseen(
    uri: str, corpus: Path, release: Path, tmp_path: Path
) -> None:
    with pytest.raises(DxbeamError, match=r"entities.* label: .*places in its text") as refused:
        releases.rows(corpus, release, tmp_path / "out", "--entities=label")
    assert "calm" not in str(refused.value)


def test_the_page_needs_nothing_from_elsewhere(output: Path) -> None:
    page = (output / "report.html").read_text()
    assert not re.search(r"<(script|img|iframe|link)|src=|url\(|@import", page)
    assert "any two original words" in page  # what is promised
    assert "which the release was made with" in page
    assert "place by place" in page
    assert "dxbeam evaluate --original" in page
    for metric in (*TEXT_METRICS, "task_auc", "attack_author_accuracy"):
        assert f"<code>{metric}</code>" in page


def test_one_release_has_no_figures(output: Path) -> None:
    page = (output / "report.html").read_text()
    assert "<figure" not in page
    assert "Releases side by side" not in page


def test_a_release_may_be_called_as_a_glob(uri: str, corpus: Path, tmp_path: Path) -> None:
    made = releases.release(uri, corpus, tmp_path / "rel[1]*,a")
    rows = releases.rows(corpus, made, tmp_path / "out")
    assert {row["n"] for row in rows} == {DOCUMENTS}


def test_bags_are_compared_without_order(uri: str, corpus: Path, tmp_path: Path) -> None:
    bags = releases.release(uri, corpus, tmp_path / "bags", "--bag_of_words=5", "--epsilon=1000")
    rows = releases.rows(corpus, bags, tmp_path / "out", f"--vocabulary={uri}")
    value = {row["metric"]: row["value"] for row in rows}
    # The unknown word, if drawn, is noised too; all others are words of the original.
    assert 0.85 < value["unchanged"] < 1
    assert value["wmd"] > 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "does not keep words in their places" in page


def test_documents_of_one_side_alone_are_counted(
    uri: str, corpus: Path, release: Path, tmp_path: Path
) -> None:
    lines = corpus.read_bytes().splitlines()[:30]
    extra = [
        {"id": "new", "text": "w1"},
        {"id": "twice", "text": "a"},
        {"id": "twice", "text": "b"},
    ]
    other = tiny.write_jsonl(tmp_path / "other.jsonl", [*lines, *extra])
    rows = releases.rows(other, release, tmp_path / "out")
    assert {row["n"] for row in rows} == {30}
    assert [row["metric"] for row in rows] == ["unchanged", *TEXT_METRICS[4:9]]
    page = " ".join((tmp_path / "out" / "report.html").read_text().split())
    assert "1 originals without a released document, 10 released documents" in page
    assert "2 records of the corpus" in page


def test_a_release_in_parquet_is_compared_too(uri: str, corpus: Path, tmp_path: Path) -> None:
    made = releases.release(uri, corpus, tmp_path / "parquet", "--output_format=parquet")
    rows = releases.rows(corpus, made, tmp_path / "out")
    assert {row["n"] for row in rows} == {DOCUMENTS}
    assert 0 < rows[0]["value"] < 1


@refused(
    """
    --task=nothing              has a field 'nothing'
    --attack=text               --attack text: this is the text or the id
    --task=id                   --task id: this is the text or the id
    --group_by=text             --group_by
    --original=nowhere/*.jsonl  --original nowhere/*.jsonl: no file matches
    --released=nowhere          nowhere: there is no release.json
    --released=nowhere/*        --released nowhere/*: there is no release.json
    """
)
def test_what_cannot_be_compared_is_refused(
    corpus: Path, release: Path, tmp_path: Path, flags: list[str], said: str
) -> None:
    given = {"--original": str(corpus), "--released": str(release), "--output": f"{tmp_path}/out"}
    given |= dict(flag.split("=") for flag in flags)
    with pytest.raises(DxbeamError, match=re.escape(said)):
        evaluate_release([f"{name}={value}" for name, value in given.items()])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("left_out", ["original", "released", "output"])
def test_what_is_needed_is_named(
    corpus: Path, release: Path, tmp_path: Path, left_out: str
) -> None:
    given = {"original": corpus, "released": release, "output": tmp_path / "out"}
    flags = [f"--{name}={value}" for name, value in given.items() if name != left_out]
    with pytest.raises(DxbeamError, match=f"--{left_out} is needed"):
        evaluate_release(flags)


def test_where_nothing_joins_nothing_is_written(release: Path, tmp_path: Path) -> None:
    other = tiny.write_jsonl(tmp_path / "other.jsonl", [{"id": "new", "text": SECRET}])
    with pytest.raises(DxbeamError, match="has the id of a document of --original") as refused:
        releases.rows(other, release, tmp_path / "out")
    assert SECRET not in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_what_is_no_class_label_is_refused_without_its_values(
    corpus: Path, release: Path, tmp_path: Path
) -> None:
    records = [json.loads(line) for line in corpus.read_text().splitlines()]
    unique = [{**record, "note": f"{SECRET}{place}"} for place, record in enumerate(records)]
    other = tiny.write_jsonl(tmp_path / "other.jsonl", unique)
    with pytest.raises(DxbeamError, match="40 different values in 40 documents") as refused:
        releases.rows(other, release, tmp_path / "out", "--attack=note")
    assert SECRET not in str(refused.value)


def test_a_damaged_release_is_refused(
    uri: str, corpus: Path, release: Path, tmp_path: Path
) -> None:
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for path in release.iterdir():
        (damaged / path.name).write_bytes(path.read_bytes())
    [shard] = damaged.glob("part-*")
    shard.write_bytes(shard.read_bytes() + b"\n")
    with pytest.raises(DxbeamError, match="not the file that was released"):
        releases.rows(corpus, damaged, tmp_path / "out")


def test_plain_text_has_no_ids_to_join_by(uri: str, corpus: Path, tmp_path: Path) -> None:
    plain = releases.release(uri, corpus, tmp_path / "plain", "--output_format=text")
    with pytest.raises(DxbeamError, match="plain text, which has no ids"):
        releases.rows(corpus, plain, tmp_path / "out")


def test_nothing_is_written_where_something_lies_nor_into_the_release(
    corpus: Path, release: Path, tmp_path: Path
) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(DxbeamError, match="is not empty"):
        releases.rows(corpus, release, tmp_path)
    with pytest.raises(DxbeamError, match="is within the release"):
        releases.rows(corpus, release, release / "scores")


def test_a_language_model_tells_rare_words_and_perplexity(
    uri: str, corpus: Path, release: Path, tmp_path: Path
) -> None:
    """Words of the corpus that the model has never seen are rare, and all of its own are common."""
    vocabulary = artifact.open_vocabulary(uri)
    model = language_model_of([np.arange(100)] * 200, vocabulary)
    write_language_model(str(tmp_path / "model"), model, None)
    flags = [f"--vocabulary={uri}", f"--language_model={tmp_path / 'model'}"]
    rows = releases.rows(corpus, release, tmp_path / "out", *flags)
    value = {row["metric"]: row["value"] for row in rows}
    assert 0 <= value["unchanged_rare"] <= 1
    assert value["perplexity"] > 100, "words in no order"
    assert value["perplexity_original"] > 100
    page = (tmp_path / "out" / "report.html").read_text()
    assert "rarer than 1 in 10,000" in page
    attacked = pq.read_table(tmp_path / "out" / "attackers.parquet").to_pylist()
    originals = [split(json.loads(line)["text"])[1] for line in corpus.read_text().splitlines()]
    words = [word.lower() for text in originals for word in text]
    [chance] = {row["chance"] for row in attacked if row["measure"] == "all words unchanged"}
    assert chance == pytest.approx(words.count("w0") / len(words)), "guessing the commonest"
    other = tiny.write_artifact(tmp_path, tiny.vocabulary(40))
    for given, said in (
        ([flags[1]], "name that, too"),
        ([f"--vocabulary={other}", flags[1]], "another vocabulary"),
        ([flags[0], "--language_model=nowhere"], "no language model here"),
    ):
        with pytest.raises(DxbeamError, match=said):
            releases.rows(corpus, release, tmp_path / "refused", *given)
    assert not (tmp_path / "refused").exists()


def test_a_dry_run_says_what_it_would_compare(
    corpus: Path, release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--task=label", "--dry_run"]
    given = [f"--original={corpus}", f"--released={release}", f"--output={tmp_path}/out"]
    evaluate_release([*given, *flags])
    told = capsys.readouterr().out
    assert "Would compare 40 released documents" in told
    assert "Would classify by label" in told
    assert not (tmp_path / "out").exists()


def _rewritten(corpus: Path, path: Path, rewrite: Callable[[str], str]) -> Path:
    """A corpus with the same ids, fields and labels, and other texts."""
    records = [json.loads(line) for line in corpus.open()]
    return tiny.write_jsonl(path, [{**one, "text": rewrite(one["text"])} for one in records])


def test_another_corpus_with_the_same_ids_is_refused(
    corpus: Path, release: Path, tmp_path: Path
) -> None:
    other = _rewritten(corpus, tmp_path / "other.jsonl", lambda text: text.replace(", ", "; "))
    with pytest.raises(DxbeamError, match="40 have other white space and punctuation"):
        releases.rows(other, release, tmp_path / "out")
    assert not (tmp_path / "out").exists(), "another try finds the place empty"


def test_with_the_kept_key_any_other_corpus_is_refused(
    uri: str, corpus: Path, release: Path, tmp_path: Path
) -> None:
    """Also one of texts of equal form, which nothing else tells apart."""
    (tmp_path / "key").write_text(tiny.KEY.hex())
    key = f"--key_uri={tmp_path / 'key'}"
    kept = releases.release(uri, corpus, tmp_path / "kept", key, "--keep_fields=author")
    assert releases.rows(corpus, kept, tmp_path / "same", key)
    last = json.loads(corpus.read_text().splitlines()[-1])["text"]
    edited = _rewritten(
        corpus, tmp_path / "edited.jsonl", lambda text: text.replace("W", "w", text == last)
    )
    assert releases.rows(edited, kept, tmp_path / "unnoticed")
    with pytest.raises(DxbeamError, match="--original is not the corpus that was released"):
        releases.rows(edited, kept, tmp_path / "out", key)
    with pytest.raises(DxbeamError, match="was made with another key"):
        releases.rows(corpus, release, tmp_path / "out", key)


@pytest.mark.slow
def test_a_corpus_without_shared_ids_is_refused_in_one_sentence_by_worker_processes(
    corpus: Path, release: Path, tmp_path: Path
) -> None:
    records = [json.loads(line) for line in corpus.open()]
    strange = [{**one, "id": f"x{number}"} for number, one in enumerate(records)]
    path = tiny.write_jsonl(tmp_path / "strange.jsonl", strange)
    places = [f"--original={path}", f"--released={release}", f"--output={tmp_path / 'out'}"]
    workers = ["--direct_running_mode=multi_processing", "--direct_num_workers=1"]
    with pytest.raises(DxbeamError) as refused:
        evaluate_release([*places, *workers])
    assert str(refused.value).startswith(f"{release}: no document of --released")
    assert "\n" not in str(refused.value)
