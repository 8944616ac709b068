"""Documents -> sanitized documents and tallies; the whole job without Beam.

Words of many documents, or a slice of a long one, are collected until there are enough for one
efficient search. Which words share a search has no influence on what is released.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dxbeam.documents import Document, Rejected, place, why_rejected
from dxbeam.errors import ConfigurationError
from dxbeam.keys import KEY_BYTES, draw_key
from dxbeam.mechanisms import Mechanism
from dxbeam.mechanisms.resampling import RankResampling
from dxbeam.randomness import document_key, draws_a_word, fill
from dxbeam.space.neighbors import Ids, NeighborSearch, is_known
from dxbeam.space.vocabulary import UNKNOWN, Vocabulary
from dxbeam.tally import Tally
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.configuration import Configuration
from dxbeam.text.tokenization import split

MASK = "<unk>"

_WORDS_A_SEARCH = 4096
_CHARACTERS_A_BATCH = 1 << 22  # bounds what waits when documents hold few words
_ORIGINAL, _CLOSE, _DISTANT, _UNKNOWN = range(4)


class Sanitized(NamedTuple):
    """A document whose text may be released, and what happened to its words."""

    document: Document
    tally: Tally


class Sanitizer:
    """Replaces every word of documents by a differentially private one.

    Documents are not compared with one another: equal texts under one id come out equal, so give
    each document an id of its own.

    Args:
      vocabulary: the public words and vectors; or a search over them, to share it or to choose
        its threads.
      mechanism: what releases a word for a word.
      resampling: rank resampling of what the mechanism releases, or None.
      unknown_words: what is done with words outside the vocabulary; see configuration.py.
      key: the secret key, 32 bytes. By default a new one that is forgotten with this object, so
        nobody can draw the same noise again.
      bag: releases documents as bags of words, or None to keep their order.
      allow_unsound: consent to settings that do not protect every word; see configuration.py.

    Raises:
      ConfigurationError: settings that ``Configuration`` refuses, or a key that is none.
    """

    def __init__(
        self,
        vocabulary: Vocabulary | NeighborSearch,
        mechanism: Mechanism,
        resampling: RankResampling | None = None,
        unknown_words: str = "noise",
        key: bytes | None = None,
        bag: BagOfWords | None = None,
        allow_unsound: bool = False,
    ):
        self.configuration = Configuration(mechanism, resampling, unknown_words, bag, allow_unsound)
        self.search = (
            vocabulary if isinstance(vocabulary, NeighborSearch) else NeighborSearch(vocabulary)
        )
        if key is not None and (not isinstance(key, bytes) or len(key) != KEY_BYTES):
            raise ConfigurationError(
                f"a secret key is {KEY_BYTES} bytes from a cryptographic source, such as "
                "secrets.token_bytes(32); leave it out for a new one"
            )
        self._key = draw_key() if key is None else key
        self._digest = self.configuration.digest(self.search.vocabulary.content_digest)

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a Sanitizer holds a secret key and is not pickled; make it where it runs")

    def sanitize(self, documents: Iterable[Document]) -> Iterator[Sanitized | Rejected]:
        """Sanitizes documents in order; those that cannot be used come out as Rejected.

        Noise is keyed by a document's id and text, so equal texts with one id come out equal, and
        others do not: give each document an id of its own.

        Raises:
          ConfigurationError: an element is no Document.
        """
        batch = Batch(self)
        for document in documents:
            if (reason := why_rejected(document)) is not None:
                yield from batch.finish()
                yield Rejected(place(document.id), reason)
            else:
                batch.add(document)
                yield from batch.take()
        yield from batch.finish()

    def release(self, keys: Iterable[tuple[bytes, int, int]], ids: Ids) -> Ids:
        """Releases a word for each word.

        Args:
          keys: runs of words that belong to one document: (document key, position of the first
            word in its document, number of words).
          ids: int64 [B], all words of the runs, one after the other.

        Returns:
          int64 [B].
        """
        mechanism, resampling = self.configuration.mechanism, self.configuration.resampling
        needed = mechanism.draws(self.search.vocabulary.dimensions)
        draws = draws_a_word(needed + (resampling.draws() if resampling else 0))
        random = np.empty((len(ids), draws), np.uint64)
        start = 0
        for key, position, count in keys:
            fill(key, position, random[start : start + count])
            start += count
        released = mechanism.release(ids, random[:, :needed], self.search)
        if resampling:
            rest = random[:, needed : needed + resampling.draws()]
            released = resampling.resample(released, rest, mechanism.epsilon, self.search)
        return released

    def document_key(self, document: Document) -> bytes:
        """The key of a document's noise under this configuration."""
        return document_key(self._key, self._digest, document.id, document.text)


@dataclass(eq=False, repr=False)
class _Open:
    """A document under way: its noise key, what is written of it, and what was counted.

    It has no repr, as that would show the key and the text.
    """

    document: Document
    key: bytes
    bag: list[str] | None = None  # the released words, where their order is not released
    text: io.StringIO = field(default_factory=io.StringIO)
    released: int = 0
    unprotected: int = 0
    counts: Ids = field(default_factory=lambda: np.zeros(4, np.int64))
    padding: int = 0
    left_out: int = 0
    end: str = ""


