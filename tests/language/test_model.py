"""Language models: distributions, Kneser-Ney by another computation, and what look-ups return."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter, defaultdict
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxbeam.errors import ConfigurationError
from dxbeam.language.counts import count_sentences
from dxbeam.language.kneser_ney import discounts
from dxbeam.language.model import LanguageModel, language_model_of
from dxbeam.language.perplexity import perplexity
from dxbeam.language.sparse_rows import sparse_rows
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from tests.support import tiny

WORDS = 12
SENTENCES = st.lists(
    st.lists(st.integers(UNKNOWN, WORDS - 1), max_size=7), min_size=1, max_size=30
).filter(any)


def _vocabulary(words: int = WORDS) -> Vocabulary:
    return tiny.vocabulary(words, 2)


def _zipf_sentences(number: int, words: int = WORDS, seed: int = 0) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [
        np.minimum(generator.zipf(1.3, generator.integers(1, 9)), words + 1) - 2
        for _ in range(number)
    ]


def _probabilities3(model: LanguageModel, first: int, second: int) -> np.ndarray:
    words, corrections = model.successors2(first, second)
    result = model.backoff2(first, second) * model.probabilities(second)
    result[words] += corrections
    return result


@settings(max_examples=30, deadline=None)
@given(SENTENCES, st.sampled_from([2, 3]), st.integers(0, 2))
def test_every_distribution_sums_to_one(sentences: list[list[int]], order: int, prune: int) -> None:
    model = language_model_of(sentences, _vocabulary(), order, prune)
    contexts = [*range(WORDS), UNKNOWN, model.start]
    rows = [model.prior, model.continuation, *map(model.probabilities, contexts)]
    rows += [_probabilities3(model, x, y) for x in contexts for y in contexts[:-1]]
    for row in rows:
        assert row.shape == (WORDS + 1,)
        assert (row > 0).all()
        assert row.sum() == pytest.approx(1, abs=1e-12)


def _direct(sentences: list[np.ndarray], order: int) -> Callable[..., float]:
    """Interpolated Kneser-Ney, written down from Chen and Goodman's equations with dictionaries."""
    top = Counter(
        tuple([None] * (order - 1) + list(map(int, sentence)))[i : i + order]
        for sentence in sentences
        for i in range(len(sentence))
    )
    levels = [top]
    while len(next(iter(levels[0]))) > 1:
        lower: Counter = Counter()
        for gram, count in levels[0].items():
            starts = len(gram) == 3 and gram[1] is None
            lower[gram[1:]] += count if starts else 1
        levels.insert(0, lower)

    def probability(*gram: int | None) -> float:
        if not gram:
            return 1 / (WORDS + 1)
        counts = levels[len(gram) - 1]
        off = discounts(np.array([c for g, c in counts.items() if len(g) < 3 or g[1] is not None]))
        same = {g: c for g, c in counts.items() if g[:-1] == gram[:-1]}
        if not same or gram[:-1] == (None, None):
            return probability(*gram[1:])
        total = sum(same.values())
        rest = sum(off[min(c, 3)] for c in same.values()) / total
        own = same.get(gram, 0)
        return (own - off[min(own, 3)]) / total + rest * probability(*gram[1:])

    return probability


@pytest.mark.parametrize("order", [2, 3])
def test_probabilities_are_those_of_the_equations(order: int) -> None:
    sentences = _zipf_sentences(150)
    model = language_model_of(sentences, _vocabulary(), order)
    expected = _direct(sentences, order)
    for y in [*range(WORDS), UNKNOWN]:
        assert model.continuation[y] == pytest.approx(expected(y), abs=1e-9)
        for x in [*range(WORDS), UNKNOWN, None]:
            context = model.start if x is None else x
            assert model.probabilities(context)[y] == pytest.approx(expected(x, y), abs=1e-6)
            if order == 3 and x is not None:
                for first in (None, 0, 3, UNKNOWN):
                    got = _probabilities3(model, model.start if first is None else first, x)[y]
                    assert got == pytest.approx(expected(first, x, y), abs=1e-6)


def test_blocks_and_single_look_ups_agree() -> None:
    model = language_model_of(_zipf_sentences(300), _vocabulary(), 3)
    generator = np.random.default_rng(1)
    before, middle, after = generator.integers(UNKNOWN, WORDS, (3, 5000, 4))
    before[::7, 0] = model.start
    block = model.corrections(before, after)
    triples = model.corrections3(
        before[:, :, None, None], middle[:, None, :, None], after[:, None, None, :]
    )
    assert block.shape == (5000, 4, 4)
    assert triples.shape == (5000, 4, 4, 4)
    for b, k, j in itertools.product(range(0, 5000, 211), range(4), range(4)):
        words, corrections = model.successors(int(before[b, k]))
        expected = dict(zip(words.tolist(), corrections.tolist(), strict=True))
        assert block[b, k, j] == expected.get(int(after[b, j]), 0.0)
        words, corrections = model.successors2(int(before[b, k]), int(middle[b, j]))
        expected = dict(zip(words.tolist(), corrections.tolist(), strict=True))
        for last in range(4):
            assert triples[b, k, j, last] == expected.get(int(after[b, last]), 0.0)
    flat = model.corrections3(before[:, 0], middle[:, 0], after[:, 0])
    assert (flat == triples[:, 0, 0, 0]).all()
    assert (model.corrections(before[0], after[0]) == block[0]).all()
    assert model.corrections3(before[0, 0], middle[0, 0], after[0, 0]) == flat[0]


