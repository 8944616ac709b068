"""What ``fluent`` costs a word in the Sanitizer, against ``santext`` in the same run.

    python -m benchmarks.fluent --vocabulary V --language_model M corpus.jsonl.gz

Each mechanism sanitizes the corpus twice, in turn with the others and with new noise; the first
time its words occur for the first time. Seconds are those of the processor, of one thread, so that
other work on the machine changes them little; the ratio to ``santext`` is the safer figure.
"""

from __future__ import annotations

import hashlib
import math
import os
import resource
import time
from collections.abc import Sequence
from pathlib import Path

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import dxbeam
from benchmarks.rows import command_line, records
from dxbeam.documents import Document
from dxbeam.mechanisms import Mechanism
from dxbeam.space.search.neighbors import NeighborSearch

UNCAPPED = 1e6


def documents_of(paths: Sequence[Path], most: int) -> list[Document]:
    """The first documents of some files of JSON Lines."""
    return [
        Document(str(i), record["text"]) for path in paths for i, record in enumerate(records(path))
    ][:most]


def main() -> None:
    """Reads the flags, measures, prints."""
    parser = command_line(__doc__)
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--language_model", required=True)
    parser.add_argument("--epsilon", type=float, default=2.5)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--uncapped", type=int, default=0, help="documents without a gamma, too")
    options = parser.parse_args()
    documents = documents_of(options.corpora, options.documents)
    vocabulary = dxbeam.open_vocabulary(options.vocabulary)
    model = dxbeam.open_language_model(options.language_model, vocabulary)
    epsilon = options.epsilon
    mechanisms: dict[str, Mechanism] = {
        "santext": dxbeam.SanText(epsilon),
        "santext, --base frequency": dxbeam.SanText(epsilon, base=dxbeam.FrequencyBase()),
        "fluent, gamma 6": dxbeam.Fluent(epsilon, model=model),
    }
    if options.uncapped:
        mechanisms["fluent, uncapped"] = dxbeam.Fluent(epsilon, gamma=UNCAPPED, model=model)
    searches = {name: NeighborSearch(vocabulary) for name in mechanisms}
    for number, turn in enumerate(("first", "again")):
        compared = math.nan
        for name, mechanism in mechanisms.items():
            sanitizer = dxbeam.Sanitizer(searches[name], mechanism, bytes([number] * 32))
            few = documents[: options.uncapped] if name.endswith("uncapped") else documents
            start, tokens, digest = time.process_time(), 0, hashlib.sha256()
            for result in sanitizer.sanitize(few):
                assert result.document
                tokens += result.tally.tokens
                digest.update(result.document.text.encode())
            each = (time.process_time() - start) / tokens
            compared = each if name == "santext" else compared
            print(
                f"{turn}: {name}: {tokens:,} words, {1e6 * each:.1f} us a word, "
                f"{1 / each:,.0f} a second, {each / compared:.2f} times santext; "
                f"SHA-256 {digest.hexdigest()[:12]}",
                flush=True,
            )
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    load = " ".join(f"{load:.1f}" for load in os.getloadavg())
    print(f"at most {most:,.0f} MiB of memory; load of the machine {load}")


if __name__ == "__main__":
    main()
