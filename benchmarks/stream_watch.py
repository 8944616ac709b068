"""What is watched of a stream: memory and time of processes, what is released, traces of texts."""

from __future__ import annotations

import hashlib
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.engines.kafka import PARTITIONS, Broker

_PAGE, _TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
_BLOCKS, _T_OF_8 = 10, 2.306
_CHUNK = 1 << 22


class Sample(NamedTuple):
    """What a moment looked like.

    Attributes:
      messages: how many were released by then.
      seconds: since the start.
      mebibytes: of memory, of each kind of process.
      spent: processor seconds so far, of each kind of process.
    """

    messages: int
    seconds: float
    mebibytes: dict[str, float]
    spent: dict[str, float]


class Processes:
    """Memory and processor time of processes by kind, those that were killed among them."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self._seconds: dict[str, float] = defaultdict(float)
        self._spent: dict[int, float] = {}
        self._start = time.monotonic()

    def sample(self, messages: int, kinds: dict[int, str], checkpoint: float | None) -> None:
        """Looks at all processes.

        Args:
          messages: how many were released by now.
          kinds: of each session of processes, by its number, what to call its Java processes;
            its Python processes are workers.
          checkpoint: MiB of the last one, which is what the job keeps as state.
        """
        resident: dict[str, float] = defaultdict(float)
        if checkpoint is not None:
            resident["checkpoint"] = checkpoint
        for process, comm, fields in _processes():
            kind = kinds.get(int(fields[3]))
            if kind is None:
                continue
            kind = kind if comm == "java" else "workers"
            resident[kind] += int(fields[21]) * _PAGE / 2**20
            spent = (int(fields[11]) + int(fields[12])) / _TICKS
            self._seconds[kind] += spent - self._spent.get(process, 0.0)
            self._spent[process] = spent
        self.samples.append(
            Sample(messages, time.monotonic() - self._start, dict(resident), dict(self._seconds))
        )

    def slopes(self, first: int, last: int) -> dict[str, str]:
        """MiB for 100,000 messages more, with 95 % intervals, by kind of process.

        Samples of one process resemble one another, so the line is drawn through the means of ten
        stretches, and the interval is Student's with eight degrees of freedom.

        Args:
          first: of the messages after which memory is looked at.
          last: of them.
        """
        samples = [sample for sample in self.samples if first <= sample.messages <= last]
        kinds = {kind for sample in samples for kind in sample.mebibytes}
        return {kind: _slope(samples, kind, first, last) for kind in sorted(kinds)}

    def rates(self, first: int, last: int) -> dict[str, float]:
        """Messages a second, and processor milliseconds a message of each kind of process.

        Args:
          first: of the messages that are looked at.
          last: of them.
        """
        samples = [sample for sample in self.samples if first <= sample.messages <= last]
        if len(samples) < 2 or samples[-1].messages == samples[0].messages:
            return {}
        start, end = samples[0], samples[-1]
        messages = end.messages - start.messages
        return {
            "messages a second": round(messages / (end.seconds - start.seconds), 1),
            **{
                f"ms of {kind} a message": round(
                    1000 * (seconds - start.spent.get(kind, 0.0)) / messages, 3
                )
                for kind, seconds in sorted(end.spent.items())
            },
        }


def _slope(samples: list[Sample], kind: str, first: int, last: int) -> str:
    blocks = defaultdict(list)
    for sample in samples:
        block = min((sample.messages - first) * _BLOCKS // (last - first), _BLOCKS - 1)
        blocks[block].append((sample.messages / 1e5, sample.mebibytes.get(kind, 0.0)))
    if len(blocks) < _BLOCKS:
        return f"too few samples: {len(samples)}"
    x, y = np.array([np.mean(blocks[number], axis=0) for number in range(_BLOCKS)]).T
    spread = ((x - x.mean()) ** 2).sum()
    slope = ((x - x.mean()) * y).sum() / spread
    left = y - y.mean() - slope * (x - x.mean())
    half = _T_OF_8 * np.sqrt((left**2).sum() / (_BLOCKS - 2) / spread)
    return f"{slope:.2f} ± {half:.2f}, of {y.mean():.1f}"


def _processes() -> Iterator[tuple[int, str, list[str]]]:
    """Number, name and further fields of /proc/NUMBER/stat of all processes."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            name, _, fields = (folder / "stat").read_text().partition("(")[2].rpartition(") ")
            yield int(folder.name), name, fields.split()


class Released:
    """All that was released, by the number of its message: what is lost, doubled, unequal.

    Args:
      broker: where it is.
      topic: in which messages have ids m0, m1, …
      messages: how many should be there.
      canary: what is in texts and must not be released.
    """

    def __init__(self, broker: Broker, topic: str, messages: int, canary: bytes):
        from confluent_kafka import TopicPartition

        self.digests = np.zeros(messages, np.uint64)
        self.published = self.unequal = self.distinct = self.with_canary = 0
        self._canary = canary
        self._consumer: Any = broker.consumer()
        self._consumer.assign([TopicPartition(topic, each, 0) for each in range(PARTITIONS)])

    def read(self) -> int:
        """Reads what is new; how many messages that was."""
        new = 0
        for message in self._consumer.consume(10_000, 0.5):
            if message.error() is None:
                self._add(int(message.key()[1:]), message.value())
                new += 1
        self.published += new
        return new

    def _add(self, number: int, value: bytes) -> None:
        digest = digest_of(value)
        if self.digests[number] == 0:
            self.distinct += 1
            self.digests[number] = digest
        elif self.digests[number] != digest:
            self.unequal += 1
        self.with_canary += self._canary in value

    def close(self) -> None:
        """Ends the consumer."""
        self._consumer.close()


def digest_of(value: bytes) -> np.uint64:
    """64 bits of the SHA-256, never 0."""
    return np.uint64(int.from_bytes(hashlib.sha256(value).digest()[:8], "little") | 1)


class Traces:
    """Searches files for what only raw texts contain.

    Args:
      folder: where all files of the run are.
      canary: what is searched for.
      private: folders where the raw texts are on purpose, as patterns of paths.
    """

    def __init__(self, folder: Path, canary: bytes, *private: str):
        self._folder, self._canary, self._private = folder, canary, private
        self.files: set[str] = set()
        self.searched: set[str] = set()

    def search(self) -> None:
        """Looks into every file that is there now, checkpoints among them."""
        private = [path for pattern in self._private for path in self._folder.glob(pattern)]
        for folder, _, files in os.walk(self._folder):  # passes over what is deleted meanwhile
            if any(Path(folder).is_relative_to(each) for each in private):
                continue
            for path in (Path(folder) / file for file in files):
                name = str(path.relative_to(self._folder))
                with suppress(FileNotFoundError):
                    if _contains(path, self._canary):
                        self.files.add(name)
                    self.searched.add(name)


def _contains(path: Path, canary: bytes) -> bool:
    end = b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            if canary in end + chunk:
                return True
            end = chunk[-len(canary) :]
    return False
