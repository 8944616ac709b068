"""Messages through Kafka and Flink while processes are killed: what is lost, doubled, counted.

    python -m benchmarks.stream --messages 1000000 --kills 5

A broker, a Flink cluster of two TaskManagers and ``dxbeam sanitize-stream`` run on this machine.
In the first half of the run worker pools, TaskManagers and the broker are killed in turn and
started again. All released messages are read: each id is there, all messages of one id are equal
in bytes, and each is what the Sanitizer makes of it without Beam. In the second half the memory of
all processes and the size of checkpoints are watched. Some texts hold a word that nothing else
holds; all files of the run are searched for it, logs, checkpoints and temporary files among them.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.rows import command_line
from benchmarks.stream_watch import Processes, Released, Traces, digest_of
from dxbeam.corpus.messages import MessageFormat
from dxbeam.documents import Document
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.release import ledger
from dxbeam.space.artifact import artifact
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitizer
from tests.engines import installed
from tests.engines.flink_cluster import FlinkCluster
from tests.engines.kafka import Broker, Stream, expansion_service
from tests.support import tiny

CANARY = "zyzzogeton"
DEAD_LETTERS = 3
_WORDS, _WINDOW, _LARGEST, _CHECKPOINTS = 20, 30, 20_000, 10
_BLOCK, _CANARY_EACH = 10_000, 50
_KILLED = {
    True: ("pool-0", "task-manager-1", "broker", "pool-1", "task-manager-0"),
    False: ("worker-0", "task-manager-1", "broker", "worker-1", "task-manager-0"),
}
_SAMPLE_SECONDS = 2.0


class Settings(NamedTuple):
    """What is run.

    Attributes:
      messages: how many.
      kills: how many processes are killed.
      compared: how many are compared with what the Sanitizer makes; None for all.
      seconds: after which nothing new may still be to come.
      pools: whether workers are in worker pools, or else children of the TaskManagers.
    """

    messages: int
    kills: int = 0
    compared: int | None = None
    seconds: float = 300
    pools: bool = True


def texts(first: int, last: int) -> Iterator[str]:
    """Texts of words of the demo vocabulary, and now and then one that is not in it."""
    vocabulary = artifact.open_vocabulary(artifact.handle(artifact.DEMO))
    for block in range(first // _BLOCK, -(-last // _BLOCK)):
        generator = np.random.default_rng([7, block])
        drawn = generator.integers(len(vocabulary), size=(_BLOCK, _WORDS))
        numbers = range(block * _BLOCK, (block + 1) * _BLOCK)
        for number, row in zip(numbers, drawn, strict=True):
            if first <= number < last:
                words = [vocabulary.words[word] for word in row]
                canary = [CANARY] if number % _CANARY_EACH == 0 else []
                yield " ".join([*words, *canary])


def _messages(count: int) -> Iterator[bytes | None]:
    for number, text in enumerate(texts(0, count)):
        yield json.dumps({"id": f"m{number}", "text": text}).encode()
    yield f"{{{CANARY}".encode()
    yield json.dumps({"id": "long", "text": f"{CANARY} " * _LARGEST}).encode()
    yield None


def expected(span: tuple[int, int]) -> list[np.uint64]:
    """Digests of what the Sanitizer makes of messages from one to another without Beam."""
    vocabulary = artifact.open_vocabulary(artifact.handle(artifact.DEMO))
    sanitizer = Sanitizer(vocabulary, Configuration(Laplace(10.0)), tiny.KEY)
    documents = (Document(f"m{number}", text) for number, text in enumerate(texts(*span), span[0]))
    released = (result.document for result in sanitizer.sanitize(documents))
    written = (MessageFormat().released(document) for document in released if document)
    return [digest_of(bytes(message[1] or b"")) for message in written]


def _differing(digests: np.ndarray, processes: int) -> int:
    """How many messages are other than without Beam."""
    starts = range(0, len(digests), _BLOCK)
    spans = [(start, min(start + _BLOCK, len(digests))) for start in starts]
    with ProcessPoolExecutor(processes) as pool:
        right = np.concatenate(list(pool.map(expected, spans)))
    return int((digests != right).sum())


class _Run:
    """A stream that runs, and what is watched of it."""

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        broker: Broker,
        cluster: FlinkCluster,
        stream: Stream,
    ):
        self._settings, self._broker, self._cluster = settings, broker, cluster
        self.stream = stream
        self.released = Released(broker, "released", settings.messages, CANARY.encode())
        self.processes = Processes()
        self.traces = Traces(folder, CANARY.encode(), "kafka/data/raw-*")
        self.started = time.monotonic()

    def until(self, done: Callable[[], bool], what: str) -> None:
        """Reads what is released until enough is done."""
        changed, sampled = time.monotonic(), 0.0
        while not done():
            now = time.monotonic()
            if self.released.read():
                changed = now
            self.stream.check()
            assert now < changed + self._settings.seconds, f"no {what}: {self.stream.said()}"
            if now > sampled + _SAMPLE_SECONDS:
                kinds = self._cluster.sessions() | self._broker.sessions()
                self.processes.sample(self.released.distinct, kinds, self._cluster.checkpoint())
                sampled = now

    def kill(self, name: str) -> None:
        """Kills a process and starts it again."""
        if name == "broker":
            self._broker.kill()
            self._broker.start()
        else:
            self._cluster.kill(name)
            self._cluster.start(name)
        self.traces.search()
        print(f"{time.monotonic() - self.started:.0f} s: killed {name}", flush=True)

    def all(self) -> None:
        """Kills what is to be killed, and waits until all is released."""
        messages, kills = self._settings.messages, self._settings.kills
        self.until(lambda: self.released.distinct > 0, "first message")
        self.started = time.monotonic()
        for number, name in enumerate(islice(cycle(_KILLED[self._settings.pools]), kills), 1):
            self._await(number * messages // (2 * kills))
            self.kill(name)
        self._await(messages)

    def _await(self, messages: int) -> None:
        self.until(lambda: self.released.distinct >= messages, f"{messages:,} messages")

    def counted(self) -> int:
        """How many messages the records of all windows count, once they count them all."""
        deadline = time.monotonic() + self._settings.seconds
        count = 0
        while count < self._settings.messages and time.monotonic() < deadline:
            self.released.read()
            count = sum(record["documents_out"] for record in self.stream.records())
        return count


def run(folder: Path, settings: Settings) -> dict[str, object]:
    """Runs the stream once; what was seen."""
    jar = installed.job_server(installed.FLINK_KAFKA)
    kafka = installed.job_server(installed.KAFKA)
    temporary = folder / "temporary"
    temporary.mkdir()
    os.environ |= {
        "TMPDIR": str(temporary),
        "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={temporary} {installed.LOGGED}",
    }
    kept = {"attempts": None, "checkpoints": _CHECKPOINTS, "pools": settings.pools}
    with (
        Broker(kafka, folder / "kafka") as broker,
        FlinkCluster(jar, folder / "flink", **kept) as cluster,
    ):
        broker.create("raw", "released", "released-dead-letters")
        broker.publish("raw", _messages(settings.messages))
        flags = (f"--window={_WINDOW}", f"--largest_message={_LARGEST}")
        with (
            expansion_service(jar, folder) as expansion,
            Stream(folder, broker, expansion, cluster, *flags) as stream,
        ):
            watched = _Run(settings, folder, broker, cluster, stream)
            watched.all()
            taken = time.monotonic() - watched.started
            counted = watched.counted()
            watched.traces.search()
        letters = set(broker.keys("released-dead-letters"))
        watched.released.close()
    watched.traces.search()
    return {**_seen(watched, settings, taken, counted), "dead letters": len(letters)}


def _seen(watched: _Run, settings: Settings, taken: float, counted: int) -> dict[str, object]:
    released, processes, traces = watched.released, watched.processes, watched.traces
    entries = ledger.read(str(watched.stream.ledger))
    messages = settings.messages
    compared = released.digests[: settings.compared]
    return {
        "messages": messages,
        "killed": settings.kills,
        "lost": messages - released.distinct,
        "published": released.published,
        "unequal": released.unequal,
        "compared": len(compared),
        "other than without Beam": _differing(compared, os.cpu_count() or 1),
        "counted in windows": counted,
        "windows": len(watched.stream.records()),
        "lines of the ledger": len(entries),
        "epsilon spent": ledger.spent(entries, "raw")[0],
        "seconds": round(taken),
        "messages a second": round(messages / taken),
        "rates undisturbed": processes.rates(messages * 6 // 10, messages),
        "MiB for 100,000 messages more": processes.slopes(messages * 6 // 10, messages),
        "files searched": len(traces.searched),
        "checkpoints searched": sum("/chk-" in name for name in traces.searched),
        "files with raw words": sorted(traces.files),
        "released messages with raw words": released.with_canary,
    }


def main() -> None:
    """Prints what was seen."""
    parser = command_line(__doc__)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument(
        "--compared", type=int, help="with what the Sanitizer makes; all by default"
    )
    parser.add_argument(
        "--seconds", type=float, default=300, help="longest time without a new message"
    )
    parser.add_argument(
        "--processes", action="store_true", help="workers are children of the TaskManagers"
    )
    parser.add_argument("--folder", type=Path, help="fresh place whose files are kept")
    flags = parser.parse_args()
    settings = Settings(
        flags.messages, flags.kills, flags.compared, flags.seconds, not flags.processes
    )
    if flags.folder:
        flags.folder.mkdir(parents=True)
        print(json.dumps(run(flags.folder, settings), indent=1))
        return
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(run(Path(folder), settings), indent=1))


if __name__ == "__main__":
    main()
