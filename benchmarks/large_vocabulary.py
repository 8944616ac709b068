"""How fast a large vocabulary is measured: 400,000 words of 300 dimensions.

    python -m benchmarks.large_vocabulary vocabularies/glove --output large

makes a vocabulary of 400,000 words out of a smaller one (an artifact, or an embedding file),
without a neighbour table, unless OUTPUT holds one already. Then it runs ``dxbeam measure`` on 5,000
words at epsilon = 1, 2, …, 70, once without rank resampling and once with c = 0.04, and shows
seconds, processor seconds, the memory of the largest process, and the figures next to those of
"d_X-Privacy for Text and the Curse of Dimensionality" for GloVe-Wiki (400,000 x 300).

The words that are added are means, nearly half and half, of two of a few thousand words, with
jitter: so each has some hundred others that are about as far away as its nearest neighbour. The
constants were searched for until the three thresholds of the paper's Table 2 came out, for the
33,849 GloVe words that the tests use; other words need others, and the lines on z tell.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from benchmarks.rows import command_line
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact import manifest as artifact_manifest
from dxbeam.space.embeddings.reader import read_embeddings

Vectors = npt.NDArray[np.float32]

WORDS = 400_000
MIXED_WORDS = 1000
"""So many words of the smaller vocabulary are mixed with one another."""
EVENNESS = 95.0
"""The first word of a mixture weighs as a beta distribution with this for both parameters."""
JITTER = 0.25
"""Standard deviation of the noise on each coordinate."""

PUBLISHED = {"z(w, x1)": 2.90, "z(x1, x2)": 0.28, "z(x1, x101)": 1.00}
"""Table 2, GloVe-Wiki of 300 dimensions: means over 5,000 words."""
TOLERANCE = 0.05
SHOWN = (1, 5, 8, 10, 12, 15, 20, 30)
RANK_C = 0.04

_ROWS = 1 << 14


def given_words(source: str) -> tuple[list[str], Vectors]:
    """The words of an artifact or of an embedding file, and their vectors."""
    if (Path(source) / artifact_manifest.MANIFEST).exists() or source == artifact.DEMO:
        opened = artifact.open_vocabulary(source)
        return list(opened.words), np.asarray(opened.vectors)
    chunks = list(read_embeddings(source))
    words = [word for chunk in chunks for word in chunk.words]
    return words, np.concatenate([chunk.vectors for chunk in chunks])


def enlarged(
    words: list[str], vectors: Vectors, count: int, seed: int = 0
) -> Iterator[tuple[list[str], Vectors]]:
    """The words as they are, then mixtures of them until there are ``count``, in chunks."""
    yield words[:count], vectors[:count]
    generator = np.random.default_rng(seed)  # public words: protects nothing
    mixed = vectors[generator.permutation(len(words))[:MIXED_WORDS]]
    for start in range(len(words), count, _ROWS):
        rows = min(_ROWS, count - start)
        share = generator.beta(EVENNESS, EVENNESS, (rows, 1)).astype(np.float32)
        one, other = mixed[generator.integers(0, len(mixed), (2, rows))]
        noise = generator.standard_normal(one.shape, np.float32)
        mixtures = share * one + (1 - share) * other + np.float32(JITTER) * noise
        yield [f"mixture-{start + row}" for row in range(rows)], mixtures


def make(source: str, output: Path, count: int) -> None:
    """Writes the large vocabulary, unless it is there."""
    if (output / artifact_manifest.MANIFEST).exists():
        return
    start = time.perf_counter()
    shape = artifact.write_words_and_vectors(enlarged(*given_words(source), count), output)
    facts = {"name": "mixtures", "mixed": MIXED_WORDS, "evenness": EVENNESS, "jitter": JITTER}
    artifact.write_manifest(str(output), shape, True, facts, table=False)
    print(f"Made {shape.words:,} words in {time.perf_counter() - start:.0f} seconds", flush=True)


def measured(vocabulary: Path, words: int, *flags: str) -> tuple[list[Any], list[Any]]:
    """Runs ``dxbeam measure`` and shows what it took; rows of its two tables."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "pipelines.measure", f"--vocabulary={vocabulary}",
            "--mechanisms=laplace", "--epsilons=1:70", f"--words={words}",
            f"--output={folder}/measured", *flags,
        ]  # fmt: skip
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(
            f"{' '.join(flags) or 'without rank resampling'}: {words * 70:,} answers, "
            f"{time.perf_counter() - start:.1f} seconds, "
            f"{after.ru_utime - before.ru_utime:.1f} processor seconds "
            f"(and {after.ru_stime - before.ru_stime:.1f} in the system), "
            f"at most {after.ru_maxrss / 1024**2:.2f} GiB; {os.cpu_count()} processors",
            flush=True,
        )
        tables = [
            pq.read_table(f"{folder}/measured/{name}.parquet").to_pylist()
            for name in ("proportions", "geometry")
        ]
    return tables[0], tables[1]


def show(proportions: list[Any], geometry: list[Any]) -> None:
    """The figures, next to those that were published."""
    for row in geometry:
        if row["quantity"] != "threshold":
            continue
        published = PUBLISHED[row["between"]]
        away = row["value"] / published - 1
        print(
            f"  mean {row['between']}: {row['value']:.3f} ({row['low']:.3f} to {row['high']:.3f}); "
            f"published {published:.2f}, {away:+.1%}"
            f"{'' if abs(away) <= TOLERANCE else ', too far away'}"
        )
    for c in dict.fromkeys(row["rank_c"] for row in proportions):
        print(f"  {'no rank resampling' if c is None else f'c = {c:g}'}: original, close, distant")
        for row in proportions:
            if row["rank_c"] == c and row["epsilon"] in SHOWN:
                shares = ", ".join(f"{row[name]:6.1%}" for name in ("original", "close", "distant"))
                print(f"    epsilon {row['epsilon']:4g}: {shares}")
    print("  published: from distant to original between epsilon = 10 and 20, close about 0")


if __name__ == "__main__":
    parser = command_line(__doc__)
    parser.add_argument("source", help="artifact or embedding file that is enlarged")
    parser.add_argument("--output", type=Path, required=True, help="folder of the large one")
    parser.add_argument("--size", type=int, default=WORDS, help="words of the large one")
    parser.add_argument("--words", type=int, default=5000, help="words that are tried")
    arguments = parser.parse_args()
    make(arguments.source, arguments.output, arguments.size)
    measured(arguments.output, arguments.words)
    show(*measured(arguments.output, arguments.words, f"--rank_cs={RANK_C}"))
