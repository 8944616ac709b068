"""Statistics of words: the same for the same text, none for another, by hand where it is short."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import spearmanr

from dxbeam.analysis.corpora.diversity import diversity
from dxbeam.analysis.corpora.texts import TextPair, numbers_of, weights_of
from dxbeam.analysis.corpora.topics import adjusted_rand_index, topic_agreement
from dxbeam.analysis.corpora.word_statistics import counted, word_agreement
from dxbeam.analysis.evaluate.document_scores import Score


def _texts(originals: Sequence[Sequence[int]], released: Sequence[Sequence[int]]) -> list[TextPair]:
    return [
        TextPair(order, np.array(before, np.int64), np.array(after, np.int64))
        for order, (before, after) in enumerate(zip(originals, released, strict=True))
    ]


def _scores(texts: list[TextPair]) -> dict[str, Score]:
    words, weights = counted(texts), weights_of([text.order for text in texts])
    scores = [*word_agreement(texts, words, weights), *topic_agreement(words, weights)]
    return {score.metric: score for score in [*scores, *diversity(texts)]}


def _about(topics: np.ndarray, seed: int) -> list[list[int]]:
    """A text for each topic: 12 of the topic's twenty words, and 6 words that all topics share."""
    generator = np.random.default_rng(seed)
    return [
        [*generator.integers(20 * topic, 20 * (topic + 1), 12), *generator.integers(300, 320, 6)]
        for topic in topics
    ]


TOPICS = np.arange(150) % 10
ORIGINALS = _about(TOPICS, 0)


def test_a_release_that_changed_nothing_agrees_in_all() -> None:
    scores = _scores(_texts(ORIGINALS, ORIGINALS))
    for metric in ("count_correlation", "pair_correlation", "topic_agreement"):
        assert scores[metric][1:4] == pytest.approx((1, 1, 1)), metric
    assert scores["count_distance"][1:4] == (0, 0, 0)
    for metric in ("distinct_1", "distinct_2", "distinct_3", "words_per_document"):
        assert scores[metric][1:4] == scores[f"{metric}_original"][1:4]


def test_words_of_nothing_agree_in_nothing() -> None:
    generator = np.random.default_rng(1)
    scores = _scores(_texts(ORIGINALS, generator.integers(0, 320, (150, 18)).tolist()))
    assert abs(scores["topic_agreement"].value) < 0.1, "six deviations of 0.01"
    assert scores["topic_agreement"].low < 0.05
    assert abs(scores["pair_correlation"].value) < 0.5
    assert 0 < scores["count_distance"].low < scores["count_distance"].high < 1


def test_topics_that_stay_are_seen_though_words_change() -> None:
    scores = _scores(_texts(ORIGINALS, _about(TOPICS, 2)))
    assert scores["topic_agreement"].low > 0.8
    assert scores["topic_agreement"].n == 150


def test_counts_by_hand() -> None:
    """Words 1, 1, 2, 3 become 1, 2, 2, 9: a quarter of the first goes to 2, and 3 to 9."""
    scores = _scores(_texts([[1, 1], [2, 3]], [[1, 2], [2, 9]]))
    assert scores["count_distance"].value == pytest.approx(0.5)
    expected = spearmanr([2, 1, 1], [1, 2, 0]).statistic
    assert scores["count_correlation"].value == pytest.approx(expected)
    assert scores["words_per_document"].value == 2
    assert scores["distinct_1"].value == 3 / 4
    assert scores["distinct_2_original"].value == 1
    assert "distinct_3" not in scores
    assert "topic_agreement" not in scores, "too few documents"


def test_pairs_are_those_near_each_other_whichever_is_first() -> None:
    """The mutual information of all pairs of three words, counted by hand in both texts."""
    before, after = [1, 2, 1, 3, 4, 5, 6, 7], [1, 3, 1, 2, 4, 5, 6, 7]
    backwards = _scores(_texts([before] * 2, [before[::-1]] * 2))
    assert backwards["pair_correlation"].value == pytest.approx(1)
    information = []
    for text in (before, after):
        near = Counter(
            frozenset((text[i], text[j])) for i in range(8) for j in range(i + 1, min(8, i + 6))
        )
        every = 2 * sum(count for pair, count in near.items() if len(pair) == 2)
        single = {word: math.log((2 * text.count(word) + 0.5) / 17) for word in text}
        information.append(
            {
                pair: math.log((2 * near[pair] + 0.5) / (every + 1)) - sum(map(single.get, pair))
                for pair in map(frozenset, combinations(range(1, 8), 2))
            }
        )
    inside = [pair for pair in information[0] if near_each_other(before, *pair)]
    expected = np.corrcoef([[each[pair] for pair in inside] for each in information])[0, 1]
    scores = _scores(_texts([before] * 2, [after] * 2))
    assert 0 < expected < 1
    assert scores["pair_correlation"].value == pytest.approx(expected)


def near_each_other(text: list[int], one: int, other: int) -> bool:
    places = [[i for i, word in enumerate(text) if word == each] for each in (one, other)]
    return any(abs(i - j) <= 5 for i in places[0] for j in places[1])


def test_what_is_the_same_for_all_pairs_has_no_correlation() -> None:
    assert "pair_correlation" not in _scores(_texts([[1, 2, 1, 3]], [[2, 1, 3, 1]]))


def test_distinct_n_does_not_depend_on_how_long_a_text_is() -> None:
    generator = np.random.default_rng(3)
    short, long = (generator.integers(0, 500, (documents, 100)).tolist() for documents in (40, 400))
    shares = [_scores(_texts(texts, texts))["distinct_1"] for texts in (short, long)]
    assert shares[0].low < shares[1].value < shares[0].high
    expected = 500 * (1 - (1 - 1 / 500) ** 1000) / 1000
    assert shares[1].value == pytest.approx(expected, abs=0.01)


def test_the_adjusted_rand_index_is_that_of_the_paper() -> None:
    """Hubert and Arabie 1985: 1 for one grouping under two names; by hand for four documents."""
    assert adjusted_rand_index(np.array([[0, 3], [2, 0]])) == 1
    assert adjusted_rand_index(np.array([[1, 1], [1, 1]])) == pytest.approx(-0.5)


def test_texts_without_words_have_no_scores_of_words() -> None:
    scores = _scores(_texts([[], [1]], [[], []]))
    assert set(scores) == {
        "words_per_document",
        "words_per_document_original",
        "distinct_1_original",
    }


def test_numbers_follow_from_the_word() -> None:
    one, other = numbers_of(["a", "b", "a", "\ud800"]), numbers_of(["a"])
    assert one[0] == one[2] == other[0] != one[1]
    assert len(numbers_of([])) == 0
