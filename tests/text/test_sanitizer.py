"""The Sanitizer: what comes out, what stays, what is counted; batching has no influence."""

from __future__ import annotations

import copy
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError, CorpusError
from dxbeam.mechanisms.cluster_response import ClusterResponse
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.batch import MASK, Batch, Sanitized
from dxbeam.text.configuration import Configuration
from dxbeam.text.parts.batch_sizes import SIZES, BatchSizes
from dxbeam.text.parts.in_order import sanitize_in_order
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.text.tally import Tally, total
from dxbeam.text.tokenization import PUNCTUATION, WHITE_SPACE, split, words
from tests.support import tiny
from tests.support.vocabularies import random_vocabulary

TEXTS = [*tiny.texts(40), "w1 strange " * 3000, "", "...", " \n"]
DOCUMENTS = [Document(f"d{i}", text) for i, text in enumerate(TEXTS)]


def _sanitizer(unknown_words: str = "noise", epsilon: float = 3.0) -> Sanitizer:
    settings = Configuration(
        Laplace(epsilon), RankResampling(0.05), unknown_words, allow_unsound=True
    )
    return Sanitizer(tiny.vocabulary(), settings, tiny.KEY)


def _texts(
    maker: Sanitizer, documents: list[Document], sizes: BatchSizes = SIZES
) -> dict[str, str]:
    results = list(sanitize_in_order(maker, documents, sizes))
    assert all(result.document for result in results)
    return {result.document.id: result.document.text for result in results}  # type: ignore[union-attr]


@given(st.text())
def test_text_is_split_into_gaps_and_words_and_joined_again(text: str) -> None:
    gaps, found = split(text)
    assert "".join(map("".join, zip(gaps, [*found, ""], strict=True))) == text
    assert found == words(text)
    passed = set(PUNCTUATION + WHITE_SPACE)
    assert all(set(gap) <= passed for gap in gaps)
    assert all(word and not set(word) & passed for word in found)


def test_everything_but_the_closed_list_is_a_word() -> None:
    assert words("Don't, naïve 3.5% 東京 😀\x07x — end…") == [
        "Don", "t", "naïve", "3", "5", "東京", "😀\x07x", "end"
    ]  # fmt: skip


def test_white_space_and_punctuation_stay_and_words_are_of_the_vocabulary() -> None:
    vocabulary = set(tiny.vocabulary().words)
    for document, text in zip(DOCUMENTS, _texts(_sanitizer(), DOCUMENTS).values(), strict=True):
        gaps, released = split(text)
        assert gaps == split(document.text)[0]
        assert set(released) <= vocabulary


@pytest.mark.slow
def test_order_batches_and_slices_have_no_influence() -> None:
    expected = _texts(_sanitizer(), DOCUMENTS)
    shuffled = random.Random(1).sample(DOCUMENTS, len(DOCUMENTS))
    assert _texts(_sanitizer(), shuffled) == expected
    for document in DOCUMENTS:
        assert _texts(_sanitizer(), [document]) == {document.id: expected[document.id]}
    for size in (1, 7, 1000):
        assert _texts(_sanitizer(), DOCUMENTS[:40], BatchSizes(size)) == {
            document.id: expected[document.id] for document in DOCUMENTS[:40]
        }
    few_characters = BatchSizes(words=7, characters=1)
    assert _texts(_sanitizer(), DOCUMENTS[:40], few_characters)["d3"] == expected["d3"]


def test_documents_come_back_in_order_and_not_late() -> None:
    maker = _sanitizer()
    assert [r.document.id for r in maker.sanitize(DOCUMENTS) if r.document] == [
        document.id for document in DOCUMENTS
    ]
    batch = Batch(maker)
    batch.add(Document("small", "w1"))
    batch.add(Document("large", "w1 " * 5000))
    assert [result.document.id for result in batch.take()] == ["small"]
    assert [result.document.id for result in batch.finish()] == ["large"]


@pytest.mark.parametrize(
    ("rule", "released"),
    [("mask", f"x {MASK}, {MASK}!"), ("drop", "x , !"), ("keep", "x Strange, odd!")],
)
def test_rules_for_unknown_words(rule: str, released: str) -> None:
    [result] = _sanitizer(rule, 5000.0).sanitize([Document("a", "W1 Strange, odd!")])
    assert result.document
    assert result.document.text == released.replace("x", "w1")
    assert result.tally.unknown == 2
    assert result.tally.unchanged == (3 if rule == "keep" else 1)


