"""What decoding gives by the commands: ``dxbeam sanitize``, then ``dxbeam evaluate``.

    python -m benchmarks.decoding_job --vocabulary vocabularies/glove --corpora corpora \
        --language_model models/movie_reviews --output benchmarks/results/decoding_job.jsonl

The private documents, the published key and the names of settings and readers are those of
``benchmarks.decoding``, so both read the same noise. ``evaluate`` learns from four fifths of what
is released and tests on the originals of the others, five times. Rows that are there are not
computed again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.decoding import KEY, RANK_C, private_corpus, ratio
from benchmarks.rows import arguments, keep, kept, measured_where, records
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.text.tokenization import words

TABLE = Path(__file__).with_name("results") / "decoding.jsonl"
SETTINGS = (
    "laplace@6 laplace@8 laplace@10 laplace@12 laplace@15 "
    "santext@1.5 santext@2 santext@2.5 santext@3"
)
READERS = "nearest rank_c prior context context_distance"
IN_TABLE = 6_000
"""The first documents are those of the table that ``benchmarks.decoding`` makes."""


def flags(reader: str, model: str) -> list[str]:
    """The flags of ``dxbeam sanitize`` for a reader."""
    if reader == "nearest":
        return []
    if reader == "rank_c":
        return [f"--rank_c={RANK_C}"]
    kind, _, loss = reader.partition("_")
    chosen = [f"--decode={kind}", f"--language_model={model}"]
    return [*chosen, f"--decode_loss={loss}"] if loss else chosen


def command(*arguments: str) -> None:
    """Runs ``dxbeam`` and fails where it fails."""
    subprocess.run([sys.executable, "-m", "dxbeam", *arguments], check=True, capture_output=True)


class Bench:
    """Everything that rows have in common.

    Args:
      options: the arguments.
      folder: for what is released.
    """

    def __init__(self, options: argparse.Namespace, folder: Path):
        self.options, self.folder = options, folder
        self.corpus = private_corpus(options.corpora, options.private, options.documents)
        self.vocabulary = open_vocabulary(options.vocabulary)
        self.original, self.key_file = folder / "original.jsonl", folder / "key"
        pairs = zip(self.corpus.learnt, self.corpus.labels, strict=True)
        records = [{"id": each.id, "text": each.text, "label": label} for each, label in pairs]
        self.original.write_text("".join(json.dumps(each) + "\n" for each in records))
        self.key_file.touch(0o600)
        self.key_file.write_text(KEY.hex())

    def row(self, mechanism: str, epsilon: float, reader: str) -> dict[str, Any]:
        """Releases the corpus by the command, and evaluates it by the other."""
        name = f"{mechanism}-{epsilon}-{reader}"
        release, evaluated = self.folder / name, self.folder / f"{name}-evaluated"
        command(
            "sanitize", f"--input={self.original}", f"--vocabulary={self.options.vocabulary}",
            f"--mechanism={mechanism}", f"--epsilon={epsilon}", f"--key_uri={self.key_file}",
            f"--output={release}", *flags(reader, self.options.language_model),
        )  # fmt: skip
        command(
            "evaluate", f"--original={self.original}", f"--released={release}", "--task=label",
            f"--output={evaluated}",
        )  # fmt: skip
        released = self._released(release)
        first = "\n".join(released[:IN_TABLE])
        return {
            **self.key(mechanism, epsilon, reader),
            "unchanged_of_known": self._unchanged(released),
            **_scores(evaluated),
            "sha256_of_first_6000": hashlib.sha256(first.encode()).hexdigest(),
            **measured_where(),
        }

    def key(self, mechanism: str, epsilon: float, reader: str) -> dict[str, Any]:
        """What names a row."""
        options = self.options
        return {
            "private": options.private,
            "documents": options.documents,
            "mechanism": mechanism,
            "epsilon": epsilon,
            "reader": reader,
        }

    def _released(self, release: Path) -> list[str]:
        by_id = {
            record["id"]: record["text"]
            for part in sorted(release.glob("part-*.jsonl"))
            for record in records(part)
        }
        return [by_id[each.id] for each in self.corpus.learnt]

    def _unchanged(self, released: list[str]) -> tuple[float, float]:
        counts = []
        for document, text in zip(self.corpus.learnt, released, strict=True):
            ids, came = (self.vocabulary.ids_of(words(each)) for each in (document.text, text))
            counts.append([(came == ids)[ids >= 0].sum(), (ids >= 0).sum()])
        return ratio(*np.array(counts).T)


def _scores(evaluated: Path) -> dict[str, Any]:
    """Shares with their intervals, and what the originals reach."""
    rows = pq.read_table(evaluated / "scores.parquet").to_pylist()

    def of(metric: str, **also: str) -> list[float]:
        [row] = [
            row
            for row in rows
            if row["metric"] == metric and all(row[name] == value for name, value in also.items())
        ]
        return [row[name] for name in ("value", "low", "high")]

    by_words = {"model": "TF-IDF of words", "tested_on": "original"}
    return {
        "unchanged": of("unchanged"),
        "accuracy": of("task_accuracy", trained_on="released", **by_words),
        "accuracy_of_originals": of("task_accuracy", trained_on="original", **by_words),
    }


def with_table(row: dict[str, Any]) -> dict[str, Any]:
    """A row beside what ``benchmarks.decoding`` measured of the same setting."""
    wanted = {
        **{name: row[name] for name in ("private", "mechanism", "epsilon", "reader")},
        **{"documents": IN_TABLE, "model": "movie_reviews", "order": 2},
    }
    others = [each for each in kept(TABLE) if wanted.items() <= each.items()]
    if not others:
        return row
    other = others[-1]
    same = other["sha256"] == row["sha256_of_first_6000"]
    table = {name: other[name] for name in ("unchanged", "accuracy")}
    return {**row, "as_in_table": same, "table": table}


def main() -> None:
    """Computes the rows that are missing."""
    parser = arguments(__doc__, documents=7_500)
    parser.add_argument("--language_model", required=True, help="made of movie_reviews")
    parser.add_argument("--settings", nargs="+", default=SETTINGS.split())
    parser.add_argument("--readers", nargs="+", default=READERS.split())
    options = parser.parse_args()
    rows = kept(options.output)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, Path(folder))
        for setting in options.settings:
            mechanism, _, epsilon = setting.partition("@")
            for reader in options.readers:
                key = bench.key(mechanism, float(epsilon), reader)
                if any(key.items() <= row.items() for row in rows):
                    continue
                row = with_table(bench.row(mechanism, float(epsilon), reader))
                keep(options.output, row)
                print(setting, reader, row["unchanged"], row["accuracy"], flush=True)


if __name__ == "__main__":
    main()
