"""Shares expected from a sample: their intervals, what is sampled, and what is said of it."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

from dxbeam.documents import Document
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.release import expected_shares
from dxbeam.release.expected_shares import MOST_WORDS
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import Decoder
from dxbeam.text.tally import Tally
from tests.support import tiny
from tests.support.decoded import language_model, vocabulary

SEARCH = NeighborSearch(tiny.vocabulary(5, 3))
PLAIN = Configuration(Laplace(5.0))


def _sample(texts: list[str], configuration: Configuration = PLAIN) -> Tally:
    documents = [Document(f"d{i}", text) for i, text in enumerate(texts)]
    return expected_shares.sanitized_sample(documents, SEARCH, configuration)


def _bags(length: int) -> Configuration:
    return Configuration(Laplace(5.0), bag=BagOfWords(length, frozenset()))


@pytest.mark.parametrize(("count", "whole"), [(0, 1), (1, 1), (0, 50), (7, 50), (1999, 2000)])
def test_intervals_are_those_of_wilson(count: int, whole: int) -> None:
    low, high = expected_shares.interval(count, whole)
    expected = binomtest(count, whole).proportion_ci(0.95, method="wilson")
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-6)
    assert 0 <= low <= count / whole <= high <= 1


def test_few_words_of_a_large_corpus_are_sanitized_and_all_of_a_small_one() -> None:
    assert _sample(["w1 w2"] * 30).tokens == 60
    assert _sample(["w1 " * 3000, "w2"] * 2).tokens == MOST_WORDS
    assert _sample(["w1 " * 3000] * 99, _bags(50)).tokens == MOST_WORDS
    assert _sample(["w1 " * 3000] * 2, _bags(10 * MOST_WORDS)).tokens == MOST_WORDS
    assert _sample(["w1", "w2"], _bags(50))[:2] == (2, 100)


def test_words_are_drawn_from_all_documents() -> None:
    """Half of the words are unknown, those of the first document: fewer than 700 or more than 1,300
    of 2,000 would be drawn once in 10^39 runs."""
    sample = _sample(["odd " * 5000, "w1 " * 5000])
    assert 700 < sample.unknown < 1300


@pytest.mark.parametrize("texts", [[], [""], ["", "!? ..."]])
@pytest.mark.parametrize("configuration", [PLAIN, _bags(3)], ids=["text", "bags"])
def test_where_no_word_is_no_share_is_said(texts: list[str], configuration: Configuration) -> None:
    sample = _sample(texts, configuration)
    assert sample.tokens == sample.fillers
    [said] = expected_shares.sentences(sample, configuration.bag is not None)
    assert said == "There is no word in a sample of the corpus, so no shares are expected."


@pytest.mark.parametrize("configuration", [PLAIN, _bags(3)], ids=["text", "bags"])
def test_where_all_words_are_unknown_nothing_is_said_of_those_of_the_vocabulary(
    configuration: Configuration,
) -> None:
    sample = _sample(["one two three"], configuration)
    said = expected_shares.sentences(sample, configuration.bag is not None)
    assert [line.split()[0] for line in said] == [
        "Expected,", "unchanged", "unknown", "In", "Shares", "Warning:"
    ]  # fmt: skip
    assert "0 of them in the vocabulary" in said[0]
    assert said[1].startswith("unchanged   0.0 % (0.0 % to 56.1 %) of all words")
    assert said[2].startswith("unknown     100.0 % (43.9 % to 100.0 %) of all words")


def test_words_that_fill_up_bags_are_no_words_of_the_corpus() -> None:
    tally = Tally(tokens=50, original=4, close=2, distant=2, unknown=2, unchanged=4, fillers=40)
    said = expected_shares.sentences(tally, bags=True)
    assert "10 words drawn for bags, 8 of them in the vocabulary" in said[0]
    shares = dict(
        zip(["unchanged", "original", "close", "distant", "unknown"], said[1:], strict=False)
    )
    assert [line.removeprefix(name).split(" (")[0].strip() for name, line in shares.items()] == [
        "40.0 %", "50.0 %", "25.0 %", "25.0 %", "20.0 %"
    ]  # fmt: skip


def test_words_that_are_kept_come_out_unchanged() -> None:
    keep = Configuration(Laplace(5.0), unknown_words="keep", allow_unsound=True)
    sample = _sample(["one two three"], keep)
    assert (sample.unchanged, sample.unknown) == (3, 3)


def test_a_decoder_is_shown_on_a_public_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of another key each time: 40 words come out alike twice once in 10^20 runs."""
    search = NeighborSearch(vocabulary())
    model = language_model(search.vocabulary)
    decoded = Configuration(Laplace(1.5), decoder=Decoder("context"))
    assert expected_shares.decoded_example(search, decoded, model) == ()  # of another language
    sentence = " ".join(f"w{number}" for number in range(1, 41))
    monkeypatch.setattr(expected_shares, "EXAMPLE", sentence)
    drawn, read = expected_shares.decoded_example(search, decoded, model)
    assert drawn.startswith('For example, "w1 w2')
    assert read.startswith("and by context: w")
    assert drawn != expected_shares.decoded_example(search, decoded, model)[0]
    assert expected_shares.decoded_example(search, Configuration(Laplace(1.5)), None) == ()