def test_unknown_words_are_noised_around_one_public_vector() -> None:
    [first] = _sanitizer(epsilon=5000.0).sanitize([Document("a", "Strange odd 東京")])
    assert first.document
    assert len(set(first.document.text.split())) == 1, "all of them are the same word to it"


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(alphabet="w123 strang,.\n", max_size=60), max_size=8))
def test_tallies_add_up(texts: list[str]) -> None:
    results = _sanitizer().sanitize([Document(str(i), text) for i, text in enumerate(texts)])
    tally = total(result.tally for result in results if result.document)
    assert tally.documents == len(texts)
    assert tally.tokens == sum(len(words(text)) for text in texts)
    assert tally.original + tally.close + tally.distant + tally.unknown == tally.tokens


def test_a_tally_knows_its_proportions() -> None:
    one, other = Tally(1, 10, 4, 3, 2, 1, 4), Tally(2, 10, 0, 0, 10, 0, 0)
    assert one.merge(other) == other.merge(one) == total([one, other])
    shares = one.merge(other).as_dict()
    assert (shares["share_original"], shares["share_unknown"], shares["n_w"]) == (0.2, 0.05, 0.2)
    assert Tally().as_dict()["n_w"] is None


def test_what_cannot_be_written_again_is_rejected_without_its_text() -> None:
    documents = [Document("a", "w1"), Document("b", "secret\0"), Document("c", "secret\ud800")]
    results = list(_sanitizer().sanitize([*documents, Document("d", None)]))  # type: ignore[arg-type]
    assert isinstance(results[0], Sanitized)
    assert [result.rejected.where for result in results[1:] if result.rejected] == list("bcd")
    assert "secret" not in str(results[1:])


@pytest.mark.parametrize(
    ("document", "where", "reason"),
    [
        (Document(None, "w1"), "a document without an id", "neither a string nor an integer"),  # type: ignore[arg-type]
        (Document(True, "w1"), "a document without an id", "neither a string nor an integer"),  # type: ignore[arg-type]
        (Document(10**5000, "w1"), "a document without an id", "neither a string nor"),  # type: ignore[arg-type]
        (Document("a\ud800", "w1"), "a?", "the id holds characters that cannot be written"),
        (Document("a", 7), "a", "the text is not a string"),  # type: ignore[arg-type]
        (Document("a", "w1", "{"), "a", "fields are no JSON object"),
        (Document("a", "w1", "[1]"), "a", "fields are no JSON object"),
        (Document("a", "w1", {"x": 1}), "a", "fields are no JSON object"),  # type: ignore[arg-type]
        (Document("a", "w1", '{"text": "w1"}'), "a", "other fields than the id and the text"),
        (Document("a", "w1", '{"id": "b"}'), "a", "other fields than the id and the text"),
    ],
)
def test_a_document_that_a_program_got_wrong(document: Document, where: str, reason: str) -> None:
    before, rejected, after = _sanitizer().sanitize(
        [Document("before", "w1"), document, Document("after", "w2")]
    )
    assert before.document
    assert after.document
    assert (rejected.document, rejected.tally) == (None, Tally())
    assert rejected.rejected.where == where
    assert reason in rejected.rejected.reason


@pytest.mark.parametrize("given", [[("a", "w1")], [b"w1"], [None], ["w1", 7], [Path("w1")]])
def test_what_is_no_document_is_refused_in_a_sentence(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"given as Document.* or as a string, and"):
        list(_sanitizer().sanitize(given))


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("Evelyn", "of type str"),
        (b"Evelyn", "of type bytes"),
        (Document("a", "Evelyn"), "of type Document"),
        ({"a": "Evelyn"}, "of type dict"),
        (Path("Evelyn"), "of type .*Path"),
        (None, "None"),
        (7, "of type int"),
    ],
)
def test_what_holds_no_documents_is_refused_before_anything_is_sanitized(
    given: Any, kind: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"sanitize takes .* is {kind}; ") as refused:
        _sanitizer().sanitize(given)
    assert "Evelyn" not in str(refused.value)


def test_strings_share_no_noise_even_under_one_key() -> None:
    text = "w1 w2 w3 " * 30
    released = {
        result.document.text
        for _ in range(2)
        for result in _sanitizer().sanitize([text, text])
        if result.document
    }
    assert len(released) == 4


