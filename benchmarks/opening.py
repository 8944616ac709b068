"""What a large vocabulary costs the processes of a host: seconds to open it, look-ups, memory.

    python -m benchmarks.opening synthetic --words 400000 --corpus movie_reviews.jsonl.gz

makes an artifact of invented words and normal vectors (of length 6.6 on average, as GloVe's at 300
dimensions), unless the folder holds one, and shows

- how long the first process of a host takes to open it, and how long later ones do, each in a new
  process, without imports; once until the vocabulary is there, and once until its first word is
  looked up and its first vector searched;
- how many words of a corpus are looked up in a second of processor time, at their first
  occurrence and when all were met;
- for 1, 2 and 4 worker processes that have opened it and searched: the sum of their proportional
  set sizes (PSS), in which a page that several processes share counts once, the part of it that
  is private, and how many words they search in a second of processor time, one thread each.

Words of the corpus are the first words of the vocabulary, the invented ones follow. Rows of the
neighbour table are invented, too: opening looks at their size only.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.rows import command_line, records
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact import manifest as artifact_manifest
from dxbeam.text import tokenization

OPENED = """
import sys, time
from dxbeam.space import artifact
from dxbeam.space.search.neighbors import NeighborSearch
started = time.perf_counter()
vocabulary = artifact.open_vocabulary(sys.argv[1])
opened = time.perf_counter()
search = NeighborSearch(vocabulary, 1)
vocabulary.id_of("the")
search.nearest(vocabulary.vectors[:1].astype("f8"))
print(opened - started, time.perf_counter() - started)
"""
LOOKED_UP = """
import sys, time
from dxbeam.space import artifact
vocabulary = artifact.open_vocabulary(sys.argv[1])
words = sys.stdin.read().split("\\n")
vocabulary.id_of("the")
different = list(dict.fromkeys(words))
started = time.process_time()
for word in different:
    vocabulary.id_of(word)
first = time.process_time()
for word in words:
    vocabulary.id_of(word)
print(len(different) / (first - started), len(words) / (time.process_time() - first))
"""
WORKER = """
import sys, time
import numpy as np
from dxbeam.space import artifact
from dxbeam.space.search.neighbors import NeighborSearch
vocabulary = artifact.open_vocabulary(sys.argv[1])
words = sys.stdin.readline().split(" ")
search = NeighborSearch(vocabulary, 1)
generator = np.random.default_rng(0)
noise = generator.normal(size=(int(sys.argv[2]), vocabulary.dimensions))
noise *= vocabulary.dimensions / 10 / np.linalg.norm(noise, axis=1, keepdims=True)
queries = noise + vocabulary.vectors[generator.integers(0, len(vocabulary), len(noise))]
[vocabulary.id_of(word) for word in words]
search.nearest(queries[:64])
print("ready", flush=True)
sys.stdin.readline()
started = time.process_time()
search.nearest(queries)
print(len(queries) / (time.process_time() - started), flush=True)
sys.stdin.readline()
"""
WORKERS = (1, 2, 4)
LENGTH = 6.6
_ROWS = 1 << 16


def corpus_words(path: Path) -> list[str]:
    """All words of a corpus in JSON Lines, in lower case."""
    texts = (record["text"].lower() for record in records(path))
    return [word for text in texts for word in tokenization.words(text)]


def invented(
    first: list[str], words: int, dimensions: int
) -> Iterator[tuple[list[str], np.ndarray]]:
    """So many words, those of the corpus first, and normal vectors, in chunks."""
    generator = np.random.default_rng(0)
    for start in range(0, words, _ROWS):
        stop = min(start + _ROWS, words)
        names = first[start:stop]
        names += [f"invented{i}" for i in range(start + len(names), stop)]
        vectors = generator.standard_normal((stop - start, dimensions), np.float32)
        yield names, vectors * np.float32(LENGTH / dimensions**0.5)


def make(folder: Path, first: list[str], words: int, dimensions: int, neighbors: int) -> None:
    """Writes the artifact, unless it is there."""
    if (folder / artifact_manifest.MANIFEST).exists():
        return
    started = time.perf_counter()
    chunks = invented(list(dict.fromkeys(first))[: words // 2], words, dimensions)
    shape = artifact.write_words_and_vectors(chunks, folder)
    generator = np.random.default_rng(1)
    with (folder / artifact_manifest.NEIGHBORS).open("wb") as table:
        artifact.write_header(table, np.dtype(np.int32), (words, neighbors))
        for start in range(0, words, _ROWS):
            rows = min(_ROWS, words - start)
            table.write(generator.integers(0, words, (rows, neighbors), np.int32).tobytes())
    np.save(folder / artifact_manifest.CLOSE_RADIUS, np.full(words, 20.0))
    artifact.write_manifest(str(folder), shape, True, {"name": "invented"})
    print(f"Made {words:,} words in {time.perf_counter() - started:.0f} seconds", flush=True)


def _figures(program: str, folder: Path, temporary: str, options: str = "") -> list[float]:
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        input=options,
        env=_environment(temporary),
        capture_output=True,
        text=True,
        check=True,
    )
    return [float(figure) for figure in done.stdout.split()]


def _environment(temporary: str) -> dict[str, str]:
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return {**os.environ, **one, "TMPDIR": temporary}


def together(
    folder: Path, temporary: str, count: int, words: list[str], queries: int
) -> tuple[int, int, float]:
    """PSS and private bytes of this many workers, and words that one searches in a second."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(folder), str(queries)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(temporary),
            text=True,
        )
        for _ in range(count)
    ]

    def told(text: str) -> list[str]:
        for worker in workers:
            assert worker.stdin
            worker.stdin.write(f"{text}\n")
            worker.stdin.flush()
        return [worker.stdout.readline().strip() for worker in workers if worker.stdout]

    told(" ".join(words))
    rate = statistics.mean(map(float, told("go")))
    shares = [_shares(worker.pid) for worker in workers]
    for worker in workers:
        worker.communicate("\n")
    return sum(share[0] for share in shares), sum(share[1] for share in shares), rate


