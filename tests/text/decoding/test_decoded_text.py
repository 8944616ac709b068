"""Sanitizing with a decoder: what is released, and what it does not depend on."""

from __future__ import annotations

import itertools
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError
from dxbeam.language.model import language_model_of
from dxbeam.mechanisms import MECHANISMS, ChoosesWords, DescribesNoise, Mechanism, make_mechanism
from dxbeam.mechanisms.gaussian import Gaussian
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.public.base_measure import ListedBase
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.mechanisms.santext import SanText
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import WINDOW, Decoder
from dxbeam.text.decoding.losses import most_probable
from dxbeam.text.decoding.pieces import OVERLAP
from dxbeam.text.decoding.reader import Reader
from dxbeam.text.epsilon_by_field import EpsilonByField
from dxbeam.text.sanitizer import Sanitizer
from tests.support import tiny
from tests.support.decoded import KEY, WORDS, language_model, texts, vocabulary

MECHANISM: Mechanism = Laplace(1.5)


def sanitizer(
    mechanism: Mechanism = MECHANISM, decoder: Decoder | None = None, **settings: Any
) -> Sanitizer:
    made = vocabulary()
    decoder = decoder or Decoder("context")
    configuration = Configuration(mechanism, decoder=decoder, **settings)
    return Sanitizer(made, configuration, KEY, language_model(made))


def released(sanitizer: Sanitizer, documents: list[Document]) -> list[str]:
    return [result.document.text for result in sanitizer.sanitize(documents)]  # type: ignore[union-attr]


def unchanged(sanitizer: Sanitizer) -> float:
    tallies = [result.tally for result in sanitizer.sanitize(texts(120))]  # type: ignore[union-attr]
    return sum(tally.original for tally in tallies) / sum(tally.tokens for tally in tallies)


DECODED = [
    name
    for name, made in MECHANISMS.items()
    if issubclass(made, (DescribesNoise, ChoosesWords)) and "published" not in name
]


def test_which_mechanisms_can_be_decoded() -> None:
    assert {"laplace", "mahalanobis", "gaussian", "coordinate_laplace", "trlaplace", "vickrey"} <= {
        *DECODED
    }
    assert {"santext", "tem"} <= {*DECODED}


@pytest.mark.parametrize("name", DECODED)
@pytest.mark.parametrize(
    ("kind", "loss"), itertools.product(["prior", "context"], ["word", "distance"])
)
def test_every_mechanism_is_decoded_alike_in_any_batch(name: str, kind: str, loss: str) -> None:
    made = sanitizer(make_mechanism(name, epsilon=2.0), Decoder(kind, loss))
    together = released(made, texts(12))
    assert together == [text for document in texts(12) for text in released(made, [document])]
    assert [len(text.split()) for text in together] == [len(d.text.split()) for d in texts(12)]


@pytest.mark.parametrize("mechanism", [Laplace(2.0), Laplace(400.0), Gaussian(3.0)])
def test_prior_releases_the_most_probable_of_all_candidates(mechanism: Mechanism) -> None:
    """Also where two words are one vector, and where all are far less likely than the unknown."""
    small = tiny.vocabulary(30, 6)
    twice = Vocabulary([f"w{i}" for i in range(60)], np.tile(small.vectors, (2, 1)))
    model = language_model_of([np.arange(60), np.full(3, -1)], twice)
    search, rng = NeighborSearch(twice), np.random.default_rng(3)
    reader = Reader(Decoder("prior"), mechanism, search, model)
    random = rng.integers(0, 2**64, (200, mechanism.draws(6)), dtype=np.uint64)
    ids, breaks = rng.integers(-1, 60, 200), np.zeros(200, np.int8)
    expected = most_probable(reader.posteriors(ids, random, breaks))
    assert (reader.release(ids, random, breaks) == expected).all()


def test_context_gives_more_words_back_than_nearest_does() -> None:
    nearest = Sanitizer(vocabulary(), Configuration(MECHANISM), KEY)
    assert unchanged(sanitizer()) > 1.5 * unchanged(nearest)


