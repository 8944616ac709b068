"""The law of ``fluent``, word by word and over whole sequences, and broken copies of it.

Chi-square tests have a false-alarm rate of 1e-6 each. Promised losses are enumerated.
"""

from __future__ import annotations

import dataclasses
import itertools
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dxbeam.errors import ConfigurationError
from dxbeam.language.model import LanguageModel, language_model_of
from dxbeam.language.uniform import uniform_model
from dxbeam.mechanisms.fluent import LARGEST_GAMMA, Fluent
from dxbeam.mechanisms.public.public_model import public_model
from dxbeam.mechanisms.sampling import kept_lists, stored_near
from dxbeam.mechanisms.sampling.fluent_choice import DRAWS, AllWords
from dxbeam.mechanisms.sampling.near_words import NearWords
from dxbeam.mechanisms.sampling.released_before import STARTS, in_steps, known_word, places_after
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from tests.support import tiny
from tests.support.distributions import ALPHA, Floats, Ids, chi_square_p, random_numbers
from tests.support.vocabularies import line_vocabulary

ROWS = 10_000


def model_for(words: Vocabulary, order: int, seed: int = 0) -> LanguageModel:
    """Of random sentences in which few words are frequent."""
    rng = np.random.default_rng(seed)
    frequent = rng.permutation(len(words))
    sentences = [
        np.append(frequent[rng.geometric(0.05, 12) % len(words)], UNKNOWN) for _ in range(300)
    ]
    return language_model_of(sentences, words, order)


def q_of(model: LanguageModel, first: int, second: int) -> Floats:
    """p(y | first, second) of every word: float64 [N]."""
    shares = model.probabilities(second)
    if model.order == 3:
        shares = shares * float(model.backoff2(first, second))
        words, corrections = model.successors2(first, second)
        shares[words] += corrections
    return shares[: model.words]


def law(
    words: Vocabulary, model: LanguageModel, original: int, prefix: tuple[int, int], made: Fluent
) -> Floats:
    """P(y | x, prefix), written another way than the mechanism's."""
    start = words.unknown_vector if original == UNKNOWN else words.vectors[original]
    apart = np.linalg.norm(words.vectors.astype(np.float64) - np.float64(start), axis=1)
    scores = np.log(q_of(model, *prefix)) - made.epsilon * np.minimum(apart, made.gamma) / 2
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


def named(prefix: tuple[int, int], model: LanguageModel) -> list[int]:
    """A prefix as ``places`` has it."""
    names = {model.start: STARTS, UNKNOWN: UNKNOWN}
    return [names.get(word, int(known_word(np.array([word]))[0])) for word in prefix]


def p_value(
    words: Vocabulary, model: LanguageModel, original: int, prefix: tuple[int, int], made: Fluent
) -> float:
    random = random_numbers(ROWS, made.draws(words.dimensions), seed=original + 7)
    places = np.tile(named(prefix, model), (ROWS, 1))
    drawn = made.release_in_order(
        np.full(ROWS, original), random, NeighborSearch(words), np.asarray(places)
    )
    counts = np.bincount(drawn, minlength=len(words))
    return chi_square_p(counts, law(words, model, original, prefix, made))


SLOW = pytest.mark.slow
SIZES = [(5, 2), (5, 3), (300, 3), pytest.param(3000, 3, marks=SLOW)]


@pytest.mark.parametrize(("size", "order"), SIZES)
def test_words_have_the_stated_law(size: int, order: int) -> None:
    words = line_vocabulary() if size == 5 else tiny.vocabulary(size)
    model = model_for(words, order)
    made = Fluent(2.0, gamma=3.0, model=model)
    known = int(np.argmax(model.prior[:-1]))
    for original in (0, UNKNOWN):
        for prefix in ((model.start, model.start), (known, known), (3, UNKNOWN)):
            assert p_value(words, model, original, prefix, made) > ALPHA / 6


def _half_forgotten(made: Fluent) -> Fluent:
    return Fluent(2 * made.epsilon, made.gamma, made.model)


class _GammaForgotten(NearWords):
    """Far words count as if they were at no distance at all."""

    def of(self, ids: Ids) -> Any:
        near = super().of(ids)
        return near._replace(far=np.ones_like(near.far))


def test_broken_weights_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    words = line_vocabulary()
    model = model_for(words, 2)
    made = Fluent(2.0, gamma=3.0, model=model)
    prefix = (model.start, model.start)
    true = law(words, model, 0, prefix, made)
    random = random_numbers(ROWS, made.draws(1), seed=3)

    def p_of(broken: Fluent) -> float:
        drawn = broken.release(np.zeros(ROWS, np.int64), random, NeighborSearch(words))
        return chi_square_p(np.bincount(drawn, minlength=5), true)

    assert p_of(made) > ALPHA
    assert p_of(_half_forgotten(made)) < ALPHA
    monkeypatch.setattr("dxbeam.mechanisms.fluent.NearWords", _GammaForgotten)
    assert p_of(Fluent(2.0, gamma=3.0, model=model)) < ALPHA


