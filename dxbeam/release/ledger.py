"""The ledger: what has been released of a corpus, in all, and whether one more release may be.

A ledger is a file, local or gs://, of one JSON object a line. Lines are only ever appended, each
with a SHA-256 of itself and all before it, so that accidents are noticed: a damaged, lost or
doubled line. An edit by hand is not: whoever may write the file can compute the sums anew, or cut
lines off at the end. A run appends ``begun`` before it reads a word and ``released`` or
``abandoned`` at its end. A run that appended neither may have released something, so it counts.

Accounting. Let releases i = 1 … k of one corpus have exponents epsilon_i d_i(x, x') for a word.
Their noises are independent, as each has a separate key stream, so likelihood ratios multiply:

    ln ratio  <=  sum_i epsilon_i d_i(x, x')  <=  (sum_i epsilon_i) max_i d_i(x, x').

So the epsilons add up, in the one metric if all releases share it and else in the largest of the
metrics; deltas add up as well (basic composition, Dwork and Roth 2014, theorem 3.16, applied to a
pair of words). A release with the key, the configuration and the corpus of an earlier one repeats
its output byte for byte; a copy of what is known reveals nothing, so it counts once.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass

from dxbeam import storage
from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.release.ledger_lines import (
    ABANDONED,
    RELEASED,
    Entry,
    entries_of,
    next_line,
    whole_lines,
)


@dataclass(frozen=True)
class Account:
    """What a run needs to enter its release into the ledger: its first line, the cap or None."""

    path: str
    entry: Entry
    max_epsilon: float | None


def read(path: str) -> list[Entry]:
    """All entries; [] where there is no ledger yet. OutputError: no ledger, or a changed one."""
    try:
        content = storage.read(path) if storage.exists(path) else b""
    except OSError as error:
        raise OutputError(f"the ledger {path} cannot be read ({type(error).__name__})") from None
    return entries_of(path, whole_lines(path, content))


def spent(entries: Iterable[Entry], corpus: str) -> tuple[float, float]:
    """Sum of epsilon and of delta over the releases of a corpus; copies count once."""
    counted: dict[tuple[str, ...], Entry] = {}
    for entry in latest(entries):
        if entry.corpus == corpus and entry.state != ABANDONED:
            counted.setdefault(entry.content(), entry)
    return (
        sum(entry.epsilon for entry in counted.values()),
        sum(entry.delta for entry in counted.values()),
    )


def check_cap(max_epsilon: float | None) -> None:
    """Refuses a cap that is no positive number; nan, which no sum exceeds, would cap nothing."""
    if max_epsilon is not None and not 0 < max_epsilon < math.inf:
        raise ConfigurationError(
            f"`max_epsilon` must be a positive number, not {max_epsilon:g}; leave it out for no cap"
        )


def begin(path: str, entry: Entry, max_epsilon: float | None) -> str:
    """Appends a run's first line, if the corpus can afford it.

    Args:
      path: the ledger.
      entry: state BEGUN.
      max_epsilon: what all releases of the corpus may add up to; None for no cap.

    Returns:
      "" if any corpus may be released; else the ``corpus_digest`` that the release must have, as
      only a copy of that earlier release costs nothing.

    Raises:
      OutputError: the release would pass the cap, or this is no ledger, which is left as it is.
    """
    check_cap(max_epsilon)
    required = ""

    def line(content: bytes) -> tuple[int, bytes]:
        nonlocal required
        whole = whole_lines(path, content)
        entries = entries_of(path, whole)
        required = _required_digest(path, entries, entry, max_epsilon)
        return len(whole), b"" if _goes_on(entries, entry) else next_line(whole, entry)

    storage.append(path, line)
    return required


def check(path: str, entry: Entry, max_epsilon: float | None) -> None:
    """Refuses what ``begin`` would refuse now, or where no ledger can be; writes nothing."""
    check_cap(max_epsilon)
    if (reason := storage.why_no_file(path)) is not None:
        raise OutputError(f"the ledger {path} cannot be written: {reason}")
    _required_digest(path, read(path), entry, max_epsilon)


def _required_digest(
    path: str, entries: list[Entry], entry: Entry, max_epsilon: float | None
) -> str:
    """The corpus digest that a release is required to have, to stay within the cap; "" for any."""
    before, _ = spent(entries, entry.corpus)
    if _goes_on(entries, entry):
        return ""  # it is counted already
    if max_epsilon is None or before + entry.epsilon <= max_epsilon * (1 + 1e-12):
        return ""
    required = _earlier_digest(entries, entry)
    if not required:
        raise OutputError(
            f"the ledger {path} has epsilon {before:g} of corpus {entry.corpus!r} spent; this "
            f"release would add {entry.epsilon:g} and pass `max_epsilon` {max_epsilon:g}. Repeat "
            "an earlier release with its key, or decide on a larger cap"
        )
    return required


def _goes_on(entries: Iterable[Entry], entry: Entry) -> bool:
    """Whether this run is in the ledger: a stream that is started again keeps its name."""
    return any(other.run == entry.run and other.corpus == entry.corpus for other in entries)


def end_window(path: str, begun: Entry, record: str, documents: int, record_sha256: str) -> None:
    """Says that a stream has released a window; silent where it was said before.

    The lines of a stream share one run, so its epsilon counts once: each message is released once,
    in whatever window. ``record`` is the path of the window's record.
    """
    released = dataclasses.replace(
        begun, state=RELEASED, output=record, documents=documents, release_sha256=record_sha256
    )

    def line(content: bytes) -> tuple[int, bytes]:
        whole = whole_lines(path, content)
        known = {(entry.run, entry.output, entry.state) for entry in entries_of(path, whole)}
        again = (released.run, released.output, released.state) in known
        return len(whole), b"" if again else next_line(whole, released)

    storage.append(path, line)


def end(
    path: str, begun: Entry, corpus_digest: str, documents: int, release_sha256: str = ""
) -> None:
    """Says that a run has released, and what."""
    _append(
        path,
        dataclasses.replace(
            begun,
            state=RELEASED,
            corpus_digest=corpus_digest,
            documents=documents,
            release_sha256=release_sha256,
        ),
    )


def abandon(path: str, begun: Entry) -> None:
    """Says that a run which had begun has released nothing, and never will.

    Silent where the run's first line was refused.

    Raises:
      OutputError: this is no ledger, or it says that the run has released.
    """
    states = {entry.state for entry in read(path) if entry.run == begun.run}
    if RELEASED in states:
        raise OutputError(
            f"the ledger {path} says that this run has released, so it cannot be abandoned; it "
            "counts on"
        )
    if states:
        _append(path, dataclasses.replace(begun, state=ABANDONED))


def _append(path: str, entry: Entry) -> None:
    def line(content: bytes) -> tuple[int, bytes]:
        whole = whole_lines(path, content)
        entries_of(path, whole)
        return len(whole), next_line(whole, entry)

    storage.append(path, line)


def _earlier_digest(entries: list[Entry], entry: Entry) -> str:
    """The corpus digest of the latest release under the same key and configuration, or ""."""
    same = [
        other.corpus_digest
        for other in latest(entries)
        if other.state == RELEASED
        and entry.key
        and (other.corpus, other.key, other.configuration)
        == (entry.corpus, entry.key, entry.configuration)
    ]
    return same[-1] if same else ""


def latest(entries: Iterable[Entry]) -> list[Entry]:
    """What is known of each run, in the order in which runs began: its last line.

    What was released stays released, so no line counts after the one that says so.
    """
    last: dict[str, Entry] = {}
    for entry in entries:
        if entry.run not in last or last[entry.run].state != RELEASED:
            last[entry.run] = entry
    return list(last.values())
