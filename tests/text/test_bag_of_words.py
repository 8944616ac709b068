"""Bags of words: the theorem by exact enumeration, and what the sanitizer makes of documents.

The distributions are exact: five words on a line, Laplace noise in one dimension, the nearest word;
bags are summed over all draws and all outputs. Nothing here is sampled but where a test says so.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.cluster_response import ClusterResponse
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.randomness import document_key, sampling_key
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text import bag_of_words as module
from dxbeam.text import sanitizer as sanitizer_module
from dxbeam.text.bag_of_words import BagOfWords, read_stop_words
from dxbeam.text.batch import Sanitized
from dxbeam.text.configuration import Configuration
from dxbeam.text.parts.batch_sizes import SIZES, BatchSizes
from dxbeam.text.parts.in_order import sanitize_in_order
from dxbeam.text.public.function_words import ENGLISH
from dxbeam.text.sanitizer import Sanitizer
from tests.support import exact_bags as exact
from tests.support import tiny


def _pairs(longest: int, shortest: int = 0) -> Iterable[tuple[exact.Bag, exact.Bag]]:
    documents = [
        bag
        for length in range(shortest, longest + 1)
        for bag in itertools.combinations_with_replacement(range(5), length)
    ]
    return itertools.combinations(documents, 2)


@pytest.mark.parametrize(("n", "longest"), [(1, 4), (2, 3), (3, 3)])
def test_the_theorem_holds_for_every_pair_of_documents(n: int, longest: int) -> None:
    tightest = 0.0
    for x, y in _pairs(longest):
        loss = exact.loss(exact.without_replacement(x, n), exact.without_replacement(y, n))
        bound = exact.EPSILON * exact.distance(x, y, n)
        assert loss <= bound + 1e-9, (x, y)
        assert bound <= exact.EPSILON * n * exact.LARGEST + 1e-9
        tightest = max(tightest, loss / bound if bound else 0.0)
    assert tightest > 0.99, "and no smaller factor would do"


def test_longer_documents_too() -> None:
    generator = np.random.default_rng(0)
    for _ in range(300):
        x, y = (tuple(generator.integers(5, size=generator.integers(7))) for _ in range(2))
        loss = exact.loss(exact.without_replacement(x, 2), exact.without_replacement(y, 2))
        assert loss <= exact.EPSILON * exact.distance(x, y, 2) + 1e-9, (x, y)


def test_one_changed_word_costs_what_it_costs_without_a_bag() -> None:
    for rest in itertools.combinations_with_replacement(range(5), 3):
        for before, after in itertools.combinations(range(5), 2):
            x, y = (before, *rest), (after, *rest)
            bound = exact.EPSILON * abs(exact.PLACES[before] - exact.PLACES[after])
            assert (
                exact.loss(exact.without_replacement(x, 2), exact.without_replacement(y, 2))
                <= bound + 1e-9
            )


def test_one_word_more_costs_no_more_than_the_largest_distance() -> None:
    for x in itertools.combinations_with_replacement(range(5), 3):
        for word in range(5):
            for n in (1, 2, 3, 4):
                loss = exact.loss(
                    exact.without_replacement(x, n), exact.without_replacement((*x, word), n)
                )
                assert loss <= exact.EPSILON * exact.LARGEST + 1e-9


def test_documents_that_fit_the_bag_have_the_papers_theorem() -> None:
    for x, y in _pairs(3):
        movers = exact.movers(exact.filled(x, 3), exact.filled(y, 3))[0]
        assert exact.distance(x, y, 3) == pytest.approx(3 * movers)
        assert exact.loss(exact.without_replacement(x, 3), exact.without_replacement(y, 3)) <= (
            exact.EPSILON * 3 * movers + 1e-9
        )


@pytest.mark.parametrize("sampled", [exact.without_replacement, exact.with_replacement])
def test_the_papers_theorem_is_false_for_documents_that_are_sampled(
    sampled: Callable[[exact.Bag, int], exact.Distribution],
) -> None:
    x, y = (0, 0, 0, 0, 0, 4), (0, 0, 0, 0, 0, 0)
    claimed = exact.EPSILON * 2 * exact.movers(x, y)[0]
    assert exact.loss(sampled(x, 2), sampled(y, 2)) > 2 * claimed
    for a, b in _pairs(4, 4):
        # The document's length in place of the bag's.
        holds = exact.EPSILON * 4 * exact.movers(a, b)[0]
        assert (
            exact.loss(exact.without_replacement(a, 2), exact.without_replacement(b, 2))
            <= holds + 1e-9
        )


def test_draws_with_replacement_keep_two_other_bounds_and_cost_more_for_one_word() -> None:
    ratios = []
    for x, y in _pairs(3, 1):
        movers, worst = exact.movers(x, y)
        loss = exact.loss(exact.with_replacement(x, 2), exact.with_replacement(y, 2))
        slope = math.log1p(exact.EPSILON * math.exp(exact.EPSILON * exact.LARGEST) * movers)
        assert loss <= 2 * min(exact.EPSILON * worst, slope) + 1e-9
    for rest in itertools.combinations_with_replacement(range(5), 2):
        for before, after in itertools.combinations(range(5), 2):
            x, y = (before, *rest), (after, *rest)
            bound = exact.EPSILON * abs(exact.PLACES[before] - exact.PLACES[after])
            ratios.append(
                exact.loss(exact.with_replacement(x, 2), exact.with_replacement(y, 2)) / bound
            )
    assert max(ratios) > 1.8, "nearly twice, as the word may be drawn twice"


# What the sanitizer does ------------------------------------------------------------------------


def _released(
    documents: Iterable[Document], bag: BagOfWords, epsilon: float = exact.EPSILON, **options: str
) -> list[Sanitized]:
    settings = Configuration(Laplace(epsilon), bag=bag, **options)  # type: ignore[arg-type]
    made = Sanitizer(exact.line(), settings, tiny.KEY)
    results = list(made.sanitize(documents))
    assert all(result.document for result in results)
    return results  # type: ignore[return-value]


DISTRIBUTIONS: list[tuple[str, exact.Bag]] = [
    ("w0 w4, w4; w2 the W9", (0, 4, 4, 2, exact.PAD, exact.PAD)),
    ("w3", (3,)),
]


def _p_value(text: str, document: exact.Bag) -> float:
    """Chi-squared test of 20,000 released bags of two words against the exact distribution."""
    count = 20_000
    documents = [Document(str(number), text) for number in range(count)]
    released = (r.document.text for r in _released(documents, BagOfWords(2, frozenset())))
    return exact.p_value(released, exact.without_replacement(document, 2), count)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "document"), DISTRIBUTIONS)
def test_released_bags_follow_the_enumerated_law(text: str, document: exact.Bag) -> None:
    """False alarms: 1e-6 each; the documents' noise is fixed by the key, so never on a whim."""
    assert _p_value(text, document) > 1e-6