def test_strings_and_documents_come_out_in_order() -> None:
    results = list(_sanitizer(epsilon=300.0).sanitize(["w1", Document("a", "w2"), "\0", "w3"]))
    assert [r.document.text if r.document else None for r in results] == [
        "w1", "w2", None, "w3"
    ]  # fmt: skip
    assert len({r.document.id for r in results if r.document}) == 3


def test_one_text_is_sanitized_alone() -> None:
    text = "W1, strange w2! " * 30
    maker = _sanitizer()
    [result] = maker.sanitize([Document("a", text)])
    assert result.document
    assert maker.sanitize_text(text, "a") == maker.sanitize_text(text, "a") == result.document.text
    assert len({maker.sanitize_text(text) for _ in range(5)}) == 5, "two calls share noise"
    assert maker.sanitize_text("") == ""


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (b"Evelyn", "of type bytes; decode it"),
        (None, "None"),
        (["Evelyn"], "of type list"),
        (Path("Evelyn"), "of type .*Path"),
        (Document("a", "Evelyn"), "of type Document"),
    ],
)
def test_what_is_no_text_is_refused_in_a_sentence(given: Any, kind: str) -> None:
    with pytest.raises(ConfigurationError, match=f"takes one text.* is {kind}") as refused:
        _sanitizer().sanitize_text(given)
    assert "Evelyn" not in str(refused.value)


def test_an_id_of_another_type_is_refused_in_a_sentence() -> None:
    with pytest.raises(ConfigurationError, match=r"document_id is a string.* is of type float"):
        _sanitizer().sanitize_text("w1", 7.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [7, np.int64(7), "7"])
def test_an_integer_is_an_id_and_stands_for_its_digits(given: Any) -> None:
    maker, text = _sanitizer(), "w1 w2 w3 " * 30
    [result] = maker.sanitize([Document(given, text)])
    assert result.document
    assert result.document.id == "7"
    assert (
        result.document.text == maker.sanitize_text(text, "7") == maker.sanitize_text(text, given)
    )


@pytest.mark.parametrize("text", ["Evelyn\0", "Evelyn\ud800"])
def test_a_text_that_cannot_be_written_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(CorpusError, match="cannot be sanitized: the text holds") as refused:
        _sanitizer().sanitize_text(text)
    assert "Evelyn" not in str(refused.value)


def test_a_mechanism_alone_is_a_configuration_without_other_settings() -> None:
    maker = Sanitizer(tiny.vocabulary(), Laplace(3.0))
    assert maker.configuration == Configuration(Laplace(3.0))


def test_a_fixed_key_gives_these_words_for_ever() -> None:
    """Pins the stream: a release made with a kept key must stay repeatable."""
    settings = Configuration(Laplace(1.5), RankResampling(0.1))
    maker = Sanitizer(tiny.vocabulary(), settings, tiny.KEY)
    [result] = maker.sanitize([Document("golden", "w0 w1 w2 w3 w4 w5 unknown w7")])
    assert result.document
    assert result.document.text == "w135 w1 w96 w286 w231 w11 w293 w288"


@pytest.mark.parametrize("key", [b"", b"x", bytes(33), "x" * 32])
def test_what_is_no_key_is_refused_by_the_sanitizer_too(key: bytes) -> None:
    with pytest.raises(ConfigurationError, match="32 bytes"):
        Sanitizer(tiny.vocabulary(), Laplace(3.0), key)


def test_a_document_under_way_does_not_show_itself() -> None:
    batch = Batch(_sanitizer())
    batch.add(Document("a", "secret words"))
    assert "secret" not in repr(vars(batch)["_unfinished"])


def test_ten_and_ten_point_zero_are_one_configuration() -> None:
    """Else a kept key would spend its budget twice on one release."""
    document = Document("a", "w1 w2 w3 " * 30)
    one, other = (
        Sanitizer(tiny.vocabulary(), Configuration(Laplace(e), RankResampling(c)), tiny.KEY)
        for e, c in ((2, 1), (2.0, 1.0))
    )
    assert _texts(one, [document]) == _texts(other, [document])


def test_in_two_hundred_runs_no_two_keys_are_alike() -> None:
    document, search = Document("a", "w1 " * 50), NeighborSearch(tiny.vocabulary())
    texts = {_texts(Sanitizer(search, Laplace(1.0)), [document])["a"] for _ in range(200)}
    assert len(texts) == 200
    assert np.unique([len(text.split()) for text in texts]).tolist() == [50]


