"""Batched search against brute force in float64, ties and near ties included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.sampling.index_recall import measure_recall
from dxbeam.space.search.backends.approximate_index import build_index
from dxbeam.space.search.backends.float32_search import Float32Search
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support import tiny
from tests.support.vocabularies import grid_vocabulary, of

_ONE_PATH_A_TEST = [HealthCheck.function_scoped_fixture]


@pytest.fixture(autouse=True, params=["integers", "float32"])
def _path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test both ways: with the extra ``fast`` and without."""
    if request.param == "float32":
        monkeypatch.setenv("DXBEAM_SEARCH", "float32")


def _vocabulary(vectors: np.ndarray) -> Vocabulary:
    return Vocabulary([f"w{i}" for i in range(len(vectors))], vectors.astype(np.float32))


def _brute(vocabulary: Vocabulary, query: np.ndarray) -> np.ndarray:
    """Ids by (distance, id)."""
    difference = vocabulary.vectors.astype(np.float64) - query
    return np.argsort(np.sqrt(np.square(difference).sum(axis=1)), kind="stable")


@st.composite
def _vocabulary_and_queries(draw: st.DrawFn) -> tuple[Vocabulary, np.ndarray]:
    """Duplicates, near duplicates and wild scales, and queries near and far."""
    generator = np.random.default_rng(draw(st.integers(0, 10_000)))
    words, n = draw(st.integers(1, 60)), draw(st.integers(1, 20))
    vectors = generator.normal(size=(words, n))
    copies = generator.integers(0, words, words // 2)
    nearness = draw(st.sampled_from([0.0, 1e-7, 1e-4]))
    vectors[: len(copies)] = vectors[copies] + nearness * generator.normal(size=(len(copies), n))
    vectors *= draw(st.sampled_from([1e-3, 1.0, 1e3]))
    noise_scale = draw(st.sampled_from([0.0, 1.0, 1e4]))
    rows = generator.integers(0, words, 40)
    return _vocabulary(vectors), vectors[rows] + noise_scale * generator.normal(size=(40, n))


@settings(max_examples=100, deadline=None, suppress_health_check=_ONE_PATH_A_TEST)
@given(_vocabulary_and_queries())
def test_nearest_is_exact_with_ties_to_the_lower_id(case: tuple[Vocabulary, np.ndarray]) -> None:
    vocabulary, queries = case
    found = NeighborSearch(vocabulary).nearest(queries)
    assert found.tolist() == [_brute(vocabulary, query)[0] for query in queries]


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=_ONE_PATH_A_TEST)
@given(_vocabulary_and_queries(), st.integers(0, 10))
def test_every_rank_is_exact_with_and_without_a_table(
    case: tuple[Vocabulary, np.ndarray], depth: int
) -> None:
    vocabulary, _ = case
    search = NeighborSearch(vocabulary)
    words = len(vocabulary)
    table, radii = search.neighbor_table(np.arange(words), depth)
    tabled = NeighborSearch(
        Vocabulary(vocabulary.words, vocabulary.vectors, neighbor_ids=table, close_radius=radii)
    )
    ids = np.arange(words).repeat(words)
    ranks = np.tile(np.arange(words), words)
    expected = []
    for word in range(words):
        others = _brute(vocabulary, vocabulary.vectors[word].astype(np.float64))
        expected += [word, *(other for other in others if other != word)]
    assert search.neighbor(ids, ranks).tolist() == expected
    assert tabled.neighbor(ids, ranks).tolist() == expected
    assert np.array_equal(search.close_radius(np.arange(words)), radii)


@settings(max_examples=60, deadline=None, suppress_health_check=_ONE_PATH_A_TEST)
@given(_vocabulary_and_queries(), st.integers(0, 10), st.integers(0, 60))
def test_ranks_are_exact_as_deep_as_they_are_asked_for(
    case: tuple[Vocabulary, np.ndarray], tabled: int, depth: int
) -> None:
    vocabulary, _ = case
    words = len(vocabulary)
    everywhere = np.arange(words)
    search = NeighborSearch(vocabulary)
    table, _ = search.neighbor_table(everywhere, tabled)
    with_table = NeighborSearch(
        Vocabulary(vocabulary.words, vocabulary.vectors, neighbor_ids=table)
    )
    others = np.tile(everywhere[::-1], (words, 1))
    expected = np.empty((words, words), np.int64)
    for word in everywhere:
        order = _brute(vocabulary, vocabulary.vectors[word].astype(np.float64))
        expected[word, [word, *order[order != word]]] = everywhere
    expected = np.take_along_axis(expected, others, axis=1)
    depths = np.minimum(depth + everywhere % 3, words - 1)
    for asked in (search, with_table):
        found = asked.ranks(everywhere, others, depths)
        deeper = expected > depths[:, None]
        assert np.array_equal(found[~deeper], expected[~deeper])
        assert np.all((found == expected) | (found == words))


