"""How a command runs."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag
from dxbeam.commands.flags.arguments import count
from dxbeam.commands.flags.flag import Flag, topic
from dxbeam.space.search.backends.choose_backend import AUTO, NAMES

LARGE_CORPUS = 4 << 20
"""Bytes of text from which worker processes gain more than it costs to start them."""

LARGE_DOCUMENT = 1 << 20
"""Characters from which on a document is divided among workers: some seconds of work of one."""


@topic(
    flag.RUN,
    Flag(
        "config",
        "FILE",
        "YAML file of flags, one 'flag: value' per line; a flag on the command line "
        "replaces the file's (default: none)",
    ),
    Flag(
        "local_processes",
        "N",
        "worker processes of a run on this machine. What is released of a document does "
        "not depend on it; the number of files may (default: one for each core where "
        "sanitize or evaluate reads more than "
        f"{LARGE_CORPUS >> 20} MiB of text, else 1)",
        type=count,
    ),
    Flag(
        "search_threads",
        "N",
        "threads that a search uses in each worker process (default: locally all cores "
        "divided by the worker processes, elsewhere 1)",
        type=count,
    ),
)
class ProcessOptions(PipelineOptions):
    """Worker processes and threads, and a file of flags."""


@topic(
    flag.RUN,
    Flag(
        "search",
        "",
        "how nearest words are found: by integers of 8 or 7 bits, by float32, by FAISS's "
        "flat search, or by PyTorch on a GPU. All are exact and give the same words; auto "
        "(default) takes the fastest that is right on each worker's machine",
        default=AUTO,
        choices=NAMES,
    ),
)
class SearchOptions(PipelineOptions):
    """How nearest words are looked for."""
