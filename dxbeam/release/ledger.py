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
import datetime
import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass

from dxbeam import storage
from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.keys import fingerprint, read_key
from dxbeam.release.manifest import Settings

BEGUN, RELEASED, ABANDONED = "begun", "released", "abandoned"
_STARTS = tuple(b'{"state": "%s", "run": "' % s.encode() for s in (BEGUN, RELEASED, ABANDONED))
"""How a line begins."""


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
      release_sha256: of release.json; "" before it is known, and in older ledgers.

    Raises:
      ConfigurationError: an epsilon that is no positive number, a delta that is no probability, or
        an unknown state. A ledger adds these up.
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
    release_sha256: str = ""

    def __post_init__(self) -> None:
        if self.state not in (BEGUN, RELEASED, ABANDONED):
            raise ConfigurationError(f"a run of a ledger is never {self.state!r}")
        if not 0 < self.epsilon < math.inf:
            raise ConfigurationError(
                f"a ledger adds up positive epsilons, and {self.epsilon!r} is not"
            )
        if not 0 <= self.delta <= 1:
            raise ConfigurationError(f"a ledger adds up deltas, and {self.delta!r} is not one")

    def content(self) -> tuple[str, ...]:
        """What the release is made of: two runs that share it release copies."""
        if not (self.key and self.corpus_digest):  # nobody can tell: a copy of nothing else
            return (self.run,)
        return (self.key, self.configuration, self.corpus_digest)


@dataclass(frozen=True)
class Account:
    """What a run needs to enter its release into the ledger.

    Attributes:
      path: the ledger.
      entry: the run's first line.
      max_epsilon: what all releases of the corpus may add up to; None for no cap.
    """

    path: str
    entry: Entry
    max_epsilon: float | None


def key_fingerprint(key_uri: str) -> str:
    """The fingerprint of a key that is kept."""
    return fingerprint(read_key(key_uri))


def account(
    path: str | None,
    corpus: str | None,
    max_epsilon: float | None,
    settings: Settings,
    *,
    mechanism: str,
    vocabulary: str,
    key_uri: str | None,
    run: str,
    output: str,
) -> Account | None:
    """What a run needs to enter its release; None where no ledger is asked for.

    Args:
      path: the ledger's file.
      corpus: what the ledger's owner calls the corpus.
      max_epsilon: what all releases of the corpus may add up to; None for no cap.
      settings: what is run.
      mechanism: its name.
      vocabulary: the vocabulary's digest; "" for none.
      key_uri: where a kept key is; the key is read.
      run: a name that no other run has.
      output: where the release goes.

    Raises:
      ConfigurationError: a ledger without a corpus or the other way round, a cap that is no
        positive number, or settings that leave words without a guarantee.
    """
    if path is None and corpus is None and max_epsilon is None:  # "" is a name left out
        return None
    for name, value in (("ledger", path), ("corpus_id", corpus)):
        if not value:
            raise ConfigurationError(
                f"`{name}` is needed: `ledger`, `corpus_id` and `max_epsilon` go together"
            )
    check_cap(max_epsilon)
    promise = settings.guarantee()
    if not promise.sound or promise.unprotected:
        raise ConfigurationError(
            "`ledger` adds up what is guaranteed; this release guarantees nothing, or nothing for "
            "some words, so there is nothing to add up; change the settings, or leave it out"
        )
    entry = Entry(
        state=BEGUN,
        run=run,
        time=datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        corpus=str(corpus),
        output=output,
        epsilon=promise.epsilon,
        delta=promise.delta,
        metric=promise.metric.sentence,
        mechanism=mechanism,
        configuration=settings.digest(vocabulary),
        vocabulary=vocabulary,
        key=key_fingerprint(key_uri) if key_uri else "",
    )
    return Account(str(path), entry, max_epsilon)


