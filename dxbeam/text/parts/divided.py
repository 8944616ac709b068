"""A long document in parts that are sanitized by themselves, and put together to the same bytes.

The noise of a word depends on its document and its place there, and a decoder reads windows of a
document. So a part is a run of words, or of windows with the words around them, and knows where it
is.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from dxbeam.documents import Document
from dxbeam.text.batch import Batch, Sanitized
from dxbeam.text.decoding.reader import Window
from dxbeam.text.parts.draft import Draft, Read, ReleasesWords, windows_of, words_in_order
from dxbeam.text.tally import Tally

WORDS = 1 << 14
"""Words of a part."""

_BETWEEN = "\0"  # no text holds it


class Part(NamedTuple):
    """A run of words of a document, in plain values that travel from worker to worker.

    It holds raw words, as the document does, and the key of this document's noise.

    Attributes:
      key: of the document's noise.
      first: position of its first word among those of the document that are released.
      gaps: what is before each word, with null characters in between.
      ids: int64, of the words and of those around them that a decoder reads.
      windows: of the parts that are read together: first, start, stop and end of each.
      breaks: int8, where sentences start in each window.
      unprotected: how many words were masked, dropped or kept.
      detected: how many placeholders there are.
      end: what follows the last word.
    """

    key: bytes
    first: int
    gaps: str
    ids: bytes
    windows: list[tuple[int, int, int, int]]
    breaks: list[bytes]
    unprotected: int = 0
    detected: int = 0
    end: str = ""

    def __repr__(self) -> str:
        return f"Part(first={self.first})"  # never the words


def is_divisible(sanitizer: ReleasesWords) -> bool:
    """Whether documents can be divided: not where words are drawn for bags, or candidates shown."""
    return sanitizer.configuration.bag is None and not sanitizer.shows


def divide(sanitizer: ReleasesWords, document: Document, words: int = WORDS) -> Iterator[Part]:
    """The parts of a document, in order, one at least; ``document_problem`` is None for it."""
    draft = Draft(document, sanitizer.document_key(document))
    runs = words_in_order(sanitizer, draft)
    if sanitizer.reads_context or sanitizer.reads_released:
        last = yield from _of_windows(draft.key, windows_of(sanitizer, runs), words)
    else:
        last = yield from _of_words(draft.key, runs, words)
    yield last._replace(unprotected=draft.unprotected, detected=draft.detected, end=draft.end)


def _of_words(
    key: bytes, runs: Iterable[tuple[list[str], list[int]]], words: int
) -> Generator[Part, None, Part]:
    """Yields all parts but the last, which it returns."""
    first, gaps, ids = 0, list[str](), list[int]()
    for some_gaps, some_ids in runs:
        gaps += some_gaps[: len(some_ids)]
        ids += some_ids
        start = 0
        while len(ids) - start > words:
            stop = start + words
            yield _part(key, first + start, gaps[start:stop], ids[start:stop], [])
            start = stop
        first, gaps, ids = first + start, gaps[start:], ids[start:]
    return _part(key, first, gaps, ids, [])


def _of_windows(
    key: bytes, windows: Iterable[tuple[list[str], list[int], Read]], words: int
) -> Generator[Part, None, Part]:
    """The same in whole windows; words around a window are in the parts of both its sides."""
    first, gaps, ids, reads = 0, list[str](), list[int](), list[Read]()
    for some_gaps, some_ids, read in windows:
        if len(gaps) >= words:
            yield _part(key, first, gaps, ids, reads)
            first, gaps, ids, reads = read.window.start, [], [], []
        gaps += some_gaps
        ids += some_ids
        reads.append(read)
    return _part(key, first, gaps, ids, reads)


def _part(key: bytes, first: int, gaps: list[str], ids: list[int], reads: list[Read]) -> Part:
    return Part(
        key,
        first,
        _BETWEEN.join(gaps),
        np.array(ids, np.int64).tobytes(),
        [(window.first, window.start, window.stop, window.end) for window, _ in reads],
        [read.breaks.astype(np.int8).tobytes() for read in reads],
    )


def add(batch: Batch, part: Part) -> None:
    """Adds a part to a batch, which returns it as a document with the text of this part."""
    batch.add_part(part.key, part.first, _runs(part), part.unprotected, part.detected, part.end)


def _runs(part: Part) -> Iterator[tuple[list[str], list[int], Read | None]]:
    ids = np.frombuffer(part.ids, np.int64).tolist()
    gaps = part.gaps.split(_BETWEEN) if ids else []
    if not part.windows:
        yield gaps, ids, None
    for place, breaks in zip(part.windows, part.breaks, strict=True):
        window = Window(*place)
        words, read = window.stop - window.start, window.end - window.first
        yield gaps[:words], ids[:read], Read(window, np.frombuffer(breaks, np.int8))
        gaps, ids = gaps[words:], ids[read:]


def joined(
    sanitizer: ReleasesWords, document: Document, parts: Iterable[tuple[str, Tally]]
) -> Sanitized:
    """The document with the text of all its parts, text and counts in order, counted once."""
    texts, whole = list[str](), Tally()
    for text, tally in parts:
        texts.append(text)
        whole = whole.merge(tally)
    text = sanitizer.written("".join(texts))
    return Sanitized(document._replace(text=text), whole._replace(documents=1))
