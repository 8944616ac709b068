"""Documents -> sanitized documents and tallies; the whole job without Beam.

The words of many documents, or of a part of a long one, are collected until there are enough for
one efficient search. Which words share a search has no influence on what is released.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import add
from typing import NamedTuple

import numpy as np

from dxbeam.documents import (
    Document,
    Rejected,
    as_documents,
    document_problem,
    id_as_text,
    printable_id,
    with_random_id,
)
from dxbeam.errors import ConfigurationError, CorpusError, described
from dxbeam.keys import given_or_new_key
from dxbeam.language.model import LanguageModel
from dxbeam.mechanisms import Mechanism, ReadsReleased
from dxbeam.mechanisms.released_before import STARTS as STARTS_SENTENCE
from dxbeam.mechanisms.released_before import places_after
from dxbeam.randomness import document_key, draws_a_word, fill
from dxbeam.space.neighbors import Ids, NeighborSearch, is_known
from dxbeam.space.remarks import remarks
from dxbeam.space.vocabulary import UNKNOWN, Vocabulary
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.configuration import Configuration, as_configuration
from dxbeam.text.decoding.decoder import CONTEXT
from dxbeam.text.decoding.reader import Reader, Window, breaks_of, breaks_of_runs, windows
from dxbeam.text.decoding.reading import CUT, FOLLOWS, OVERLAP, Breaks
from dxbeam.text.public_model import with_model
from dxbeam.text.tally import Tally
from dxbeam.text.tokenization import parts
from dxbeam.text.tokenization import words as words_in
from dxbeam.text.truecase import truecased

MASK = "<unk>"

_WORDS_PER_SEARCH = 4096
_CHARACTERS_PER_BATCH = 1 << 22  # bounds what waits when documents hold few words
_ORIGINAL, _CLOSE, _DISTANT, _UNKNOWN = range(4)
_BEFORE = np.array([STARTS_SENTENCE, 0, UNKNOWN])  # what places_after calls STARTS, FOLLOWS, CUT


class Sanitized(NamedTuple):
    """A document whose text may be released, and what happened to its words."""

    document: Document
    tally: Tally


class Sanitizer:
    """Replaces every word of a text by a differentially private one.

    Args:
      vocabulary: the public words and vectors, from ``open_vocabulary``; or a NeighborSearch over
        them, to share it between sanitizers or to choose its threads.
      configuration: the settings of the release; a mechanism alone stands for
        ``Configuration(mechanism)``.
      secret_key: 32 bytes from a cryptographic source, to draw the same noise again. By default a
        new key that is forgotten with this object.
      language_model: the public model that the configuration's decoder reads with and truecase
        knows capitals from, made for this vocabulary; None where there is neither. It must not be
        made from the private corpus: that voids the guarantee.

    Raises:
      ConfigurationError: no vocabulary, settings that ``Configuration`` refuses, or no key; a
        decoder without a language model or the other way round, or a model of another vocabulary
        or of another digest than the decoder names.

    Warns:
      UserWarning: a vocabulary that is probably a mistake; see space/remarks.py.
    """

    def __init__(
        self,
        vocabulary: Vocabulary | NeighborSearch,
        configuration: Configuration | Mechanism,
        secret_key: bytes | None = None,
        language_model: LanguageModel | None = None,
    ):
        settings = as_configuration(configuration)
        if isinstance(vocabulary, Vocabulary):
            for remark in remarks(vocabulary):
                warnings.warn(remark, stacklevel=2)
        self.search = (
            vocabulary if isinstance(vocabulary, NeighborSearch) else NeighborSearch(vocabulary)
        )
        self.language_model = language_model
        self.configuration = _with_model(settings, language_model, self.search.vocabulary)
        self._secret_key = given_or_new_key(secret_key)
        self._digest = self.configuration.digest(self.search.vocabulary.content_digest)
        self._levels: dict[float, Sanitizer] = {}
        self._reader = self._made_reader()

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a Sanitizer holds a secret key and is not pickled; make it where it runs")

    def sanitize_text(self, text: str, document_id: str | int | None = None) -> str:
        """Sanitizes one text.

        Each call without an id is a release of its own: whoever sees two releases of one text
        learns from both, and their epsilons add up.

        Args:
          text: what to sanitize.
          document_id: enters the noise together with the text, so that a kept secret key draws the
            same noise again. Equal texts with one id come out equal, which shows that they were
            equal. By default a new random id, so no two calls share noise.

        Raises:
          ConfigurationError: the text or the id is no string.
          CorpusError: the text cannot be written again: it holds a null byte, or is not valid
            Unicode.
        """
        if not isinstance(text, str):
            raise ConfigurationError(
                f"sanitize_text takes one text as a string, and this is {described(text)}"
                + ("; decode it first" if isinstance(text, bytes) else "")
            )
        document_id = id_as_text(document_id)
        if document_id is not None and not isinstance(document_id, str):
            raise ConfigurationError(
                "document_id is a string or an integer, or left out, and this is "
                f"{described(document_id)}"
            )
        document = with_random_id(text) if document_id is None else Document(document_id, text)
        [result] = self.sanitize([document])
        if isinstance(result, Rejected):
            raise CorpusError(f"this text cannot be sanitized: {result.reason}")
        return result.document.text

    def sanitize(self, documents: Iterable[Document | str]) -> Iterator[Sanitized | Rejected]:
        """Sanitizes documents in order; those that cannot be used come out as Rejected.

        Noise is keyed by a document's id and text. Documents are not compared with one another, so
        equal texts with one id come out equal, which shows that they were equal: give each document
        an id of its own. A plain string gets a new random id, so no two strings share noise, and a
        kept secret key cannot draw their noise again: sanitizing a string once more is another
        release of it.

        Args:
          documents: documents and plain strings.

        Raises:
          ConfigurationError: this is no iterable of documents, or one of its elements is neither a
            document nor a string.
        """
        return self._sanitize(as_documents(documents, "sanitize"))

    def _sanitize(self, documents: Iterable[Document]) -> Iterator[Sanitized | Rejected]:
        batch = Batch(self)
        for document in documents:
            reason = document_problem(document)
            sanitizer = self.at_level(document.level) if reason is None else None
            if sanitizer is None:
                yield from batch.finish()
                yield Rejected(printable_id(document.id), reason or self._without_epsilon)
                continue
            if not batch.is_of(sanitizer):
                yield from batch.finish()
                batch = Batch(sanitizer)
            batch.add(document)
            yield from batch.take()
        yield from batch.finish()

    def at_level(self, level: str) -> Sanitizer | None:
        """The sanitizer of documents of a level, which shares this one's search and key.

        Returns:
          this very one where one epsilon serves all; None where the level has none.
        """
        levels = self.configuration.epsilon_by
        if levels is None:
            return self
        epsilon = levels.epsilon_of(level)
        if epsilon is not None and epsilon not in self._levels:
            settings = self.configuration.with_epsilon(epsilon)
            self._levels[epsilon] = Sanitizer(
                self.search, settings, self._secret_key, self.language_model
            )
        return None if epsilon is None else self._levels[epsilon]

    @property
    def _without_epsilon(self) -> str:
        """Why a document of a level without an epsilon is rejected."""
        levels = self.configuration.epsilon_by
        assert levels is not None
        return levels.problem

    def _made_reader(self) -> Reader | None:
        """What decodes; None where there is no decoder, or each level has a sanitizer."""
        settings, model = self.configuration, self.language_model
        if settings.decoder is None or model is None or settings.epsilon_by:
            return None
        unknown = settings.unknown_words == "noise" or settings.bag is not None  # as a filler
        return Reader(
            settings.decoder, settings.mechanism, self.search, model, unknown, self.search.threads
        )

    @property
    def reads_context(self) -> bool:
        """Whether words are decoded together with those around them."""
        return self._reader is not None and self._reader.decoder.kind == CONTEXT

    @property
    def reads_released(self) -> bool:
        """Whether words are drawn after reading the ones released before them."""
        return isinstance(self.configuration.mechanism, ReadsReleased)

    def release(
        self,
        keys: Iterable[tuple[bytes, int, int]],
        ids: Ids,
        breaks: Breaks | None = None,
    ) -> Ids:
        """Draws the word that is released in place of each word.

        Args:
          keys: for each run of words of one document, in order: the document's key, the position
            of the run's first word in its document, and the number of words in the run.
          ids: int64 [B], the ids of all words of all runs, one after the other.
          breaks: int8 [B], where sentences start, for a decoder that reads words together or a
            mechanism that reads released words; by default every run is one sentence.

        Returns:
          int64 [B].
        """
        keys = list(keys)
        mechanism, resampling = self.configuration.mechanism, self.configuration.resampling
        needed = mechanism.draws(self.search.vocabulary.dimensions)
        draws = draws_a_word(needed + (resampling.draws() if resampling else 0))
        random = np.empty((len(ids), draws), np.uint64)
        start = 0
        for key, position, count in keys:
            fill(key, position, random[start : start + count])
            start += count
        own = random[:, :needed]
        if breaks is None:
            breaks = breaks_of_runs([(position, count) for _, position, count in keys])
        if self._reader is not None:
            released = self._reader.release(ids, own, breaks)
        elif isinstance(mechanism, ReadsReleased):
            places = places_after(_BEFORE[breaks])
            released = mechanism.release_in_order(ids, own, self.search, places)
        else:
            released = mechanism.release(ids, own, self.search)
        if resampling:
            rest = random[:, needed : needed + resampling.draws()]
            released = resampling.resample(released, rest, mechanism.epsilon, self.search)
        return released

    def written(self, text: str) -> str:
        """A text whose words are all released, with the capitals of public text if asked for."""
        model = self.language_model
        if self.configuration.truecase is None or model is None or model.casings is None:
            return text
        return truecased(text, model.casings.forms)

    def document_key(self, document: Document) -> bytes:
        """The key of a document's noise under this configuration."""
        return document_key(self._secret_key, self._digest, document.id, document.text)


