"""How fast a large language model opens, and how fast pairs are looked up in it.

    python -m benchmarks.language_model FOLDER [--words 400000] [--pairs 50000000]

writes a model of invented pairs to FOLDER, unless one is there, opens it in separate processes,
and looks up blocks of 32 x 32 pairs, a tenth of which are stored: microseconds for a block.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.rows import command_line
from dxbeam.language.artifact import open_language_model, write_language_model
from dxbeam.language.kneser_ney import Smoothed
from dxbeam.language.model import LanguageModel
from dxbeam.language.sparse_rows import sparse_rows
from dxbeam.space.vocabulary.words import Vocabulary

_OPENINGS = 4


class _Words(Vocabulary):
    content_digest = "invented"  # type: ignore[assignment]


def invented(words: int, pairs: int) -> LanguageModel:
    """A model whose contexts have as many successors as Zipf's law gives them, at random."""
    generator = np.random.default_rng(0)
    share = 1 / np.arange(1, words + 3)
    sizes = np.minimum(words // 2, pairs * share / share.sum()).astype(np.int64)
    rows = np.repeat(np.arange(words + 2), sizes)
    columns = (generator.random(len(rows)) ** 2 * (words + 1)).astype(np.int64)
    codes = rows * (words + 1) + columns
    del rows, columns
    codes.sort()
    codes = codes[np.concatenate([[True], codes[1:] != codes[:-1]])]
    starts = np.searchsorted(codes // (words + 1), np.arange(words + 3))
    values = np.full(len(codes), 1e-7, np.float32)
    table = sparse_rows(starts, codes % (words + 1), values, words + 1)
    even = np.full(words + 1, 1 / (words + 1))
    backoff = 1 - 1e-7 * np.diff(starts)
    return LanguageModel(words, "invented", Smoothed(even, even, backoff, table))


def measured(folder: Path, words: int) -> dict[str, float]:
    """Opens the model in this process and looks up blocks."""
    vocabulary = _Words([""], np.zeros((1, 1), np.float32))
    started = time.perf_counter()
    model = open_language_model(folder, vocabulary)
    opened = time.perf_counter() - started
    generator, blocks = np.random.default_rng(1), 1024
    before = (generator.random((blocks, 32)) ** 4 * words).astype(np.int64)
    after = (generator.random((blocks, 32)) ** 4 * words).astype(np.int64)
    model.corrections(before, after)
    started = time.process_time()
    corrections = model.corrections(before, after)
    block = (time.process_time() - started) / blocks
    return {"open_s": opened, "block_us": block * 1e6, "stored": float((corrections > 0).mean())}


def main() -> None:
    """Writes what is not there, and prints a line for each opening."""
    parser = command_line(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--words", type=int, default=400_000)
    parser.add_argument("--pairs", type=int, default=50_000_000)
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measured(options.folder, options.words)))
        return
    if not (options.folder / "manifest.json").exists():
        started = time.perf_counter()
        model = invented(options.words, options.pairs)
        write_language_model(str(options.folder), model, None)
        seconds = time.perf_counter() - started
        print(f"{len(model.numbers.pairs):,} pairs written in {seconds:.0f} s")
        time.sleep(3)  # a file that has just changed is checked again
    for _ in range(_OPENINGS):
        same = [sys.executable, "-m", "benchmarks.language_model", str(options.folder), "--measure"]
        subprocess.run([*same, f"--words={options.words}"], check=True)


if __name__ == "__main__":
    main()
