"""Documents -> words, a search at a time -> documents again.

The words of many documents, or of a part of a long one, are collected until there are enough for
one efficient search. Which words share a search has no influence on what is released.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import add
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.documents import Document, Rejected
from dxbeam.space.search.neighbors import Ids, is_known
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.candidates import Candidate, written
from dxbeam.text.decoding.pieces import Breaks
from dxbeam.text.parts.batch_sizes import SIZES, BatchSizes
from dxbeam.text.parts.draft import Draft, Read, ReleasesWords, windows_of, words_in_order
from dxbeam.text.tally import Tally

MASK = "<unk>"

_ORIGINAL, _CLOSE, _DISTANT, _UNKNOWN = range(4)


class Sanitized(NamedTuple):
    """What became of a document: one that may be released, or the reason why there is none.

    Attributes:
      document: with the released text; None where the document could not be used.
      tally: counts of what happened to its words; all 0 where it could not be used.
      candidates: of each word in its order, where the sanitizer shows them; see candidates.py.
      rejected: which document could not be used, and why; None where there is a released one.
    """

    document: Document | None
    tally: Tally
    candidates: str = ""
    rejected: Rejected | None = None


def rejected(where: str, reason: str) -> Sanitized:
    """What became of a document that cannot be used."""
    return Sanitized(None, Tally(), rejected=Rejected(where, reason))


class Batch:
    """Collects documents until they hold enough words for a search, and returns them in order.

    Memory is bounded by the longest document and the size of a search, never by the corpus.
    """

    def __init__(self, sanitizer: ReleasesWords, sizes: BatchSizes = SIZES):
        self._sanitizer, self._sizes = sanitizer, sizes
        self._unfinished: list[Draft] = []  # in order; the last may wait for more words
        self._done: list[Sanitized] = []
        self._characters = 0
        self._clear_words()

    def _clear_words(self) -> None:
        self._gaps: list[str] = []
        self._ids: list[int] = []
        self._runs: list[tuple[Draft, int]] = []  # document, number of its words
        self._reads: list[Read] = []  # where words are decoded together
        self._shown: list[list[Candidate]] = []  # of the words that are being released

    def is_of(self, sanitizer: ReleasesWords) -> bool:
        """Whether these documents are sanitized by this sanitizer."""
        return self._sanitizer is sanitizer

    def add(self, document: Document) -> bytes:
        """Adds a document that ``document_problem`` has nothing against; the document's key."""
        bag = self._sanitizer.configuration.bag
        draft = Draft(document, self._sanitizer.document_key(document), [] if bag else None)
        self._unfinished.append(draft)
        self._characters += len(document.text)
        parts = self._drawn(draft, bag) if bag else words_in_order(self._sanitizer, draft)
        if self._sanitizer.reads_context or self._sanitizer.reads_released:
            self._collect_windows(draft, parts)
        else:
            for gaps, ids in parts:
                self._collect(draft, gaps, ids)
        if not self._ids:
            self._complete(self._unfinished)
        elif self._characters >= self._sizes.characters:
            self._finish()
        return draft.key

    def add_part(
        self,
        key: bytes,
        first: int,
        parts: Iterable[tuple[list[str], list[int], Read | None]],
        unprotected: int,
        detected: int,
        end: str,
    ) -> None:
        """Adds a part of a document, which comes back as a document that is not yet ``written``.

        ``key`` is that of the whole document, ``first`` the position of its first word there;
        ``parts`` are what is before the words, their ids, and how they are read together. ``end``
        follows the last word, and ``unprotected`` and ``detected`` count words and placeholders.
        """
        draft = Draft(
            Document("", ""),
            key,
            released=first,
            unprotected=unprotected,
            detected=detected,
            end=end,
            is_part=True,
        )
        self._unfinished.append(draft)
        for gaps, ids, read in parts:
            if read is None:
                self._collect(draft, gaps, ids)
            else:
                self._collect_window(draft, gaps, ids, read)
        if not self._ids:
            self._complete(self._unfinished)

    def _collect(self, draft: Draft, gaps: list[str], ids: list[int]) -> None:
        """Takes words of the last document, and releases whenever there are enough for a search."""
        start = 0
        while start < len(ids):
            stop = min(len(ids), start + self._sizes.words - len(self._ids))
            self._gaps += gaps[start:stop]
            self._ids += ids[start:stop]
            waiting = stop - start
            if self._runs and self._runs[-1][0] is draft:
                waiting += self._runs.pop()[1]
            self._runs.append((draft, waiting))
            if len(self._ids) == self._sizes.words:
                self._release()
                self._complete(self._unfinished[:-1])
            start = stop

    def _collect_windows(self, draft: Draft, parts: Iterator[tuple[list[str], list[int]]]) -> None:
        """Takes all words of the last document, a window of it at a time."""
        for gaps, ids, read in windows_of(self._sanitizer, parts):
            self._collect_window(draft, gaps, ids, read)

    def _collect_window(self, draft: Draft, gaps: list[str], ids: list[int], read: Read) -> None:
        """Takes a window of the last document, and releases whenever there are enough words."""
        self._gaps += gaps
        self._ids += ids
        self._runs.append((draft, len(gaps)))
        self._reads.append(read)
        sizes = self._sizes
        if len(self._ids) >= (
            sizes.words_read_on if self._sanitizer.reads_released else sizes.words
        ):
            self._release()
            self._complete(self._unfinished[:-1])

    def _drawn(self, draft: Draft, bag: BagOfWords) -> Iterator[tuple[list[str], list[int]]]:
        """Yields the same for the words drawn for a bag; nothing is before any of them."""
        vocabulary, rule = self._sanitizer.search.vocabulary, self._sanitizer.configuration.words
        drop = self._sanitizer.configuration.unknown_words == "drop"
        total = 0

        def candidates() -> Iterator[int]:
            nonlocal total
            for _, words in rule.parts(draft.document.text, vocabulary):
                total += len(words)
                ids = rule.ids_of(words, vocabulary).tolist()
                for word, number in zip(words, ids, strict=True):
                    if word.lower() not in bag.stop_words and not (drop and number == UNKNOWN):
                        yield number

        ids, candidates_seen = bag.draw(draft.key, candidates())
        draft.fillers = bag.fillers(candidates_seen)
        draft.omitted = total - min(candidates_seen, bag.length)
        yield [""] * len(ids), ids.tolist()

    def take(self) -> list[Sanitized]:
        """The documents that are ready, in the order in which they were added."""
        done, self._done = self._done, []
        return done

    def finish(self) -> list[Sanitized]:
        """All documents that were added and not yet taken."""
        self._finish()
        return self.take()

    def _finish(self) -> None:
        self._release()
        self._complete(self._unfinished)

    def _release(self) -> None:
        """Releases all collected words and writes them to their documents."""
        if not self._ids:
            return
        ids = np.array(self._ids, np.int64)
        if self._reads:
            ids, released = self._released_of_windows(ids)
        else:
            keys = [(draft.key, draft.released, count) for draft, count in self._runs]
            released = self._drawn_of(keys, ids, None, np.ones(len(ids), bool))
        words = self._sanitizer.search.vocabulary.words_of(released)
        texts = list(map(add, self._gaps, words))
        lengths = [count for _, count in self._runs]
        runs = np.repeat(np.arange(len(lengths)), lengths)
        counts = np.bincount(4 * runs + self._outcomes(ids, released), minlength=4 * len(lengths))
        start = 0
        by_run = counts.reshape(-1, 4).tolist()
        for (draft, count), outcomes in zip(self._runs, by_run, strict=True):
            stop = start + count
            if draft.bag is None:
                draft.text.write("".join(texts[start:stop]))
            else:
                draft.bag += texts[start:stop]
            draft.counts = list(map(add, draft.counts, outcomes))
            draft.released += count
            draft.candidates += self._shown[start:stop]
            start = stop
        self._clear_words()

    def _released_of_windows(self, ids: Ids) -> tuple[Ids, Ids]:
        """The words that windows release, originals and released: int64 [B] each."""
        keys, kept = [], []
        for (draft, _), (window, _) in zip(self._runs, self._reads, strict=True):
            keys.append((draft.key, window.first, window.end - window.first))
            places = np.arange(window.first, window.end)
            kept.append((places >= window.start) & (places < window.stop))
        breaks = np.concatenate([read.breaks for read in self._reads])
        among = np.concatenate(kept)
        return ids[among], self._drawn_of(keys, ids, breaks, among)

    def _drawn_of(
        self,
        keys: list[tuple[bytes, int, int]],
        ids: Ids,
        breaks: Breaks | None,
        among: npt.NDArray[np.bool_],
    ) -> Ids:
        """The released words, of those that are kept; notes their candidates where asked for."""
        rest = () if breaks is None else (breaks,)
        if not self._sanitizer.shows:
            return self._sanitizer.release(keys, ids, *rest)[among]
        released, shown = self._sanitizer.release_and_show(keys, ids, *rest)
        self._shown = [shown[place] for place in np.flatnonzero(among)]
        return released[among]

    def _outcomes(self, originals: Ids, released: Ids) -> Ids:
        """How each word came out: int64 [B] of _ORIGINAL, _CLOSE, _DISTANT or _UNKNOWN."""
        outcomes = np.full(len(originals), _DISTANT)
        outcomes[originals == released] = _ORIGINAL
        known = is_known(originals)
        outcomes[~known] = _UNKNOWN
        changed = np.flatnonzero(outcomes == _DISTANT)
        close = self._sanitizer.search.is_close(originals[changed], released[changed])
        outcomes[changed[close]] = _CLOSE
        return outcomes

    def _complete(self, documents: list[Draft]) -> None:
        for draft in documents:
            self._characters -= len(draft.document.text)
            draft.text.write(draft.end if draft.bag is None else " ".join(sorted(draft.bag)))
            document_id, _, *others = draft.document
            text = draft.text.getvalue()
            text = text if draft.is_part else self._sanitizer.written(text)
            document = Document(document_id, text, *others)
            shown = written(draft.candidates) if self._sanitizer.shows else ""
            self._done.append(Sanitized(document, self._tally(draft), shown))
        self._unfinished = self._unfinished[len(documents) :]

    def _tally(self, draft: Draft) -> Tally:
        original, close, distant, unknown = draft.counts
        kept = self._sanitizer.configuration.unknown_words == "keep"
        return Tally(
            documents=1,
            tokens=original + close + distant + unknown + draft.unprotected + draft.detected,
            original=original,
            close=close,
            distant=distant,
            unknown=unknown + draft.unprotected - draft.fillers,
            unchanged=original + (draft.unprotected if kept else 0),
            fillers=draft.fillers,
            omitted=draft.omitted,
            detected=draft.detected,
        )