@pytest.mark.parametrize("place", ["all near", "all far", "anywhere"])
def test_a_table_is_exact_whichever_words_are_looked_at_first(place: str) -> None:
    """One score of 16 guesses how low the lowest are: too high, too low and about right."""
    words = 4000
    lengths = np.random.default_rng(0).permutation(words)
    first = {"all near": np.sort(lengths), "all far": np.sort(lengths)[::-1], "anywhere": lengths}
    positions = np.empty(words)
    positions[np.argsort(np.arange(words) % 16, kind="stable")] = first[place]
    vocabulary = of(np.stack([positions, positions % 7], axis=1))
    ids = np.arange(0, words, 400)
    table, radii = NeighborSearch(vocabulary).neighbor_table(ids, 120)
    for row, word in enumerate(ids):
        expected = _brute(vocabulary, vocabulary.vectors[word].astype(np.float64))[:121]
        assert table[row].tolist() == [other for other in expected if other != word]
        difference = vocabulary.vectors[expected[100]] - vocabulary.vectors[word]
        assert radii[row] == pytest.approx(np.linalg.norm(difference))


def test_a_word_is_searched_for_its_neighbours_once() -> None:
    """Without a table: what was found is remembered, however it was asked for."""
    vocabulary = tiny.vocabulary()
    bare = Vocabulary(vocabulary.words, vocabulary.vectors)
    search, asked = NeighborSearch(bare), np.array([5, 7, 5, 200])
    radii = search.close_radius(asked)
    search.neighbor_table = None  # type: ignore[assignment, method-assign]
    table, expected = NeighborSearch(bare).neighbor_table(asked, 101)
    assert np.array_equal(radii, expected)
    assert np.array_equal(search.nearest_neighbors(asked, 102)[:, 1:], table)
    assert np.array_equal(search.nearest_neighbors(asked, 11)[:, 1:], table[:, :10])


def test_vectors_whose_squares_float32_cannot_hold_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"at most 1e\+16"):
        Vocabulary(["a", "b"], np.float32([[1.0, 2.0], [3.0, 1.1e16]]))


def test_the_batch_has_no_influence() -> None:
    vocabulary = tiny.vocabulary()
    queries = vocabulary.vectors_of(np.arange(300)) + np.random.default_rng(0).normal(
        0, 5, (300, 8)
    )
    together = NeighborSearch(vocabulary).nearest(queries)
    search = NeighborSearch(vocabulary)
    alone = [int(search.nearest(query[None])[0]) for query in queries]
    assert together.tolist() == alone
    few = Float32Search(vocabulary.vectors, scores_at_once=1000)
    assert few.at_rank(queries, np.zeros(300, np.int64)).tolist() == alone


def test_close_is_within_the_first_hundred_neighbours() -> None:
    search = NeighborSearch(tiny.vocabulary())
    ids = np.full(300, 7)
    released = search.neighbor(ids, np.arange(300))
    assert np.flatnonzero(search.is_close(ids, released)).tolist() == list(range(101))


def test_an_approximate_index_answers_with_words_and_tells_its_recall() -> None:
    exact = tiny.vocabulary()
    index = build_index(exact, "IVF8,Flat")
    approximate = Vocabulary(exact.words, exact.vectors, index=index)
    queries = exact.vectors_of(np.arange(300)) + 3.0
    search = NeighborSearch(approximate)
    assert search.backend.name == "index"
    found = search.nearest(queries)
    assert ((found >= 0) & (found < 300)).all()
    recall = measure_recall(exact, index)
    assert all(0 < share <= 1 for share in recall.values())
    index.nprobe = 8  # looks everywhere
    assert set(measure_recall(exact, index).values()) == {1.0}


def test_parameters_of_an_index_decide_where_it_looks() -> None:
    exact = tiny.vocabulary()
    few, all_ = (build_index(exact, "IVF8,Flat", f"nprobe={lists}") for lists in (1, 8))
    assert measure_recall(exact, few)["5"] < 1
    assert set(measure_recall(exact, all_).values()) == {1.0}


def test_the_two_nearest_words_of_an_index_that_looks_everywhere_are_exact() -> None:
    exact = tiny.vocabulary()
    index = build_index(exact, "IVF8,Flat", "nprobe=8")
    queries = exact.vectors_of(np.arange(-1, 300)) + 0.5
    found = NeighborSearch(Vocabulary(exact.words, exact.vectors, index=index))
    for got, wanted in zip(
        found.nearest_two(queries), NeighborSearch(exact).nearest_two(queries), strict=True
    ):
        assert np.array_equal(got, wanted)