def sequence_law(
    words: Vocabulary,
    model: LanguageModel,
    originals: tuple[int, ...],
    made: Fluent,
    prefix_of: Callable[[tuple[int, ...], tuple[int, ...]], tuple[int, int]],
) -> dict[tuple[int, ...], float]:
    """The probability of every released sequence."""
    shares = {}
    for released in itertools.product(range(len(words)), repeat=len(originals)):
        share = 1.0
        for place, original in enumerate(originals):
            prefix = prefix_of(released[:place], originals)
            share *= law(words, model, original, prefix, made)[released[place]]
        shares[released] = share
    return shares


@pytest.mark.slow
def test_sequences_have_the_stated_law_and_never_exceed_the_promise() -> None:
    """All sequences of three words, each pair of documents; a raw prefix exceeds it."""
    words = line_vocabulary([0.0, 0.4, 1.5])
    model = model_for(words, 3)
    made = Fluent(1.5, gamma=1.0, model=model)
    start = model.start

    def of_released(released: tuple[int, ...], _: tuple[int, ...]) -> tuple[int, int]:
        first, second = (start, start, *released)[-2:]
        return first, second

    def of_raw(released: tuple[int, ...], originals: tuple[int, ...]) -> tuple[int, int]:
        first, second = (start, start, *originals[: len(released)])[-2:]
        return first, second

    def of_raw_ahead(released: tuple[int, ...], originals: tuple[int, ...]) -> tuple[int, int]:
        ahead = originals[len(released) + 1] if len(released) + 1 < len(originals) else start
        return start, ahead

    apart = np.minimum(np.abs(np.subtract.outer(words.vectors[:, 0], words.vectors[:, 0])), 1.0)
    documents = list(itertools.product(range(3), repeat=3))
    worst = {}
    for name, prefix_of in (("", of_released), ("raw", of_raw), ("ahead", of_raw_ahead)):
        laws = [sequence_law(words, model, each, made, prefix_of) for each in documents]
        worst[name] = max(
            np.log(one[z] / other[z])
            - made.epsilon * sum(apart[a, b] for a, b in zip(x, y, strict=True))
            for (x, one), (y, other) in itertools.permutations(zip(documents, laws, strict=True), 2)
            for z in one
        )
    assert worst[""] <= 1e-12
    assert worst["raw"] > 0.1
    assert worst["ahead"] > 0.1
    originals = (0, 2, 1)
    expected = sequence_law(words, model, originals, made, of_released)
    ids = np.tile(originals, ROWS)
    rows = np.arange(len(ids)).reshape(-1, 3)
    places = np.full((len(ids), 2), STARTS)
    places[rows[:, 1], 1] = rows[:, 0]
    places[rows[:, 2]] = rows[:, :2]
    random = random_numbers(len(ids), made.draws(1), seed=1)
    released = made.release_in_order(ids, random, NeighborSearch(words), places).reshape(-1, 3)
    counts = np.bincount(released @ np.array([9, 3, 1]), minlength=27)
    assert chi_square_p(counts, np.array(list(expected.values()))) > ALPHA
    broken = sequence_law(words, model, originals, made, of_raw)
    assert chi_square_p(counts, np.array(list(broken.values()))) < ALPHA


def test_rows_are_released_after_those_they_are_read_after() -> None:
    places = np.array([[STARTS, STARTS], [STARTS, 0], [0, 1], [STARTS, STARTS], [STARTS, 3]])
    steps = [rows.tolist() for rows in in_steps(places)]
    assert steps == [[0, 3], [1, 4], [2]]
    assert list(in_steps(places[:0])) == []


def test_a_sentence_is_read_from_its_start_and_unknown_words_are_not_read() -> None:
    breaks = np.array([STARTS, 0, 0, UNKNOWN, 0, STARTS, 0])
    assert places_after(breaks).tolist() == [
        [STARTS, STARTS],
        [STARTS, 0],
        [0, 1],
        [UNKNOWN, UNKNOWN],
        [UNKNOWN, 3],
        [STARTS, STARTS],
        [STARTS, 5],
    ]


