"""What differs between runs of twins on other stores, and words that must not leave them."""

from __future__ import annotations

import random
import string

DRAWN = r"[0-9a-f]{16,64}|[\d.,]+ (?=tokens per second|seconds)|\d{4}-\d\d-\d\d [\d:,]+|process \d+"
SHARE = r"Of .+ came out unchanged: .+|Warning: [\d.]+ % of .+"
KEYED = ("corpus_digest", "run", "started", "shards")


def secrets(count: int) -> list[str]:
    """Words of fourteen letters, the same every time."""
    drawn = random.Random(9)
    return ["".join(drawn.choices(string.ascii_lowercase, k=14)) for _ in range(count)]
