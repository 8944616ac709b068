"""Sums over documents, and the scores and intervals that are computed from them."""

from __future__ import annotations

import numpy as np
import pytest

from dxbeam.analysis.evaluate.document_scores import (
    BOOTSTRAP,
    STUDENT,
    DocumentScorer,
    DocumentScores,
    Score,
    Sums,
    no_documents,
    scores_of,
)
from dxbeam.language.model import LanguageModel, language_model_of
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.tokenization import words
from dxbeam.transforms.reading.paired_release import ReleasedDocument, ReleasedText
from tests.support import before_and_after, vocabularies

VOCABULARY = vocabularies.of(np.random.default_rng(0).normal(0, 2, (40, 5)), lowercase=True)


def _pair(original: str, released: str, aligned: bool = True) -> ReleasedDocument:
    after = ReleasedText(released, words(released), aligned)
    return ReleasedDocument("id", original, words(original), {}, "", {0: after})


def _scored(
    pair: ReleasedDocument,
    seed: int,
    vocabulary: Vocabulary | None,
    model: LanguageModel | None = None,
) -> DocumentScores:
    return DocumentScorer(pair, seed, vocabulary, model).scores(pair.released[0])


def _sums(
    pairs: list[ReleasedDocument],
    vocabulary: Vocabulary | None,
    first_seed: int = 0,
    model: LanguageModel | None = None,
) -> Sums:
    sums = no_documents()
    for seed, pair in enumerate(pairs, first_seed):
        sums = sums.with_document(_scored(pair, seed, vocabulary, model))
    return sums


def _scores(
    pairs: list[ReleasedDocument],
    vocabulary: Vocabulary | None = None,
    model: LanguageModel | None = None,
) -> dict[str, Score]:
    found = scores_of(_sums(pairs, vocabulary, 0, model), with_vocabulary=vocabulary is not None)
    return {score.metric: score for score in found}


def test_a_text_is_as_like_itself_as_can_be() -> None:
    text = "w1 W2, w3 w4 w5? strange"
    found = _scores([_pair(text, text.lower())], VOCABULARY)
    best = {name: score.value for name, score in found.items()}
    assert best == pytest.approx(
        {
            "unchanged": 1,
            "unchanged_known": 1,
            "out_of_vocabulary": 1 / 6,
            "out_of_vocabulary_released": 1 / 6,
            "bleu": 100,
            "chrf": 100,
            "rouge1": 1,
            "rouge2": 1,
            "rougeL": 1,
            "embedding_similarity": 1,
            "wmd": 0,
            "wmd_relaxed": 0,
        }
    )


def test_without_a_vocabulary_what_needs_none_is_told() -> None:
    found = _scores([_pair("a b", "a c")])
    assert list(found) == ["unchanged", "bleu", "chrf", "rouge1", "rouge2", "rougeL"]
    assert found["unchanged"].value == 0.5


def test_shares_are_of_all_words_together_and_other_means_of_documents() -> None:
    found = _scores([_pair("w1", "w1"), _pair("w1 w2 w3", "w4 w5 strange")], VOCABULARY)
    assert found["unchanged"].value == found["unchanged_known"].value == 1 / 4
    assert found["out_of_vocabulary_released"].value == 1 / 4
    assert found["rouge1"].value == 1 / 2
    assert {score.n for score in found.values()} == {2}
    how = {name: score.interval for name, score in found.items()}
    assert how["bleu"] == how["unchanged"] == BOOTSTRAP
    assert how["wmd"] == how["rougeL"] == STUDENT


def test_one_document_has_no_interval() -> None:
    found = _scores([_pair("w1 w2", "w1 w3")], VOCABULARY)
    assert {(score.low, score.high) for score in found.values()} == {(None, None)}


def test_bags_are_compared_as_multisets() -> None:
    pairs = [_pair("w1 w2 w3", "w3 w1", aligned=False)]
    assert _scores(pairs, VOCABULARY)["unchanged"].value == 1
    assert _sums(pairs, VOCABULARY).aligned == 0


def _model() -> LanguageModel:
    """w0 and w1 make up nearly all of its text; the other words are seen once in 40,000."""
    common = [np.tile([0, 1], 4_000)] * 10
    return language_model_of([*common, np.arange(2, 40)], VOCABULARY)


def test_a_language_model_tells_rare_words_and_how_likely_a_text_is() -> None:
    model = _model()
    found = _scores([_pair("w0 w7. W1 w8 strange", "w0 w7. w0 w9 w1")], VOCABULARY, model)
    assert found["unchanged_rare"].value == 1 / 2  # w7 and w8 are rare, and w7 came back
    start = model.start
    for metric, chain in (
        ("perplexity", [(start, 0), (0, 7), (start, 0), (0, 9), (9, 1)]),
        ("perplexity_original", [(start, 0), (0, 7), (start, 1), (1, 8), (8, -1)]),
    ):
        likely = [model.probabilities(before)[word] for before, word in chain]
        assert found[metric].value == pytest.approx(float(np.exp(-np.log(likely).mean())))


def test_a_bag_has_no_places_for_a_language_model_to_read() -> None:
    found = _scores([_pair("w0 w7", "w7 w0", aligned=False)], VOCABULARY, _model())
    assert not {"unchanged_rare", "perplexity", "perplexity_original"} & found.keys()


def test_sums_do_not_depend_on_how_documents_are_divided() -> None:
    pairs = [_pair(*pair) for pair in before_and_after.texts(30)]
    whole = _sums(pairs, VOCABULARY)
    halves = _sums(pairs[:11], VOCABULARY).plus(_sums(pairs[11:], VOCABULARY, 11))
    assert (whole.documents, whole.aligned) == (halves.documents, halves.aligned)
    np.testing.assert_array_equal(whole.counts, halves.counts)
    np.testing.assert_allclose(whole.means, halves.means, rtol=1e-12)


def test_the_empty_text_counts_for_no_mean_of_distances() -> None:
    found = _scores([_pair("", ""), _pair("w1", "w2")], VOCABULARY)
    assert found["wmd"].n == found["embedding_similarity"].n == 1
    assert found["rouge1"].n == 2


@pytest.mark.slow
def test_intervals_hold_the_value_of_all_documents() -> None:
    """20 corpora of 60 documents: at 95 % more than 5 misses have a probability of 3e-4 a metric,
    at the 93 % or so that a bootstrap of 60 documents reaches 2e-3. The seed is fixed."""
    pairs = [_pair(*pair) for pair in before_and_after.texts(800)]
    scored = [_scored(pair, seed, None) for seed, pair in enumerate(pairs)]

    def summed(places: np.ndarray) -> dict[str, Score]:
        sums = no_documents()
        for place in places:
            sums = sums.with_document(scored[place])
        return {score.metric: score for score in scores_of(sums, with_vocabulary=False)}

    truth = summed(np.arange(len(pairs)))
    generator, misses = np.random.default_rng(3), dict.fromkeys(truth, 0)
    for _ in range(20):
        found = summed(generator.choice(len(pairs), 60, replace=False))
        for name, score in found.items():
            assert score.low is not None
            assert score.high is not None
            misses[name] += not score.low <= truth[name].value <= score.high
    assert max(misses.values()) <= 5
    assert sum(misses.values()) > 0
