"""A corpus of two classes, and releases of it to compare it with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from pipelines.evaluate import evaluate_release
from pipelines.sanitize import sanitize
from tests.support import tiny

DOCUMENTS = 40
SECRET = "qzxqzx"


def write_corpus(path: Path) -> Path:
    """Documents of two classes, each with separate words, and a word that no vocabulary has."""
    generator = np.random.default_rng(0)
    records = []
    for number in range(DOCUMENTS):
        label = number % 2
        words = [f"W{word}" for word in generator.integers(150 * label, 150 * (label + 1), 12)]
        text = f"{', '.join(words)} {SECRET}!"
        fields = {"label": ["calm", "loud"][label], "author": f"author {number % 4}"}
        records.append({"id": f"secret-id-{number}", "text": text, **fields})
    return tiny.write_jsonl(path, records)


def release(uri: str, corpus: Path, folder: Path, *flags: str) -> Path:
    """Releases a corpus at epsilon = 3, unless the flags say otherwise."""
    given = [f"--vocabulary={uri}", f"--input={corpus}", f"--output={folder}", *flags]
    sanitize([*given, *([] if "--epsilon" in str(flags) else ["--epsilon=3"])])
    return folder


def rows(corpus: Path, released: Path, output: Path, *flags: str) -> list[dict[str, Any]]:
    """The rows of the table that an evaluation writes."""
    places = [f"--original={corpus}", f"--released={released}", f"--output={output}"]
    evaluate_release([*places, *flags])
    found: list[dict[str, Any]] = pq.read_table(output / "scores.parquet").to_pylist()
    return found


def evaluated(uri: str, output: Path, *flags: str) -> Path:
    """Releases a corpus three times next to the output, evaluates all, and returns their folder."""
    folder = output.parent / "releases"
    corpus = write_corpus(output.parent / "texts.jsonl")
    release(uri, corpus, folder / "low", "--epsilon=1")
    release(uri, corpus, folder / "high", "--epsilon=5")
    release(uri, corpus, folder / "resampled", "--epsilon=5", "--rank_c=0.1")
    given = [f"--original={corpus}", f"--released={folder}/*", f"--output={output}"]
    evaluate_release([*given, f"--vocabulary={uri}", *flags])
    return folder