def _drawn_with_replacement(self: BagOfWords, key: bytes, ids: Iterable[int]) -> object:
    listed = np.array(list(ids))
    generator = np.random.default_rng(list(key))
    return generator.choice(listed, self.length), len(listed)


def _first_words(self: BagOfWords, key: bytes, ids: Iterable[int]) -> object:
    listed = [*ids, UNKNOWN, UNKNOWN]
    return np.array(listed[: self.length]), len(listed) - 2


def _filled_by_repeating(self: BagOfWords, key: bytes, ids: Iterable[int]) -> object:
    listed = list(ids)
    return np.resize(sorted(listed)[::-1], self.length), len(listed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "broken",
    [_drawn_with_replacement, _first_words, _filled_by_repeating],
    ids=lambda f: f.__name__,
)
def test_the_law_test_fails_on_broken_draws(
    broken: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BagOfWords, "draw", broken)
    assert min(_p_value(text, document) for text, document in DISTRIBUTIONS) < 1e-9


def test_every_document_has_the_same_number_of_sorted_words() -> None:
    texts = ["", "...", "w1", "w4 w3 w2 w1 w0", "the and of", "w1 " * 9000, "odd Unseen w0"]
    documents = [Document(str(i), text) for i, text in enumerate(texts)]
    results = _released(documents, BagOfWords(4))
    for result in results:
        released = result.document.text.split(" ")
        assert len(released) == 4
        assert released == sorted(released)
        assert set(released) <= set(exact.line().words)
        assert result.tally.tokens == 4