def test_an_index_that_finds_nothing_is_helped_out() -> None:
    class Empty:
        def search(self, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
            return np.full((len(queries), k), np.inf), np.full((len(queries), k), -1)

    exact = tiny.vocabulary()
    queries = exact.vectors_of(np.arange(20)) + 1.0
    helped = NeighborSearch(Vocabulary(exact.words, exact.vectors, index=Empty()))
    assert np.array_equal(helped.nearest(queries), NeighborSearch(exact).nearest(queries))
    two = helped.nearest_two(queries)[0]
    assert np.array_equal(two, NeighborSearch(exact).nearest_two(queries)[0])


@settings(max_examples=100, deadline=None, suppress_health_check=_ONE_PATH_A_TEST)
@given(_vocabulary_and_queries(), st.integers(1, 9), st.integers(1, 9))
def test_nearest_is_exact_whatever_the_tiles(
    case: tuple[Vocabulary, np.ndarray], queries_per_tile: int, words_per_tile: int
) -> None:
    """Small tiles, so that a small vocabulary has many borders and partial tiles."""
    vocabulary, queries = case
    search = Float32Search(vocabulary.vectors, tile=(queries_per_tile, words_per_tile))
    nearest, _ = search.nearest(queries, 1)
    assert nearest[:, 0].tolist() == [_brute(vocabulary, query)[0] for query in queries]


@pytest.mark.slow
@pytest.mark.parametrize("words", [1, 2, 3, 2047, 2048, 2049, 4097])
def test_nearest_is_exact_at_the_borders_of_real_tiles(words: int) -> None:
    vectors = np.random.default_rng(words).normal(size=(words, 4))
    vectors[words // 2 :] = vectors[: words - words // 2]  # the same words in the next tile
    vocabulary = of(vectors)
    queries = vectors + np.random.default_rng(0).normal(0, 0.1, vectors.shape)
    found = NeighborSearch(vocabulary).nearest(queries)
    at_borders = [row for row in range(words) if row % 2048 in (0, 1, 2046, 2047) or row % 7 == 0]
    expected = [_brute(vocabulary, query)[0] for query in queries[at_borders]]
    assert found[at_borders].tolist() == expected


@pytest.mark.parametrize("n", [1, 2, 3])
def test_exact_ties_go_to_the_lowest_id(n: int) -> None:
    """Between the points of a grid up to 2^n words are equally near."""
    vocabulary = grid_vocabulary(4, n)
    search = NeighborSearch(vocabulary)
    queries = grid_vocabulary(8, n).vectors.astype(np.float64) / 2 - 0.5
    assert search.nearest(queries).tolist() == [_brute(vocabulary, query)[0] for query in queries]
    table, _ = search.neighbor_table(np.arange(len(vocabulary)), len(vocabulary) - 1)
    for word, vector in enumerate(vocabulary.vectors.astype(np.float64)):
        ranked = [other for other in _brute(vocabulary, vector) if other != word]
        assert table[word].tolist() == ranked


@pytest.mark.parametrize("scale", [1e-37, 1e-22, 1e-15, 1e-9, 1e9, 1e15])
def test_the_unit_of_the_embedding_has_no_influence(scale: float) -> None:
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(200, 3)) * scale
    vocabulary = of(vectors)
    queries = vectors + generator.normal(size=(200, 3)) * scale
    search = NeighborSearch(vocabulary)
    assert search.nearest(queries).tolist() == [_brute(vocabulary, query)[0] for query in queries]
    ids, ranks = np.arange(200), generator.integers(1, 200, 200)
    expected = [
        _brute(vocabulary, vocabulary.vectors[word].astype(np.float64))[rank]
        for word, rank in zip(ids, ranks, strict=True)
    ]
    assert search.neighbor(ids, ranks).tolist() == expected


def test_no_queries_no_words() -> None:
    search = NeighborSearch(tiny.vocabulary())
    nothing = np.empty(0, np.int64)
    assert search.nearest(np.empty((0, 8))).tolist() == []
    assert search.neighbor(nothing, nothing).tolist() == []
    assert search.neighbor_table(nothing, 5)[0].shape == (0, 5)


def test_the_neighbour_rank_is_no_metric() -> None:
    """Figure 7 of arXiv 2411.13784: a guarantee in ranks would have no triangle inequality."""
    places = {"x1": (0, 0), "x2": (10, 0), "w": (5.2, 0), "further": (16, 0), "another": (10, 7)}
    search = NeighborSearch(of(list(places.values())))

    def rank(around: str, word: str) -> int:
        ids = [list(places).index(name) for name in (around, word)]
        [order] = search.nearest_neighbors(np.array(ids[:1]), len(places))
        return order.tolist().index(ids[1])

    assert rank("x1", "x2") == 2
    assert rank("x2", "x1") == 4  # not symmetric
    assert rank("x2", "w") == 1
    assert rank("w", "x1") == 2  # and 4 > 1 + 2
