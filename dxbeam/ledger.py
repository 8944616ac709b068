"""The ledger: what has been released of a corpus, in all, and whether one more release may be.

A ledger is a file, local or gs://, of one JSON object a line. Lines are only ever appended, each
with a SHA-256 of itself and all before it, so that a changed or lost line is noticed. A run appends
``begun`` before it reads a word and ``released`` or ``abandoned`` at its end. A run that says
neither may have released something and counts.

Accounting. Let releases i = 1 … k of one corpus have exponents epsilon_i d_i(x, x') for a word.
Their noises are independent, as each has a key stream of its own, so likelihood ratios multiply:

    ln ratio  <=  sum_i epsilon_i d_i(x, x')  <=  (sum_i epsilon_i) max_i d_i(x, x').

So the epsilons add up, in the one metric if all releases share it and else in the largest of the
metrics; deltas add up as well (basic composition, Dwork and Roth 2014, theorem 3.16, applied to a
pair of words). A release with the key, the configuration and the corpus of an earlier one repeats
its output byte for byte; a copy of what is known reveals nothing, so it counts once.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dxbeam import storage
from dxbeam.errors import OutputError

BEGUN, RELEASED, ABANDONED = "begun", "released", "abandoned"


@dataclass(frozen=True)
class Entry:
    """One line.

    Attributes:
      state: BEGUN, RELEASED or ABANDONED.
      run: a name that no other run has; the lines of one run share it.
      time: when, ISO 8601.
      corpus: what the ledger's owner calls the corpus.
      output: where the release goes.
      epsilon: the guarantee's, in the metric below.
      delta: the guarantee's.
      metric: the guarantee's.
      mechanism: its name.
      configuration: digest of every parameter and of the vocabulary.
      vocabulary: the vocabulary's digest.
      key: fingerprint of the secret key; "" for a key that is drawn inside the job.
      corpus_digest: names the corpus under the key and configuration; "" before it is known.
      documents: how many were released; 0 before that is known.
    """

    state: str
    run: str
    time: str
    corpus: str
    output: str
    epsilon: float
    delta: float
    metric: str
    mechanism: str
    configuration: str
    vocabulary: str
    key: str
    corpus_digest: str = ""
    documents: int = 0

    def repeats(self, other: Entry) -> bool:
        """Whether a release of this run would be a copy of one of the other's."""
        return bool(
            self.key
            and self.corpus_digest
            and (self.key, self.configuration, self.corpus_digest)
            == (other.key, other.configuration, other.corpus_digest)
        )


def read(path: str) -> list[Entry]:
    """All entries; [] where there is no ledger yet.

    Raises:
      OutputError: this is no ledger, or it was changed.
    """
    try:
        content = storage.read(path) if storage.exists(path) else b""
    except OSError as error:
        raise OutputError(f"the ledger {path} cannot be read ({type(error).__name__})") from None
    return _entries(path, content)


def spent(entries: Iterable[Entry], corpus: str) -> tuple[float, float]:
    """Sum of epsilon and of delta over the releases of a corpus; copies count once."""
    counted: list[Entry] = []
    for entry in _latest(entries):
        if entry.corpus != corpus or entry.state == ABANDONED:
            continue
        if not any(entry.repeats(other) for other in counted):
            counted.append(entry)
    return sum(entry.epsilon for entry in counted), sum(entry.delta for entry in counted)


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
      OutputError: the release would pass the cap, or this is no ledger.
    """
    needed = ""

    def line(content: bytes) -> bytes:
        nonlocal needed
        needed = _needed_digest(path, _entries(path, content), entry, max_epsilon)
        return _line(content, entry)

    storage.append(path, line)
    return needed


def check(path: str, entry: Entry, max_epsilon: float | None) -> None:
    """Refuses what ``begin`` would refuse as things stand, and writes nothing.

    Raises:
      OutputError: the release would pass the cap, or this is no ledger or no place for one.
    """
    _needed_digest(path, read(path), entry, max_epsilon)
    if (reason := storage.why_unwritable(path.rpartition("/")[0] or ".")) is not None:
        raise OutputError(f"the ledger {path} cannot be written: {reason}")


def _needed_digest(path: str, entries: list[Entry], entry: Entry, max_epsilon: float | None) -> str:
    before, _ = spent(entries, entry.corpus)
    if max_epsilon is None or before + entry.epsilon <= max_epsilon * (1 + 1e-12):
        return ""
    if needed := _earlier_digest(entries, entry):
        return needed
    raise OutputError(
        f"the ledger {path} has epsilon {before:g} of corpus {entry.corpus!r} spent; this release "
        f"would add {entry.epsilon:g} and pass --max_epsilon {max_epsilon:g}. Repeat an earlier "
        "release with its key, or decide on a larger cap"
    )


def end(path: str, begun: Entry, corpus_digest: str, documents: int) -> None:
    """Says that a run has released, and what.

    Raises:
      OutputError: this is no ledger.
    """
    _append(
        path,
        dataclasses.replace(
            begun, state=RELEASED, corpus_digest=corpus_digest, documents=documents
        ),
    )


def abandon(path: str, begun: Entry) -> None:
    """Says that a run which had begun has released nothing, and never will.

    Silent where the run's first line was refused.

    Raises:
      OutputError: this is no ledger.
    """
    if any(entry.run == begun.run for entry in read(path)):
        _append(path, dataclasses.replace(begun, state=ABANDONED))


def _append(path: str, entry: Entry) -> None:
    def line(content: bytes) -> bytes:
        _entries(path, content)
        return _line(content, entry)

    storage.append(path, line)


def _earlier_digest(entries: list[Entry], entry: Entry) -> str:
    """The corpus digest of the latest release under the same key and configuration, or ""."""
    same = [
        other.corpus_digest
        for other in _latest(entries)
        if other.state == RELEASED
        and entry.key
        and (other.corpus, other.key, other.configuration)
        == (entry.corpus, entry.key, entry.configuration)
    ]
    return same[-1] if same else ""


def _latest(entries: Iterable[Entry]) -> list[Entry]:
    """The last line of each run, in the order in which runs began."""
    return list({entry.run: entry for entry in entries}.values())


def _line(content: bytes, entry: Entry) -> bytes:
    fields = dataclasses.asdict(entry)
    return (json.dumps({**fields, "chain": _chain(content, fields)}) + "\n").encode()


def _chain(content: bytes, fields: dict[str, Any]) -> str:
    """SHA-256 of all lines before this one and of this one's own fields."""
    return hashlib.sha256(content + json.dumps(fields).encode()).hexdigest()


def _entries(path: str, content: bytes) -> list[Entry]:
    entries, start = [], 0
    for number, line in enumerate(content.splitlines(keepends=True), 1):
        try:
            fields = json.loads(line)
            del fields["chain"]
            entry = Entry(**fields)
            whole = line == _line(content[:start], entry)
        except (ValueError, TypeError, KeyError, AttributeError):
            whole = False
        if not whole:
            raise OutputError(
                f"{path}, line {number}: this is no ledger of dxbeam's, or it was changed or cut "
                "there; restore it from a backup, as nobody knows what else was released"
            )
        entries.append(entry)
        start += len(line)
    return entries