def test_every_engine_of_search_releases_the_same() -> None:
    made, decoder = vocabulary(), Configuration(MECHANISM, decoder=Decoder("context"))
    model = language_model(made)
    found = [
        released(Sanitizer(NeighborSearch(made, threads, name), decoder, KEY, model), texts())
        for name, threads in (("float32", 1), ("auto", 2))
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("mechanism", [Laplace(1.5), SanText(2.0)])
def test_threads_may_share_a_sanitizer(mechanism: Mechanism) -> None:
    interval = sys.getswitchinterval()
    made, documents = sanitizer(mechanism), texts(16)
    try:
        sys.setswitchinterval(1e-6)
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(lambda part: released(made, part), [documents, documents[::-1]]))
    finally:
        sys.setswitchinterval(interval)
    expected = released(sanitizer(mechanism), documents)
    assert found == [expected, expected[::-1]]


def test_sentences_are_read_apart() -> None:
    """Where a sentence ends is public, and what comes after it says nothing of what was before."""
    made = sanitizer()
    first = "w1 w2 w3 w4"
    keys = [(KEY, 0, 8)]
    ids = np.arange(1, 9)
    apart = np.array([0, 1, 1, 1, 0, 1, 1, 1], np.int8)
    changed = np.concatenate([ids[:4], (ids[4:] + 30) % WORDS])
    assert (made.release(keys, ids, apart)[:4] == made.release(keys, changed, apart)[:4]).all()
    assert len(first.split()) == 4


def test_a_long_document_is_read_in_windows_cut_by_word_counts() -> None:
    """Words further away than the overlap have no influence on what is released of a window."""
    made = sanitizer()
    words = [f"w{i % WORDS}" for i in range(2 * WINDOW + 40)]
    [one] = made.sanitize([Document("a", " ".join(words))])
    key = made.document_key(Document("a", " ".join(words)))
    ids = made.search.vocabulary.ids_of(words)
    first, end = WINDOW - OVERLAP, 2 * WINDOW + OVERLAP
    breaks = np.full(end - first, 1, np.int8)
    breaks[0] = 2
    middle = made.release([(key, first, end - first)], ids[first:end], breaks)
    expected = made.search.vocabulary.words_of(middle[OVERLAP : OVERLAP + WINDOW])
    assert one.document.text.split()[WINDOW : 2 * WINDOW] == expected  # type: ignore[union-attr]
    assert one.tally.tokens == len(words)  # type: ignore[union-attr]


@pytest.mark.parametrize("policy", ["mask", "drop", "keep"])
def test_words_outside_the_vocabulary_are_treated_as_the_policy_says(policy: str) -> None:
    made = sanitizer(unknown_words=policy, allow_unsound=True)
    [text] = released(made, [Document("a", "w1 stranger w2. w3")])
    pieces = text.replace(".", "").split()
    assert len(pieces) == (3 if policy == "drop" else 4)
    assert ("stranger" in text) == (policy == "keep")
    assert ("<unk>" in text) == (policy == "mask")


def test_the_unknown_word_is_never_released() -> None:
    made = sanitizer(Laplace(20.0))
    [text] = released(made, [Document("a", " ".join(["stranger"] * 50))])
    assert set(text.split()) <= set(made.search.vocabulary.words)


def test_a_bag_is_decoded_by_frequency() -> None:
    bag = BagOfWords(10, frozenset())
    made = sanitizer(decoder=Decoder("prior"), bag=bag)
    assert all(len(text.split()) == 10 for text in released(made, texts(5)))
    with pytest.raises(ConfigurationError, match="choose `decode` prior"):
        sanitizer(bag=bag)