def test_words_their_order_case_of_stop_words_and_punctuation_do_not_show() -> None:
    """At a huge epsilon what is released is the bag itself."""
    texts = ["w4, The w0? and W0 w2!", "w0 w2 w4"]
    made = _released([Document(str(i), t) for i, t in enumerate(texts)], BagOfWords(3), 5000.0,
                     unknown_words="drop")  # fmt: skip
    assert [result.document.text for result in made] == ["w0 w2 w4"] * 2


def test_counts_tell_what_became_of_every_word() -> None:
    bag = BagOfWords(3)
    texts = {"w1 the w2 w3 and w4 w0": (0, 4), "w1 the unseen": (1, 1), "": (3, 0)}
    for text, (fillers, omitted) in texts.items():
        [result] = _released([Document("a", text)], bag)
        tally = result.tally
        assert (tally.fillers, tally.omitted) == (fillers, omitted)
        sorts = (tally.original, tally.close, tally.distant, tally.unknown, tally.fillers)
        assert sum(sorts) == tally.tokens == 3
        assert tally.tokens - tally.fillers + tally.omitted == len(text.split())
    [result] = _released([Document("a", "w1 unseen")], bag, unknown_words="drop")
    assert (result.tally.unknown, result.tally.omitted, result.tally.fillers) == (0, 1, 2)


def test_batches_and_pieces_have_no_influence() -> None:
    documents = [Document(str(i), text) for i, text in enumerate(tiny.texts(30))]
    documents.append(Document("long", "W1 w2 w3 strange " * 500))
    bag = BagOfWords(50)

    def texts(them: Iterable[Document], sizes: BatchSizes = SIZES) -> dict[str, str]:
        sanitizer = Sanitizer(tiny.vocabulary(), Configuration(Laplace(3.0), bag=bag), tiny.KEY)
        results = sanitize_in_order(sanitizer, them, sizes)
        return {r.document.id: r.document.text for r in results if r.document}

    expected = texts(documents)
    assert len(expected) == len(documents)
    assert texts(reversed(documents)) == expected
    for document in documents[:5]:
        assert texts([document]) == {document.id: expected[document.id]}
    assert texts(documents, BatchSizes(words=7, characters=100)) == expected
    drawn, number = bag.draw(tiny.KEY, range(5000))
    in_pieces, same_number = bag.draw(tiny.KEY, range(5000), at_once=11)
    assert in_pieces.tolist() == drawn.tolist()
    assert number == same_number


def test_the_draw_shares_no_random_number_with_the_noise() -> None:
    key = document_key(tiny.KEY, "configuration", "id", "text")
    assert sampling_key(key) != key
    assert len(sampling_key(key)) == len(key)
    assert sampling_key(sampling_key(key)) != key


def test_length_and_stop_words_are_part_of_the_digest_and_none_changes_nothing() -> None:
    bags = [None, BagOfWords(5), BagOfWords(6), BagOfWords(5, frozenset()),
            BagOfWords(5, frozenset(["a"]))]  # fmt: skip
    settings = [Configuration(Laplace(5.0), bag=bag) for bag in bags]
    assert len({made.digest("v") for made in settings}) == len(bags)
    assert "bag_of_words" not in settings[0].as_dict()
    # Pinned: a release without bags can be drawn again, until NOISE_RULE changes.
    assert settings[0].digest("v").startswith("ede4971d15d67000")


def test_the_guarantee_is_that_of_the_bag() -> None:
    made = Configuration(Laplace(5.0), bag=BagOfWords(7))
    guarantee = made.guarantee()
    assert guarantee.epsilon == 5
    assert guarantee.unit == "document"
    assert "sum of the 7 largest distances" in guarantee.sentence
    assert any("Word Mover's Distance" in caveat for caveat in guarantee.caveats)
    assert not any("unequal length" in caveat for caveat in guarantee.caveats)
    assert made.unprotected == ("document ids",)
    slack = BagOfWords(7).guarantee(
        Laplace(5.0).guarantee().__class__(**{**vars(Laplace(5.0).guarantee()), "delta": 1e-6})
    )
    assert slack.delta == pytest.approx(7e-6)


@pytest.mark.parametrize("length", [0, -1, 2.5, "7", True, None, 1 << 21])
def test_lengths_that_are_none_are_refused(length: object) -> None:
    with pytest.raises(ConfigurationError, match="bag_of_words"):
        BagOfWords(length)  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", ["mask", "keep"])
