"""The lines of a ledger: what each says, and the SHA-256 by which it hangs on those before it.

What may be appended, and what the lines add up to, is in ``ledger.py``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass

from dxbeam.errors import ConfigurationError, OutputError

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


def next_line(content: bytes, entry: Entry) -> bytes:
    """The line of an entry that is appended to these."""
    return _line(hashlib.sha256(content), entry)


def _line(before: hashlib._Hash, entry: Entry) -> bytes:
    """The line of an entry; ``before``, the SHA-256 of all lines before it, is not changed."""
    fields = dataclasses.asdict(entry)
    if not entry.release_sha256:  # as older ledgers have it
        del fields["release_sha256"]
    chain = before.copy()
    chain.update(json.dumps(fields).encode())
    return (json.dumps({**fields, "chain": chain.hexdigest()}) + "\n").encode()


def whole_lines(path: str, content: bytes) -> bytes:
    """The content without a last line that its writer was cut off in, and never knew as written."""
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


def entries_of(path: str, content: bytes) -> list[Entry]:
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