def test_levels_are_decoded_each_with_its_epsilon() -> None:
    levels = EpsilonByField("consent", {"low": 1.0, "high": 6.0})
    made = sanitizer(Laplace(6.0), epsilon_by=levels)
    document = texts(3)[2]
    mixed = [document._replace(level="low"), document._replace(level="high", id="other")]
    low, high = released(made, mixed)
    assert [low] == released(sanitizer(Laplace(1.0)), [document])
    assert [high] == released(sanitizer(Laplace(6.0)), [document._replace(id="other")])


def test_rank_resampling_follows_the_decoder() -> None:
    plain, resampled = (
        released(sanitizer(resampling=resampling), texts())
        for resampling in (None, RankResampling(0.05))
    )
    assert plain != resampled


def test_one_key_draws_one_noise_for_every_decoder() -> None:
    """So a corpus that is read in two ways under one kept key is one release to the ledger."""
    made = vocabulary()
    plain = Configuration(MECHANISM)
    digests = {
        settings.digest(made.content_digest)
        for settings in (
            plain,
            *(
                Configuration(MECHANISM, decoder=Decoder(*each))
                for each in (("prior",), ("context", "distance"))
            ),
        )
    }
    assert len(digests) == 1


def test_what_does_not_go_together_is_refused() -> None:
    made = vocabulary()
    model = language_model(made)
    decoded = Configuration(MECHANISM, decoder=Decoder("context"))
    with pytest.raises(ConfigurationError, match="needs a `language_model`"):
        Sanitizer(made, decoded, KEY)
    with pytest.raises(ConfigurationError, match="of use with `decode`"):
        Sanitizer(made, MECHANISM, KEY, model)
    with pytest.raises(ConfigurationError, match="another vocabulary"):
        Sanitizer(tiny.vocabulary(WORDS, 5), decoded, KEY, model)
    named = Configuration(MECHANISM, decoder=Decoder("context", model="f" * 64))
    with pytest.raises(ConfigurationError, match="not the one that the decoder names"):
        Sanitizer(made, named, KEY, model)
    with pytest.raises(ConfigurationError, match="cannot be used with `mechanism` santext_plus"):
        Configuration(
            make_mechanism("santext_plus", epsilon=2.0),
            allow_unsound=True,
            decoder=Decoder("prior"),
        )
    with pytest.raises(ConfigurationError, match="`decode` must be one of prior, context"):
        Decoder("nearest")
    with pytest.raises(ConfigurationError, match="decoder is an object"):
        Configuration(MECHANISM, decoder="context")  # type: ignore[arg-type]


def test_the_guarantee_of_words_read_together_is_about_the_document() -> None:
    promise = Configuration(MECHANISM, decoder=Decoder("context")).guarantee()
    assert "Whoever sees one released document" in promise.sentence
    assert promise.epsilon == Configuration(MECHANISM).guarantee().epsilon
    assert any("language model must be public" in caveat for caveat in promise.caveats)
    assert any("public grid" in caveat for caveat in promise.caveats)
    alone = Configuration(MECHANISM, decoder=Decoder("prior")).guarantee()
    assert "Whoever sees one released word" in alone.sentence


def test_the_promise_of_a_decoded_document_does_not_hide_a_delta() -> None:
    made = make_mechanism("gaussian", epsilon=2.0, delta=1e-6)
    promise = Configuration(made, decoder=Decoder("context")).guarantee()
    [together] = [caveat for caveat in promise.caveats if "decoded together" in caveat]
    assert together.endswith("exp(epsilon * d(x, x')), up to a probability of 1e-06.")


def test_a_decoder_may_release_words_that_a_base_measure_never_draws() -> None:
    made, base = vocabulary(), ListedBase({"w0": 1.0, "w59": 1.0})
    settings = Configuration(SanText(40.0, base=base), decoder=Decoder("prior"))
    reader = Sanitizer(made, settings, KEY, language_model(made))
    released = {reader.sanitize_text(f"w{number}", number) for number in range(WORDS)}
    assert released - set(base.listed)
    assert not any("never released" in caveat for caveat in settings.guarantee().caveats)