@pytest.mark.parametrize("rule", ["noise", "mask", "drop", "keep"])
@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.text(alphabet="xyzéß东😀", min_size=1, max_size=5) | st.sampled_from(["w1", "W2"]),
        max_size=20,
    )
)
def test_words_outside_the_vocabulary_are_released_only_where_asked(
    rule: str, content: list[str]
) -> None:
    [result] = _sanitizer(rule).sanitize([Document("a", ", ".join(content) + "\n")])
    assert result.document
    known = tiny.vocabulary()
    unknown = [word for word in content if known.id_of(word) < 0]
    shown = [word for word in words(result.document.text) if known.id_of(word) < 0]
    assert shown == {"mask": ["unk"] * len(unknown), "keep": unknown}.get(rule, [])
    assert result.tally.unknown == len(unknown)
    assert result.tally.tokens == len(content)
    assert result.tally.unchanged - result.tally.original == (len(unknown) if rule == "keep" else 0)


def test_each_outcome_is_counted_as_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Word 7 is released as itself, its 100th neighbour and its 101st; an unknown one as word 7."""
    maker = _sanitizer()
    released = [7, *maker.search.neighbor(np.array([7, 7]), np.array([100, 101])).tolist(), 7]
    monkeypatch.setattr(maker, "release", lambda keys, ids: np.array(released))
    [result] = maker.sanitize([Document("a", "w7 w7 w7 strange")])
    assert result.document
    assert result.tally == Tally(
        documents=1, tokens=4, original=1, close=1, distant=1, unknown=1, unchanged=1
    )


@pytest.mark.slow
def test_a_long_document_is_the_same_in_slices_of_any_size() -> None:
    """One longer than a search, with unknown words that take no noise between the others."""
    long = Document("long", "w1 strange, w2 " * 1000 + "…")
    for rule in ("noise", "mask", "drop", "keep"):
        [expected] = sanitize_in_order(_sanitizer(rule), [long], BatchSizes(1024))
        [sliced] = sanitize_in_order(_sanitizer(rule), [long], BatchSizes(7))
        assert sliced == expected


def test_rejected_and_empty_documents_keep_their_place() -> None:
    texts = ["w1", "\0", "", "w2", "\0", " . ", "w3"]
    results = list(_sanitizer().sanitize([Document(str(i), text) for i, text in enumerate(texts)]))
    places = [r.rejected.where if r.rejected else r.document.id for r in results]
    assert places == list("0123456")
    assert [i for i, r in enumerate(results) if r.rejected] == [1, 4]
    assert list(_sanitizer().sanitize([])) == []


def test_all_but_the_text_of_a_document_is_handed_on() -> None:
    document = Document("a", "w1 w2", '{"label": 1}', "group")
    [result] = _sanitizer().sanitize([document])
    assert result.document
    assert result.document._replace(text=document.text) == document


def test_the_secret_key_does_not_leave_a_sanitizer() -> None:
    maker = _sanitizer()
    with pytest.raises(TypeError, match="secret key"):
        pickle.dumps(maker)
    with pytest.raises(TypeError, match="secret key"):
        copy.deepcopy(maker)
    for shown in (repr(maker), str(maker)):
        assert tiny.KEY.hex() not in shown
        assert repr(tiny.KEY) not in shown


def test_noise_never_comes_back_in_a_long_text() -> None:
    """140,000 words, of each of which one random number makes one of 200 words, nearly uniformly.

    Were noise used again after any number of words but the last thousand, places that far apart
    would agree; by 139,000 correlations at eight standard deviations, a false alarm in 10^10.
    """
    vocabulary = random_vocabulary(200, 1)
    sanitizer = Sanitizer(vocabulary, ClusterResponse(0.001, 200), tiny.KEY)
    text, count = "w0 " * 140_000, 140_000
    released = vocabulary.ids_of(sanitizer.sanitize_text(text, "a").split()).astype(float)
    released = (released - released.mean()) / released.std()
    spectrum = np.fft.rfft(released, 2 * count)
    sums = np.fft.irfft(np.abs(spectrum) ** 2)[1 : count - 1000]
    assert np.abs(sums / np.sqrt(count - np.arange(1, len(sums) + 1))).max() < 8
