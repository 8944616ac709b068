"""What ``dxbeam sanitize-stream`` is asked for, and what a stream needs of Beam and the engine."""

from __future__ import annotations

from typing import NamedTuple

from apache_beam.options.pipeline_options import DebugOptions, PipelineOptions, StandardOptions

from dxbeam import storage
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import SanitizeOptions
from dxbeam.commands.flags.stream import StreamOptions
from dxbeam.commands.options import LOCAL_RUNNER, require
from dxbeam.commands.request import ledger_terms, settings_of
from dxbeam.corpus.messages import TIMES, MessageFormat
from dxbeam.documents import field_names
from dxbeam.errors import ConfigurationError
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.release import places, request
from dxbeam.release.streams.window_records import StreamRelease, describe, stream_name
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.text.configuration import Configuration
from dxbeam.transforms.exceptions import forbid_quoting
from dxbeam.transforms.streams.kafka import Kafka, read_properties


class Topics(NamedTuple):
    """Where messages are read and published."""

    read: str
    released: str
    dead_letters: str


class StreamJob(NamedTuple):
    """A stream as the flags ask for it; ``group`` is the consumer group."""

    options: PipelineOptions
    kafka: Kafka
    topics: Topics
    group: str
    message_format: MessageFormat
    configuration: Configuration
    vocabulary: VocabularyHandle
    language_model: LanguageModelHandle | None
    release: StreamRelease


def read_options(options: PipelineOptions) -> StreamJob:
    """The job that the flags ask for."""
    flags, stream = options.view_as(SanitizeOptions), options.view_as(StreamOptions)
    require(stream, "brokers", "input_topic", "output_topic")
    require(flags, "vocabulary", "key_uri", *(() if flags.epsilon_by else ("epsilon",)))
    require(options.view_as(OutputOptions), "output")
    forbid_quoting(options)  # a dry run builds no pipeline, which would
    topics = _topics(stream)
    if stream.message_time not in TIMES:
        raise ConfigurationError(f"--message_time: choose from {', '.join(TIMES)}")
    settings, vocabulary, model = settings_of(flags)
    levels = settings.epsilon_by.field if settings.epsilon_by else None
    message_format = MessageFormat(
        flags.text_field,
        flags.id_field,
        field_names(flags.keep_fields),
        levels,
        stream.largest_message,
        stream.oldest_message,
    )
    release = _release(options, settings, vocabulary, message_format, topics)
    kafka = Kafka(
        stream.brokers,
        _properties(stream.kafka_properties),
        stream.expansion_service,
        stream.largest_message,
    )
    group = stream.consumer_group or f"dxbeam-{release.name}"
    return StreamJob(
        options, kafka, topics, group, message_format, settings, vocabulary, model, release
    )


def _topics(stream: StreamOptions) -> Topics:
    dead_letters = stream.dead_letter_topic or f"{stream.output_topic}-dead-letters"
    topics = Topics(stream.input_topic, stream.output_topic, dead_letters)
    if len(set(topics)) < len(topics):
        raise ConfigurationError(
            "--input_topic, --output_topic and --dead_letter_topic must be three topics, and two "
            "of them have one name"
        )
    return topics


def _properties(path: str | None) -> tuple[tuple[str, str], ...]:
    if path is None:
        return ()
    try:
        return read_properties(path, storage.read(path).decode("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"--kafka_properties {path}: cannot be read ({type(error).__name__})"
        ) from None


def _release(
    options: PipelineOptions,
    settings: Configuration,
    vocabulary: VocabularyHandle,
    message_format: MessageFormat,
    topics: Topics,
) -> StreamRelease:
    flags, terms = options.view_as(SanitizeOptions), ledger_terms(options)
    output, metrics_output = places.release_and_metrics(
        options.view_as(OutputOptions).output, flags.metrics_output
    )
    places.keep_out(output, {"key_uri": flags.key_uri, "ledger": terms.path})
    key = request.key_fingerprint(flags.key_uri)
    name = stream_name(terms.corpus_id or topics.read, key, settings.digest(vocabulary.digest))
    content = describe(
        name,
        settings,
        vocabulary,
        key,
        message_format.keep_fields,
        {"topics": {"released": topics.released, "dead_letters": topics.dead_letters}},
    )
    entered = request.account(
        terms,
        settings,
        mechanism=settings.mechanism.name,
        vocabulary=vocabulary.digest,
        key_uri=flags.key_uri,
        run=name,
        output=output,
    )
    return StreamRelease(name, output, metrics_output, content, entered)


_FLINK = "FlinkRunner"
_NATIVE = "use_deprecated_read"
_NO_TEXTS_KEPT = "--finish_bundle_before_checkpointing"
"""Else Flink's checkpoints hold raw messages that are on their way from one step to the next."""


def prepare(options: PipelineOptions) -> None:
    """Sets what a stream needs of Beam and of the engine; refuses the local runner, which ends."""
    standard = options.view_as(StandardOptions)
    if standard.runner == LOCAL_RUNNER:
        raise ConfigurationError(
            "a stream needs an engine that runs without end: add --runner FlinkRunner and where "
            "Flink is; docs/guides/streams.md shows how"
        )
    standard.streaming = True
    if standard.runner == _FLINK:
        options.view_as(DebugOptions).add_experiment(_NATIVE)  # Flink keeps Kafka's offsets itself
        seconds = options.view_as(StreamOptions).checkpoint_seconds
        interval = f"--checkpointing_interval={1000 * seconds}"
        options._flags += [interval, _NO_TEXTS_KEPT]
