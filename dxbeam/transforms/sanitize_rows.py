"""The DoFn of ``SanitizeDocuments``.

It buffers documents until their words fill a search, and hands each back with the window
and timestamp it came with. It carries neither the key nor the vocabulary: the key arrives as a
side input, the vocabulary is opened once per process and memory-mapped.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.metrics import Metrics
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from dxbeam.documents import (
    REPEATED_ID,
    Document,
    Rejected,
    id_as_text,
    id_problem,
    printable_id,
    row_field,
    text_problem,
)
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.randomness import NO_TAGS, add_tags, document_tag
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.text.batch import Batch, Sanitized
from dxbeam.text.candidates import CANDIDATES
from dxbeam.text.configuration import Configuration
from dxbeam.text.parts.divided import divide, is_divisible
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.transforms.progress import Progress
from dxbeam.transforms.reading.sources import REJECTED
from dxbeam.transforms.secret_key import KeptKey
from dxbeam.transforms.with_vocabulary import Opening

TALLIES = "tallies"
"""Tag of the counts of each document next to a transform's main output."""


MOST_CHARACTERS = 1 << 22
"""Of texts that wait for one of another level before they are handed on in order."""


TAGS = "tags"
"""Tag of what names the documents of each bundle together: the sum of their tags."""

PARTS, WHOLES = "parts", "wholes"
"""Tags of the parts of long documents, and of what is needed to put them together."""


class Whole(NamedTuple):
    """A long document apart from its text: how many parts it has, its row's timestamp, the rest."""

    id: str
    level: str
    parts: int
    micros: int
    group: str
    kept: dict[str, Any]


class Unchanged(beam.DoFn):
    """Emits what it takes, unchanged.

    Beam 2.77 flushes what waits for a DoFn with ``process_batch`` before it calls the
    ``finish_bundle`` of the DoFn in front, so what that one emits there would be lost: all the
    documents at the end of a bundle, where data frames follow. Behind this step they are not.
    """

    def process(self, element: Any) -> Iterator[Any]:
        """One in, one out."""
        yield element


class _Origin(NamedTuple):
    """What is remembered of a row while its words wait."""

    where: WindowedValue  # the row's windows and timestamp, with no value
    group: str
    kept: dict[str, Any]


@dataclass(eq=False, repr=False, slots=True)
class _Ticket:
    """A row under way: where it came from, and once its words are released what became of it.

    It has no repr, as that would show the text.
    """

    origin: _Origin
    characters: int
    result: Sanitized | None = None


class _Waiting(NamedTuple):
    """Rows whose words wait for a search, and their tickets in the same order."""

    words: Batch
    tickets: deque[_Ticket]


def _level_of(row: Any, name: str | None) -> str:
    """The value of the attribute that decides a row's epsilon; "" for none."""
    value = getattr(row, name) if name else ""
    return "" if value is None else str(value)