class Batch:
    """Collects documents until their words are worth a search, and hands them back in order.

    Memory is bounded by the longest document and the size of a search, never by the corpus.
    """

    def __init__(self, sanitizer: Sanitizer):
        self._sanitizer = sanitizer
        self._waiting: list[_Open] = []  # added, not yet handed back; the last may be incomplete
        self._done: list[Sanitized] = []
        self._characters = 0
        self._clear_words()

    def _clear_words(self) -> None:
        self._gaps: list[str] = []
        self._ids: list[int] = []
        self._runs: list[tuple[_Open, int]] = []  # whose words these are, and how many

    def add(self, document: Document) -> None:
        """Adds a document that ``why_rejected`` has nothing against."""
        bag = self._sanitizer.configuration.bag
        opened = _Open(document, self._sanitizer.document_key(document), [] if bag else None)
        self._waiting.append(opened)
        self._characters += len(document.text)
        waiting = before = len(self._ids)
        for gap, number in self._drawn(opened, bag) if bag else self._in_order(opened):
            self._gaps.append(gap)
            self._ids.append(number)
            waiting += 1
            if waiting >= _WORDS_A_SEARCH:
                self._runs.append((opened, waiting - before))
                self._release()
                self._hand_back(self._waiting[:-1])
                waiting = before = 0
        if waiting > before:
            self._runs.append((opened, waiting - before))
        if waiting == 0:
            self._hand_back(self._waiting)
        elif self._characters >= _CHARACTERS_A_BATCH:
            self._finish()

    def _in_order(self, opened: _Open) -> Iterator[tuple[str, int]]:
        """What stands before each word that is to be released, and its id."""
        vocabulary = self._sanitizer.search.vocabulary
        policy = self._sanitizer.configuration.unknown_words
        passed = ""
        for gap, word in split(opened.document.text):
            if not word:
                opened.end = passed + gap
                return
            number = vocabulary.id_of(word)
            if number == UNKNOWN and policy != "noise":
                opened.unprotected += 1
                passed += gap + {"mask": MASK, "drop": "", "keep": word}[policy]
                continue
            yield passed + gap, number
            passed = ""

    def _drawn(self, opened: _Open, bag: BagOfWords) -> Iterator[tuple[str, int]]:
        """As above, of the words drawn for a bag; nothing stands before any of them."""
        vocabulary = self._sanitizer.search.vocabulary
        drop = self._sanitizer.configuration.unknown_words == "drop"
        total = 0

        def candidates() -> Iterator[int]:
            nonlocal total
            for _, word in split(opened.document.text):
                if not word:
                    return
                total += 1
                number = vocabulary.id_of(word)
                if word.lower() not in bag.stop_words and not (drop and number == UNKNOWN):
                    yield number

        ids, found = bag.draw(opened.key, candidates())
        opened.padding = max(0, bag.length - found)
        opened.left_out = total - min(found, bag.length)
        for number in ids.tolist():
            yield "", number

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
        self._hand_back(self._waiting)

    def _release(self) -> None:
        """Releases all words that wait and writes them to their documents."""
        if not self._ids:
            return
        ids = np.array(self._ids, np.int64)
        keys = [(opened.key, opened.released, count) for opened, count in self._runs]
        released = self._sanitizer.release(keys, ids)
        outcomes = self._outcomes(ids, released)
        words = self._sanitizer.search.vocabulary.words
        start = 0
        for opened, count in self._runs:
            stop = start + count
            pieces = zip(self._gaps[start:stop], released[start:stop].tolist(), strict=True)
            texts = [gap + words[number] for gap, number in pieces]
            if opened.bag is None:
                opened.text.write("".join(texts))
            else:
                opened.bag += texts
            opened.counts += np.bincount(outcomes[start:stop], minlength=4)
            opened.released += count
            start = stop
        self._clear_words()

    def _outcomes(self, originals: Ids, released: Ids) -> Ids:
        outcomes = np.full(len(originals), _DISTANT)
        outcomes[originals == released] = _ORIGINAL
        known = is_known(originals)
        outcomes[~known] = _UNKNOWN
        changed = np.flatnonzero(outcomes == _DISTANT)
        close = self._sanitizer.search.is_close(originals[changed], released[changed])
        outcomes[changed[close]] = _CLOSE
        return outcomes

    def _hand_back(self, complete: list[_Open]) -> None:
        for opened in complete:
            self._characters -= len(opened.document.text)
            opened.text.write(opened.end if opened.bag is None else " ".join(sorted(opened.bag)))
            text = opened.text.getvalue()
            self._done.append(Sanitized(opened.document._replace(text=text), self._tally(opened)))
        self._waiting = self._waiting[len(complete) :]

    def _tally(self, opened: _Open) -> Tally:
        original, close, distant, unknown = opened.counts.tolist()
        kept = self._sanitizer.configuration.unknown_words == "keep"
        return Tally(
            documents=1,
            tokens=original + close + distant + unknown + opened.unprotected,
            original=original,
            close=close,
            distant=distant,
            unknown=unknown + opened.unprotected - opened.padding,
            unchanged=original + (opened.unprotected if kept else 0),
            padding=opened.padding,
            left_out=opened.left_out,
        )