def read(path: str) -> list[Entry]:
    """All entries; [] where there is no ledger yet.

    Raises:
      OutputError: this is no ledger, or it was changed.
    """
    try:
        content = storage.read(path) if storage.exists(path) else b""
    except OSError as error:
        raise OutputError(f"the ledger {path} cannot be read ({type(error).__name__})") from None
    return _entries(path, _whole_lines(path, content))


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
    """Refuses a cap that is no positive number; nan, which no sum exceeds, would cap nothing.

    Raises:
      ConfigurationError: it is not one.
    """
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
      ConfigurationError: the cap is no positive number.
      OutputError: the release would pass the cap, or this is no ledger, which is left as it is.
    """
    check_cap(max_epsilon)
    required = ""

    def line(content: bytes) -> tuple[int, bytes]:
        nonlocal required
        whole = _whole_lines(path, content)
        entries = _entries(path, whole)
        required = _required_digest(path, entries, entry, max_epsilon)
        return len(whole), b"" if _goes_on(entries, entry) else _next_line(whole, entry)

    storage.append(path, line)
    return required


def check(path: str, entry: Entry, max_epsilon: float | None) -> None:
    """Refuses what ``begin`` would refuse at this moment, and writes nothing.

    Raises:
      ConfigurationError: the cap is no positive number.
      OutputError: the release would pass the cap, or this is no ledger or no place for one.
    """
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
    in whatever window.

    Args:
      path: the ledger.
      begun: the stream's first line.
      record: the record of the window.
      documents: how many messages were released in it.
      record_sha256: of the record.

    Raises:
      OutputError: this is no ledger.
    """
    released = dataclasses.replace(
        begun, state=RELEASED, output=record, documents=documents, release_sha256=record_sha256
    )

    def line(content: bytes) -> tuple[int, bytes]:
        whole = _whole_lines(path, content)
        known = {(entry.run, entry.output, entry.state) for entry in _entries(path, whole)}
        again = (released.run, released.output, released.state) in known
        return len(whole), b"" if again else _next_line(whole, released)

    storage.append(path, line)


def end(
    path: str, begun: Entry, corpus_digest: str, documents: int, release_sha256: str = ""
) -> None:
    """Says that a run has released, and what.

    Args:
      path: the ledger.
      begun: the run's first line.
      corpus_digest: names the corpus under the key and configuration.
      documents: how many were released.
      release_sha256: of release.json.

    Raises:
      OutputError: this is no ledger.
    """
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
        whole = _whole_lines(path, content)
        _entries(path, whole)
        return len(whole), _next_line(whole, entry)

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
    found: dict[str, Entry] = {}
    for entry in entries:
        if entry.run not in found or found[entry.run].state != RELEASED:
            found[entry.run] = entry
    return list(found.values())


def _next_line(content: bytes, entry: Entry) -> bytes:
    return _line(hashlib.sha256(content), entry)


def _line(before: hashlib._Hash, entry: Entry) -> bytes:
    """The line of an entry; ``before``, the SHA-256 of all lines before it, is not changed."""
    fields = dataclasses.asdict(entry)
    if not entry.release_sha256:  # as older ledgers have it
        del fields["release_sha256"]
    chain = before.copy()
    chain.update(json.dumps(fields).encode())
    return (json.dumps({**fields, "chain": chain.hexdigest()}) + "\n").encode()


def _whole_lines(path: str, content: bytes) -> bytes:
    """The content without a last line that its writer was cut off in, and never knew as written.

    Raises:
      OutputError: what does not end there is no line of a ledger.
    """
    whole, cut = content[: content.rfind(b"\n") + 1], content[content.rfind(b"\n") + 1 :]
    if not any(start.startswith(cut) or cut.startswith(start) for start in _STARTS):
        raise _no_ledger(path, whole.count(b"\n") + 1)
    return whole


def _no_ledger(path: str, line: int) -> OutputError:
    return OutputError(
        f"{path}, line {line}: this is not a ledger of dxbeam, or it was changed or cut there, so "
        "nobody knows what else was released; it is left as it is. Restore it from a backup, or "
        "name another file for a new ledger"
    )


def _entries(path: str, content: bytes) -> list[Entry]:
    """The entries of whole lines; each byte is hashed once for itself and once for its line."""
    entries, before = [], hashlib.sha256()
    for number, line in enumerate(content.splitlines(keepends=True), 1):
        try:
            fields = json.loads(line)
            del fields["chain"]
            entry = Entry(**fields)
            whole = line == _line(before, entry)
        except (ValueError, TypeError, KeyError, AttributeError, ConfigurationError):
            whole = False
        if not whole:
            raise _no_ledger(path, number)
        entries.append(entry)
        before.update(line)
    return entries
