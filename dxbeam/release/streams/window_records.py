"""What is written of a stream: what it promises, once, and a record of each window.

``stream.json`` holds all that is known before a message is read. It is written create-once, so a
stream that is started again writes it again, and another stream is refused. Each window adds a
``window-TIME.json`` when it is over, create-once as well. An engine that repeats a window after a
failure finds its record there. If it counted otherwise this time it adds a second record, so that
messages may be counted twice, and none is left out.
"""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

import datetime
import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from dxbeam import storage
from dxbeam.errors import OutputError
from dxbeam.release import ledger
from dxbeam.release.ledger import Account
from dxbeam.release.manifest import Settings, unprotected, versions
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.text.tally import Tally

STREAM = "stream.json"
FORMAT, WINDOW_FORMAT, VERSION = "dxbeam-stream", "dxbeam-stream-window", 1
METRICS = "metrics"

CAVEATS = (
    "Each message is a document. Everybody who reads the released messages sees their ids, how "
    "many there are, and when each was published.",
    "The noise of a message depends on its id and its text: of two messages with one id everybody "
    "sees whether their texts are equal.",
    "A message that its producer published twice without an id is released twice. Its epsilons add "
    "up, and the ledger counts one.",
)
_NOT_COVERED = (
    "Computed from the original text: these figures are not covered by the guarantee of the "
    "release and do not belong with it."
)


class WindowCounts(NamedTuple):
    """How many messages were released and rejected in a window, and the tally of their words.

    ``digest`` is the sum of the digests of all released messages, see ``released_digest``.
    """

    tally: Tally = Tally()
    documents: int = 0
    rejected: int = 0
    digest: bytes = bytes(32)

    def merge(self, other: "WindowCounts") -> "WindowCounts":
        """The sum of both."""
        return WindowCounts(
            self.tally.merge(other.tally),
            self.documents + other.documents,
            self.rejected + other.rejected,
            _sum(self.digest, other.digest),
        )


class Window(NamedTuple):
    """A span of time, and which of its records this is.

    Attributes:
      start: seconds since 1970.
      end: the first second after it.
      late: 0 for the record that is written when the window is over; 1, 2, … for messages that came
        later.
    """

    start: int
    end: int
    late: int = 0

    @property
    def name(self) -> str:
        """Of its files, without a suffix."""
        start = re.sub("[-:]|[+].*", "", _time(self.start))
        return f"window-{start}Z" + (f"-late-{self.late}" if self.late else "")


@dataclass(frozen=True)
class StreamRelease:
    """A stream as it is released, known before a message is read.

    Its name is its run's in the ledger, and ``content`` is that of stream.json. Records of windows
    go to ``output``, and counts that are computed from the raw text to ``metrics_output``.
    """

    name: str
    output: str
    metrics_output: str
    content: dict[str, Any]
    account: Account | None = None

    def begin(self) -> None:
        """Writes stream.json and the ledger's line, unless an earlier start of this stream did."""
        path = storage.join(self.output, STREAM)
        if not storage.exists(path) and (other := storage.first_file_below(self.output)):
            raise OutputError(
                f"{self.output} is not empty (it holds {other}), and no stream was released "
                "there; choose a fresh place"
            )
        storage.create_once(path, _json(self.content))
        if self.account:
            ledger.begin(self.account.path, self.account.entry, self.account.max_epsilon)

    def check(self) -> None:
        """Refuses what ``begin`` would refuse at this moment; writes nothing."""
        if (reason := storage.why_unwritable(self.output)) is not None:
            raise OutputError(f"{self.output} cannot be written: {reason}")
        if self.account:
            ledger.check(self.account.path, self.account.entry, self.account.max_epsilon)

    def record(self, window: Window, counts: WindowCounts) -> str:
        """Writes what was released in a window; its path. Then the ledger has its line.

        What an earlier attempt wrote stays, as somebody may have read it; what differs from it is
        written beside it.
        """
        content = _json(
            {
                "format": WINDOW_FORMAT,
                "version": VERSION,
                "stream": self.name,
                "start": _time(window.start),
                "end": _time(window.end),
                "late": window.late,
                "documents_in": counts.documents + counts.rejected,
                "documents_out": counts.documents,
                "dead_letters": counts.rejected,
                "tokens": counts.tally.tokens,
                "released_digest": counts.digest.hex(),
                "versions": versions(),
            }
        )
        metrics = {
            "note": _NOT_COVERED,
            "documents_in": counts.documents + counts.rejected,
            "dead_letters": counts.rejected,
            **counts.tally.as_dict(),
        }
        _create(self.metrics_output, f"{METRICS}-{window.name}", _json(metrics))
        path = _create(self.output, window.name, content)
        if self.account:
            digest = hashlib.sha256(content).hexdigest()
            ledger.end_window(self.account.path, self.account.entry, path, counts.documents, digest)
        return path


def stream_name(source: str, key_fingerprint: str, configuration_digest: str) -> str:
    """The name of a stream: that of the same messages, key and settings is the same again."""
    named = json.dumps([source, key_fingerprint, configuration_digest])
    return hashlib.sha256(named.encode()).hexdigest()[:32]


def describe(
    name: str,
    settings: Settings,
    vocabulary: VocabularyHandle,
    key_fingerprint: str,
    kept_fields: Iterable[str],
    places: dict[str, Any],
) -> dict[str, Any]:
    """The content of stream.json, the same at each start; ``places`` are topics and the like."""
    kept = list(kept_fields)
    return {
        "format": FORMAT,
        "version": VERSION,
        "stream": name,
        "guarantee": settings.guarantee().with_caveats(*CAVEATS).as_dict(),
        "unprotected": unprotected(settings.unprotected, kept),
        "configuration": settings.as_dict(),
        "configuration_digest": settings.digest(vocabulary.digest),
        "vocabulary": {
            "digest": vocabulary.digest,
            "words": vocabulary.words,
            "dimensions": vocabulary.dimensions,
        },
        "key": {"fingerprint": key_fingerprint, "kept": True},
        "kept_fields": kept,
        **places,
    }


def released_digest(messages: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The sum of the SHA-256 of messages, key and value, modulo 2^256: in whatever order."""
    digest = bytes(32)
    for key, value in messages:
        length = len(key).to_bytes(8, "big")
        digest = _sum(digest, hashlib.sha256(length + key + value).digest())
    return digest


def _sum(one: bytes, other: bytes) -> bytes:
    return ((int.from_bytes(one, "big") + int.from_bytes(other, "big")) % (1 << 256)).to_bytes(
        32, "big"
    )


def _create(folder: str, name: str, content: bytes) -> str:
    """Writes a file, or a second one where there is one with other content; its path."""
    path = storage.join(folder, f"{name}.json")
    try:
        storage.create_once(path, content)
    except OutputError:
        path = storage.join(folder, f"{name}-again-{hashlib.sha256(content).hexdigest()[:8]}.json")
        storage.create_once(path, content)
    return path


def _time(seconds: int) -> str:
    """In ISO 8601; bounded input without times is before all of them."""
    seconds = max(seconds, 0)
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat()


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()
