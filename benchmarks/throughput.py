"""The whole job against the limit that its search sets, alternating in one run.

    python -m benchmarks.throughput --vocabulary vocabularies/glove corpus/*.jsonl.gz
    python -m benchmarks.throughput --vocabulary … --copies 4 …          # memory at 4x the corpus
    python -m benchmarks.throughput --vocabulary … --scaling …           # two workers against one
    python -m benchmarks.throughput --vocabulary … --searches int8 int7 float32 --rank_c 0 …

The limit is ``faiss.IndexFlatL2.search`` alone: batches of 4,096 noisy word vectors, one nearest
word, all cores. The job is ``python -m pipelines.sanitize`` from start to end, with and without
rank resampling, with as many worker processes as cores. Tokens are words that go through the
mechanism. With --searches there is a job for each of these backends, and last one without any
flag, as a newcomer runs it.
Each job is compared with the mean of the limits measured right before and right after it.

Memory is the largest sum over the job's processes of their proportional set sizes (PSS, sampled
twice a second), in which a page that several processes share counts once. The index line says how
much of vectors.npy each worker has mapped and how much memory that is in all.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from benchmarks.rows import command_line, records

MEBIBYTE = 1 << 20
LIMIT = """
import sys, time
import faiss, numpy as np
from dxbeam import open_vocabulary
from dxbeam.mechanisms.sampling.noise import laplace, laplace_draws
vocabulary = open_vocabulary(sys.argv[1])
epsilon, seconds = float(sys.argv[2]), float(sys.argv[3])
generator = np.random.default_rng(0)
ids = generator.integers(0, len(vocabulary), 4096)
random = generator.integers(0, 2**64, (4096, laplace_draws(vocabulary.dimensions)), dtype=np.uint64)
queries = vocabulary.vectors_of(ids) + laplace(random, vocabulary.dimensions, epsilon)
queries = queries.astype(np.float32)
index = faiss.IndexFlatL2(vocabulary.dimensions)
index.add(np.ascontiguousarray(vocabulary.vectors))
index.search(queries, 1)
start, searched = time.perf_counter(), 0
while time.perf_counter() - start < seconds:
    index.search(queries, 1)
    searched += len(queries)
print(searched / (time.perf_counter() - start))
"""


@dataclass
class Memory:
    """What a job's processes held at most."""

    pss: int = 0
    index: dict[int, int] = field(default_factory=dict)

    def sample(self, job: psutil.Process) -> None:
        """Looks once at all processes of a job."""
        total, index = 0, {}
        for process in [job, *job.children(recursive=True)]:
            try:
                total += process.memory_full_info().pss
                mapped = _pss_of(process.pid, "vectors.npy")
            except (psutil.Error, OSError):  # it has ended
                continue
            if mapped:
                index[process.pid] = mapped
        self.pss = max(self.pss, total)
        if len(index) >= len(self.index) and sum(index.values()) > sum(self.index.values()):
            self.index = index


def _pss_of(pid: int, name: str) -> int:
    """Bytes of the PSS of a process that belong to a mapped file of this name."""
    total, wanted = 0, False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        first = line.split(maxsplit=1)[0]
        if not first.endswith(":"):
            wanted = line.endswith(name)
        elif wanted and first == "Pss:":
            total += int(line.split()[1]) * 1024
    return total


