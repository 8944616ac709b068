"""Messages through Kafka and Flink while processes are killed: what is lost, doubled, counted.

    python -m benchmarks.stream --messages 10000 --kills 5

A broker, a Flink cluster of two TaskManagers and ``dxbeam sanitize-stream`` run on this machine.
Worker pools, TaskManagers and the broker are killed in turn, evenly over the run, and started
again. Then all released messages are read: each id is there, all messages of one id are equal in
bytes, and each is what the Sanitizer makes of it without Beam.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import numpy as np

from dxbeam.documents import Document
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.release import ledger
from dxbeam.space.artifact import artifact
from dxbeam.text.batch import Sanitized
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitizer
from tests.engines import installed
from tests.engines.flink_cluster import FlinkCluster
from tests.engines.kafka import Broker, Stream, expansion_service
from tests.support import tiny

_WORDS, _WINDOW = 20, 30
_KILLED = ("pool-0", "task-manager-1", "broker", "pool-1", "task-manager-0")


def texts(messages: int) -> Iterator[str]:
    """Texts of words of the demo vocabulary."""
    vocabulary = artifact.open_vocabulary(artifact.handle(artifact.DEMO))
    generator = np.random.default_rng(7)
    for _ in range(messages):
        drawn = generator.integers(len(vocabulary), size=_WORDS)
        yield " ".join(vocabulary.words[number] for number in drawn)


def expected(messages: int) -> dict[bytes, str]:
    """What the Sanitizer makes of them without Beam."""
    vocabulary = artifact.open_vocabulary(artifact.handle(artifact.DEMO))
    sanitizer = Sanitizer(vocabulary, Configuration(Laplace(10.0)), tiny.KEY)
    documents = (Document(f"m{i}", text) for i, text in enumerate(texts(messages)))
    return {
        result.document.id.encode(): result.document.text
        for result in sanitizer.sanitize(documents)
        if isinstance(result, Sanitized)
    }


def run(folder: Path, messages: int, kills: int, seconds: float) -> dict[str, object]:
    """Runs the stream once; what was seen."""
    jar = installed.job_server(installed.FLINK_KAFKA)
    kafka = installed.job_server(installed.KAFKA)
    with Broker(kafka, folder / "kafka") as broker, FlinkCluster(jar, folder / "flink") as cluster:
        broker.create("raw", "released", "released-dead-letters")
        values = [
            json.dumps({"id": f"m{i}", "text": text}).encode()
            for i, text in enumerate(texts(messages))
        ]
        broker.publish("raw", [*values, b"{damaged", None])
        with (
            expansion_service(jar, folder) as expansion,
            Stream(folder, broker, expansion, cluster, f"--window={_WINDOW}") as stream,
        ):
            stream.await_messages(broker, 1, seconds)
            started, killed = time.monotonic(), cycle(_KILLED)
            for number in range(kills):
                stream.await_messages(broker, (number + 1) * messages // (kills + 1), seconds)
                if (name := next(killed)) == "broker":
                    broker.kill()
                    broker.start()
                else:
                    cluster.kill(name)
                    cluster.start(name)
                print(f"{time.monotonic() - started:.0f} s: killed {name}", flush=True)
            stream.await_messages(broker, messages, seconds)
            deadline = time.monotonic() + seconds
            while len(broker.messages("released")) < messages and time.monotonic() < deadline:
                time.sleep(1)
            taken = time.monotonic() - started
            counted = 0
            while counted < messages and time.monotonic() < deadline:
                time.sleep(1)
                counted = sum(record["documents_out"] for record in stream.records())
        released, letters = broker.messages("released"), broker.messages("released-dead-letters")
    entries = ledger.read(str(stream.ledger))
    right = expected(messages)
    texts_released = {key: json.loads(next(iter(value)))["text"] for key, value in released.items()}
    return {
        "messages": messages,
        "killed": kills,
        "lost": len(right.keys() - released.keys()),
        "published": sum(sum(values.values()) for values in released.values()),
        "unequal": sum(len(values) > 1 for values in released.values()),
        "as without Beam": texts_released == right,
        "dead letters": len(letters),
        "counted in windows": counted,
        "windows": len(stream.records()),
        "lines of the ledger": len(entries),
        "epsilon spent": ledger.spent(entries, "raw")[0],
        "messages a second": round(messages / taken),
    }


def main() -> None:
    """Prints what was seen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=600)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(run(Path(folder), given.messages, given.kills, given.seconds), indent=1))


if __name__ == "__main__":
    main()