def test_unknown_is_the_last_successor() -> None:
    words, _ = language_model_of(_zipf_sentences(300), _vocabulary()).successors(0)
    assert words[-1] == UNKNOWN
    assert (np.diff(words[:-1]) > 0).all()


def test_a_wide_table_finds_all_entries_and_nothing_else() -> None:
    generator = np.random.default_rng(2)
    rows, width, entries = 300, 100_000, 40_000
    codes = np.unique(generator.integers(0, rows * width, entries))
    starts = np.cumsum([0, *np.bincount(codes // width, minlength=rows)])
    values = generator.random(len(codes)).astype(np.float32)
    table = sparse_rows(starts, codes % width, values, width)
    assert (table.find(codes // width, codes % width) == np.arange(len(codes))).all()
    other = np.setdiff1d(generator.integers(0, rows * width, 200_000), codes)
    assert not table.values_at(other // width, other % width).any()


def test_frequent_words_have_a_high_prior_and_words_of_many_contexts_a_high_continuation() -> None:
    # 1 follows 0 only, though often; 2 follows many words.
    sentences = [[0, 1]] * 20 + [[other, 2] for other in range(3, 11)]
    model = language_model_of(sentences, _vocabulary())
    assert model.prior[1] > model.prior[2]
    assert model.continuation[1] < model.continuation[2]


def test_pruned_pairs_leave_their_mass_to_the_lower_level() -> None:
    sentences = _zipf_sentences(300)
    whole, pruned = (language_model_of(sentences, _vocabulary(), 3, p) for p in (0, 2))
    assert 0 < len(pruned.numbers.pairs) < len(whole.numbers.pairs)
    assert (pruned.prior == whole.prior).all()
    assert (pruned.continuation == whole.continuation).all()
    assert (pruned.backoff(range(WORDS)) >= whole.backoff(range(WORDS))).all()
    words, corrections = pruned.successors(0)
    expected = dict(zip(*map(list, whole.successors(0)), strict=True))
    assert [expected[word] for word in words] == list(corrections)


def test_a_digest_names_text_order_and_vocabulary() -> None:
    sentences = _zipf_sentences(20)
    models = [
        language_model_of(sentences, _vocabulary()),
        language_model_of(sentences, _vocabulary(), 3),
        language_model_of(sentences[1:], _vocabulary()),
        language_model_of(sentences, _vocabulary(WORDS + 1)),
    ]
    assert len({model.digest for model in models}) == len(models)
    assert models[0].digest == language_model_of(sentences, _vocabulary()).digest


@pytest.mark.parametrize(
    ("sentences", "order"),
    [
        ([], 2),
        ([[]], 2),
        ([[0]], 4),
        ([[0]], True),
        ([["a"]], 2),
        ([[0.5]], 2),
        ([[WORDS]], 2),
        ([[-2]], 2),
        ([0], 2),
    ],
)
def test_what_is_no_text_is_refused(sentences: list, order: int) -> None:
    with pytest.raises(ConfigurationError):
        language_model_of(sentences, _vocabulary(), order)


def test_a_model_is_not_pickled() -> None:
    with pytest.raises(TypeError, match="handle"):
        pickle.dumps(language_model_of([[0, 1]], _vocabulary()))


def test_discounts_of_small_texts_are_above_zero() -> None:
    for counts in ([1], [2], [1, 1, 2], [5, 5], [1, 2, 2, 2, 3, 4], list(defaultdict(int))):
        taken = discounts(np.array(counts, np.int64))
        assert taken[0] == 0
        assert (taken[1:] > 0).all()
        assert (taken[1:] <= [1, 2, 3]).all()


def test_perplexity_is_that_of_word_after_word() -> None:
    model = language_model_of(_zipf_sentences(100), _vocabulary(), 3)
    p = [
        model.probabilities(model.start)[1],
        _probabilities3(model, model.start, 1)[2],
        _probabilities3(model, 1, 2)[UNKNOWN],
    ]
    found = perplexity(model, count_sentences([[1, 2, UNKNOWN]], WORDS, 3))
    assert found == pytest.approx(np.exp(-np.log(p).mean()))
    assert perplexity(model, count_sentences([[]], WORDS, 3)) is None
