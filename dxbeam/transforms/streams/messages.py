"""SanitizeMessages: a stream of messages -> sanitized messages, dead letters, counts by window."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.transforms.trigger import AccumulationMode, AfterProcessingTime, AfterWatermark
from apache_beam.transforms.window import FixedWindows
from apache_beam.utils.timestamp import Duration
from apache_beam.utils.windowed_value import WindowedValue

from dxbeam.corpus.messages import Message, MessageFormat, dead_letter
from dxbeam.documents import Document, Rejected
from dxbeam.errors import ConfigurationError
from dxbeam.release.streams.window_records import (
    StreamRelease,
    Window,
    WindowCounts,
    released_digest,
)
from dxbeam.text.tally import Tally
from dxbeam.transforms.reading.sources import REJECTED
from dxbeam.transforms.sanitize import SanitizeDocuments

_LATENESS = Duration(seconds=10 * 365 * 24 * 3600)
"""How long a window still counts messages that come late, in records of their own."""

_GATHERED = 30
"""Seconds for which late messages are gathered before they are counted in a further record."""

for _row in (Message, WindowCounts):
    beam.coders.registry.register_coder(_row, beam.coders.RowCoder)


class SanitizedMessages(NamedTuple):
    """What ``SanitizeMessages`` returns.

    Attributes:
      released: PCollection[tuple[bytes, bytes]], key and value of each sanitized message.
      dead_letters: PCollection[tuple[bytes, bytes]], of each that could not be used; where and why,
        never the text.
      counts: PCollection[WindowCounts], one for each window, in its window.
    """

    released: pvalue.PCollection
    dead_letters: pvalue.PCollection
    counts: pvalue.PCollection


class SanitizeMessages(beam.PTransform):
    """Sanitizes messages, bounded or not: PCollection[Message] -> SanitizedMessages.

    No message waits for another: what a window is for are counts. The noise of a message is a
    function of key, id and text, so an engine that repeats work publishes equal bytes again, which
    reveals nothing new. That is why the key must be kept.

    Args:
      sanitize: with a ``key_uri``, ``keep_fields=("fields",)``, ``level="level"`` and
        ``unique_ids=True``; see ``sanitizing``.
      message_format: how messages are read and written.
      window: seconds in a window, by the messages' timestamps in the stream.
      clock: the time in seconds since 1970.

    Raises:
      ConfigurationError: a key that is not kept, or a window of less than a second.
    """

    def __init__(
        self,
        sanitize: SanitizeDocuments,
        message_format: MessageFormat,
        window: int,
        clock: Callable[[], float] = time.time,
    ):
        super().__init__()
        if not sanitize.keeps_key:
            raise ConfigurationError(
                "`key_uri` is needed for a stream: with a key that is drawn inside the job, work "
                "that an engine does again would be a second release"
            )
        if window < 1:
            raise ConfigurationError(f"`window` must be at least one second, not {window}")
        self._sanitize = sanitize
        self._format = message_format
        self._window = window
        self._clock = clock

    def expand(self, messages: pvalue.PCollection) -> SanitizedMessages:
        """Reads, sanitizes, writes, counts."""
        read = messages | "Read" >> beam.ParDo(_Read(self._format, self._clock)).with_outputs(
            REJECTED, main="documents"
        )
        read[REJECTED].element_type = Rejected
        sanitized = read["documents"] | "Sanitize" >> self._sanitize
        written = sanitized.documents | "Write" >> beam.ParDo(_Write(self._format)).with_outputs(
            REJECTED, main="released"
        )
        written[REJECTED].element_type = Rejected
        rejected = (
            read[REJECTED],
            sanitized.rejected,
            written[REJECTED],
        ) | "AllRejected" >> beam.Flatten()
        counts = (
            written["released"] | "CountReleased" >> beam.Map(_released).with_output_types(_COUNTS),
            rejected | "CountRejected" >> beam.Map(_rejected).with_output_types(_COUNTS),
            sanitized.tallies | "CountWords" >> beam.Map(_words).with_output_types(_COUNTS),
        )
        return SanitizedMessages(
            released=written["released"],
            dead_letters=rejected
            | "DeadLetters" >> beam.Map(dead_letter).with_output_types(tuple[bytes, bytes]),
            counts=counts
            | "AllCounts" >> beam.Flatten()
            | "Windows"
            >> beam.WindowInto(
                FixedWindows(self._window),
                trigger=AfterWatermark(late=AfterProcessingTime(_GATHERED)),
                accumulation_mode=AccumulationMode.DISCARDING,
                allowed_lateness=_LATENESS,
            )
            | "AddUpBundles" >> beam.ParDo(AddUpBundles())
            | "AddUp" >> beam.CombineGlobally(_AddUp()).without_defaults(),
        )


_COUNTS = WindowCounts


@beam.typehints.with_output_types(Document)
class _Read(beam.DoFn):
    def __init__(self, message_format: MessageFormat, clock: Callable[[], float]):
        self._format = message_format
        self._clock = clock

    def process(self, message: Message) -> Iterator[Any]:
        document = self._format.document(message, self._clock())
        rejected = isinstance(document, Rejected)
        yield pvalue.TaggedOutput(REJECTED, document) if rejected else document


@beam.typehints.with_output_types(tuple[bytes, bytes])
class _Write(beam.DoFn):
    def __init__(self, message_format: MessageFormat):
        self._format = message_format

    def process(self, row: Any) -> Iterator[Any]:
        released = self._format.released(Document(row.id, row.text, row.fields))
        rejected = isinstance(released, Rejected)
        yield pvalue.TaggedOutput(REJECTED, released) if rejected else released


def _released(message: tuple[bytes, bytes]) -> WindowCounts:
    return WindowCounts(documents=1, digest=released_digest([message]))


def _rejected(_: Rejected) -> WindowCounts:
    return WindowCounts(rejected=1)


def _words(counted: tuple[str, Tally]) -> WindowCounts:
    return WindowCounts(tally=counted[1])


@beam.typehints.with_input_types(WindowCounts)
@beam.typehints.with_output_types(WindowCounts)
class AddUpBundles(beam.DoFn):
    """Adds up the counts of each bundle, by window: WindowCounts -> WindowCounts.

    An engine keeps what is to be combined until the window is over. In batch Beam combines within
    bundles first; in streams it does not, and Flink kept two rows for each message of a day.
    """

    def start_bundle(self) -> None:
        """Starts from nothing."""
        self._counts = dict[Any, WindowCounts]()

    def process(self, counts: WindowCounts, window: Any = beam.DoFn.WindowParam) -> None:
        """Adds one row."""
        self._counts[window] = self._counts.get(window, WindowCounts()).merge(counts)

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """One row for each window."""
        for window, counts in self._counts.items():
            yield WindowedValue(counts, window.max_timestamp(), (window,))


class _AddUp(beam.CombineFn):
    def create_accumulator(self) -> WindowCounts:
        return WindowCounts()

    def add_input(self, accumulator: WindowCounts, counts: WindowCounts) -> WindowCounts:
        return accumulator.merge(counts)

    def merge_accumulators(self, accumulators: Iterable[WindowCounts]) -> WindowCounts:
        whole = WindowCounts()
        for counts in accumulators:
            whole = whole.merge(counts)
        return whole

    def extract_output(self, accumulator: WindowCounts) -> WindowCounts:
        return accumulator


class RecordWindows(beam.PTransform):
    """Writes the record of each window, create-once: PCollection[WindowCounts] -> paths."""

    def __init__(self, release: StreamRelease):
        super().__init__()
        self._release = release

    def expand(self, counts: pvalue.PCollection) -> pvalue.PCollection:
        """One file for each window, and one for each time that late messages were counted."""
        return counts | "Record" >> beam.ParDo(_Record(self._release))


@beam.typehints.with_output_types(str)
class _Record(beam.DoFn):
    def __init__(self, release: StreamRelease):
        self._release = release

    def process(
        self,
        counts: WindowCounts,
        window: Any = beam.DoFn.WindowParam,
        pane: Any = beam.DoFn.PaneInfoParam,
    ) -> Iterator[str]:
        start, end = int(window.start), int(window.end)
        yield self._release.record(Window(start, end, pane.index), counts)
