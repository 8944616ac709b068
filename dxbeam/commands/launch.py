"""What all launchers share: threads, running, and telling a person what went wrong."""

from __future__ import annotations

import contextlib
import functools
import logging
import re
import shutil
import sys
import time
import traceback
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NoReturn

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, StandardOptions, TestOptions

from dxbeam import stopping
from dxbeam.commands import console, progress_line
from dxbeam.commands.flags.run import LARGE_CORPUS, LARGE_DOCUMENT, ProcessOptions, SearchOptions
from dxbeam.commands.options import LOCAL_RUNNER, cores, use_processes
from dxbeam.commands.progress_line import ProgressLine
from dxbeam.errors import DxbeamError, OutputError, RunError
from dxbeam.release.run import Run
from dxbeam.space.search.backends.choose_backend import AUTO
from dxbeam.storage.changes import writing

Launcher = Callable[[Sequence[str]], None]
"""A program: its arguments, without its own name -> nothing; what goes wrong is a DxbeamError."""

_PARAMETER = re.compile(r"`([a-z][a-z_]*)`")
_REFUSAL = re.compile(r"dxbeam\.errors\.(\w+): (.*?)(?: \[while running|$)", re.MULTILINE)
_DISK_FULL = "No space left on device"

_JOB_SERVERS = ("FlinkJarJobServer", "SparkJarJobServer", "PrismJobServer")
"""Loggers that pass on thousands of an engine's lines; what went wrong is reported at the end."""

MISTAKE, FAILURE = 2, 1
"""Exit codes: the user can correct it; the run failed."""


def spread(options: PipelineOptions, text_bytes: int) -> None:
    """Uses all cores for a large corpus on this machine, unless a flag says otherwise."""
    undecided = options.view_as(ProcessOptions).local_processes is None
    local = options.view_as(StandardOptions).runner == LOCAL_RUNNER
    if undecided and local and text_bytes > LARGE_CORPUS and cores() > 1:
        use_processes(options, cores())
        logging.getLogger(__name__).info(
            "%d worker processes, one for each core (--local_processes=1 for none)", cores()
        )


def local_workers(options: PipelineOptions) -> int | None:
    """Processes or threads of the local runner that work at once; None for another runner."""
    if options.view_as(StandardOptions).runner != LOCAL_RUNNER:
        return None
    return int(options.view_as(ProcessOptions).local_processes or 1)


def divide_above(options: PipelineOptions) -> int | None:
    """Characters from which on a document is divided among workers; None where there is one."""
    return None if local_workers(options) == 1 else LARGE_DOCUMENT


