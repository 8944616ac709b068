"""Reading messages from Kafka and publishing them there, by Beam's own transforms, in Java.

The payloads name only what all versions of Beam's expansion service know, so that the service may
be older than Beam's Python half.
"""

# No "from __future__ import annotations" here: Beam reads the payloads' types as they are.

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
from apache_beam import pvalue
from apache_beam.transforms.external import ExternalTransform, NamedTupleBasedPayloadBuilder

from dxbeam.corpus.messages import PROCESSING, TIMES, Message
from dxbeam.errors import ConfigurationError

_POLICIES = {
    PROCESSING: "ProcessingTime",
    "log_append": "LogAppendTime",
    "create": "CreateTime",
}
assert _POLICIES.keys() == TIMES.keys()

_READ = "beam:transform:org.apache.beam:kafka_read_with_metadata:v1"
_WRITE = "beam:transform:org.apache.beam:kafka_write:v1"
_SERIALIZATION = "org.apache.kafka.common.serialization.ByteArray"
_SMALLEST_REQUEST, _REQUEST_MARGIN = 1 << 20, 1 << 16


class _Read(NamedTuple):
    consumer_config: Mapping[str, str]
    topics: list[str]
    key_deserializer: str
    value_deserializer: str
    commit_offset_in_finalize: bool
    timestamp_policy: str
    consumer_polling_timeout: int
    redistribute: bool
    redistribute_num_keys: np.int32
    allow_duplicates: bool


class _Write(NamedTuple):
    producer_config: Mapping[str, str]
    topic: str
    key_serializer: str
    value_serializer: str


@dataclass(frozen=True)
class Kafka:
    """Where Kafka is, and how its clients reach it.

    Attributes:
      servers: ``host:port``, several separated by commas.
      properties: further settings of the clients.
      expansion_service: of Beam, as ``host:port``; None for the one that Beam starts.
      largest: bytes of the largest message.
    """

    servers: str
    properties: tuple[tuple[str, str], ...] = ()
    expansion_service: str | None = None
    largest: int = _SMALLEST_REQUEST

    def read(self, topic: str, group: str, time: str = PROCESSING) -> beam.PTransform:
        """PBegin -> PCollection[Message]: all messages of a topic that the group has not read.

        Args:
          topic: where from.
          group: whose offsets are kept in Kafka, so that a stream which starts again goes on there.
          time: one of ``TIMES``, the messages' timestamps in the stream.

        Raises:
          ConfigurationError: there is no such time.
        """
        if time not in TIMES:
            raise ConfigurationError(f"`message_time` {time}: choose from {', '.join(TIMES)}")
        return _ReadMessages(self, topic, group, _POLICIES[time])

    def publish(self, topic: str) -> beam.PTransform:
        """PCollection[tuple[bytes, bytes]], keys and values -> nothing."""
        size = max(_SMALLEST_REQUEST, self.largest + _REQUEST_MARGIN)
        return ExternalTransform(
            _WRITE,
            NamedTupleBasedPayloadBuilder(
                _Write(
                    {**self._clients, "max.request.size": str(size)},
                    topic,
                    f"{_SERIALIZATION}Serializer",
                    f"{_SERIALIZATION}Serializer",
                )
            ),
            self._service,
        )

    @property
    def _clients(self) -> dict[str, str]:
        return {**dict(self.properties), "bootstrap.servers": self.servers}

    @property
    def _service(self) -> Any:
        if self.expansion_service:
            return self.expansion_service
        from apache_beam.io.kafka import default_io_expansion_service

        return default_io_expansion_service()


class _ReadMessages(beam.PTransform):
    def __init__(self, kafka: Kafka, topic: str, group: str, policy: str):
        super().__init__()
        self._kafka, self._topic, self._group, self._policy = kafka, topic, group, policy

    def expand(self, begin: pvalue.PBegin) -> pvalue.PCollection:
        consumer = {
            **self._kafka._clients,
            "group.id": self._group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": "false",
        }
        read = _Read(
            consumer_config=consumer,
            topics=[self._topic],
            key_deserializer=f"{_SERIALIZATION}Deserializer",
            value_deserializer=f"{_SERIALIZATION}Deserializer",
            commit_offset_in_finalize=True,
            timestamp_policy=self._policy,
            consumer_polling_timeout=2,
            redistribute=False,
            redistribute_num_keys=np.int32(0),
            allow_duplicates=False,
        )
        records = begin | "Records" >> ExternalTransform(
            _READ, NamedTupleBasedPayloadBuilder(read), self._kafka._service
        )
        return records | "Messages" >> beam.Map(_message).with_output_types(Message)


def _message(record: Any) -> Message:
    return Message(
        f"{record.topic}/{record.partition}",
        record.offset,
        record.timestamp / 1000,
        record.value or b"",
    )


def read_properties(path: str, content: str) -> tuple[tuple[str, str], ...]:
    """Settings in lines ``name=value``; blank lines and those that start with # are left out.

    A line that is no setting is not shown, as it may hold a password.
    """
    properties = []
    for number, line in enumerate(content.splitlines(), 1):
        name, equals, value = line.partition("=")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not equals or not name.strip():
            raise ConfigurationError(f"`kafka_properties` {path}, line {number}: no name=value")
        properties.append((name.strip(), value.strip()))
    return tuple(properties)
