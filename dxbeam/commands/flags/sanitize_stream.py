"""Flags of dxbeam sanitize-stream."""

from __future__ import annotations

import argparse
from typing import ClassVar

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag_groups
from dxbeam.commands.flags.arguments import count, number, size
from dxbeam.commands.flags.flag_groups import flag_group
from dxbeam.corpus.messages import LARGEST_MESSAGE, PROCESSING, TIMES

_DAY = 24 * 3600


class SanitizeStreamOptions(PipelineOptions):
    """Flags of dxbeam sanitize-stream, besides those that it shares with dxbeam sanitize.

    Attributes:
      command: the launcher's name.
      needed: flags, without dashes, that must be given.
      shared: flags of dxbeam sanitize that it takes too.
      meanings: what some of them mean here.
    """

    command: ClassVar[str] = "sanitize-stream"
    needed: ClassVar[tuple[str, ...]] = (
        "brokers",
        "input_topic",
        "output_topic",
        "vocabulary",
        "epsilon",
        "key_uri",
        "output",
    )
    shared: ClassVar[tuple[str, ...]] = (
        "--text_field",
        "--id_field",
        "--keep_fields",
        "--vocabulary",
        "--unknown_words",
        "--tokenization",
        "--segmenter",
        "--mechanism",
        "--epsilon",
        "--epsilon_by",
        "--parameters",
        "--importance",
        "--base",
        "--base_exponent",
        "--constant",
        "--constant_scan",
        "--rank_c",
        "--allow_unsound",
        "--decode",
        "--decode_loss",
        "--language_model",
        "--truecase",
        "--key_uri",
        "--metrics_output",
    )
    meanings: ClassVar[dict[str, str]] = {
        "--text_field": "field of the message that holds the text (default text)",
        "--id_field": "field that holds the message's id (default id). A message without one is "
        "named TOPIC/PARTITION:OFFSET. Ids are released",
        "--keep_fields": "further fields to release as they are, unprotected, separated by commas "
        "(default: none)",
        "--key_uri": "file, gs:// object or env:NAME that holds a secret key of 32 bytes, and that "
        "every worker can read. It must be kept: an engine that repeats work then publishes equal "
        "bytes",
        "--output": "directory or gs:// prefix for stream.json, which says what is promised, and a "
        "record of each window; empty, or that of the same stream",
        "--metrics_output": "where counts go that are computed from the raw text, and the "
        "guarantee does not cover them (default: the output's name with -metrics)",
        "--corpus_id": "what the ledger calls these messages, the same for every release of them; "
        "needed with --ledger",
    }

    @classmethod
    def _add_argparse_args(cls, parser: argparse.ArgumentParser) -> None:
        group = flag_group(parser, flag_groups.STREAM)
        group.add_argument(
            "--brokers",
            metavar="HOST:PORT,…",
            help="brokers of Kafka",
        )
        group.add_argument(
            "--input_topic",
            metavar="TOPIC",
            help="messages to sanitize, a JSON object each",
        )
        group.add_argument(
            "--output_topic",
            metavar="TOPIC",
            help="where sanitized messages are published, a JSON object of id, text and kept "
            "fields each; its key is the id",
        )
        group.add_argument(
            "--dead_letter_topic",
            metavar="TOPIC",
            help="where it is published which messages could not be used and why, never their text "
            "(default: the output topic's name with -dead-letters)",
        )
        group.add_argument(
            "--consumer_group",
            metavar="NAME",
            help="the group whose offsets Kafka keeps: a stream that is stopped goes on there "
            "(default: dxbeam- and the stream's name)",
        )
        group.add_argument(
            "--kafka_properties",
            metavar="FILE",
            help="further settings of Kafka's clients, a line 'name=value' each, such as "
            "security.protocol=SSL. They are part of the job (default: none)",
        )
        group.add_argument(
            "--expansion_service",
            metavar="HOST:PORT",
            help="a running expansion service of Beam with Kafka's transforms (default: Beam "
            "starts the one of its release, which needs Java)",
        )
        group.add_argument(
            "--largest_message",
            type=size,
            default=LARGEST_MESSAGE,
            metavar="BYTES",
            help="longer messages go to the dead letters, and so do those whose released form "
            f"would be longer (default {LARGEST_MESSAGE:,})",
        )
        group.add_argument(
            "--oldest_message",
            type=number,
            metavar="SECONDS",
            help="messages that were published longer ago than this when they are read go to the "
            "dead letters (default: no limit)",
        )
        group.add_argument(
            "--window",
            type=count,
            default=_DAY,
            metavar="SECONDS",
            help="of how many seconds the messages are counted together, in one record and one "
            f"line of the ledger. No message waits for it (default {_DAY:,}, a day)",
        )
        group.add_argument(
            "--message_time",
            default=PROCESSING,
            metavar="WHICH",
            help="by which time messages are counted (default processing). "
            + "; ".join(f"{name}: {what}" for name, what in TIMES.items()),
        )
        group.add_argument(
            "--checkpoint_seconds",
            type=count,
            default=10,
            metavar="SECONDS",
            help="on Flink, how often the job's state is kept: after a failure at most so much is "
            "done again (default 10)",
        )
