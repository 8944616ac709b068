"""What dxbeam evaluate compares of whole corpora: statistics, learning curves, gain over risk."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from dxbeam.analysis.corpora import described, perplexity
from dxbeam.analysis.evaluate import job
from dxbeam.errors import DxbeamError
from tests.support import releases, tiny
from tests.support.releases import DOCUMENTS, SECRET


def test_statistics_curves_and_gain_are_in_the_table_and_on_the_page(
    uri: str, corpus: Path, release: Path, tmp_path: Path
) -> None:
    flags = [f"--vocabulary={uri}", "--task=label", "--attack=author", "--learning_curve"]
    rows = releases.rows(corpus, release, tmp_path / "out", *flags, "--word_statistics")
    of = {row["metric"]: row for row in rows if row["release"] and row["model"] is None}
    for metric in ("count_distance", "count_correlation", "pair_correlation", "distinct_1"):
        if metric != "distinct_1":  # of a single stretch of words
            assert of[metric]["low"] <= of[metric]["value"] <= of[metric]["high"]
        assert of[metric]["n"] == DOCUMENTS
    assert of["words_per_document"]["value"] == 13
    assert 0.1 < of["count_distance"]["value"] < 1
    points = [row for row in rows if row["training_documents"]]
    assert {row["training_documents"] for row in points} == {DOCUMENTS * 4 // 5}
    assert {row["trained_on"] for row in points} == {"original", "released"}
    assert {row["metric"] for row in points} == {"task_accuracy"}
    gain = {row["trained_on"]: row for row in rows if row["metric"] == "gain"}
    assert set(gain) == {"original", "released"}
    value = {
        (row["metric"], row["trained_on"], row["tested_on"]): row["value"]
        for row in rows
        if row["model"] == "TF-IDF of words" and not row["training_documents"]
    }
    task, attack = "task_accuracy", "attack_author_accuracy"
    assert gain["original"]["value"] == pytest.approx(
        value[task, "released", "original"] / value[task, "original", "original"]
        - value[attack, "original", "released"] / value[attack, "original", "original"]
    )
    assert gain["original"]["low"] <= gain["original"]["value"] <= gain["original"]["high"]
    page = (tmp_path / "out" / "report.html").read_text()
    for said in ("Learning curve", "total variation", "<code>gain</code>"):
        assert said in page
    assert not re.search(r"(?i)\bw\d+\b|secret-id|" + SECRET, page)


def test_statistics_need_no_vocabulary_and_no_order(uri: str, corpus: Path, tmp_path: Path) -> None:
    bags = releases.release(uri, corpus, tmp_path / "bags", "--bag_of_words=5")
    rows = releases.rows(corpus, bags, tmp_path / "out", "--word_statistics")
    of = {row["metric"]: row["value"] for row in rows}
    assert of["words_per_document"] == 5
    assert of["words_per_document_original"] == 13
    assert 0 < of["count_distance"] < 1


def test_a_learning_curve_needs_a_task(corpus: Path, release: Path, tmp_path: Path) -> None:
    with pytest.raises(DxbeamError, match="--learning_curve is that of a task"):
        releases.rows(corpus, release, tmp_path / "out", "--learning_curve")


class _Counting:
    """An encoder of texts by how often they have each letter and digit."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def encode(self, texts: Any) -> Any:
        self.texts += texts
        every = "abcdefghijklmnopqrstuvwxyz0123456789"
        return np.array([[text.lower().count(c) for c in every] for text in texts], np.float32)


class _Constant:
    """An encoder to which all texts are alike."""

    def encode(self, texts: Any) -> Any:
        return np.full((len(texts), 3), 0.7, np.float32)


def _bring(monkeypatch: pytest.MonkeyPatch, encoder: Any) -> None:
    monkeypatch.setattr(job, "check_encoder", lambda path: None)
    monkeypatch.setattr(described, "open_encoder", lambda path: encoder)


TRIALS = {
    "task_accuracy": [("original", "original"), ("released", "original")],
    "attack_author_accuracy": [
        ("original", "original"),
        ("original", "released"),
        ("released", "released"),
    ],
}