def test_a_release_does_not_depend_on_how_it_is_divided() -> None:
    """Whole, or word by word with the released words named."""
    words = tiny.vocabulary(300)
    model = model_for(words, 3)
    made, search = Fluent(2.0, gamma=3.0, model=model), NeighborSearch(words)
    ids = np.random.default_rng(0).integers(UNKNOWN, 300, 40)
    random = random_numbers(40, made.draws(8), seed=2)
    places = np.column_stack([np.arange(40) - 2, np.arange(40) - 1])
    places[:2] = [[STARTS, STARTS], [STARTS, 0]]
    whole = made.release_in_order(ids, random, search, places)
    released: list[int] = []
    for row in range(40):
        prefix = named(([model.start] * 2 + released)[-2:], model)  # type: ignore[arg-type]
        [word] = made.release_in_order(
            ids[row : row + 1], random[row : row + 1], search, np.array([prefix])
        )
        released.append(int(word))
    assert released == whole.tolist()


def search_with_near(made: Fluent, words: Vocabulary, **sizes: int) -> tuple[Any, NearWords]:
    """A search of which the mechanism keeps near words in these sizes."""
    assert made.model
    search, model = NeighborSearch(words), made.model.opened(words)
    shares = np.asarray(model.continuation[: len(words)])
    near = NearWords(made.epsilon / 2, made.gamma, shares, search, **sizes)
    search.computed_once(("fluent", made), lambda _: (AllWords(model), near))
    return search, near


def test_words_that_are_not_kept_are_released_alike() -> None:
    words = tiny.vocabulary(300)
    model = model_for(words, 2)
    ids = np.random.default_rng(0).integers(UNKNOWN, 300, 200)
    random = random_numbers(200, Fluent(2.0).draws(8), seed=2)
    made = Fluent(2.0, gamma=3.0, model=model)
    expected = made.release(ids, random, NeighborSearch(words))
    search, near = search_with_near(made, words, most_kept=0)
    assert np.array_equal(made.release(ids, random, search), expected)
    assert near.kept == 0


def test_near_words_are_kept_within_their_bound() -> None:
    """Also by the batch that reaches it; words that did not fit are released alike."""
    words = tiny.vocabulary(300)
    ids = np.arange(UNKNOWN, 300)
    made = Fluent(2.0, gamma=1e6, model=model_for(words, 3))
    random = random_numbers(len(ids), made.draws(8), seed=2)
    expected = made.release(ids, random, NeighborSearch(words))
    search, near = search_with_near(made, words, most_kept=1_000, together=7 * len(words))
    near.keep(ids)
    assert near.kept == 900  # three words, of which each has all words near
    assert near.at_once(ids, 50) == 7
    assert near.at_once(ids[:3], 50) == 50
    assert np.array_equal(made.release(ids, random, search), expected)


def test_threads_that_share_a_search_release_what_each_would() -> None:
    words = tiny.vocabulary(300)
    made = Fluent(2.0, gamma=3.0, model=model_for(words, 3))
    breaks = np.where(np.arange(200) % 20 == 0, STARTS, 0)
    texts = [np.random.default_rng(seed).integers(UNKNOWN, 300, 200) for seed in range(16)]
    random = [random_numbers(200, made.draws(8), seed=seed) for seed in range(16)]

    def released(search: NeighborSearch) -> Callable[[int], list[int]]:
        return lambda text: made.release_in_order(
            texts[text], random[text], search, places_after(breaks)
        ).tolist()

    expected = [released(NeighborSearch(words))(text) for text in range(16)]
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(released(NeighborSearch(words)), range(16))) == expected


@pytest.mark.parametrize(
    ("module", "limit"), [(kept_lists, "_MOST"), (stored_near, "_FEW"), (stored_near, "_LONG")]
)
def test_lists_that_are_kept_or_sorted_together_change_nothing(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, limit: str
) -> None:
    words = tiny.vocabulary(300)
    made = Fluent(2.0, gamma=20.0, model=model_for(words, 3))
    ids = np.random.default_rng(0).integers(UNKNOWN, 300, 400)
    random = random_numbers(400, made.draws(8), seed=2)
    places = np.column_stack([np.arange(400) - 2, np.arange(400) - 1])
    places[np.arange(400) % 20 < 2] = STARTS
    places[1::20, 1] = np.arange(0, 400, 20)
    expected = made.release_in_order(ids, random, NeighborSearch(words), places)
    monkeypatch.setattr(module, limit, 0)
    search = NeighborSearch(words)
    for _ in range(2):
        assert np.array_equal(made.release_in_order(ids, random, search, places), expected)


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e4])
def test_any_epsilon_works(epsilon: float) -> None:
    """Weights neither overflow nor all vanish; without a near word all words are alike."""
    words = tiny.vocabulary(50)
    made = Fluent(epsilon, gamma=0.5, model=model_for(words, 2))
    ids = np.arange(UNKNOWN, 50)
    random = random_numbers(51, made.draws(8), seed=0)
    released = made.release(ids, random, NeighborSearch(words))
    assert ((released >= 0) & (released < 50)).all()
    if epsilon == 1e4:
        assert np.array_equal(released[1:], ids[1:])


