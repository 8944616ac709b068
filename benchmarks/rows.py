"""What benchmarks share: flags, corpora, and rows that are kept as soon as they are measured."""

from __future__ import annotations

import argparse
import datetime
import gzip
import json
import os
import platform
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dxbeam.language.sentences import sentence_ends
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.tokenization import split


def command_line(description: str | None) -> argparse.ArgumentParser:
    """A parser whose help is the benchmark's docstring."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def arguments(description: str | None, documents: int) -> argparse.ArgumentParser:
    """The flags of benchmarks that take hours.

    Args:
      description: the benchmark's docstring.
      documents: how many are measured, by default.
    """
    parser = command_line(description)
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--corpora", type=Path, required=True)
    parser.add_argument("--private", default="mr_sentence_polarity")
    parser.add_argument("--documents", type=int, default=documents)
    parser.add_argument("--output", type=Path, required=True)
    return parser


def kept(path: Path) -> list[dict[str, Any]]:
    """The rows that are there already."""
    return list(records(path)) if path.exists() else []


def keep(path: Path, row: dict[str, Any]) -> None:
    """Adds a row."""
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def records(path: str | Path) -> Iterator[dict[str, Any]]:
    """The records of a file of JSON Lines, gzipped or not."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def sentences_of(text: str, vocabulary: Vocabulary) -> list[Any]:
    """The ids of each sentence's words, int64 arrays."""
    gaps, words = split(text)
    ends = [i for i, gap in enumerate(gaps[1:-1], 1) if sentence_ends(gap)]
    return np.split(vocabulary.ids_of(words), ends)


def known_runs(ids: Any) -> list[Any]:
    """Stretches of known words."""
    return [part[part >= 0] for part in np.split(ids, np.flatnonzero(ids < 0))]


def processor() -> str:
    """What this machine's processor calls itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def measured_where() -> dict[str, str]:
    """The commit, the machine and the date of a row."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    ).stdout.strip()
    return {
        "commit": commit,
        "machine": f"{processor()}, {os.cpu_count()} cores",
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }
