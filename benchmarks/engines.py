"""The same job on every engine: the same bytes, and how long each takes.

    python -m benchmarks.engines --vocabulary vocabularies/glove corpus/*.jsonl.gz
    python -m benchmarks.engines --vocabulary demo --engines prism,spark --documents 50 …

One command, ``python -m pipelines.sanitize``, with one key runs from start to end on FnApiRunner
with one process and with two, on Prism, on Spark, and on Flink: within one process, and on a
standalone cluster of a JobManager and two TaskManagers, with a slot and with four. A search uses
one thread everywhere. A run counts only where its documents and its metrics are those of the first
(SHA-256 of the sorted records, and of metrics.json). Seconds are those of the whole command, with
the start of Python, of Java and of the workers; the cluster itself is started before.

An engine that cannot be had here is named with the reason. The last lines are a table in Markdown.

    python -m benchmarks.engines --recovery

kills processes of the cluster in the middle of a job over generated text, and says how much longer
the job takes than undisturbed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.rows import command_line, records
from tests.engines import corpus, installed, losses
from tests.engines.flink_cluster import FlinkCluster
from tests.support import tiny

Flags = tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """What a run took and gave.

    Attributes:
      seconds: from start to end.
      tokens: words that went through the mechanism.
      documents: SHA-256 of the sorted records.
      metrics: SHA-256 of metrics.json.
    """

    seconds: float
    tokens: int
    documents: str
    metrics: str


def local(processes: int) -> Flags:
    """FnApiRunner with this many worker processes."""
    if processes == 1:
        return ("--runner=FnApiRunner",)
    return (
        "--runner=FnApiRunner",
        "--direct_running_mode=multi_processing",
        f"--direct_num_workers={processes}",
    )


def prism() -> Flags:
    """Prism, with the launcher's own process as its worker."""
    return ("--runner=PrismRunner", f"--prism_location={installed.prism()}")


def spark() -> Flags:
    """Spark within the job server, on two threads."""
    jar = installed.job_server(installed.SPARK)
    return ("--runner=SparkRunner", "--spark_master_url=local[2]", f"--spark_job_server_jar={jar}")


def embedded_flink() -> Flags:
    """Flink within the job server, with two slots."""
    jar = installed.job_server(installed.FLINK)
    return (
        "--runner=FlinkRunner",
        "--flink_master=[local]",
        f"--flink_job_server_jar={jar}",
        "--parallelism=2",
        "--environment_cache_millis=60000",
    )


@contextlib.contextmanager
def flink_cluster(folder: Path, parallelism: int) -> Iterator[Flags]:
    """A fresh cluster."""
    with FlinkCluster(installed.job_server(installed.FLINK), folder) as cluster:
        yield cluster.flags(parallelism)


def engines(folder: Path) -> dict[str, Callable[[], contextlib.AbstractContextManager[Flags]]]:
    """What to run on: names, and how to get the flags."""

    def plain(flags: Callable[[], Flags]) -> Callable[[], contextlib.AbstractContextManager[Flags]]:
        return lambda: contextlib.nullcontext(flags())

    return {
        "FnApiRunner, 1 process": plain(lambda: local(1)),
        "FnApiRunner, 2 processes": plain(lambda: local(2)),
        "Prism": plain(prism),
        "Spark, local": plain(spark),
        "Flink, embedded": plain(embedded_flink),
        "Flink cluster, 1 slot": lambda: flink_cluster(folder / "flink-1", 1),
        "Flink cluster, 4 slots": lambda: flink_cluster(folder / "flink-4", 4),
    }


def sanitize(arguments: argparse.Namespace, folder: Path, name: str, flags: Flags) -> Run:
    """Runs the launcher once.

    Raises:
      SystemExit: it failed, with what it said.
    """
    output = folder / f"release-{name}"
    command = [
        *(sys.executable, "-m", "pipelines.sanitize", f"--input={folder}/corpus/*.jsonl"),
        *(f"--vocabulary={arguments.vocabulary}", f"--epsilon={arguments.epsilon}"),
        *("--rank_c=0.02", "--search_threads=1", f"--key_uri={folder}/key", f"--output={output}"),
        *flags,
    ]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stderr[-3000:]}")
    release = json.loads((output / "release.json").read_text())
    lines = sorted(
        line for shard in output.glob("part-*") for line in shard.read_bytes().split(b"\n")
    )
    metrics = Path(f"{output}-metrics/metrics.json").read_bytes()
    return Run(
        seconds,
        release["tokens"],
        hashlib.sha256(b"\n".join(filter(None, lines))).hexdigest(),
        hashlib.sha256(metrics).hexdigest(),
    )