def _with_model(
    configuration: Configuration, model: LanguageModel | None, vocabulary: Vocabulary
) -> Configuration:
    """The configuration, its decoder and its truecase naming the model.

    Raises:
      ConfigurationError: they do not go together.
    """
    if model is None:
        return with_model(configuration, None, casings=False)
    if not isinstance(model, LanguageModel):
        raise ConfigurationError(
            "`language_model` is what dxbeam.open_language_model returns, and this is "
            f"{described(model)}"
        )
    if model.vocabulary != vocabulary.content_digest:
        raise ConfigurationError(
            "`language_model` was made for another vocabulary than `vocabulary`; build one for "
            "this vocabulary"
        )
    return with_model(configuration, model.digest, model.casings is not None)


@dataclass(eq=False, repr=False, slots=True)
class _Draft:
    """A document whose words are not all released yet: its key, its new text, its counts.

    It has no repr, as that would show the key and the text.

    Attributes:
      document: the original.
      key: the document key, from which its noise is drawn.
      bag: the words released so far, where the configuration releases bags; else None.
      text: the text written so far, where the order of words is kept.
      released: how many words were released so far.
      unprotected: how many words outside the vocabulary were masked, dropped or kept.
      counts: released words by outcome: original, close, distant, unknown.
      fillers: unknown words that fill up a bag.
      omitted: words that are in no bag: stop words, and those that were not drawn.
      end: what follows the last word.
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
    end: str = ""


class _Read(NamedTuple):
    """A part of a document that is decoded together, and where sentences start in it."""

    window: Window
    breaks: Breaks


class Batch:
    """Collects documents until they hold enough words for a search, and returns them in order.

    Memory is bounded by the longest document and the size of a search, never by the corpus.
    """

    def __init__(self, sanitizer: Sanitizer):
        self._sanitizer = sanitizer
        self._unfinished: list[_Draft] = []  # in order; the last may wait for more words
        self._done: list[Sanitized] = []
        self._characters = 0
        self._clear_words()

    def _clear_words(self) -> None:
        self._gaps: list[str] = []
        self._ids: list[int] = []
        self._runs: list[tuple[_Draft, int]] = []  # document, number of its words
        self._reads: list[_Read] = []  # where words are decoded together

    def is_of(self, sanitizer: Sanitizer) -> bool:
        """Whether these documents are sanitized by this sanitizer."""
        return self._sanitizer is sanitizer

    def add(self, document: Document) -> bytes:
        """Adds a document that ``document_problem`` has nothing against; the document's key."""
        bag = self._sanitizer.configuration.bag
        draft = _Draft(document, self._sanitizer.document_key(document), [] if bag else None)
        self._unfinished.append(draft)
        self._characters += len(document.text)
        found = self._drawn(draft, bag) if bag else self._in_order(draft)
        if self._sanitizer.reads_context or self._sanitizer.reads_released:
            self._collect_windows(draft, found)
        else:
            for gaps, ids in found:
                self._collect(draft, gaps, ids)
        if not self._ids:
            self._complete(self._unfinished)
        elif self._characters >= _CHARACTERS_PER_BATCH:
            self._finish()
        return draft.key

    def _collect(self, draft: _Draft, gaps: list[str], ids: list[int]) -> None:
        """Takes words of the last document, and releases whenever there are enough for a search."""
        start = 0
        while start < len(ids):
            stop = min(len(ids), start + _WORDS_PER_SEARCH - len(self._ids))
            self._gaps += gaps[start:stop]
            self._ids += ids[start:stop]
            waiting = stop - start
            if self._runs and self._runs[-1][0] is draft:
                waiting += self._runs.pop()[1]
            self._runs.append((draft, waiting))
            if len(self._ids) == _WORDS_PER_SEARCH:
                self._release()
                self._complete(self._unfinished[:-1])
            start = stop

    def _collect_windows(self, draft: _Draft, found: Iterator[tuple[list[str], list[int]]]) -> None:
        """Takes all words of the last document, a window of it at a time."""
        gaps, ids = [], []
        for some_gaps, some_ids in found:
            gaps += some_gaps
            ids += some_ids
        breaks = breaks_of(gaps)
        if self._sanitizer.reads_released:
            breaks[[bool(words_in(gap)) for gap in gaps]] = CUT  # masked and kept words
        for window in windows(len(ids), 0 if self._sanitizer.reads_released else OVERLAP):
            read = breaks[window.first : window.end].copy()
            read[0] = CUT if read[0] == FOLLOWS else read[0]
            self._gaps += gaps[window.start : window.stop]
            self._ids += ids[window.first : window.end]
            self._runs.append((draft, window.stop - window.start))
            self._reads.append(_Read(window, read))
            if len(self._ids) >= _WORDS_PER_SEARCH:
                self._release()
                self._complete(self._unfinished[:-1])

    def _in_order(self, draft: _Draft) -> Iterator[tuple[list[str], list[int]]]:
        """Yields what stands before the words that are to be released, and the words' ids."""
        vocabulary = self._sanitizer.search.vocabulary
        policy = self._sanitizer.configuration.unknown_words
        passed = ""  # what stands between two released words, masked and kept words among it
        for gaps, words in parts(draft.document.text):
            ids = vocabulary.ids_of(words).tolist()
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

    def _drawn(self, draft: _Draft, bag: BagOfWords) -> Iterator[tuple[list[str], list[int]]]:
        """Yields the same for the words drawn for a bag; nothing stands before any of them."""
        vocabulary = self._sanitizer.search.vocabulary
        drop = self._sanitizer.configuration.unknown_words == "drop"
        total = 0

        def candidates() -> Iterator[int]:
            nonlocal total
            for _, words in parts(draft.document.text):
                total += len(words)
                for word, number in zip(words, vocabulary.ids_of(words).tolist(), strict=True):
                    if word.lower() not in bag.stop_words and not (drop and number == UNKNOWN):
                        yield number

        ids, found = bag.draw(draft.key, candidates())
        draft.fillers = bag.fillers(found)
        draft.omitted = total - min(found, bag.length)
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
            released = self._sanitizer.release(keys, ids)
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
        return ids[among], self._sanitizer.release(keys, ids, breaks)[among]

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

    def _complete(self, documents: list[_Draft]) -> None:
        for draft in documents:
            self._characters -= len(draft.document.text)
            draft.text.write(draft.end if draft.bag is None else " ".join(sorted(draft.bag)))
            document_id, _, *others = draft.document
            text = self._sanitizer.written(draft.text.getvalue())
            document = Document(document_id, text, *others)
            self._done.append(Sanitized(document, self._tally(draft)))
        self._unfinished = self._unfinished[len(documents) :]

    def _tally(self, draft: _Draft) -> Tally:
        original, close, distant, unknown = draft.counts
        kept = self._sanitizer.configuration.unknown_words == "keep"
        return Tally(
            documents=1,
            tokens=original + close + distant + unknown + draft.unprotected,
            original=original,
            close=close,
            distant=distant,
            unknown=unknown + draft.unprotected - draft.fillers,
            unchanged=original + (draft.unprotected if kept else 0),
            fillers=draft.fillers,
            omitted=draft.omitted,
        )
