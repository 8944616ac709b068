"""Words that are measured after decoding: released as by the Sanitizer, counted by texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dxbeam.analysis.attackers.context import share_right
from dxbeam.analysis.measure import grids, proportions
from dxbeam.analysis.measure.plan import grid_of
from dxbeam.analysis.measure.plausible_deniability import repeat
from dxbeam.analysis.measure.proportions import read_words, shares_of
from dxbeam.analysis.measure.public_parameters import Known, Reading
from dxbeam.analysis.measure.read_words import texts_of
from dxbeam.analysis.measure.settings import Setting, named_mechanisms
from dxbeam.analysis.measure.transform import tasks_of
from dxbeam.analysis.measure.word_sample import BY_FREQUENCY, WordSample
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.public.public_model import public_model
from dxbeam.mechanisms.santext import SanText
from dxbeam.randomness import draws_a_word, fill
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import Decoder
from dxbeam.text.decoding.reader import breaks_of
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.text.tokenization import split
from tests.support import decoded

WORDS = decoded.vocabulary()
MODEL = decoded.language_model(WORDS)
NAMED = Known("model", public_model(MODEL))
SEARCH = NeighborSearch(WORDS)
TEXTS = [document for document in decoded.texts() if document.text]


def _setting(text: str, *epsilons: float) -> Setting:
    [named] = named_mechanisms(text, language_model=NAMED)
    return Setting(*named, epsilons, ())


def _reading(setting: Setting) -> Reading:
    assert setting.reading is not None
    return setting.reading


def _sample() -> WordSample:
    """The texts, some of whose words are unknown."""
    ids: list[int] = []
    breaks: list[int] = []
    sizes = []
    for document in TEXTS:
        gaps, words = split(document.text)
        numbers = [number if number % 11 else UNKNOWN for number in WORDS.ids_of(words).tolist()]
        if set(numbers) != {UNKNOWN}:  # as a corpus is drawn
            ids += numbers
            breaks += breaks_of(gaps[: len(words)]).tolist()
            sizes.append(len(words))
    known = sum(number != UNKNOWN for number in ids)
    return WordSample(BY_FREQUENCY, ids, known, len(ids) - known, sizes, breaks)


def _measured(setting: Setting, sample: WordSample) -> proportions.Sums:
    ids = np.array(sample.ids)
    random = np.random.default_rng(1).integers(0, 2**64, (len(ids), 40), dtype=np.uint64)
    given = setting.make(), setting.epsilons, setting.rank_cs, ids, random, SEARCH, 1
    return proportions.measure(*given, setting.reading, texts_of(sample))


@pytest.mark.parametrize(
    "text",
    [
        "laplace:decode=context",
        "laplace:decode=prior",
        "santext:decode=context:decode_loss=distance",
    ],
)
def test_texts_with_sentences_are_released_as_by_the_sanitizer(text: str) -> None:
    setting = _setting(text, 2.0)
    mechanism, reading = setting.make(), _reading(setting)
    sanitizer = Sanitizer(SEARCH, Configuration(mechanism, decoder=reading.decoder), None, MODEL)
    for document in TEXTS[:20]:
        gaps, words = split(document.text)
        ids, breaks = WORDS.ids_of(words), breaks_of(gaps[: len(words)])
        draws = mechanism.draws(WORDS.dimensions)
        random = np.empty((len(ids), draws_a_word(draws)), np.uint64)
        fill(sanitizer.document_key(document), 0, random)
        texts = texts_of(WordSample(BY_FREQUENCY, ids.tolist(), 0, 0, [len(ids)], breaks.tolist()))
        found = read_words(mechanism, reading, [2.0], ids, random, SEARCH, 1, texts)[:, 0]
        [result] = sanitizer.sanitize([document])
        assert not hasattr(result, "reason")
        released: Any = result
        assert WORDS.words_of(found) == split(released.document.text)[1]


def test_more_words_come_out_as_themselves_once_decoded() -> None:
    """Of 532 words, about as frequent, and a fixed seed: nearest .65, prior .64, context .95."""
    sample = _sample()
    shares = [
        shares_of(_measured(_setting(text, 2.0), sample), [2.0], ())[0].original[0]
        for text in ("laplace", "laplace:decode=prior", "laplace:decode=context")
    ]
    assert shares[2] > shares[0] + 0.2
    assert shares[2] > shares[1] + 0.2


def test_batches_are_of_whole_texts() -> None:
    setting, sample = _setting("laplace:decode=context", 1.0), _sample()
    often = sample._replace(
        ids=sample.ids * 5, sizes=list(sample.sizes) * 5, breaks=list(sample.breaks) * 5
    )
    batches = list(tasks_of(0, setting, often))
    assert len(batches) > 1
    texts = [task.texts for task in batches if task.texts]
    assert [size for some in texts for size in some.sizes] == often.sizes
    assert [number for task in batches for number in task.ids] == often.ids
    assert np.concatenate([some.breaks for some in texts]).tolist() == often.breaks
    for task, some in zip(batches, texts, strict=True):
        assert sum(some.sizes) == len(task.ids) == len(some.breaks)


def test_shares_and_intervals_are_those_of_texts() -> None:
    """As ``share_right`` computes them, of all batches of a part together."""
    setting, sample = _setting("laplace:decode=context", 1.0, 2.0), _sample()
    sums = _measured(setting, sample)
    halves = [_measured(setting, half) for half in sample.halves()]
    assert halves[0].words + halves[1].words == sums.words == len(sample.known_ids)
    added = halves[0].plus(halves[1])
    assert added.of_texts is not None
    assert sums.of_texts is not None
    assert (added.of_texts.texts, added.of_texts.word_squares) == (
        len(sample.sizes),
        sums.of_texts.word_squares,
    )
    ids, random = np.array(sample.ids), np.random.default_rng(1)
    drawn = random.integers(0, 2**64, (len(ids), 40), dtype=np.uint64)
    reading, texts = _reading(setting), texts_of(sample)
    released = read_words(Laplace(1.0), reading, [1.0, 2.0], ids, drawn, SEARCH, 1, texts)
    ends = np.cumsum(sample.sizes)[:-1]
    for column, share in enumerate(shares_of(sums, [1.0, 2.0], ())):
        originals, guesses = np.split(ids, ends), np.split(released[:, column], ends)
        known = [text != UNKNOWN for text in originals]
        pairs = [
            [text[among] for text, among in zip(side, known, strict=True)]
            for side in (originals, guesses)
        ]
        assert share.original == pytest.approx(share_right(*pairs))


def test_santext_is_drawn_where_it_is_decoded_and_computed_where_it_is_not() -> None:
    plain, read = (
        _measured(_setting(text, 2.0), _sample()) for text in ("santext", "santext:decode=prior")
    )
    assert (plain.counted, read.counted) == (False, True)
    assert read.totals[0, 0, 0] == int(read.totals[0, 0, 0])
    assert plain.of_texts is not None


def test_repeated_words_are_decoded() -> None:
    decoder = Decoder("prior")
    ids, random = np.arange(4), np.random.default_rng(0)
    drawn = random.integers(0, 2**64, (4 * 50, 40), dtype=np.uint64)
    for mechanism in (Laplace(2.0), SanText(2.0)):
        given = mechanism, [0.5, 2.0], ids, 50, drawn, SEARCH, 1
        plain = repeat(*given)
        read = repeat(*given, Reading(NAMED.value, decoder))
        assert [word.distinct.tolist() for word in read] != [
            word.distinct.tolist() for word in plain
        ]


def test_a_grid_is_that_of_the_decoded_words() -> None:
    """All come out as themselves from a smaller epsilon on; of channels there are few points."""
    sample = _sample()
    plain, read = (
        grid_of((name, setting.parameters), sample, SEARCH)
        for name, setting in (
            ("laplace", _setting("laplace", 1.0)),
            ("laplace", _setting("laplace:decode=context", 1.0)),
        )
    )
    assert read[-1] < plain[-1]
    channel = _setting("santext:decode=context", 1.0)
    few = grid_of((channel.mechanism, channel.parameters), sample, SEARCH)
    assert len(few) <= 10 < len(plain) <= 2 * grids.POINTS
