"""What settings release that read with a language model: by the code that releases corpora.

A decoder reads what a mechanism draws, and ``fluent`` reads what it has released. With ``prior``
each word is read by itself; otherwise the words of a sentence are read together, so they are
measured in the places where they are in a text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.analysis.measure.every_epsilon import Ids
from dxbeam.analysis.measure.public_parameters import Reading
from dxbeam.analysis.measure.word_sample import WordSample
from dxbeam.language.model import LanguageModel
from dxbeam.mechanisms import Mechanism, ReadsReleased
from dxbeam.mechanisms.sampling.released_before import STARTS as STARTS_SENTENCE
from dxbeam.mechanisms.sampling.released_before import places_after
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.decoding.pieces import STARTS, Breaks
from dxbeam.text.decoding.reader import Reader

_BEFORE = np.array([STARTS_SENTENCE, 0, UNKNOWN])  # what places_after calls STARTS, FOLLOWS, CUT
_MOST_READERS = 64


class Texts(NamedTuple):
    """Which words are read together.

    Attributes:
      sizes: how many words each text has.
      breaks: int8 [T], what is before each word: STARTS, FOLLOWS or CUT.
    """

    sizes: Sequence[int]
    breaks: Breaks


def words_by_themselves(words: int) -> Texts:
    """Each word a text."""
    return Texts([1] * words, np.full(words, STARTS, np.int8))


def texts_of(sample: WordSample) -> Texts | None:
    """The texts of a sample; None where its words were drawn one by one."""
    return Texts(sample.sizes, np.array(sample.breaks, np.int8)) if sample.sizes else None


def model_of(reading: Reading, search: NeighborSearch) -> LanguageModel:
    """The language model that a setting reads with, opened once."""
    opened: LanguageModel = search.computed_once(
        ("language model", reading.model), reading.model.opened
    )
    return opened


def released_by_reading(
    mechanism: Mechanism,
    reading: Reading,
    ids: Ids,
    random: Random,
    breaks: Breaks,
    search: NeighborSearch,
    threads: int = 1,
) -> Ids:
    """A released word for each word: int64 [T].

    Args:
      mechanism: at one epsilon.
      reading: what it reads with.
      ids: int64 [T], words of texts one after the other; UNKNOWN is drawn for like any other.
      random: uint64 [T, draws].
      breaks: int8 [T], what is before each word.
      search: the vocabulary.
      threads: of a search for candidates.
    """
    if reading.decoder is None:
        assert isinstance(mechanism, ReadsReleased)
        places = places_after(_BEFORE[breaks])
        return mechanism.release_in_order(ids, random, search, places)
    return _reader(mechanism, reading, search, threads).release(ids, random, breaks)


def _reader(mechanism: Mechanism, reading: Reading, search: NeighborSearch, threads: int) -> Reader:
    """Kept for some settings, as preparing one may take longer than reading with it."""
    readers: dict[tuple[Mechanism, Reading, int], Reader] = search.computed_once(
        "readers of settings", lambda _: {}
    )
    wanted = mechanism, reading, threads
    if wanted not in readers:
        while len(readers) >= _MOST_READERS:
            readers.pop(next(iter(readers)), None)
        assert reading.decoder is not None
        model = model_of(reading, search)
        readers[wanted] = Reader(reading.decoder, mechanism, search, model, threads=threads)
    return readers[wanted]
