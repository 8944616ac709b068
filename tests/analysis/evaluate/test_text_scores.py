"""Likeness of texts: what the reference implementations give, and what broken copies do not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Hashable, Sequence

import numpy as np
import pytest
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import CHRF

from dxbeam.analysis.evaluate import text_scores
from dxbeam.analysis.evaluate.ngrams import NGrams
from dxbeam.analysis.evaluate.text_scores import (
    Counts,
    Reference,
    Rouge,
    bleu,
    chrf,
    in_one_line,
    longest_common_subsequence,
    read_text,
    unchanged_by_position,
    unchanged_in_bag,
)
from tests.support import before_and_after

PAIRS = [
    (in_one_line(original), in_one_line(released))
    for original, released in before_and_after.texts(200)
]
TOO_NEAR = 1e-6

Score = Callable[[list[tuple[str, str]]], float]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    """What the command line of sacrebleu says of the pairs."""
    folder = tmp_path_factory.mktemp("lines")
    for place, name in enumerate(("original", "released")):
        (folder / name).write_text("".join(f"{pair[place]}\n" for pair in PAIRS))
    command = [sys.executable, "-m", "sacrebleu", str(folder / "original")]
    command += ["-i", str(folder / "released"), "-m", "bleu", "chrf", "-w", "9"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {score["name"].lower().rstrip("2"): score["score"] for score in json.loads(printed)}


def bleu_counts(original: str, released: str) -> Counts:
    return Reference(original).bleu_counts(read_text(released))


def chrf_counts(original: str, released: str) -> Counts:
    return Reference(original).chrf_counts(read_text(released))


def rouge(original: str, released: str) -> Rouge:
    return Reference(original).rouge(read_text(released))


def _bleu(pairs: list[tuple[str, str]]) -> float:
    return bleu(np.sum([bleu_counts(*pair) for pair in pairs], axis=0))


def _chrf(pairs: list[tuple[str, str]]) -> float:
    return chrf(np.sum([chrf_counts(*pair) for pair in pairs], axis=0))


def _mean_of_documents(pairs: list[tuple[str, str]]) -> float:
    """Broken: BLEU is no mean over documents."""
    return float(np.mean([bleu(bleu_counts(*pair)) for pair in pairs]))


def _recall_as_precision(pairs: list[tuple[str, str]]) -> float:
    """Broken: reference and hypothesis in each other's place."""
    return chrf(np.sum([chrf_counts(after, before) for before, after in pairs], axis=0))


def _agrees(score: float, reference: float) -> bool:
    return abs(score - reference) < TOO_NEAR


def test_bleu_is_that_of_sacrebleu(told: dict[str, float]) -> None:
    assert 1 < told["bleu"] < 99
    assert _agrees(_bleu(PAIRS), told["bleu"])
    assert not _agrees(_mean_of_documents(PAIRS), told["bleu"])


def test_chrf_is_that_of_sacrebleu(told: dict[str, float]) -> None:
    assert 1 < told["chrf"] < 99
    assert _agrees(_chrf(PAIRS), told["chrf"])


def test_a_broken_chrf_is_found() -> None:
    """Precision and recall differ where the released text is shorter than the original."""
    shorter = [(before, after[: 2 * len(after) // 3]) for before, after in PAIRS]
    originals, released = zip(*shorter, strict=True)
    told = CHRF().corpus_score(released, [originals]).score
    assert _agrees(_chrf(shorter), told)
    assert not _agrees(_recall_as_precision(shorter), told)


def _rouge_score(original: str, released: str) -> list[float]:
    names = ["rouge1", "rouge2", "rougeL"]
    scores = RougeScorer(names).score(original, released)
    return [scores[name].fmeasure for name in names]


def test_rouge_is_that_of_rouge_score() -> None:
    for pair in PAIRS:
        assert list(rouge(*pair)) == pytest.approx(_rouge_score(*pair), abs=1e-12)


class _Unclipped(NGrams):
    """Broken: a released n-gram counts as often as it occurs, however rare in the original."""

    def in_common(self, other: Sequence[Hashable]) -> list[int]:
        for level in self._levels:
            level.counts[:] = 10**6
        return super().in_common(other)


def test_counts_that_are_not_clipped_are_found(
    told: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken copy of each score that counts n-grams."""
    monkeypatch.setattr(text_scores, "NGrams", _Unclipped)
    assert not _agrees(_bleu(PAIRS), told["bleu"])
    assert not _agrees(_chrf(PAIRS), told["chrf"])
    found = np.array([rouge(*pair) for pair in PAIRS])
    expected = np.array([_rouge_score(*pair) for pair in PAIRS])
    differ = np.abs(found - expected).max(axis=0)
    assert (differ[:2] > 0.05).all()
    assert differ[2] < TOO_NEAR


def _longest_run(one: list[str], other: list[str]) -> int:
    """Broken: the longest common run, in which no word may be left out."""
    ends = np.zeros((len(one) + 1, len(other) + 1), np.int64)
    for i, word in enumerate(one):
        for j, another in enumerate(other):
            ends[i + 1, j + 1] = ends[i, j] + 1 if word == another else 0
    return int(ends.max())


def test_a_broken_rouge_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_scores, "longest_common_subsequence", _longest_run)
    differ = [rouge(*pair).rouge_l - _rouge_score(*pair)[2] for pair in PAIRS]
    assert np.abs(differ).max() > 0.1


@pytest.mark.parametrize(
    ("one", "other", "length"),
    [("", "", 0), ("a", "", 0), ("abc", "abc", 3), ("abcb", "bacb", 3), ("aaa", "aa", 2)],
)
def test_the_longest_common_subsequence(one: str, other: str, length: int) -> None:
    assert longest_common_subsequence(list(one), list(other)) == length


@pytest.mark.parametrize(("score", "counts"), [(bleu, bleu_counts), (chrf, chrf_counts)])
def test_the_best_and_the_worst(
    score: Callable[[Counts], float], counts: Callable[[str, str], Counts]
) -> None:
    text = "one two three four five six"
    assert score(counts(text, text)) == pytest.approx(100)
    assert score(counts(text, "ÄÖÜ ÄÖÜ")) == 0
    assert score(counts(text, "")) == 0
    assert score(counts("", "")) == 0


def test_the_same_text_has_a_rouge_of_one() -> None:
    assert rouge("one two three", "one two three") == (1, 1, 1)
    assert rouge("", "") == (0, 0, 0)


def test_words_are_compared_place_by_place() -> None:
    found = unchanged_by_position(
        ["a", "b", "x", "b"], ["a", "a", "x", "b"], [True, True, False, True]
    )
    assert found == (4, 3, 3, 2)


def test_words_compared_without_their_places_are_found() -> None:
    """Broken: words in another order count as unchanged."""
    words, known = ["a", "b", "c"], [True] * 3
    shifted = [*words[1:], words[0]]
    assert unchanged_by_position(words, shifted, known).unchanged == 0
    assert unchanged_in_bag(words, shifted, known).unchanged == 3


def test_words_of_bags_are_compared_as_often_as_they_occur() -> None:
    found = unchanged_in_bag(
        ["a", "b", "b", "x"], ["b", "b", "b", "x", "q"], [True] * 3 + [False] * 2
    )
    assert found == (5, 3, 3, 2)


def test_a_text_has_no_line_breaks_for_sacrebleu() -> None:
    assert in_one_line("a\nb\u2028c\r\nd") == "a b c d"
