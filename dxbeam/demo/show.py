"""Prints what a sanitized corpus looks like: files, a before/after pair, proportions, guarantee.

python -m dxbeam.demo.show CORPUS RELEASE METRICS
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from dxbeam.release import manifest

_WIDTH = 96


def show(corpus: Path, release: Path, metrics: Path) -> str:
    """What ``make demo`` prints of a JSONL corpus and the release made of it."""
    whole = manifest.verify(str(release))
    released = {
        record["id"]: record["text"]
        for shard in whole["shards"]
        for record in map(json.loads, (release / shard["name"]).read_text("utf-8").splitlines())
    }
    original = json.loads(corpus.read_text("utf-8").splitlines()[0])
    counts = json.loads((metrics / "metrics.json").read_text("utf-8"))
    files = [*sorted(release.iterdir()), *sorted(metrics.iterdir())]
    shares = ", ".join(
        f"{name} {100 * counts[f'share_{name}']:.1f} %"
        for name in ("original", "close", "distant", "unknown")
    )
    return "\n".join(
        [
            "",
            "Written, and checked against release.json:",
            *(f"  {file} ({file.stat().st_size:,} bytes)" for file in files),
            "",
            f"Before ({original['id']}):",
            _indented(original["text"]),
            "",
            "After:",
            _indented(released[original["id"]]),
            "",
            f"Of {counts['tokens']:,} words in {counts['documents']:,} documents: {shares}.",
            "(original: released as it was; close: as one of its 100 nearest neighbours; distant:",
            "as another word; unknown: was not in the vocabulary, and noised all the same)",
            "",
            "Guarantee:",
            _indented(whole["guarantee"]["sentence"]),
            *(_indented(f"- {caveat}") for caveat in whole["guarantee"]["caveats"]),
        ]
    )


def _indented(text: str) -> str:
    return textwrap.fill(text, _WIDTH, initial_indent="  ", subsequent_indent="  ")


def main(argv: Sequence[str]) -> None:
    """Prints it."""
    corpus, release, metrics = map(Path, argv)
    print(show(corpus, release, metrics))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