def write_corpus(arguments: argparse.Namespace, folder: Path) -> None:
    """Writes the documents to eight files, so that four slots have work of equal size."""
    lines = [f"{json.dumps(each)}\n" for path in arguments.corpora for each in records(path)]
    (folder / "corpus").mkdir()
    for number in range(8):
        part = "".join(lines[: arguments.documents][number::8])
        (folder / "corpus" / f"{number}.jsonl").write_text(part, encoding="utf-8")
    (folder / "key").write_text(secrets.token_hex(32))


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, Run]:
    """Runs every engine, ``rounds`` times; the fastest run of each."""
    best: dict[str, Run] = {}
    wanted = [part.strip().lower() for part in arguments.engines.split(",")]
    for round_number in range(arguments.rounds):
        for name, engine in engines(folder / str(round_number)).items():
            if best and not any(part in name.lower() for part in wanted):
                continue
            try:
                with engine() as flags:
                    run = sanitize(arguments, folder, f"{round_number}-{name}", flags)
            except installed.Unavailable as reason:
                print(f"{name}: not to be had: {reason}", flush=True)
                continue
            first = next(iter(best.values()), run)
            if (run.documents, run.metrics) != (first.documents, first.metrics):
                sys.exit(f"{name}: other documents or metrics than the first run's")
            print(f"{name}: {run.seconds:.1f} s, the same documents and metrics", flush=True)
            if name not in best or run.seconds < best[name].seconds:
                best[name] = run
    return best


def table(runs: dict[str, Run]) -> str:
    """Seconds and ratios in Markdown."""
    first = next(iter(runs.values()))
    lines = [
        f"{first.tokens:,} tokens; documents {first.documents[:16]}…, metrics "
        f"{first.metrics[:16]}… on every engine.",
        "",
        "| engine | seconds | tokens a second | of FnApiRunner, 1 process |",
        "|---|---|---|---|",
    ]
    for name, run in runs.items():
        rate, ratio = run.tokens / run.seconds, first.seconds / run.seconds
        lines.append(f"| {name} | {run.seconds:.1f} | {rate:,.0f} | {ratio:.2f} |")
    slots = [runs.get(f"Flink cluster, {count}") for count in ("1 slot", "4 slots")]
    if slots[0] and slots[1]:
        ratio = slots[0].seconds / slots[1].seconds
        lines += ["", f"Flink cluster, four slots against one: {ratio:.2f} times as fast."]
    return "\n".join(lines)


def recovery(folder: Path) -> str:
    """Seconds of a job that loses a process, in Markdown."""
    text = corpus.write(folder / "text", documents=400, words=500, files=8)
    expected = corpus.expected(text).texts
    lines = ["| lost, and started again at once | the whole job | longer by |", "|---|---|---|"]
    with FlinkCluster(installed.job_server(installed.FLINK), folder / "flink") as cluster:
        losses.run(cluster, text, folder / "first")  # warms the cluster up
        undisturbed = losses.run(cluster, text, folder / "undisturbed")
        lines.append(f"| nothing | {undisturbed:.1f} s | |")
        for name, loss in losses.LOSSES.items():
            seconds = losses.run(cluster, text, folder / name, loss)
            if tiny.released(folder / name) != expected:
                sys.exit(f"{name}: other documents than undisturbed")
            lines.append(f"| {name} | {seconds:.1f} s | {seconds - undisturbed:.1f} s |")
    return "\n".join(lines)


def main() -> None:
    """Prepares the corpus, runs, prints the table."""
    parser = command_line(__doc__)
    parser.add_argument("corpora", nargs="*", type=Path, help="JSON Lines files, .gz or plain")
    parser.add_argument("--vocabulary", default="demo")
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--documents", type=int, help="take this many only (default: all)")
    parser.add_argument("--engines", default="", help="parts of names, e.g. prism,cluster")
    parser.add_argument("--rounds", type=int, default=1, help="the fastest of N runs counts")
    parser.add_argument("--recovery", action="store_true", help="lose processes instead")
    arguments = parser.parse_args()
    if bool(arguments.corpora) == arguments.recovery:
        parser.error("either corpora or --recovery")
    if arguments.recovery:
        with tempfile.TemporaryDirectory() as folder:
            print(recovery(Path(folder)))
        return
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(arguments, Path(folder))
        print(f"\n{table(measure(arguments, Path(folder)))}")


if __name__ == "__main__":
    main()
