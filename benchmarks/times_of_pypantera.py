"""One mechanism of pyPANTERA, timed by its own call; runs in an environment that holds pyPANTERA.

    peer/bin/python benchmarks/times_of_pypantera.py CMP EMBEDDINGS WORDS 10

EMBEDDINGS has a word and its vector on each line, WORDS a word on each. Texts have five words: it
takes the differences of all words of a text to all words of the vocabulary at once, which is 22.7
GiB for 300 words. CusText needs NumPy before 2: pip install pypantera==1.0.2 'numpy<2'. Prints one
line of JSON. benchmarks/peers.py runs it.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from pathlib import Path

FOLDERS = {"CMP": "cmp", "VickreyCMP": "vickrey", "VickreyMhl": "vickrey"}
FOLDERS |= {"Mahalanobis": "mahalanobis"}
WORDS_A_TEXT = 5


def main(name: str, embeddings: str, words_file: str, epsilon: float) -> dict[str, object]:
    """Times, share of words that come out as they went in, memory."""
    import pandas  # type: ignore[import-untyped]  # of the peer's environment

    kind = "EmbeddingPerturbation" if name in FOLDERS else "SamplingPerturbation"
    # It installs a package that is called src.
    module = importlib.import_module(f"src.{kind}Mechanism.{FOLDERS.get(name, name.lower())}")
    start = time.perf_counter()
    peer = getattr(module, name)(
        {"embPath": embeddings, "epsilon": epsilon, "lam": 1.0, "t": 0.75, "beta": 0.001, "k": 10,
         "distance": "euclidean"}
    )  # fmt: skip
    started = time.perf_counter() - start
    words = Path(words_file).read_text("utf-8").split("\n")
    texts = [" ".join(words[i : i + WORDS_A_TEXT]) for i in range(0, len(words), WORDS_A_TEXT)]
    data = pandas.DataFrame({"id": range(len(texts)), "text": texts})
    start = time.perf_counter()
    released = peer.obfuscateText(data, 1)["obfuscatedText"].tolist()
    seconds = time.perf_counter() - start
    came = [word for text in released for word in text[0].split(" ")]
    return {
        "start_seconds": started,
        "microseconds": seconds / len(words) * 1e6,
        "raw": sum(a == b for a, b in zip(words, came, strict=False)) / len(words),
        "mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


if __name__ == "__main__":
    named, file, listed, rate = sys.argv[1:]
    try:
        print(json.dumps(main(named, file, listed, float(rate))))
    except Exception as error:  # whatever the peer fails with is a finding
        print(json.dumps({"failed": f"{type(error).__name__}: {error}"[:120]}))
