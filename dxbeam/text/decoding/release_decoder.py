"""Texts of a finished release -> decoded texts, without Beam. Nothing here has seen a raw word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.documents import Document
from dxbeam.errors import RunError
from dxbeam.language.model import LanguageModel
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import CONTEXT
from dxbeam.text.decoding.drawn_words import ReleasedWords
from dxbeam.text.decoding.pieces import CUT, FOLLOWS, OVERLAP, Breaks
from dxbeam.text.decoding.reader import Window, breaks_of, chosen, posterior_of, windows
from dxbeam.text.decoding.release_decoding import ReleaseDecoding
from dxbeam.text.decoding.released_channel import Learnt, learn, released_channel
from dxbeam.text.truecase import truecased
from dxbeam.text.word_rule import FIRST_RULE, WordRule

_MASKED = ("<", "unk", ">")
_WORDS_AT_ONCE = 4096


class _Text(NamedTuple):
    """A released text taken apart.

    Attributes:
      gaps: what is before each word, T of them, and behind the last.
      ids: int64 [T], words of the vocabulary.
    """

    gaps: list[str]
    ids: Ids


class _Part(NamedTuple):
    """A window of a text: where it is among all texts, and where sentences start in it."""

    text: int
    window: Window
    breaks: Breaks


class ReleaseDecoder:
    """Decodes the texts of one release.

    Args:
      settings: of the decoding.
      search: the vocabulary of the release.
      model: the public language model.
      learnt: by epsilon, what ``learnt_by_epsilon`` returned; by default it is learnt here.
    """

    def __init__(
        self,
        settings: ReleaseDecoding,
        search: NeighborSearch,
        model: LanguageModel,
        learnt: Mapping[float, Learnt] | None = None,
    ):
        self._settings, self._search, self._model = settings, search, model
        self._learnt = learnt_by_epsilon(settings, search, model) if learnt is None else learnt
        self._readers: dict[float, ReleasedWords] = {}

    def decode(self, documents: Sequence[Document]) -> list[str]:
        """The decoded texts of released documents; each depends on its own document only.

        Raises:
          RunError: a document has a level for which the release has no epsilon.
        """
        texts = [""] * len(documents)
        by_level: dict[float, list[int]] = {}
        for number, document in enumerate(documents):
            configuration = self._of_level(document.level)
            by_level.setdefault(configuration.mechanism.epsilon, []).append(number)
        for epsilon, numbers in by_level.items():
            apart = [self._taken_apart(documents[number].text) for number in numbers]
            words = self._decoded(self._reader(epsilon), apart)
            for number, text, ids in zip(numbers, apart, words, strict=True):
                texts[number] = self._written(text, ids)
        return texts

    def _of_level(self, level: str) -> Configuration:
        configuration = self._settings.configuration
        if configuration.epsilon_by is None:
            return configuration
        epsilon = configuration.epsilon_by.epsilon_of(level)
        if epsilon is None:
            raise RunError(
                f"a released document has a value of {configuration.epsilon_by.field!r} for which "
                "the release names no epsilon; restore the release from a copy"
            )
        return configuration.with_epsilon(epsilon)

    def _reader(self, epsilon: float) -> ReleasedWords:
        if epsilon not in self._readers:
            decoder, levels = self._settings.decoder, self._settings.configuration.every_level
            [level] = [each for each in levels if each.mechanism.epsilon == epsilon]
            channel = released_channel(
                level.mechanism,
                level.resampling,
                self._learnt[epsilon],
                self._search,
                self._model,
            )
            self._readers[epsilon] = ReleasedWords(
                channel, self._model.prior, decoder.candidates, decoder.width
            )
        return self._readers[epsilon]

    def _taken_apart(self, text: str) -> _Text:
        configuration = self._settings.configuration
        masked = configuration.unknown_words == "mask"
        return taken_apart(text, self._search.vocabulary, masked, configuration.words)

    def _decoded(self, reader: ReleasedWords, texts: Sequence[_Text]) -> list[Ids]:
        """The words of each text, int64 [T] each."""
        decoded = [np.empty(len(text.ids), np.int64) for text in texts]
        waiting: list[_Part] = []
        words = 0
        for number, text in enumerate(texts):
            breaks = breaks_of(text.gaps[:-1])
            overlap = OVERLAP if self._settings.decoder.kind == CONTEXT else 0
            for window in windows(len(text.ids), overlap):
                read = breaks[window.first : window.end].copy()
                read[0] = CUT if read[0] == FOLLOWS else read[0]
                waiting.append(_Part(number, window, read))
                words += len(read)
                if words >= _WORDS_AT_ONCE:
                    self._read(reader, texts, waiting, decoded)
                    waiting, words = [], 0
        self._read(reader, texts, waiting, decoded)
        return decoded

    def _read(
        self,
        reader: ReleasedWords,
        texts: Sequence[_Text],
        parts: Sequence[_Part],
        decoded: Sequence[Ids],
    ) -> None:
        if not parts:
            return
        ids = np.concatenate(
            [texts[part.text].ids[part.window.first : part.window.end] for part in parts]
        )
        unknown = self._settings.configuration.unknown_words == "noise"
        breaks = np.concatenate([part.breaks for part in parts])
        decoder = self._settings.decoder
        posterior = posterior_of(decoder, reader, ids, breaks, self._model, unknown)
        released = chosen(decoder, posterior, self._search.vocabulary)
        start = 0
        for number, (first, begin, stop, end), _ in parts:
            decoded[number][begin:stop] = released[start + begin - first : start + stop - first]
            start += end - first

    def _written(self, text: _Text, ids: Ids) -> str:
        words = self._search.vocabulary.words_of(ids)
        pieces = [part for pair in zip(text.gaps, words, strict=False) for part in pair]
        written = "".join([*pieces, text.gaps[-1]])
        casings = self._model.casings
        if self._settings.truecase is None or casings is None:
            return written
        return truecased(written, casings.forms)


def taken_apart(
    text: str, vocabulary: Vocabulary, masked: bool, rule: WordRule = FIRST_RULE
) -> _Text:
    """A released text as words of the vocabulary and what is between them.

    Words that are not in the vocabulary stay where they are: those that were masked or kept. A
    released word is in the vocabulary as it is, and one that was kept is not by the look-up of the
    rule either, so both are found again.
    """
    gaps, words = rule.splitter.split(text)
    numbers = rule.ids_of(words, vocabulary)
    before, ids, passed = [], [], ""
    for place, (gap, word, number) in enumerate(zip(gaps, words, numbers.tolist(), strict=False)):
        passed += gap
        mark = (gap[-1:], word, gaps[place + 1][:1]) == _MASKED
        if number == UNKNOWN or (masked and mark):
            passed += word
        else:
            before.append(passed)
            ids.append(number)
            passed = ""
    return _Text([*before, passed + gaps[-1]], np.array(ids, np.int64))


def learnt_by_epsilon(
    settings: ReleaseDecoding, search: NeighborSearch, model: LanguageModel
) -> dict[float, Learnt]:
    """What takes long to know of each level's mechanism, by its epsilon."""
    every = [each.mechanism for each in settings.configuration.every_level]
    return {mechanism.epsilon: learn(mechanism, search, model) for mechanism in every}