def search_threads(options: PipelineOptions) -> int:
    """Threads a search may use: the flag, or locally the cores divided by the workers, or 1."""
    threads = options.view_as(ProcessOptions).search_threads
    if threads:
        return int(threads)
    workers = local_workers(options)
    return 1 if workers is None else max(1, cores() // workers)


def backend(options: PipelineOptions) -> str:
    """How nearest words are to be found exactly, one of ``choose_backend.NAMES``."""
    return str(options.view_as(SearchOptions).search)


def recorded_backend(options: PipelineOptions) -> dict[str, str]:
    """What the description of a release says of it: nothing where no flag asks for any."""
    name = backend(options)
    return {} if name == AUTO else {"search_asked_for": name}


def new_pipeline(options: PipelineOptions) -> beam.Pipeline:
    """A pipeline that leaves no temporary folder, whether it is run, stopped or neither."""
    with writing():  # so that the process is not stopped in between
        pipeline = beam.Pipeline(options=options)
        stopping.temporary(pipeline.local_tempdir)
    weakref.finalize(pipeline, shutil.rmtree, pipeline.local_tempdir, ignore_errors=True)
    return pipeline


@contextlib.contextmanager
def releasing(release: Run) -> Iterator[Run]:
    """Takes the places of a release, and completes it.

    It is undone where the block fails or the process is stopped.
    """
    stopping.begin(release.undo)
    try:
        release.take()
        yield release
    except BaseException:
        stopping.ended()
        release.undo()
        raise
    release.complete()
    stopping.ended()


def run(pipeline: beam.Pipeline) -> float:
    """Runs to the end, and says in how many seconds.

    DxbeamError: what a worker refused to do, or the place to write to is full.
    """
    result, started = None, time.monotonic()
    try:
        result = pipeline.run()
        with stopping.cancelled_by(result.cancel):
            result.wait_until_finish()
    except KeyboardInterrupt:
        if result is not None:  # where cancelling has no effect, the lost claim keeps it back
            result.cancel()
        raise
    except Exception as error:
        # Runners wrap what a worker raised in other exceptions, with its text inside.
        refusal = _REFUSAL.search(f"{type(error).__module__}.{type(error).__name__}: {error}")
        if refusal:
            kind = RunError if refusal[1] == RunError.__name__ else DxbeamError
            raise kind(refusal[2]) from error
        if _DISK_FULL in str(error):
            raise OutputError(
                "the disk filled up before the run was complete; nothing was released. Make room, "
                "or choose another --output, and run again"
            ) from error
        raise
    finally:
        progress_line.end()
    return time.monotonic() - started


def run_unless_dry(
    pipeline: beam.Pipeline,
    options: PipelineOptions,
    described: Callable[[], str],
    before: Iterable[str] = (),
) -> float | None:
    """Prints lines and runs, see ``run``; a dry run prints what it would do, and gives None."""
    if options.view_as(TestOptions).dry_run:
        print(described())  # noqa: T201
        return None
    for line in before:
        print(line)  # noqa: T201
    return run(pipeline)


@contextlib.contextmanager
def needing(packages: str, extra: str) -> Iterator[None]:
    """Ends the program where a block cannot import what its command needs.

    ``packages`` is a sentence on what that is, and ``extra`` the extra of dxbeam that installs it.
    """
    try:
        yield
    except ImportError:
        sys.exit(f"dxbeam: {packages} with: pip install 'dxbeam[{extra}]'")


def naming_flags(launcher: Launcher) -> Launcher:
    """A launcher whose errors name flags, --key_uri, where the library names `key_uri`."""

    @functools.wraps(launcher)
    def launch(argv: Sequence[str]) -> None:
        try:
            launcher(argv)
        except DxbeamError as error:
            error.args = (_PARAMETER.sub(r"--\1", str(error)),)
            raise

    return launch


def main(launcher: Launcher, argv: Sequence[str] | None = None) -> NoReturn:
    """Runs a launcher as a program: exits 0, or with one clear sentence and 1 or 2."""
    stopping.watch()
    console.print_anything()
    lines = [ProgressLine()]
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(message)s", force=True, handlers=lines
    )
    for chatty in (
        "apache_beam",
        "boto3",
        "botocore",
        "google",
        "faiss",
        "pyiceberg",
        *_JOB_SERVERS,
    ):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_not_told_anyway)
    from_workers = logging.getLogger("apache_beam.runners.portability.local_job_service")
    from_workers.setLevel(logging.INFO)
    from_workers.addFilter(_as_sentence)
    try:
        naming_flags(launcher)(sys.argv[1:] if argv is None else argv)
    except DxbeamError as error:
        code = FAILURE if isinstance(error, RunError) else MISTAKE
        sentence = " ".join(str(error).split("\n"))  # a path may hold a line break
    except Exception as error:
        logging.getLogger(__name__).debug("the run failed", exc_info=True)
        last = str(error).strip().splitlines()[-1:] or [type(error).__name__]
        code, sentence = FAILURE, f"the run failed and nothing was released: {last[0]}"
    except SystemExit as leaving:  # of the parser of flags, or of a launcher
        code, sentence = leaving.code if isinstance(leaving.code, int) else FAILURE, ""
    else:
        code, sentence = 0, ""
    stopping.ended()
    if sentence:
        print(f"dxbeam: {sentence}", file=sys.stderr)  # noqa: T201
    stopping.leave(code)


def _not_told_anyway(record: logging.LogRecord) -> bool:
    """Leaves out tracebacks of what is reported in a sentence at the end."""
    message = record.getMessage()
    if record.exc_info:
        message += "".join(traceback.format_exception(*record.exc_info))
    return not (_REFUSAL.search(message) or _DISK_FULL in message)


def _as_sentence(record: logging.LogRecord) -> bool:
    """Turns what a worker process logs, which arrives as a protocol buffer, into its message."""
    entry = str(record.args[0]) if isinstance(record.args, tuple) and record.args else ""
    message = re.search(r'message: "((?:[^"\\]|\\.)*)"', entry)
    if not message or ("severity: INFO" in entry and "/dxbeam/" not in entry):
        return False
    if "semi_persistent_directory" in entry:  # of no concern where there is no container
        return False
    record.msg, record.args = message[1], ()
    return True
