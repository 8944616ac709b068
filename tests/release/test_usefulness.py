"""Warnings of releases that are of little use, or protect little."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dxbeam.release.usefulness import likely_cause, unknown_and_unchanged, warnings
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.tally import Tally
from tests.support import tiny


def _tally(original: int = 0, close: int = 0, distant: int = 0, unknown: int = 0) -> Tally:
    tokens = original + close + distant + unknown
    return Tally(1, tokens, original, close, distant, unknown, original)


@pytest.mark.parametrize(
    ("tally", "said"),
    [
        (_tally(20, 50, 25, 5), []),
        (_tally(20, 50, 10, 20), []),
        (_tally(20, 50, 9, 21), ["21.0 % of the words are not in the vocabulary, and what"]),
        (_tally(1, 3, 2, 94), ["94.0 % of the words are not in the vocabulary"]),
        (_tally(100), ["100.0 % of the words came out unchanged"]),
        (_tally(1, 2, 96, 1), ["97.0 % of the words of the vocabulary came out as distant"]),
        (_tally(0, 0, 6, 94), ["94.0 % of the words are not", "100.0 % of the words of the"]),
        (Tally(1, 100, 3, 3, 3, 1, 3, fillers=90), []),
        (Tally(1, 100, 9, 0, 0, 1, 9, fillers=90), ["90.0 % of the words came out unchanged"]),
        (Tally(1, 50, fillers=50), []),
        (Tally(), []),
    ],
)
def test_a_release_that_is_of_no_use_is_called_so(tally: Tally, said: list[str]) -> None:
    found = warnings(tally, "Because.")
    assert len(found) == len(said)
    for sentence, begun in zip(found, said, strict=True):
        assert sentence.startswith(f"Warning: {begun}")


def test_both_shares_are_named() -> None:
    said = unknown_and_unchanged(_tally(1000, 0, 0, 3000), "words")
    assert said == (
        "Of 4,000 words 3,000 (75.0 %) are not in the vocabulary and 1,000 (25.0 %) came out "
        "unchanged"
    )


@pytest.mark.parametrize(
    ("text", "epsilon", "said"),
    [
        ("odd words without end w1", 5, "80.0 % of the words are not in the vocabulary"),
        ("w1 w2 w3 w4 w5", 9999, "100.0 % of the words came out unchanged"),
    ],
)
def test_a_dry_run_and_the_run_itself_say_it(
    uri: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    epsilon: int,
    said: str,
) -> None:
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", [{"text": text}])
    tiny.run(uri, corpus, tmp_path / "out", f"--epsilon={epsilon}")
    assert f"\nWarning: {said}" in capsys.readouterr().out
    with pytest.raises(FileNotFoundError):  # a dry run writes no manifest
        tiny.run(uri, corpus, tmp_path / "dry", f"--epsilon={epsilon}", "--dry_run")
    assert f"  Warning: {said}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["The House is on the Hill", "A Red Hill 7"], "with another casing: build it with --low"),
        (["user_4711 a8f3c2 10.0.0.1", "the 2024"], "are numbers or codes.* --text_field?"),
        (["すべての人間は", "人人生而自由", "the"], "a script that puts no spaces between words"),
        (["Alle Menschen sind frei", "und gleich"], "another language than the vocabulary, or"),
        ([], "another language than the vocabulary, or"),
    ],
)
def test_the_likely_cause_is_named(texts: list[str], said: str) -> None:
    words = ["the", "house", "is", "on", "hill", "a", "red"]
    vectors = np.arange(14, dtype=np.float32).reshape(7, 2)
    cause = likely_cause(texts, Vocabulary(words, vectors, lowercase=False))
    assert re.search(said, cause)
    assert cause.endswith((".", "?"))