def _shares(process: int) -> tuple[int, int]:
    """PSS and private bytes of a process, as Linux tells them."""
    rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
    sizes = {name: int(kib) << 10 for name, kib in re.findall(r"(\w+): +(\d+) kB", rollup)}
    return sizes["Pss"], sizes["Private_Clean"] + sizes["Private_Dirty"]


def main() -> None:
    """Makes the vocabulary and prints what it costs."""
    parser = command_line(__doc__)
    parser.add_argument("folder", type=Path, help="the artifact; made if there is none")
    parser.add_argument("--corpus", type=Path, required=True, help="JSON Lines, gzipped")
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--dimensions", type=int, default=300)
    parser.add_argument("--neighbors", type=int, default=256, help="width of the table")
    parser.add_argument("--queries", type=int, default=2048, help="searched by each worker")
    options = parser.parse_args()
    words = corpus_words(options.corpus)
    make(options.folder, words, options.words, options.dimensions, options.neighbors)
    with tempfile.TemporaryDirectory() as temporary:
        time.sleep(2)  # what was just written is checked again at the next opening
        opened, searched = _figures(OPENED, options.folder, temporary)
        print(
            f"first on this host: open in {opened:.2f} s, searched in {searched:.2f} s", flush=True
        )
        later = [_figures(OPENED, options.folder, temporary) for _ in range(3)]
        opened, searched = map(statistics.median, zip(*later, strict=True))
        print(f"later: open in {opened:.2f} s, searched in {searched:.2f} s", flush=True)
        first, rate = _figures(LOOKED_UP, options.folder, temporary, "\n".join(words))
        print(f"look-ups a second: {first:,.0f} of new words, {rate:,.0f} later", flush=True)
        for count in WORKERS:
            pss, private, rate = together(
                options.folder, temporary, count, words[:200_000], options.queries
            )
            print(
                f"{count} worker processes: {pss / 1e6:,.0f} MB, {private / 1e6:,.0f} MB of it "
                f"private; {rate:,.0f} words a second each",
                flush=True,
            )


if __name__ == "__main__":
    main()
