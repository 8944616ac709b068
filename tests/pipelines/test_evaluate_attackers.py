"""Attackers with a model, in dxbeam evaluate: models are made up, and the endpoint is local."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from dxbeam.analysis.attackers.models import word_model
from dxbeam.errors import DxbeamError
from dxbeam.text.tokenization import words
from tests.support import chat_stub, releases, tiny
from tests.support.releases import SECRET


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words of the same vocabulary, none of which is a word of the private text only."""
    generator = np.random.default_rng(1)
    texts = [" ".join(f"w{i}" for i in generator.integers(0, 300, 80)) for _ in range(60)]
    records = [{"id": f"public-{number}", "text": text} for number, text in enumerate(texts)]
    return tiny.write_jsonl(tmp_path_factory.mktemp("public") / "texts.jsonl", records)


def _attacks(output: Path) -> dict[tuple[str, str], dict[str, Any]]:
    rows = pq.read_table(output / "attackers.parquet").to_pylist()
    return {(row["attacker"], row["measure"]): row for row in rows}


class _Even:
    """A model to which all words are alike."""

    def log_chances(self, text: Any, candidates: Any) -> Any:
        return np.full(candidates.shape, -5.0)

    def likeliest(self, text: Any, count: int) -> Any:
        return np.tile(np.arange(count), (len(text), 1))


def test_a_model_that_is_brought_reads_a_release(
    uri: str,
    corpus: Path,
    release: Path,
    public: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    undrawn: None,
) -> None:
    monkeypatch.setattr(word_model, "check_model", lambda path: None)
    monkeypatch.setattr(word_model, "open_model", lambda *given: _Even())
    records = [json.loads(line) for line in corpus.read_text().splitlines()]
    for record in records:
        record["spans"] = json.dumps([[0, record["text"].index(",") + 3, "opening"]])
    marked = tiny.write_jsonl(tmp_path / "marked.jsonl", records)
    flags = [f"--vocabulary={uri}", f"--public_input={public}", "--context_documents=30"]
    flags += ["--entities=spans", "--attacker_model=m", "--reidentify=25"]
    releases.rows(marked, release, tmp_path / "out", *flags)
    found = _attacks(tmp_path / "out")
    brought = found["with a language model", "words recovered"]
    assert brought["n"] == 30 * 12
    assert brought["low"] <= brought["success"] <= brought["high"]
    believed = found["believes the release", "words recovered"]
    stayed = found["believes the release", "all words unchanged"]
    assert believed["low"] <= stayed["success"] * 13 / 12 <= believed["high"]
    assert brought["success"] > 2 * brought["chance"]
    assert found["with a language model", "opening: words recovered"]["n"] == 30 * 2
    assert found["with a language model", "numbers recovered"]["n"] == 30 * 12
    word_by_word = found["word by word", "words recovered"]
    assert word_by_word["low"] <= brought["success"] <= word_by_word["high"]
    for attacker in ("likeliest original", "with a language model, then nearest by TF-IDF"):
        again = found[attacker, "right one first"]
        assert again["n"] == 25
        assert again["knows"] == "the 25 originals, and the setting"
        assert again["success"] > 10 / 25, "by chance one is"
        assert again["chance"] == found["nearest by TF-IDF of words", "right one first"]["chance"]
    of_ten = found["language model, 10 guesses", "words recovered"]
    assert of_ten["chance"] >= brought["chance"]
    assert "with a language model" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.exhaustive
