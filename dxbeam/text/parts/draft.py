"""A document while its words are released: its words in order, and what is written of it so far."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from dxbeam.documents import Document
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.candidates import Candidate
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.pieces import CUT, FOLLOWS, OVERLAP, Breaks
from dxbeam.text.decoding.reader import Window, breaks_of, windows

MASK = "<unk>"


class ReleasesWords(Protocol):
    """What a batch needs of a ``Sanitizer``, whose methods say what they do."""

    configuration: Configuration
    search: NeighborSearch
    shows: int

    @property
    def reads_context(self) -> bool: ...  # noqa: D102
    @property
    def reads_released(self) -> bool: ...  # noqa: D102
    def document_key(self, document: Document) -> bytes: ...  # noqa: D102
    def written(self, text: str) -> str: ...  # noqa: D102
    def release(  # noqa: D102
        self,
        keys: Iterable[tuple[bytes, int, int]],
        ids: Ids,
        breaks: Breaks | None = None,
    ) -> Ids: ...
    def release_and_show(  # noqa: D102
        self,
        keys: Iterable[tuple[bytes, int, int]],
        ids: Ids,
        breaks: Breaks | None = None,
    ) -> tuple[Ids, list[list[Candidate]]]: ...


@dataclass(eq=False, repr=False, slots=True)
class Draft:
    """A document whose words are not all released yet: its key, its new text, its counts.

    It has no repr, as that would show the key and the text. ``bag`` are the words released so far,
    None where the configuration releases none; ``counts`` are released words by outcome: original,
    close, distant, unknown; ``fillers`` fill up a bag, and ``omitted`` words are in none;
    ``unprotected`` were masked, dropped or kept; ``end`` follows the last word.
    """

    document: Document
    key: bytes
    bag: list[str] | None = None
    text: io.StringIO = field(default_factory=io.StringIO)
    released: int = 0
    unprotected: int = 0
    counts: list[int] = field(default_factory=lambda: [0] * 4)
    fillers: int = 0
    omitted: int = 0
    detected: int = 0
    end: str = ""
    candidates: list[list[Candidate]] = field(default_factory=list)
    is_part: bool = False


class Read(NamedTuple):
    """A part of a document that is decoded together, and where sentences start in it."""

    window: Window
    breaks: Breaks


def words_in_order(sanitizer: ReleasesWords, draft: Draft) -> Iterator[tuple[list[str], list[int]]]:
    """Yields what is before the words that are to be released, and the words' ids."""
    vocabulary, rule = sanitizer.search.vocabulary, sanitizer.configuration.words
    policy = sanitizer.configuration.unknown_words
    passed = ""  # between two released words: masked and kept words, placeholders
    for gaps, words in _pieces(sanitizer, draft):
        ids = rule.ids_of(words, vocabulary).tolist()
        after = "".join(gaps[len(words) :])
        if policy == "noise":
            yield gaps, ids
            passed = after
            continue
        before = []
        for gap, word, number in zip(gaps, words, ids, strict=False):
            passed += gap
            if number == UNKNOWN:
                draft.unprotected += 1
                passed += {"mask": MASK, "drop": "", "keep": word}[policy]
            else:
                before.append(passed)
                passed = ""
        yield before, [number for number in ids if number != UNKNOWN]
        passed += after
    draft.end = passed


def _pieces(sanitizer: ReleasesWords, draft: Draft) -> Iterator[tuple[list[str], list[str]]]:
    """As ``WordRule.parts``, with placeholders in the gaps between words."""
    vocabulary, rule = sanitizer.search.vocabulary, sanitizer.configuration.words
    detector = sanitizer.configuration.detector
    if detector is None:
        yield from rule.parts(draft.document.text, vocabulary)
        return
    before = ""
    for text, placeholder in detector.divide(draft.document.text):
        for gaps, words in rule.parts(text, vocabulary):
            gaps[0] = before + gaps[0]
            before = "".join(gaps[len(words) :])
            yield gaps[: len(words)], words
        before += placeholder
        draft.detected += placeholder != ""
    yield [before], []


def windows_of(
    sanitizer: ReleasesWords, parts: Iterable[tuple[list[str], list[int]]]
) -> Iterator[tuple[list[str], list[int], Read]]:
    """Yields the windows of a document: the gaps of those that it releases, all ids it reads."""
    gaps, ids = [], []
    for some_gaps, some_ids in parts:
        gaps += some_gaps
        ids += some_ids
    breaks, reads_released = breaks_of(gaps), sanitizer.reads_released
    if reads_released:
        words_in = sanitizer.configuration.words.splitter.words
        breaks[[bool(words_in(gap)) for gap in gaps]] = CUT  # masked and kept words
    for window in windows(len(ids), 0 if reads_released else OVERLAP):
        read = breaks[window.first : window.end].copy()
        read[0] = CUT if read[0] == FOLLOWS else read[0]
        yield (
            gaps[window.start : window.stop],
            ids[window.first : window.end],
            Read(window, read),
        )