class SanitizeDoFn(beam.DoFn):
    """Sanitizes rows; the arguments are those of ``SanitizeDocuments``."""

    def __init__(
        self,
        configuration: Configuration,
        keep_fields: tuple[str, ...],
        group_by: str | None,
        opening: Opening,
        *,
        digest_corpus: bool,
        level: str | None,
        candidates: int,
        divide_above: int | None = None,
    ):
        self._candidates = candidates
        self._divide_above = divide_above
        self._digest_corpus, self._level = digest_corpus, level
        self._configuration = configuration
        self._keep_fields = keep_fields
        self._group_by = group_by
        self._opening = opening
        self._documents = Metrics.counter("dxbeam", "documents")
        self._tokens = Metrics.counter("dxbeam", "tokens")
        self._rejected = Metrics.counter("dxbeam", "rejected")

    def setup(self) -> None:
        """Limits threads; nothing is opened yet."""
        self._opening.set_threads()
        self._sanitizer: Sanitizer | None = None
        self._progress = Progress()

    def start_bundle(self) -> None:
        """Nothing waits yet."""
        self._batches: dict[float, _Waiting] = {}  # by epsilon
        self._in_order: deque[_Ticket] = deque()  # of all of them, as the rows came
        self._characters = 0  # of their texts
        self._tags = NO_TAGS

    def process(
        self,
        row: Any,
        secret_key: bytes | KeptKey,
        handle: VocabularyHandle,
        repeated: Mapping[str, bool],
        model: LanguageModelHandle | None,
        where: Any = beam.DoFn.WindowedValueParam,
    ) -> Iterable[Any]:
        """Takes a row, and hands on the rows that are ready, in their order."""
        row_id = id_as_text(row_field(row, "id"))
        reason = id_problem(row_id) or text_problem(row_field(row, "text"))
        if reason is None and row_id in repeated:
            reason = REPEATED_ID
        level, levels = _level_of(row, self._level), self._configuration.epsilon_by
        if reason is None and levels and levels.epsilon_of(level) is None:
            reason = levels.problem
        if reason is not None:
            self._rejected.inc()
            return [pvalue.TaggedOutput(REJECTED, Rejected(printable_id(row_id), reason))]
        group = str(getattr(row, self._group_by)) if self._group_by else ""
        kept = {name: getattr(row, name) for name in self._keep_fields}
        sanitizer = self._sanitizer_of(level, secret_key, handle, model)
        if self._divide_above and len(row.text) > self._divide_above and is_divisible(sanitizer):
            document = Document(row_id, row.text, group=group, level=level)
            return self._divided(sanitizer, document, where.timestamp.micros, kept)
        batch = self._batch_of(sanitizer)
        ticket = _Ticket(_Origin(where.with_value(None), group, kept), len(row.text))
        batch.tickets.append(ticket)
        self._in_order.append(ticket)
        self._characters += ticket.characters
        key = batch.words.add(Document(row_id, row.text))
        if self._digest_corpus:
            self._tags = add_tags(self._tags, document_tag(key))
        self._settle(batch.words.take(), batch.tickets)
        if self._characters > MOST_CHARACTERS and len(self._batches) > 1:
            self._settle_all()  # a rare level would hold the others back
        return self._emit() if self._in_order and self._in_order[0].result else ()

    def finish_bundle(self) -> Iterator[Any]:
        """Hands on what still waits."""
        self._settle_all()
        yield from self._emit()
        if self._digest_corpus:
            yield pvalue.TaggedOutput(TAGS, GlobalWindows.windowed_value(self._tags))

    def _divided(
        self,
        sanitizer: Sanitizer,
        document: Document,
        micros: int,
        kept: dict[str, Any],
    ) -> Iterator[Any]:
        """Yields the parts of a document, and what is needed to put them together."""
        number, key = 0, sanitizer.document_key(document)
        if self._digest_corpus:
            self._tags = add_tags(self._tags, document_tag(key))
        for number, part in enumerate(divide(sanitizer, document), 1):
            yield pvalue.TaggedOutput(PARTS, (document.level, number, part))
        whole = Whole(document.id, document.level, number, micros, document.group, kept)
        yield pvalue.TaggedOutput(WHOLES, (key, whole))

    def _sanitizer_of(
        self,
        level: str,
        secret_key: bytes | KeptKey,
        handle: VocabularyHandle,
        model: LanguageModelHandle | None,
    ) -> Sanitizer:
        """The sanitizer of documents of a level; each epsilon has a separate one."""
        if self._sanitizer is None:
            search = self._opening.search(handle)
            opened = self._opening.model(model, search) if model else None
            key = secret_key.read() if isinstance(secret_key, KeptKey) else secret_key
            self._sanitizer = Sanitizer(search, self._configuration, key, opened, self._candidates)
        sanitizer = self._sanitizer.at_level(level)
        assert sanitizer is not None
        return sanitizer

    def _batch_of(self, sanitizer: Sanitizer) -> _Waiting:
        """Where rows of a level wait."""
        epsilon = sanitizer.configuration.mechanism.epsilon
        if epsilon not in self._batches:
            self._batches[epsilon] = _Waiting(Batch(sanitizer), deque())
        return self._batches[epsilon]

    def _settle(self, results: Sequence[Sanitized], tickets: deque[_Ticket]) -> None:
        """Notes what became of the first rows of a batch."""
        if not results:
            return
        tokens = sum(result.tally.tokens for result in results)
        self._documents.inc(len(results))
        self._tokens.inc(tokens)
        self._progress.count(documents=len(results), words=tokens)
        for result in results:
            tickets.popleft().result = result

    def _settle_all(self) -> None:
        for batch in self._batches.values():
            self._settle(batch.words.finish(), batch.tickets)

    def _emit(self) -> Iterator[Any]:
        """Hands on the rows that are ready, in the order in which they came.

        Which row is of which level, and when a batch was full, does not show in the order.
        """
        while self._in_order and self._in_order[0].result:
            ticket = self._in_order.popleft()
            self._characters -= ticket.characters
            assert ticket.result is not None
            document, tally, candidates, _ = ticket.result
            assert document is not None
            origin, shown = ticket.origin, {CANDIDATES: candidates} if self._candidates else {}
            released = beam.Row(id=document.id, text=document.text, **origin.kept, **shown)
            yield origin.where.with_value(released)
            yield pvalue.TaggedOutput(TALLIES, origin.where.with_value((origin.group, tally)))
