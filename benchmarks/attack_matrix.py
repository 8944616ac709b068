"""Every attacker on every setting, by ``dxbeam frontier --attackers learned``.

    python -m benchmarks.attack_matrix --vocabulary vocabularies/glove --corpora corpora \
        --language_model models/movie-reviews --settings laplace@10+rank_c santext~laplace@10 \
        laplace:decode=context@12 --output benchmarks/results/attack_matrix.jsonl

A setting is a mechanism with its epsilon, ``laplace@10``, or with the epsilon at which as many rare
words of the private corpus come out unchanged as under another setting, ``santext~laplace@10``.
Each is run by the command; with ``+rank_c`` without rank resampling and with it. A row is what one
attacker gets of all words and of rare ones, with intervals of 95 % over documents, and chance.
Rows are written as soon as a setting has run, and settings that are there are not run again.
With ``--attacker_model``, rows are those of the attackers that bring this language model, on the
same draws. ``python -m benchmarks.tables`` draws them. Processor seconds are those of a whole run
of the command, with ``+rank_c`` of both readers together.

The epsilon of equal risk is found from 1,000 rare words of the private corpus, drawn at random:
each is released ten times under the other setting, and under santext the probability that it comes
out as itself is computed, at several epsilons between 0.5 and 8.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.decoding import RANK_C, texts_of
from benchmarks.rows import arguments, keep, kept, measured_where
from dxbeam.analysis.attackers.channel import falling
from dxbeam.analysis.attackers.prior import prior_from_counts
from dxbeam.analysis.evaluate.language_scores import RARE
from dxbeam.mechanisms import Mechanism, make_mechanism
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.search.distance_rows import distance_rows
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.text.tokenization import words

TRIED, RELEASES = 1_000, 10
"""Rare words from which the epsilon of equal risk is found, and how often each is released."""

_STEPS = 12
_DECODED = ":decode=context"
_RESAMPLED = "+rank_c"
_PLAIN = {"attacker_model": None}


class Bench:
    """The corpora as files, and what settings have in common.

    Args:
      flags: the arguments.
      folder: for files.
    """

    def __init__(self, flags: argparse.Namespace, folder: Path):
        self.flags, self.folder = flags, folder
        self.private, self.public = (
            self._written(name, folder) for name in (flags.private, flags.public)
        )
        self.search = NeighborSearch(open_vocabulary(flags.vocabulary))

    def _written(self, name: str, folder: Path) -> Path:
        path = folder / f"{name}.jsonl"
        records = texts_of(self.flags.corpora, name)
        lines = (json.dumps({"id": each["id"], "text": each["text"]}) for each in records)
        path.write_text("".join(line + "\n" for line in lines))
        return path

    def epsilon(self, setting: str) -> tuple[str, float]:
        """The mechanism with its parameters, and its epsilon."""
        mechanism, equal, other = setting.removesuffix(_RESAMPLED).partition("~")
        if not equal:
            mechanism, _, epsilon = mechanism.rpartition("@")
            return mechanism, float(epsilon)
        name, _, epsilon = other.rpartition("@")
        share = self._released_unchanged(make_mechanism(name, epsilon=float(epsilon)))
        low, high = 0.5, 8.0
        for _ in range(_STEPS):
            middle = (low + high) / 2
            plain = make_mechanism(mechanism.removesuffix(_DECODED), epsilon=middle)
            low, high = (middle, high) if self._unchanged(plain) < share else (low, middle)
        return mechanism, round((low + high) / 2, 2)

    @cached_property
    def _tried(self) -> Ids:
        """Rare words of the private corpus, as often as they occur in it."""
        vocabulary = self.search.vocabulary
        private, public = (
            np.concatenate([
                vocabulary.ids_of(words(each["text"]))
                for each in texts_of(self.flags.corpora, name)
            ])
            for name in (self.flags.private, self.flags.public)
        )  # fmt: skip
        counts = np.bincount(public[public >= 0], minlength=len(vocabulary))
        rare = prior_from_counts("public text", counts).shares < RARE
        known = private[private >= 0]
        return np.random.default_rng(0).choice(known[rare[known]], TRIED)

    def _released_unchanged(self, mechanism: Mechanism) -> float:
        ids = np.repeat(self._tried, RELEASES)
        shape = (len(ids), mechanism.draws(self.search.vocabulary.dimensions))
        random = np.random.default_rng(1).integers(0, 2**64, shape, dtype=np.uint64)
        return float((mechanism.release(ids, random, self.search) == ids).mean())

    def _unchanged(self, mechanism: Mechanism) -> float:
        """Of santext, the mean of 1 / Z(x)."""
        ids = self._tried
        sums = [
            falling(mechanism, ids[part], rows, self.search).sum(axis=1, dtype=np.float64)
            for part, rows in distance_rows(ids, self.search)
        ]
        return float((1 / np.concatenate(sums)).mean())

    def key(self, setting: str) -> dict[str, Any]:
        """What names the rows of a setting."""
        flags = self.flags
        return {
            "private": flags.private,
            "documents": flags.documents,
            "public": flags.public,
            "public_words": flags.public_words,
            "seed": flags.seed,
            "attacker_model": flags.attacker_model and Path(flags.attacker_model).name,
            "setting": setting,
        }

    def rows(self, setting: str) -> Iterator[dict[str, Any]]:
        """Runs the command, and has a row per attacker."""
        (mechanism, epsilon), flags = self.epsilon(setting), self.flags
        decoded = mechanism.endswith(_DECODED)
        with tempfile.TemporaryDirectory(dir=self.folder) as output:
            parameters = {
                "vocabulary": flags.vocabulary, "input": self.private,
                "public_input": self.public, "mechanisms": mechanism, "epsilons": epsilon,
                "rank_cs": RANK_C if setting.endswith(_RESAMPLED) else "none",
                "context_documents": flags.documents, "seed": flags.seed, "attacked_words": 100,
                "attacker_public_words": flags.public_words,
                "output": output,
            }  # fmt: skip
            if flags.attacker_model:
                parameters["attacker_model"] = flags.attacker_model
            else:
                parameters["attackers"] = "learned"
            if decoded:
                parameters["language_model"] = flags.language_model
            before = children_seconds()
            command_line = [f"--{name}={value}" for name, value in parameters.items()]
            subprocess.run(
                [sys.executable, "-m", "dxbeam", "frontier", *command_line],
                check=True,
                capture_output=True,
            )
            spent = children_seconds() - before
            written = pq.read_table(Path(output) / "attackers.parquet").to_pylist()
        shared = {
            **self.key(setting),
            "mechanism": mechanism.removesuffix(_DECODED),
            "epsilon": epsilon,
            "processor_seconds": round(spent, 1),
            **measured_where(),
        }
        for row in by_attacker(written):
            if bool(flags.attacker_model) == ("language model" in row["attacker"]):
                yield {**shared, **row}


def by_attacker(written: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows of attackers.parquet, those of all words and of rare ones joined.

    Who reads decoded text with context is left out, as decoded text is taken at its word.
    """
    joined: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in written:
        decoded = "decode=context" in row["parameters"]
        if decoded and (row["attacker"], row["sees"]) == ("context", "released words"):
            continue
        reader = "context" if decoded else "rank_c" if row["rank_c"] else "nearest"
        names = {"reader": reader, "attacker": row["attacker"], "sees": row["sees"]}
        one = joined.setdefault(tuple(names.values()), names)
        one[row["words"]] = [row["success"], row["low"], row["high"]]
        one[f"chance_{row['words']}"] = row["chance"]
    yield from joined.values()


def children_seconds() -> float:
    """Processor seconds of all processes that were started, and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Runs the settings that are missing."""
    parser = arguments(__doc__, documents=300)
    parser.add_argument("--public", default="movie_reviews")
    parser.add_argument("--public_words", type=int, default=60_000)
    parser.add_argument("--language_model", required=True)
    parser.add_argument("--attacker_model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--settings", nargs="+", required=True)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(flags, Path(folder))
        for setting in flags.settings:
            key = bench.key(setting)
            if any(key.items() <= {**_PLAIN, **row}.items() for row in kept(flags.output)):
                continue
            rows = list(bench.rows(setting))
            for row in rows:
                keep(flags.output, row)
            print(flags.private, setting, f"{rows[0]['processor_seconds']:.0f} s", flush=True)


if __name__ == "__main__":
    main()