def test_no_word_passes_a_bag_by(rule: str) -> None:
    with pytest.raises(ConfigurationError, match="choose noise or drop"):
        Configuration(Laplace(5.0), unknown_words=rule, bag=BagOfWords(5))


def test_lists_of_stop_words(tmp_path: Path) -> None:
    path = tmp_path / "stop.txt"
    path.write_text("The\ndon't\n\n")
    assert read_stop_words(str(path)) == {"the", "don", "t"}
    assert read_stop_words("english") == ENGLISH
    assert read_stop_words("none") == frozenset()
    for content in (b"", b"...", b"\xff"):
        path.write_bytes(content)
        with pytest.raises(ConfigurationError, match="stop_words"):
            read_stop_words(str(path))
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_stop_words(str(tmp_path / "none"))


def test_a_bag_of_clusters_shows_how_many_words_there_are_and_says_so() -> None:
    """All fillers are of one cluster, and what is left to it is counted; others hide it."""
    places = np.array([0, 0.1, 0.2, 9, 9.1, 9.2, 9.3])[:, None].astype(np.float32)
    words = Vocabulary(list("abcdefg"), places, unknown_vector=np.array([0.0], np.float32))
    bag = BagOfWords(10, frozenset())
    for mechanism, shows in ((ClusterResponse(1.0, 3), True), (Laplace(0.1), False)):
        settings = Configuration(mechanism, bag=bag)
        seen = []
        for count in (0, 3, 7, 10):
            text = Sanitizer(words, settings, tiny.KEY).sanitize_text("e " * count, "a")
            seen.append(sum(word in "defg" for word in text.split()))
        assert (seen == [0, 3, 7, 10]) == shows
        said = " ".join(settings.guarantee().caveats)
        assert ("a document with fewer than 10 words, nearly, how many it has" in said) == shows


def test_a_bag_draws_from_the_whole_of_a_document() -> None:
    """Each of 1,000 distinct words as often as any other, wherever it stands: by place, in tenths.

    200 bags of 20 words; six standard deviations of a tenth's 400.
    """
    drawn = [BagOfWords(20).draw(number.to_bytes(32, "big"), iter(range(1000)))[0]
             for number in range(200)]  # fmt: skip
    tenths = np.bincount(np.concatenate(drawn) // 100, minlength=10)
    assert np.abs(tenths - 400).max() < 6 * 19
    words = Vocabulary([f"w{i}" for i in range(300)], np.eye(300, dtype=np.float32))
    settings = Configuration(ClusterResponse(60.0, 2), bag=BagOfWords(10, frozenset()))
    sanitizer, text = Sanitizer(words, settings, tiny.KEY), " ".join(words.words)
    released = " ".join(sanitizer.sanitize_text(text, str(number)) for number in range(60))
    tenths = np.bincount(words.ids_of(released.split()) // 30, minlength=10)
    assert np.abs(tenths - 60).max() < 6 * 7.4


def test_a_bag_is_drawn_by_other_numbers_than_its_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else which words are in it and what becomes of them would depend on each other."""
    keys: dict[str, set[bytes]] = {"draw": set(), "noise": set()}

    def watch(where: str, fill: Callable[..., None]) -> Callable[..., None]:
        def filled(key: bytes, first: int, out: np.ndarray) -> None:
            keys[where].add(key)
            fill(key, first, out)

        return filled

    monkeypatch.setattr(module, "fill", watch("draw", module.fill))
    monkeypatch.setattr(sanitizer_module, "fill", watch("noise", sanitizer_module.fill))
    sanitizer = Sanitizer(
        tiny.vocabulary(), Configuration(Laplace(5.0), bag=BagOfWords(3)), tiny.KEY
    )
    sanitizer.sanitize_text("w1 w2 w3 w4 w5", "a")
    assert len(keys["draw"]) == len(keys["noise"]) == 1
    assert not keys["draw"] & keys["noise"]


@pytest.mark.parametrize("length", [1, 20, 50])
def test_a_bags_delta_is_that_of_all_its_words(length: int) -> None:
    promise = Configuration(make_mechanism("trlaplace", epsilon=5.0, delta=0.01)).guarantee()
    whole = BagOfWords(length).guarantee(promise)
    assert whole.delta == pytest.approx(0.01 * length)
    assert f"up to a probability of {0.01 * length:g}" in whole.sentence
    assert not BagOfWords(100).guarantee(promise).sound, "a delta of 1 is no promise"