def test_a_network_is_trained_on_the_settings_of_a_release(
    uri: str,
    corpus: Path,
    public: Path,
    tmp_path: Path,
    undrawn: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of santext, whose channel is known, and of laplace with rank resampling, where it is not."""
    pytest.importorskip("torch")
    from dxbeam.analysis.attackers.models import sequence_model

    monkeypatch.setattr(sequence_model, "EPOCHS", 1)
    settings = (["--mechanism=santext", "--epsilon=3"], ["--epsilon=5", "--rank_c=0.1"])
    for number, flags in enumerate(settings):
        releases.release(uri, corpus, tmp_path / "releases" / str(number), *flags)
    asked = [f"--vocabulary={uri}", f"--public_input={public}", "--context_documents=30"]
    every = tmp_path / "releases" / "*"
    releases.rows(corpus, every, tmp_path / "out", *asked, "--attackers=learned")
    rows = pq.read_table(tmp_path / "out" / "attackers.parquet").to_pylist()
    learned = [row for row in rows if row["attacker"] == "learned inversion"]
    assert [row["measure"] for row in learned].count("words recovered") == len(settings)
    for row in learned:
        assert row["success"] > 2 * row["chance"]


def _second_guess(asked: str) -> chat_stub.Answer:
    """Believes the release, and that the first author wrote everything."""
    message = json.loads(asked)
    if "values" in message:
        return chat_stub.completion(message["values"][0])
    return chat_stub.completion(json.dumps(message["released"]))


def test_an_endpoint_is_asked_for_words_and_for_the_author(
    uri: str,
    corpus: Path,
    release: Path,
    public: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    undrawn: None,
) -> None:
    with chat_stub.serve(_second_guess) as stub:
        flags = [
            f"--vocabulary={uri}", f"--public_input={public}", "--context_documents=30",
            f"--attacker_endpoint={stub.endpoint}", "--attacker_endpoint_model=m",
            "--attack=author", "--attacker_requests=40",
        ]  # fmt: skip
        releases_flags = [f"--original={corpus}", f"--released={release}"]
        from pipelines.evaluate import evaluate_release

        evaluate_release([*releases_flags, f"--output={tmp_path}/dry", *flags, "--dry_run"])
        assert not stub.bodies
        said = capsys.readouterr().out
        assert f"Up to 40 requests go to {stub.endpoint.split('/')[2]}" in said
        releases.rows(corpus, release, tmp_path / "out", *flags)
        assert said.splitlines()[2] in capsys.readouterr().out
    assert len(stub.bodies) == 40
    messages = [json.loads(text) for text in stub.texts]
    assert sum("released" in message for message in messages) == 20
    sent = b"".join(stub.bodies).decode()
    assert "secret-id" not in sent
    assert SECRET not in sent
    found = _attacks(tmp_path / "out")
    asked = found["asks an endpoint", "words recovered"]
    assert asked["n"] == 20 * 12, "half of the requests ask for something else"
    believed = found["believes the release", "words recovered"]
    assert believed["low"] <= asked["success"] <= believed["high"]
    author = found["asks an endpoint", "author guessed"]
    assert author["n"] == 20
    assert author["chance"] >= author["success"]
    released = set(tiny.released(release).values())
    known = {tuple(words(text)[:12]) for text in released}
    public_words = set(public.read_text().split()) | {word for each in known for word in each}
    for message in messages:
        if "values" in message:
            assert message["text"] in released
        else:
            assert tuple(message["released"]) in known
            assert len(message["examples"]) == 8
            assert all(set(example["original"]) < public_words for example in message["examples"])


def test_what_attackers_need_is_named(
    uri: str, corpus: Path, release: Path, public: Path, tmp_path: Path
) -> None:
    asked = ["--attacker_endpoint=http://localhost:9/v1", "--attacker_endpoint_model=m"]
    documents = "--context_documents=9"
    for flags, said in (
        (asked, "--attacker_endpoint reads documents; say how many, with --context_documents"),
        ([*asked[:1], documents], "--attacker_endpoint_model is needed"),
        ([*asked[1:], documents], "--attacker_endpoint is needed with the other flags"),
        ([*asked, documents], "learn from --public_input; name both"),
        (["--attacker_model=nowhere", documents], ("--attacker_model")),
    ):
        with pytest.raises(DxbeamError, match=said):
            releases.rows(corpus, release, tmp_path / "out", *flags)
    bags = releases.release(uri, corpus, tmp_path / "bags", "--bag_of_words=5")
    flags = [*asked, documents, f"--vocabulary={uri}", f"--public_input={public}"]
    with pytest.raises(DxbeamError, match="its words are in no order"):
        releases.rows(corpus, bags, tmp_path / "out", *flags)
    assert not (tmp_path / "out").exists()


def test_canaries_are_planted_by_the_settings_of_a_release(
    uri: str, corpus: Path, release: Path, tmp_path: Path
) -> None:
    releases.rows(corpus, release, tmp_path / "out", f"--vocabulary={uri}", "--canaries=20")
    attacks = _attacks(tmp_path / "out")
    once, often = (
        attacks["adds up what releases say", f"canaries, numbers, in {k}: first guess right"]
        for k in ("1 document", "10 documents")
    )
    assert once["n"] == often["n"] == 20
    assert once["chance"] < once["success"] < often["success"]
    assert "the settings, and the 300 words" in once["knows"]
    page = (tmp_path / "out" / "report.html").read_text()
    assert "canaries, numbers, in 10 documents: exposure, bits of" in page
    assert SECRET not in page


def test_canaries_need_a_vocabulary_and_words_drawn_one_by_one(
    uri: str, corpus: Path, release: Path, tmp_path: Path
) -> None:
    with pytest.raises(DxbeamError, match="--canaries are words of a vocabulary"):
        releases.rows(corpus, release, tmp_path / "out", "--canaries=20")
    bags = releases.release(uri, corpus, tmp_path / "bags", "--bag_of_words=5")
    with pytest.raises(DxbeamError, match=r"in no order.*leave this release or canaries out"):
        releases.rows(corpus, bags, tmp_path / "out", f"--vocabulary={uri}", "--canaries=20")
