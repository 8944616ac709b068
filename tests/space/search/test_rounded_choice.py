"""The words of about the largest offset - rate * distance, by integers: against all words."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from dxbeam.space.search import rounded_choice
from dxbeam.space.search.backends.backend import Floats, Ids
from dxbeam.space.search.backends.rounded_vectors import RoundedVectors, round_vectors
from dxbeam.space.search.rounded_choice import RoundedChoice
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support import tiny

COUNT = 12
SIZES = pytest.mark.parametrize(("words", "dimensions"), [(6000, 40), (2500, 2), (30, 3)])
RATES = pytest.mark.parametrize(("rate", "power"), [(0.5, 1), (10.0, 1), (2.0, 2)])


def _offsets(words: int) -> Floats:
    """As logarithms of frequencies are: most of the large ones come first."""
    shuffled = np.random.default_rng(4).normal(0, 1, words)
    return np.asarray(-np.log(np.arange(words) + 1.5) + shuffled)


def _rounded(vocabulary: Vocabulary) -> RoundedVectors:
    return round_vectors(vocabulary.vectors, vocabulary.vectors.mean(axis=0, dtype=np.float64))


def _queries(vocabulary: Vocabulary, rate: float, power: int, rows: int = 60) -> Floats:
    """Words with noise of about the length that the rate and the power stand for."""
    generator, n = np.random.default_rng(1), vocabulary.dimensions
    deviation = np.sqrt(n) / rate if power == 1 else 1 / np.sqrt(2 * rate)
    noise = generator.normal(0, deviation, (rows, n))
    return np.asarray(vocabulary.vectors[np.arange(rows) % len(vocabulary)] + noise)


def _values(vocabulary: Vocabulary, query: Floats, rate: float, power: int) -> Floats:
    apart = np.sqrt(np.square(vocabulary.vectors.astype(np.float64) - query).sum(axis=1))
    return np.asarray(_offsets(len(vocabulary)) - rate * apart**power)


@SIZES
@RATES
def test_nearly_all_of_the_best_words_are_chosen(
    words: int, dimensions: int, rate: float, power: int
) -> None:
    vocabulary = tiny.vocabulary(words, dimensions)
    choice = RoundedChoice(_rounded(vocabulary), _offsets(words), rate, power=power)
    queries = _queries(vocabulary, rate, power)
    chosen = choice.best(queries, COUNT)
    missed, wrong = 0, []
    for row, query in enumerate(queries):
        values = _values(vocabulary, query, rate, power)
        best = np.argsort(-values)[: COUNT // 2]
        missed += len(set(best.tolist()) - set(chosen.words[row].tolist()))
        assert len(set(chosen.words[row].tolist())) == COUNT
        wrong.append(np.abs(chosen.values[row] - values[chosen.words[row]]))
    # In natural logarithms, as offsets are. Seven bits are coarse where two dimensions have 2,500
    # words: 1.7 at most of these cases, and 4 % of the words.
    assert np.median(wrong) < 2
    assert missed <= 0.05 * len(queries) * (COUNT // 2)


@SIZES
@RATES
def test_scores_are_those_of_the_integers(
    words: int, dimensions: int, rate: float, power: int
) -> None:
    """The chosen are the best of all, by the formula on top of the file, ties by the lowest id."""
    vocabulary, rounded = (
        tiny.vocabulary(words, dimensions),
        _rounded(tiny.vocabulary(words, dimensions)),
    )
    choice = RoundedChoice(rounded, _offsets(words), rate, power=power)
    queries = _queries(vocabulary, rate, power)
    every = choice.best(queries, words).words
    assert (np.sort(every, axis=1) == np.arange(words)).all()
    few = choice.best(queries, COUNT).words
    assert few.tobytes() == np.ascontiguousarray(every[:, -COUNT:]).tobytes()


def test_of_equal_words_the_lowest_ids_are_chosen() -> None:
    same = np.zeros((5000, 3), np.float32)
    same[:7] = np.random.default_rng(1).normal(5, 1, (7, 3))
    rounded = round_vectors(same, np.zeros(3))
    chosen = RoundedChoice(rounded, np.zeros(5000), 5.0).best(np.zeros((2, 3)), 4)
    assert chosen.words.tolist() == [[10, 9, 8, 7]] * 2  # the best last


def test_batches_threads_and_products_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = tiny.vocabulary(3000, 20)
    queries = np.random.default_rng(2).normal(0, 3, (1100, 20))

    def chosen(rows: slice, threads: int = 1) -> tuple[Ids, Floats]:
        choice = RoundedChoice(_rounded(vocabulary), _offsets(3000), 3.0, threads)
        return choice.best(queries[rows], COUNT)

    words, values = chosen(slice(None))
    for rows, threads in ((slice(None), 2), (slice(700, 707), 1)):
        again = chosen(rows, threads)
        assert again[0].tobytes() == words[rows].tobytes()
        assert again[1].tobytes() == values[rows].tobytes()
    monkeypatch.setattr(rounded_choice, "_exact_product", lambda _: rounded_choice.plain_product)
    plain = chosen(slice(None))
    assert (plain[0].tobytes(), plain[1].tobytes()) == (words.tobytes(), values.tobytes())


@pytest.mark.parametrize("rate", [1e-150, 1e-9, 1e9, 1e150])
@pytest.mark.parametrize("size", [1e-12, 1.0, 1e15])
def test_any_rate_and_any_length_of_words_gives_an_answer(rate: float, size: float) -> None:
    vectors = (tiny.vocabulary(3000, 4).vectors * size).astype(np.float32)
    queries = vectors[:20].astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        choice = RoundedChoice(round_vectors(vectors, np.zeros(4)), _offsets(3000), rate)
        chosen = choice.best(queries, COUNT)
    assert np.isfinite(chosen.values).all()
    assert all(len(set(row)) == COUNT for row in chosen.words.tolist())
    if rate * size < 1e-3:  # frequencies decide
        best = np.argsort(-_offsets(3000))[:COUNT]
        assert (np.sort(chosen.words) == np.sort(best)).all()