@pytest.mark.parametrize("epsilon", [1e-3, 1e4])
def test_any_gamma_works_up_to_a_limit(epsilon: float) -> None:
    words, ids = tiny.vocabulary(50), np.arange(UNKNOWN, 50)
    random = random_numbers(51, Fluent(1.0).draws(8), seed=0)
    for gamma in (1e-9, 1e9, LARGEST_GAMMA):
        made = Fluent(epsilon, gamma, model_for(words, 2))
        released = made.release(ids, random, NeighborSearch(words))
        assert ((released >= 0) & (released < 50)).all()
        assert np.isfinite(made.guarantee().cap or np.inf)
    with pytest.raises(ConfigurationError, match="gamma must be at most"):
        Fluent(1.0, gamma=1e200)


def test_memory_does_not_grow_with_the_number_of_sentences_where_all_words_are_near() -> None:
    """Less than a byte for each near word of each row."""
    words, rows = tiny.vocabulary(1000), 4096
    made, search = Fluent(1.0, gamma=1e6, model=model_for(words, 2)), NeighborSearch(words)
    random = random_numbers(rows, made.draws(8), seed=0)
    made.release(np.arange(1000), random[:1000], search)
    tracemalloc.start()
    made.release(np.arange(rows) % 1000, random, search)
    assert tracemalloc.get_traced_memory()[1] < rows * 1000
    tracemalloc.stop()


def test_a_model_is_named_by_its_own_digest() -> None:
    """Noise is keyed by it, so two models under one digest would share their noise."""
    words = tiny.vocabulary(60)
    one, other = model_for(words, 2), model_for(words, 2, seed=1)
    with pytest.raises(ConfigurationError, match="digest of another model"):
        dataclasses.replace(public_model(one), source=other)  # type: ignore[type-var]


def test_a_prefix_all_but_reaches_the_worst_case() -> None:
    """So no constant below 1 holds for every prefix: the model is sure of a word after a word."""
    words = line_vocabulary([0.0, 0.4, 1.5])
    model = language_model_of([np.tile([0, 1], 5_000)], words)
    made = Fluent(1.5, gamma=6.0, model=model)
    share = 0.0
    for before in (0, 1, model.start):
        laws = [law(words, model, original, (model.start, before), made) for original in range(3)]
        for one, other in itertools.permutations(range(3), 2):
            apart = abs(float(words.vectors[one, 0] - words.vectors[other, 0]))
            loss = float(np.log(laws[one] / laws[other]).max())
            share = max(share, loss / (made.epsilon * apart))
    assert 0.999 < share <= 1 + 1e-12


def test_without_a_model_every_word_is_alike() -> None:
    words = line_vocabulary()
    assert p_value(words, uniform_model(words), 2, (1, 1), Fluent(2.0, gamma=3.0)) > ALPHA


def test_the_promise_has_a_ceiling() -> None:
    promise = Fluent(2.5, gamma=6.0).guarantee()
    assert promise.cap == 15.0
    assert "at most gamma = 6" in promise.sentence


def test_models_of_other_vocabularies_are_refused() -> None:
    made = Fluent(2.0, model=model_for(tiny.vocabulary(60), 2))
    random = random_numbers(1, made.draws(8), seed=0)
    with pytest.raises(ConfigurationError, match="another vocabulary"):
        made.release(np.zeros(1, np.int64), random, NeighborSearch(tiny.vocabulary(61)))
    with pytest.raises(ConfigurationError, match="language model"):
        Fluent(2.0, model="model")  # type: ignore[arg-type]


def test_models_that_subtract_are_refused() -> None:
    words = tiny.vocabulary(60)
    model = model_for(words, 2)
    pairs = dataclasses.replace(model.numbers.pairs, values=-model.numbers.pairs.values)
    below = dataclasses.replace(model, numbers=model.numbers._replace(pairs=pairs))
    made = Fluent(2.0, model=below)
    with pytest.raises(ConfigurationError, match="ARPA"):
        made.release(
            np.zeros(1, np.int64), random_numbers(1, made.draws(8), seed=0), NeighborSearch(words)
        )


def test_what_is_kept_does_not_grow_with_the_number_of_epsilons() -> None:
    """Near words take a few hundred MB for each; a document may have one of many epsilons."""
    search, random = NeighborSearch(line_vocabulary()), random_numbers(1, DRAWS, seed=1)
    kept = []
    for epsilon in range(1, 12):
        Fluent(float(epsilon)).release(np.zeros(1, np.int64), random, search)
        kept.append(search.computed_once("fluent", lambda _: None).cache_info().currsize)
    assert len(set(kept[5:])) == 1
    assert list(search._computed) == ["fluent"]