def limit(vocabulary: str, epsilon: float, seconds: float) -> float:
    """Queries a second of faiss only, in a separate process."""
    command = [sys.executable, "-c", LIMIT, vocabulary, str(epsilon), str(seconds)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def workers(count: int) -> tuple[str, ...]:
    """The flags for this many worker processes."""
    return (
        "--direct_running_mode=multi_processing",
        f"--direct_num_workers={count}",
        "--search_threads=1",
    )


def job(corpus: Path, arguments: argparse.Namespace, *flags: str) -> dict[str, float]:
    """Runs the launcher; tokens a second from start to end, and memory."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "pipelines.sanitize",
            f"--input={corpus}/*.jsonl", f"--vocabulary={arguments.vocabulary}",
            f"--epsilon={arguments.epsilon}", f"--output={folder}/release", *flags,
        ]  # fmt: skip
        memory = Memory()
        start = time.perf_counter()
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as running:
            errors: list[bytes] = []
            assert running.stderr
            reader = threading.Thread(target=lambda: errors.append(running.stderr.read()))
            reader.start()
            process = psutil.Process(running.pid)
            while running.poll() is None:
                memory.sample(process)
                time.sleep(0.5)
            reader.join()
        seconds = time.perf_counter() - start
        if running.returncode:
            sys.exit(errors[0].decode())
        release = json.loads(Path(folder, "release", "release.json").read_text())
        metrics = json.loads(Path(folder, "release-metrics", "metrics.json").read_text())
    index = ", ".join(f"{pss / MEBIBYTE:.1f}" for pss in memory.index.values())
    shares = f"original {metrics['share_original']:.1%}, close {metrics['share_close']:.1%}"
    print(
        f"    {release['documents_out']:,} documents, {release['tokens']:,} tokens, "
        f"{seconds:.1f} s; {shares}\n"
        f"    peak PSS of all processes {memory.pss / MEBIBYTE:,.0f} MiB; vectors.npy: "
        f"{index} MiB PSS, together {sum(memory.index.values()) / MEBIBYTE:.1f} MiB",
        flush=True,
    )
    return {
        "tokens_a_second": release["tokens"] / seconds,
        "tokens": release["tokens"],
        "peak_pss_mib": memory.pss / MEBIBYTE,
        "index_pss_mib": sum(memory.index.values()) / MEBIBYTE,
        "processes_with_index": len(memory.index),
    }


def write_corpus(arguments: argparse.Namespace, folder: Path) -> None:
    """The corpus, this many times, with separate ids."""
    with (folder / "corpus.jsonl").open("w", encoding="utf-8") as file:
        words = 0
        for copy in range(arguments.copies):
            for document in itertools.chain.from_iterable(
                itertools.islice(records(path), 20 if arguments.quick else None)
                for path in arguments.corpora
            ):
                words += len(document["text"].split())
                record = {"id": f"{copy}-{document['id']}", "text": document["text"]}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
    print(f"corpus: {words:,} pieces between white space", flush=True)


def variants(arguments: argparse.Namespace) -> list[tuple[str, ...]]:
    """The flags of the jobs that are set against the limit."""
    several = workers(arguments.workers)
    if arguments.searches:
        return [*((f"--search={name}", *several) for name in arguments.searches), ()]
    return [several, *([(f"--rank_c={arguments.rank_c}", *several)] if arguments.rank_c else [])]


def throughput(corpus: Path, arguments: argparse.Namespace) -> list[dict[str, float]]:
    """The jobs, between measurements of the limit."""
    results = []
    seconds = 3.0 if arguments.quick else arguments.seconds

    def searched() -> float:
        rate = limit(arguments.vocabulary, arguments.epsilon, seconds)
        print(f"  only faiss.IndexFlatL2.search: {rate:,.0f} tokens a second", flush=True)
        return rate

    before = searched()
    for _ in range(arguments.rounds):
        for flags in variants(arguments):
            print(f"  job {' '.join(flags) or 'without any flag'}", flush=True)
            result = job(corpus, arguments, *flags)
            after = searched()
            result["limit"] = (before + after) / 2
            result["ratio"] = result["tokens_a_second"] / result["limit"]
            print(
                f"  => {result['tokens_a_second']:,.0f} tokens a second from start to end, "
                f"{result['ratio']:.3f} of the limit",
                flush=True,
            )
            results.append(result)
            before = after
    return results


def scaling(corpus: Path, arguments: argparse.Namespace) -> list[dict[str, float]]:
    """One worker process and two, one search thread each, alternating."""
    results = []
    for _ in range(arguments.rounds):
        one, two = (job(corpus, arguments, *workers(count)) for count in (1, 2))
        two["speed_up"] = two["tokens_a_second"] / one["tokens_a_second"]
        print(f"  => two workers are {two['speed_up']:.2f} times as fast as one", flush=True)
        results += [one, two]
    return results


def main() -> None:
    """Prepares the corpus and measures."""
    parser = command_line(__doc__)
    parser.add_argument("corpora", nargs="+", type=Path, help="JSON Lines files, .gz or plain")
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--rank_c", type=float, default=0.02, help="0: only without resampling")
    parser.add_argument("--searches", nargs="*", default=[], help="backends, each a job of its own")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each look at the limit")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--scaling", action="store_true")
    parser.add_argument("--quick", action="store_true", help="20 documents a file: a rehearsal")
    parser.add_argument("--json", type=Path, help="where to write the figures as well")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_corpus(arguments, Path(folder))
        measure = scaling if arguments.scaling else throughput
        results = measure(Path(folder), arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
