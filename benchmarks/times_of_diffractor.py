"""dp-diffractor timed by its own call, and attacked; runs in an environment that holds it.

    HOME=FOLDER peer/bin/python benchmarks/times_of_diffractor.py geometric WORDS 10

It looks for embeddings and for NLTK's data below HOME; benchmarks/peers.py puts them there and runs
this. WORDS has a word on each line. The attack knows what everybody does: that its seed is 42
unless its user says otherwise, and its order of the words. It draws the same noise again and takes
it away. Prints one line of JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

EMBEDDINGS = "glove-commoncrawl-30"
"""The name of one of the files that it knows; ours is in its place."""


def main(method: str, words_file: str, epsilon: float) -> dict[str, object]:
    """Times, share of words that come out as they went in, memory, share recovered."""
    import diffractor  # type: ignore[import-not-found]  # of the peer's environment

    words = Path(words_file).read_text("utf-8").split("\n")
    config = diffractor.DiffractorConfig(epsilon=epsilon, method=method, verbose=False)
    start = time.perf_counter()
    with diffractor.Diffractor(config, [EMBEDDINGS]) as peer:
        started = time.perf_counter() - start
        peer.rewrite([words[0]])  # starts its processes
        start = time.perf_counter()
        [text] = peer.rewrite([" ".join(words)])
        seconds = time.perf_counter() - start
        order = peer.mgr.lists[0]
    came = text.split(" ")
    raw = [a == b for a, b in zip(words, came, strict=False)]
    return {
        "start_seconds": started,
        "microseconds": seconds / len(words) * 1e6,
        "raw": sum(raw) / len(words),
        "mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "vocabulary": len(order),
        "recovered": recovered(words, came, order, epsilon) if method == "geometric" else None,
    }


def recovered(words: list[str], came: list[str], order: list[str], epsilon: float) -> list[int]:
    """How many of the words that were noised and changed are read off, and how many there were."""
    import numpy as np
    from nltk.corpus import stopwords  # type: ignore[import-untyped]

    places: dict[str, int] = {word: place for place, word in enumerate(order)}
    passed = set(stopwords.words("english"))
    generator: Any = np.random.default_rng(np.random.SeedSequence(42).spawn(1)[0])
    p = 1 - np.exp(-epsilon)
    right = changed = 0
    for word, released in zip([words[0], *words], [None, *came], strict=False):
        if word in passed or word not in places:
            continue
        noise = generator.geometric(p) - generator.geometric(p)
        if released is None or released == word or released not in places:
            continue
        changed += 1
        guess = places[released] - noise
        right += 0 <= guess < len(order) and order[guess] == word
    return [right, changed]


if __name__ == "__main__":
    named, listed, rate = sys.argv[1:]
    try:
        print(json.dumps(main(named, listed, float(rate))))
    except Exception as error:  # whatever the peer fails with is a finding
        print(json.dumps({"failed": f"{type(error).__name__}: {error}"[:120]}))
