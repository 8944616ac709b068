r"""Sanitizes a stream of messages: every word goes through a differentially private mechanism.

    dxbeam sanitize-stream --brokers broker:9092 --input_topic raw \
        --output_topic released --vocabulary demo --epsilon 10 \
        --key_uri file:///etc/key --output gs://bucket/stream \
        --runner FlinkRunner --flink_master host:8081

reads JSON messages from Kafka and publishes them sanitized; which of them could not be used, and
why, goes to a topic of dead letters, never with their text. --output gets stream.json, which says
what is promised, and a record of each window; docs/guides/streams.md explains it.

The noise of a message is a function of key, id and text. So the key must be kept: an engine that
does work again after a failure publishes equal bytes, and reveals nothing new. A stream that was
stopped goes on where it was, with the same command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

import apache_beam as beam
from apache_beam.options.pipeline_options import TestOptions

from dxbeam import stopping
from dxbeam.commands import launch
from dxbeam.commands.flags.registry import SANITIZE_STREAM, SanitizeOptions
from dxbeam.commands.flags.stream import StreamOptions
from dxbeam.commands.jobs.sanitize_stream import StreamJob, prepare, read_options
from dxbeam.commands.options import parse
from dxbeam.errors import DxbeamError, OutputError, RunError
from dxbeam.language.artifact import open_language_model
from dxbeam.mechanisms import check_vocabulary
from dxbeam.space.artifact import artifact
from dxbeam.transforms.sanitize import SanitizeDocuments
from dxbeam.transforms.streams.messages import RecordWindows, SanitizeMessages

_STAYS = "what was published stays, and the same command goes on from there"


def build(job: StreamJob) -> beam.Pipeline:
    """Assembles the pipeline; nothing runs yet."""
    flags, stream = (
        job.options.view_as(SanitizeOptions),
        job.options.view_as(StreamOptions),
    )
    pipeline = launch.new_pipeline(job.options)
    sanitized = (
        pipeline
        | "ReadKafka" >> job.kafka.read(job.topics.read, job.group, stream.message_time)
        | "SanitizeMessages"
        >> SanitizeMessages(
            SanitizeDocuments(
                job.configuration,
                job.vocabulary,
                flags.key_uri,
                keep_fields=("fields",),
                search_threads=launch.search_threads(job.options),
                unique_ids=True,
                backend=launch.backend(job.options),
                level="level",
                language_model=job.language_model,
                broadcast=False,
            ),
            job.message_format,
            stream.window,
        )
    )
    sanitized.released | "Publish" >> job.kafka.publish(job.topics.released)
    sanitized.dead_letters | "PublishDeadLetters" >> job.kafka.publish(job.topics.dead_letters)
    sanitized.counts | "RecordWindows" >> RecordWindows(job.release)
    return pipeline


@launch.naming_flags
def sanitize_stream(argv: Sequence[str]) -> None:
    """Checks everything that can be known before, then runs until it is stopped."""
    options = parse(argv, SANITIZE_STREAM, __doc__ or "")
    job = read_options(options)
    vocabulary = artifact.open_vocabulary(job.vocabulary)
    for each in job.configuration.every_level:
        check_vocabulary(each.mechanism, vocabulary)
    if job.language_model:
        open_language_model(job.language_model, vocabulary)
    del vocabulary
    job.release.check()
    sentence = job.configuration.guarantee().sentence
    if options.view_as(TestOptions).dry_run:
        print(
            f"Would sanitize the messages of {job.topics.read} to {job.topics.released}, dead "
            f"letters to {job.topics.dead_letters}, records to {job.release.output}; nothing was "
            f"written.\n{sentence}"
        )
        return
    prepare(options)
    pipeline = build(job)
    stopping.begin(_stopped)
    job.release.begin()
    print(f"Stream {job.release.name}, described in {job.release.output}\n{sentence}", flush=True)
    try:
        launch.run(pipeline)
    except DxbeamError:
        raise
    except Exception as error:
        last = str(error).strip().splitlines()[-1:] or [type(error).__name__]
        raise RunError(f"the stream failed; {_STAYS}: {last[0]}") from error
    stopping.ended()


def _stopped(stop_writers: Callable[[], None]) -> NoReturn:
    stop_writers()
    raise OutputError(f"the stream was stopped; {_STAYS}")


if __name__ == "__main__":
    launch.main(sanitize_stream)