def test_an_encoder_tells_likeness_mauve_and_classes_and_finds_documents_again(
    uri: str,
    corpus: Path,
    release: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder = _Counting()
    _bring(monkeypatch, encoder)
    flags = ["--encoder=m", "--reidentify=30", "--task=label", "--attack=author"]
    rows = releases.rows(corpus, release, tmp_path / "out", *flags)
    of = {row["metric"]: row for row in rows}
    own, strangers = of["encoder_similarity"], of["encoder_similarity_strangers"]
    assert own["n"] == strangers["n"] == of["mauve"]["n"] == DOCUMENTS
    assert own["low"] > strangers["value"]
    assert 0 <= of["mauve"]["low"] <= of["mauve"]["value"] <= 1
    for metric, trials in TRIALS.items():
        scores = [row for row in rows if row["metric"] == metric]
        (chance,) = (row["value"] for row in scores if row["model"] == "majority class")
        for model in ("sentence encoder", "TF-IDF of words"):
            values = {
                (row["trained_on"], row["tested_on"]): row["value"]
                for row in scores
                if row["model"] == model
            }
            assert sorted(values) == trials
            assert values["original", "original"] > chance
    assert len(encoder.texts) == 2 * DOCUMENTS, "each document once, and its release"
    assert len(set(encoder.texts)) == 2 * DOCUMENTS
    attacks = pq.read_table(tmp_path / "out" / "attackers.parquet").to_pylist()
    first, gaps = (
        next(
            row
            for row in attacks
            if row["attacker"] == attacker and row["measure"] == "right one first"
        )
        for attacker in ("nearest by sentence encoder", "nearest by length and gaps")
    )
    assert first["sees"] == "released text"
    assert first["n"] == 30
    assert first["success"] > first["chance"] == pytest.approx(gaps["success"])
    page = (tmp_path / "out" / "report.html").read_text()
    assert "MAUVE of the release" in page
    assert ">sentence encoder<" in page
    assert SECRET not in page


def test_an_encoder_to_which_texts_are_alike_teaches_nothing(
    corpus: Path, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three documents of four are of one class, so it is the commonest of every four parts."""
    _bring(monkeypatch, _Constant())
    records = [json.loads(line) for line in corpus.read_text().splitlines()]
    for number, record in enumerate(records):
        record["label"] = "calm" if number % 4 else "loud"
    labelled = tiny.write_jsonl(tmp_path / "labelled.jsonl", records)
    flags = ["--encoder=m", "--task=label", "--attack=label", "--learning_curve"]
    rows = releases.rows(labelled, release, tmp_path / "out", *flags)
    for metric, trials in (("task_accuracy", 2), ("attack_label_accuracy", 3)):
        scores = [row for row in rows if row["metric"] == metric]
        (chance,) = (row for row in scores if row["model"] == "majority class")
        encoded = [row for row in scores if row["model"] == "sentence encoder"]
        points = [row for row in encoded if row["training_documents"]]
        assert (len(encoded) - len(points), bool(points)) == (trials, metric == "task_accuracy")
        for row in encoded:
            assert [row[end] for end in ("value", "low", "high")] == pytest.approx(
                [chance[end] for end in ("value", "low", "high")]
            )
    areas = [row for row in rows if row["metric"].endswith("_auc")]
    assert {row["value"] for row in areas if row["model"] == "sentence encoder"} == {0.5}


class _Lengths:
    """A model to which each character costs a tenth of a nat."""

    def losses(self, texts: Any) -> Any:
        return np.array([len(text) / 10 for text in texts])


def test_a_model_tells_how_probable_texts_are(
    corpus: Path, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "check_judge", lambda path: None)
    monkeypatch.setattr(perplexity, "open_judge", lambda path: _Lengths())
    rows = releases.rows(corpus, release, tmp_path / "out", "--perplexity_model=m")
    of = {row["metric"]: row for row in rows}
    texts = [json.loads(line)["text"] for line in corpus.read_text().splitlines()]
    mean = sum(map(len, texts)) / 10 / (13 * len(texts))
    assert of["model_perplexity_original"]["value"] == pytest.approx(np.exp(mean))
    assert of["model_perplexity"]["value"] != of["model_perplexity_original"]["value"]
    for metric in ("model_perplexity", "model_perplexity_original"):
        assert of[metric]["n"] == DOCUMENTS
        assert of[metric]["low"] <= of[metric]["value"] <= of[metric]["high"]
    assert "perplexity a word" in (tmp_path / "out" / "report.html").read_text()
