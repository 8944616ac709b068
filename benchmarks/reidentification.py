"""Which attacker finds documents again by their releases, by ``dxbeam evaluate --reidentify``.

    python -m benchmarks.reidentification --vocabulary vocabularies/glove --corpora corpora \
        --language_model models/movie-reviews --settings laplace@10 laplace@10+rank_c \
        laplace:decode=context@10 santext@2.14 --output benchmarks/results/reidentification.jsonl

A setting is a mechanism with its epsilon, with ``+rank_c`` with rank resampling. Documents are
drawn at random. Each setting releases them once, and the release is evaluated: by those who compare
released words, and by those who know the setting and have released public text. A row is what one
attacker gets: by each measure the share, its interval of 95 % over documents, and chance. Rows are
written as soon as a setting has run, and settings that are there are not run again.
``python -m benchmarks.tables`` draws them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.attack_matrix import children_seconds
from benchmarks.decoding import RANK_C, texts_of
from benchmarks.rows import arguments, keep, kept, measured_where

_RESAMPLED, _DECODED = "+rank_c", ":decode=context"
_MEASURES = "right one"
"""What measures of documents found again have in their names."""


def rows(setting: str, flags: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """Releases the documents under a setting, evaluates the release, and has a row per attacker."""
    named, _, epsilon = setting.removesuffix(_RESAMPLED).rpartition("@")
    mechanism, decoded = named.removesuffix(_DECODED), named.endswith(_DECODED)
    original = _written(flags.private, flags.corpora, folder, flags.documents, flags.seed)
    public = _written(flags.public, flags.corpora, folder)
    shared = {"vocabulary": flags.vocabulary}
    if decoded:
        shared["language_model"] = flags.language_model
    release = {"input": original, "mechanism": mechanism, "epsilon": epsilon, **shared}
    if setting.endswith(_RESAMPLED):
        release["rank_c"] = RANK_C
    if decoded:
        release["decode"] = "context"
    before = children_seconds()
    with tempfile.TemporaryDirectory(dir=folder) as output:
        released, evaluated = Path(output) / "released", Path(output) / "evaluated"
        _run("sanitize", {**release, "output": released})
        _run("evaluate", {
            "original": original, "released": released, "reidentify": flags.documents,
            "context_documents": flags.documents, "public_input": public, "attackers": "learned",
            "attacker_public_words": flags.public_words, "output": evaluated, **shared,
        })  # fmt: skip
        written = pq.read_table(evaluated / "attackers.parquet").to_pylist()
    reader = "context" if decoded else "rank_c" if setting.endswith(_RESAMPLED) else "nearest"
    shared_by_rows = {
        **_key(setting, flags),
        "mechanism": mechanism,
        "epsilon": float(epsilon),
        "reader": reader,
        "processor_seconds": round(children_seconds() - before, 1),
        **measured_where(),
    }
    for attack in by_attacker(written):
        yield {**shared_by_rows, **attack}


def by_attacker(written: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rows of attackers.parquet on documents, the measures of an attacker joined."""
    joined: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in written:
        if _MEASURES in row["measure"]:
            names = {"attacker": row["attacker"], "sees": row["sees"], "n": row["n"]}
            one = joined.setdefault((row["attacker"], row["sees"]), names)
            one[row["measure"]] = [row[name] for name in ("success", "low", "high", "chance")]
    yield from joined.values()


def _written(name: str, corpora: Path, folder: Path, documents: int = 0, seed: int = 0) -> Path:
    """A corpus as a file, or some of its documents, drawn at random."""
    path = folder / f"{name}.jsonl"
    if not path.exists():
        records = texts_of(corpora, name)
        if documents:
            drawn = np.random.default_rng(seed).permutation(len(records))[:documents]
            records = [records[i] for i in sorted(drawn)]
        lines = (json.dumps({"id": each["id"], "text": each["text"]}) for each in records)
        path.write_text("".join(line + "\n" for line in lines))
    return path


def _run(command: str, flags: dict[str, Any]) -> None:
    written = [f"--{name}={value}" for name, value in flags.items()]
    subprocess.run(
        [sys.executable, "-m", "dxbeam", command, *written], check=True, capture_output=True
    )


def _key(setting: str, flags: argparse.Namespace) -> dict[str, Any]:
    """What names the rows of a setting."""
    names = ("private", "documents", "public", "public_words", "seed")
    return {**{name: getattr(flags, name) for name in names}, "setting": setting}


def main() -> None:
    """Runs the settings that are missing."""
    parser = arguments(__doc__, documents=1_000)
    parser.add_argument("--public", default="movie_reviews")
    parser.add_argument("--public_words", type=int, default=30_000)
    parser.add_argument("--language_model", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--settings", nargs="+", required=True)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for setting in flags.settings:
            key = _key(setting, flags)
            if not any(key.items() <= row.items() for row in kept(flags.output)):
                for row in list(rows(setting, flags, Path(folder))):
                    keep(flags.output, row)
                print(flags.private, setting, flush=True)


if __name__ == "__main__":
    main()
