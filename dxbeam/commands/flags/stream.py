"""Where a stream of messages is read and published."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag
from dxbeam.commands.flags.arguments import count, number, size
from dxbeam.commands.flags.flag import Flag, one_of, topic
from dxbeam.corpus.messages import LARGEST_MESSAGE, PROCESSING, TIMES

_DAY = 24 * 3600


@topic(
    flag.STREAM,
    Flag(
        "brokers",
        "HOST:PORT,…",
        "brokers of Kafka",
    ),
    Flag(
        "input_topic",
        "TOPIC",
        "messages to sanitize, a JSON object each",
    ),
    Flag(
        "output_topic",
        "TOPIC",
        "where sanitized messages are published, a JSON object of id, text and kept "
        "fields each; its key is the id",
    ),
    Flag(
        "dead_letter_topic",
        "TOPIC",
        "where it is published which messages could not be used and why, never their text "
        "(default: the output topic's name with -dead-letters)",
    ),
    Flag(
        "consumer_group",
        "NAME",
        "the group whose offsets Kafka keeps: a stream that is stopped goes on there "
        "(default: dxbeam- and the stream's name)",
    ),
    Flag(
        "kafka_properties",
        "FILE",
        "further settings of Kafka's clients, a line 'name=value' each, such as "
        "security.protocol=SSL. They are part of the job (default: none)",
    ),
    Flag(
        "expansion_service",
        "HOST:PORT",
        "a running expansion service of Beam with Kafka's transforms (default: Beam "
        "starts the one of its release, which needs Java)",
    ),
    Flag(
        "largest_message",
        "BYTES",
        "longer messages go to the dead letters, and so do those whose released form "
        f"would be longer (default {LARGEST_MESSAGE})",
        default=LARGEST_MESSAGE,
        type=size,
    ),
    Flag(
        "oldest_message",
        "SECONDS",
        "messages that were published longer ago than this when they are read go to the "
        "dead letters (default: no limit)",
        type=number,
    ),
    Flag(
        "window",
        "SECONDS",
        "of how many seconds the messages are counted together, in one record and one "
        f"line of the ledger. No message waits for it (default {_DAY}, a day)",
        default=_DAY,
        type=count,
    ),
    one_of(
        "message_time",
        "WHICH",
        "by which time messages are counted",
        TIMES,
        PROCESSING,
    ),
    Flag(
        "checkpoint_seconds",
        "SECONDS",
        "on Flink, how often the job's state is kept: after a failure at most so much is "
        "done again (default 10)",
        default=10,
        type=count,
    ),
)
class StreamOptions(PipelineOptions):
    """Kafka, and how messages are counted."""
