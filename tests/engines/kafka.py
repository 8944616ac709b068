"""A Kafka broker without a container, Beam's expansion service, and a stream on a Flink cluster."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.engines.flink_cluster import ROOT, FlinkCluster, free_ports, wait_for
from tests.support import tiny

_EXPANSION = "org.apache.beam.sdk.expansion.service.ExpansionService"
PARTITIONS = 4


class Broker:
    """One broker in KRaft mode. Starts with ``with``; can be killed and started again.

    Args:
      jar: Kafka's.
      folder: for its log and data.
    """

    def __init__(self, jar: Path, folder: Path):
        self._jar, self._folder = jar, folder
        port, controller = free_ports(2)
        self.address = f"127.0.0.1:{port}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "server.properties").write_text(
            _BROKER.format(port=port, controller=controller, folder=folder)
        )

    def __enter__(self) -> Broker:
        subprocess.run(
            [
                *self._java("kafka.tools.StorageTool"),
                "format",
                "-t",
                "MkU3OEVBNTcwNTJENDM2Qg",
                "-c",
                str(self._folder / "server.properties"),
            ],
            check=True,
            capture_output=True,
        )
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _java(self, main: str) -> list[str]:
        return ["java", "-Xmx384m", "-cp", str(self._jar), main]

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        with (self._folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._java("kafka.Kafka"), str(self._folder / "server.properties")],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_for(self._answers, "broker", 90)

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        with contextlib.suppress(KafkaException):
            return bool(self._client(AdminClient).list_topics(timeout=2).brokers)
        return False

    def _client(self, kind: Any, **settings: Any) -> Any:
        return kind({"bootstrap.servers": self.address, "log_level": 0, **settings})

    def create(self, *topics: str) -> None:
        """Makes topics, whose messages have the time at which the broker took them."""
        from confluent_kafka.admin import AdminClient, NewTopic

        config = {"message.timestamp.type": "LogAppendTime"}
        client = self._client(AdminClient)
        made = client.create_topics(
            [NewTopic(topic, PARTITIONS, 1, config=config) for topic in topics]
        )
        for topic in made.values():
            topic.result(30)

    def publish(self, topic: str, values: Iterable[bytes | None]) -> None:
        """Publishes messages, in whatever partition."""
        from confluent_kafka import Producer

        producer = self._client(Producer)
        for value in values:
            while True:
                try:
                    producer.produce(topic, value)
                    break
                except BufferError:  # the queue is full
                    producer.poll(1)
            producer.poll(0)
        assert producer.flush(600) == 0

    def size(self, topic: str) -> int:
        """How many messages a topic holds; 0 while the broker does not answer."""
        from confluent_kafka import Consumer, KafkaException, TopicPartition

        consumer = self._client(Consumer, **{"group.id": "sizes"})
        try:
            ends = [
                consumer.get_watermark_offsets(TopicPartition(topic, each), timeout=5)[1]
                for each in range(PARTITIONS)
            ]
        except KafkaException:
            return 0
        finally:
            consumer.close()
        return sum(ends)

    def consumer(self) -> Any:
        """A consumer that starts at the beginning of what it is assigned."""
        from confluent_kafka import Consumer

        return self._client(Consumer, **{"group.id": "reads", "auto.offset.reset": "earliest"})

    def keys(self, topic: str) -> list[bytes]:
        """The keys of all messages of a topic."""
        from confluent_kafka import TopicPartition

        size, keys, consumer = self.size(topic), list[bytes](), self.consumer()
        consumer.assign([TopicPartition(topic, each, 0) for each in range(PARTITIONS)])
        while len(keys) < size:
            keys += [message.key() for message in consumer.consume(10_000, 5)]
        consumer.close()
        return keys

    def sessions(self) -> dict[int, str]:
        """Its session of processes."""
        return {self._process.pid: "broker"}


@contextlib.contextmanager
def expansion_service(jar: Path, folder: Path) -> Iterator[str]:
    """The address of a service that knows Kafka, whose steps run within Flink's own processes."""
    [port] = free_ports(1)
    log = folder / "expansion.log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            [
                "java",
                "-Xmx256m",
                "-cp",
                str(jar),
                _EXPANSION,
                str(port),
                "--defaultEnvironmentType=EMBEDDED",
                "--experiments=use_deprecated_read",
            ],
            stdout=said,
            stderr=said,
        )
    try:
        wait_for(lambda: "kafka_write" in log.read_text("utf-8", "replace"), "service", 90)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


class Stream:
    """``dxbeam sanitize-stream`` as a process, on a cluster.

    Args:
      folder: for its key, records, ledger and log.
      broker: with the topics "raw", "released" and "released-dead-letters".
      expansion: address of the expansion service.
      cluster: where it runs.
      flags: further ones.
    """

    def __init__(
        self, folder: Path, broker: Broker, expansion: str, cluster: FlinkCluster, *flags: str
    ):
        self.output, self.ledger = folder / "out", folder / "ledger"
        self.log = folder / "stream.log"
        key = folder / "key"
        key.write_text(tiny.KEY.hex())
        key.chmod(0o600)
        self._command = [
            *(sys.executable, "-m", "pipelines.sanitize_stream", f"--brokers={broker.address}"),
            *("--input_topic=raw", "--output_topic=released", "--vocabulary=demo"),
            *("--epsilon=10", f"--key_uri={key}", f"--output={self.output}"),
            *(f"--ledger={self.ledger}", "--corpus_id=raw", "--max_epsilon=10"),
            *(f"--expansion_service={expansion}", "--search_threads=1"),
            *(
                "--message_time=log_append",
                "--checkpoint_seconds=3",
                *cluster.flags(2, kept=0),
                *flags,
            ),
        ]

    def __enter__(self) -> Stream:
        with self.log.open("ab") as said:
            self.process = subprocess.Popen(
                self._command, cwd=ROOT, stdout=said, stderr=said, env={**os.environ}
            )
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()

    def records(self) -> list[dict[str, Any]]:
        """Those of all windows."""
        return [json.loads(path.read_text()) for path in sorted(self.output.glob("window-*"))]

    def check(self) -> None:
        """Fails when it has ended."""
        assert self.process.poll() is None, self.said()

    def said(self) -> str:
        """The end of its log."""
        return self.log.read_text("utf-8", "replace")[-3000:]


_BROKER = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""
