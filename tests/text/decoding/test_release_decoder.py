"""Decoding texts of a finished release: what comes out, and what it depends on."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError, RunError
from dxbeam.mechanisms import Mechanism, make_mechanism
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.mechanisms.santext import SanText
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import Decoder
from dxbeam.text.decoding.release_decoder import ReleaseDecoder, taken_apart
from dxbeam.text.decoding.release_decoding import ReleaseDecoding, why_not_decoded_again
from dxbeam.text.epsilon_by_field import EpsilonByField
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.text.truecase import Truecase
from dxbeam.text.word_rule import WordRule
from tests.support.decoded import KEY, language_model, texts, vocabulary

DIGEST = "0" * 64
NAMED = Decoder("context").with_model(language_model(vocabulary()).digest)


def both(
    mechanism: Mechanism,
    decoder: Decoder,
    documents: Sequence[Document] | None = None,
    **settings: Any,
) -> tuple[list[Document], list[str], list[str]]:
    """A release, the same decoded, and what sanitizing with a decoder releases."""
    made, documents = vocabulary(), texts() if documents is None else documents
    model, search = language_model(made), NeighborSearch(made)
    plain = Configuration(mechanism, **settings)
    first = [
        result.document._replace(id=document.id)  # type: ignore[union-attr]
        for document, result in zip(
            documents, Sanitizer(search, plain, KEY).sanitize(documents), strict=True
        )
    ]
    named = decoder.with_model(model.digest)
    again = ReleaseDecoder(ReleaseDecoding(plain, named, None, DIGEST), search, model)
    joint = Sanitizer(search, dataclasses.replace(plain, decoder=decoder), KEY, model)
    at_once = [result.document.text for result in joint.sanitize(documents)]  # type: ignore[union-attr]
    return first, again.decode(first), at_once


@pytest.mark.parametrize("loss", ["word", "distance"])
@pytest.mark.parametrize("kind", ["prior", "context"])
@pytest.mark.parametrize(
    "name", ["santext", "tem", "custext", "cluster_response", "diffractor", "diffractor_tem"]
)
def test_drawn_words_are_read_later_as_they_are_read_at_once(
    name: str, kind: str, loss: str
) -> None:
    """The release of a mechanism that draws words holds all that its decoder reads."""
    _, later, at_once = both(make_mechanism(name, epsilon=2.0), Decoder(kind, loss))
    assert later == at_once


@pytest.mark.parametrize("policy", ["noise", "mask", "keep"])
def test_releases_of_the_second_rule_are_read_by_it(policy: str) -> None:
    """It divides at marks that the first rule takes for letters: the same words are found again."""
    settings: dict[str, Any] = {"words": WordRule(2), "allow_unsound": True}
    settings |= {"unknown_words": policy}
    documents = [
        document._replace(text=document.text.replace(", ", "، ").replace(" - ", "、"))
        for document in texts()
    ]
    documents.append(Document("more", "w1。w2、\u200fstranger w3؟ w4\u00adw5"))
    first, later, at_once = both(SanText(2.0), Decoder("context"), documents, **settings)
    assert later == at_once
    assert any("、" in document.text for document in first)
    assert later != [document.text for document in first]
    by_first = ReleaseDecoding(Configuration(SanText(2.0)), NAMED, None, DIGEST)
    made = vocabulary()
    other = ReleaseDecoder(by_first, NeighborSearch(made), language_model(made)).decode(first)
    assert other != later  # which reads two words as none


@pytest.mark.parametrize("policy", ["mask", "drop", "keep"])
def test_words_that_were_not_drawn_stay_as_they_are(policy: str) -> None:
    settings = {"unknown_words": policy, "allow_unsound": True}
    first, later, at_once = both(SanText(2.0), Decoder("context"), **settings)
    assert later == at_once
    assert first[0].text != later[0]
    kept = taken_apart("w1, <unk> stranger. w2", vocabulary(), masked=policy == "mask")
    assert kept.gaps == ["", ", <unk> stranger. ", ""]
    assert kept.ids.tolist() == [1, 2]


@pytest.mark.parametrize("c", [None, 0.3])
def test_noise_is_decoded_by_an_estimate_and_alike_in_any_batch(c: float | None) -> None:
    made = vocabulary()
    model, search = language_model(made), NeighborSearch(made)
    plain = Configuration(Laplace(1.5), RankResampling(c) if c else None)
    released = [
        result.document  # type: ignore[union-attr]
        for result in Sanitizer(search, plain, KEY).sanitize(texts())
    ]
    settings = ReleaseDecoding(plain, Decoder("context", model=model.digest), None, DIGEST)
    assert settings.as_dict()["channel"] == "approximate"
    decoder = ReleaseDecoder(settings, search, model)
    together = decoder.decode(released)
    assert together == [text for each in released for text in decoder.decode([each])]
    other = ReleaseDecoder(settings, NeighborSearch(made), model)
    assert together[::-1] == other.decode(released[::-1])

    def right(decoded: list[str]) -> int:
        pairs = zip(decoded, texts(), strict=True)
        each = [zip(a.split(), b.text.split(), strict=True) for a, b in pairs]
        return sum(a == b for words in each for a, b in words)

    assert right(together) > 1.3 * right([document.text for document in released])


def test_each_level_is_read_with_its_epsilon() -> None:
    made = vocabulary()
    model, search = language_model(made), NeighborSearch(made)
    levels = EpsilonByField("consent", (("low", 1.0), ("high", 3.0)))
    of_levels = Configuration(SanText(3.0), epsilon_by=levels)
    decoder = Decoder("context", model=model.digest)
    together = ReleaseDecoder(ReleaseDecoding(of_levels, decoder, None, DIGEST), search, model)
    documents = [d._replace(level="low" if n % 2 else "high") for n, d in enumerate(texts())]
    decoded = together.decode(documents)
    for level, epsilon in levels.epsilons:
        one = ReleaseDecoding(Configuration(SanText(epsilon)), decoder, None, DIGEST)
        apart = ReleaseDecoder(one, search, model).decode(documents)
        numbers = [n for n, document in enumerate(documents) if document.level == level]
        assert [decoded[n] for n in numbers] == [apart[n] for n in numbers]
    with pytest.raises(RunError, match="for which the release names no epsilon"):
        together.decode([Document("a", "w1 w2", "secret")])


def test_what_cannot_be_decoded_again_is_refused() -> None:
    decoder = Decoder("context", model=DIGEST)
    for settings, said in (
        ({"bag": BagOfWords(5)}, "bags of words"),
        ({"words": WordRule(2, "graphemes")}, "nobody can tell where one ends"),
        ({"decoder": decoder}, "decoded already"),
        ({"truecase": Truecase(DIGEST)}, "has capitals"),
    ):
        configuration = Configuration(Laplace(5.0), **settings)
        assert said in (why_not_decoded_again(configuration) or "")
        with pytest.raises(ConfigurationError, match=said):
            ReleaseDecoding(configuration, decoder, None, DIGEST)
    fluent = Configuration(make_mechanism("fluent", epsilon=5.0))
    assert "draws each word by those released before" in (why_not_decoded_again(fluent) or "")


def test_the_promise_stays_and_is_of_documents() -> None:
    configuration = Configuration(SanText(2.0))
    settings = ReleaseDecoding(configuration, Decoder("context", model=DIGEST), None, DIGEST)
    promised, before = settings.guarantee(), configuration.guarantee()
    assert (promised.epsilon, promised.delta, promised.metric) == (2.0, 0.0, before.metric)
    assert "Whoever sees one released document" in promised.sentence
    assert any("known probabilities" in each for each in promised.caveats)
    assert ReleaseDecoding.from_dict(settings.as_dict(), configuration) == settings
