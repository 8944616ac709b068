"""The launcher and its ledger: caps, copies, edited corpora, flags that do not go together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dxbeam.errors import ConfigurationError, DxbeamError, OutputError
from dxbeam.release import ledger, manifest
from pipelines.release_vectors import release_vectors
from tests.support import tiny

RECORDS = [{"id": f"d{i}", "text": text} for i, text in enumerate(tiny.texts(6))]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "key").write_text(tiny.KEY.hex())
    return tiny.write_jsonl(tmp_path / "corpus.jsonl", RECORDS)


def _flags(tmp_path: Path, cap: float = 5.0) -> list[str]:
    return [f"--ledger={tmp_path / 'ledger'}", "--corpus_id=c", f"--max_epsilon={cap}"]


def _states(tmp_path: Path) -> list[str]:
    return [entry.state for entry in ledger.read(str(tmp_path / "ledger"))]


def test_a_release_is_entered_and_a_second_one_refused(
    uri: str, corpus: Path, tmp_path: Path
) -> None:
    release = tiny.run(uri, corpus, tmp_path / "one", *_flags(tmp_path))
    last = ledger.read(str(tmp_path / "ledger"))[-1]
    assert (last.state, last.epsilon, last.documents) == ("released", 5.0, 6)
    assert last.corpus_digest == release["corpus_digest"]
    assert last.configuration == release["configuration_digest"]
    with pytest.raises(OutputError, match="pass --max_epsilon 5"):
        tiny.run(uri, corpus, tmp_path / "two", *_flags(tmp_path))
    assert not list((tmp_path / "two").rglob("*")), "nothing was begun"
    assert _states(tmp_path) == ["begun", "released"]
    tiny.run(uri, corpus, tmp_path / "two", *_flags(tmp_path, 10.0))


def test_a_copy_is_free_and_an_edited_corpus_is_not(uri: str, corpus: Path, tmp_path: Path) -> None:
    flags = [*_flags(tmp_path), f"--key_uri={tmp_path / 'key'}"]
    tiny.run(uri, corpus, tmp_path / "one", *flags)
    reordered = tiny.write_jsonl(tmp_path / "again.jsonl", RECORDS[::-1])
    tiny.run(uri, reordered, tmp_path / "two", *flags)
    assert tiny.released(tmp_path / "one") == tiny.released(tmp_path / "two")
    edited = tiny.write_jsonl(
        tmp_path / "edited.jsonl", [{**RECORDS[0], "text": "w1 w2 w3"}, *RECORDS[1:]]
    )
    with pytest.raises(DxbeamError, match="the corpus is no longer what it was then"):
        tiny.run(uri, edited, tmp_path / "three", *flags)
    assert not list((tmp_path / "three").rglob("*"))
    assert _states(tmp_path) == ["begun", "released"] * 2 + ["begun", "abandoned"]
    with pytest.raises(OutputError, match="pass --max_epsilon"):
        tiny.run(uri, corpus, tmp_path / "four", *flags, "--epsilon=4")


def test_a_run_that_fails_is_taken_off(uri: str, corpus: Path, tmp_path: Path) -> None:
    empty = tiny.write_jsonl(tmp_path / "empty.jsonl", [b'{"id": "a", "text": "\\u0000"}'])
    with pytest.raises(DxbeamError, match="no document could be released"):
        tiny.run(uri, empty, tmp_path / "one", *_flags(tmp_path))
    assert _states(tmp_path) == ["begun", "abandoned"]
    tiny.run(uri, corpus, tmp_path / "two", *_flags(tmp_path))


def _vectors(uri: str, corpus: Path, output: Path, *flags: str) -> dict[str, Any]:
    given = [f"--input={corpus}", f"--vocabulary={uri}", f"--output={output}", "--epsilon=5"]
    release_vectors([*given, "--projected_dimensions=3", *flags])
    return manifest.verify(str(output))


@pytest.mark.parametrize(
    "own", [(), ("--unit=word", "--projection=gaussian")], ids=["texts", "words, after a scan"]
)
def test_vectors_are_accounted_for_as_texts_are(
    uri: str, corpus: Path, tmp_path: Path, own: tuple[str, ...]
) -> None:
    flags = [*_flags(tmp_path, 9.0), f"--key_uri={tmp_path / 'key'}", *own]
    release = _vectors(uri, corpus, tmp_path / "one", *flags)
    [_, last] = ledger.read(str(tmp_path / "ledger"))
    assert (last.state, last.epsilon, last.delta, last.documents) == ("released", 5.0, 0.0, 6)
    assert last.metric == release["guarantee"]["metric"]
    assert last.configuration == release["configuration_digest"]
    assert last.corpus_digest == release["corpus_digest"]
    reordered = tiny.write_jsonl(tmp_path / "again.jsonl", RECORDS[::-1])
    again = _vectors(uri, reordered, tmp_path / "two", *flags)
    assert again["corpus_digest"] == release["corpus_digest"], "a copy, which is free"
    edited = tiny.write_jsonl(
        tmp_path / "edited.jsonl", [{**RECORDS[0], "text": "w1 w2 w3"}, *RECORDS[1:]]
    )
    with pytest.raises(DxbeamError, match="the corpus is no longer what it was then"):
        _vectors(uri, edited, tmp_path / "three", *flags)
    with pytest.raises(OutputError, match="pass --max_epsilon"):  # one account for both
        tiny.run(uri, corpus, tmp_path / "four", *_flags(tmp_path, 9.0))
    assert not [path for path in (tmp_path / "three").rglob("*") if path.is_file()]
    assert _states(tmp_path) == ["begun", "released"] * 2 + ["begun", "abandoned"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--corpus_id=c"], "--ledger is needed"),
        (["--max_epsilon=5"], "--ledger is needed"),
        (["--ledger=L"], "--corpus_id is needed"),
        (["--ledger=L", "--corpus_id=c", "--unknown_words=keep"], "--allow_unsound"),
        (
            ["--ledger=L", "--corpus_id=c", "--mechanism=santext_plus", "--allow_unsound"],
            "nothing to add up",
        ),
    ],
)
def test_flags_that_do_not_go_together_are_refused(
    uri: str, corpus: Path, tmp_path: Path, flags: list[str], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        tiny.run(uri, corpus, tmp_path / "out", *flags)
    assert not (tmp_path / "out").exists()
