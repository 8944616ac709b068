"""pyPANTERA and dp-diffractor next to dxbeam: one run, one thread each, one table.

    python -m venv a && a/bin/pip install pypantera==1.0.2 'numpy<2'
    python -m venv b && b/bin/pip install dp-diffractor==0.2.1
    python -m benchmarks.peers --vocabulary DIR --pypantera a/bin/python --diffractor b/bin/python

Each of them is called as its users call it, in its own environment and a process for each
mechanism; dxbeam's Sanitizer takes the same words as documents of 200. --only CusText runs one of
them. Words are drawn evenly from the vocabulary; with --text FILE they are those of a text, which
is how the share of words that pass raw depends on stop words and unknown words. dp-diffractor's
order of the words is made of the first --list_words words of the vocabulary, as making it takes
minutes for all; NLTK's data, which it needs, are stand-ins: no abbreviations, and dxbeam's own stop
words.

With NumPy 2 pyPANTERA's CusText fails: its distances are float32, a Python float times a float32
stays one there, and so its probabilities miss 1 by more than NumPy's choice bears.

The last column is what is known of each peer's largest loss in this vocabulary, computed from its
law and not sampled: see ``losses``. For mldp-text see benchmarks/peer.py.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peer import ours, with_tables
from benchmarks.rows import command_line
from benchmarks.times_of_diffractor import EMBEDDINGS
from dxbeam.errors import DxbeamError
from dxbeam.mechanisms import make_mechanism, parse_parameters
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.public.function_words import ENGLISH
from dxbeam.text.tokenization import words as words_of

PYPANTERA = {
    "CMP": "laplace",
    "VickreyCMP": "vickrey",
    "Mahalanobis": "mahalanobis",
    "VickreyMhl": "vickrey:noise_of=mahalanobis",
    "SanText": "santext",
    "TEM": "tem",
    "CusText": "custext",
}
DIFFRACTOR = {"geometric": "diffractor", "TEM": "diffractor_tem"}
"""A peer's mechanism -> dxbeam's own."""

_HERE = Path(__file__).parent
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def measured(python: str, script: str, *arguments: str, home: Path | None = None) -> dict[str, Any]:
    """What a script prints in a separate environment."""
    environment = {**os.environ, **_ONE_THREAD}
    if home:
        environment |= {"HOME": str(home), "NLTK_DATA": str(home / "nltk_data")}
    command = [python, str(_HERE / script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    lines = done.stdout.strip().splitlines()
    if not lines:
        return {"failed": (done.stderr.strip().splitlines() or ["no output"])[-1][:120]}
    figures: dict[str, Any] = json.loads(lines[-1])
    return figures


def home_of_diffractor(folder: Path, vocabulary: Vocabulary, words: int) -> Path:
    """A home folder that holds embeddings where it looks for them, and NLTK's data."""
    cache = folder / ".cache/diffractor"
    cache.mkdir(parents=True)
    write_vectors(cache / f"{EMBEDDINGS}.txt", vocabulary, words, header=True)
    punkt = folder / "nltk_data/tokenizers/punkt_tab/english"
    punkt.mkdir(parents=True)
    for name in ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab"):
        (punkt / name).write_text("")
    stop_words = folder / "nltk_data/corpora/stopwords"
    stop_words.mkdir(parents=True)
    (stop_words / "english").write_text("\n".join(sorted(ENGLISH)) + "\n")
    return folder


def write_vectors(path: Path, vocabulary: Vocabulary, words: int, header: bool = False) -> None:
    """The first words and their vectors, in text."""
    with path.open("w", encoding="utf-8") as file:
        if header:
            file.write(f"{words} {vocabulary.dimensions}\n")
        for word, vector in zip(vocabulary.words[:words], vocabulary.vectors[:words], strict=True):
            file.write(" ".join([word, *(f"{value:.6g}" for value in vector)]) + "\n")


def losses(vocabulary: Vocabulary, epsilon: float, sample: int = 500) -> dict[str, str]:
    """The largest loss that each law has in this vocabulary, where it exceeds what is promised."""
    search, words = NeighborSearch(vocabulary), len(vocabulary)
    ids = np.unique(np.linspace(0, words - 1, min(sample, words)).astype(np.int64))
    near = np.array([search.neighbor(ids, np.ones(len(ids), np.int64))]).T
    nearest = search.distances(ids, near)[:, 0]
    gamma = 2 / epsilon * math.log(0.999 * (words - 1) / 0.001)
    covariance = np.cov(vocabulary.vectors.astype(np.float64), rowvar=False)
    spectrum = np.linalg.eigvalsh(covariance)
    stretched = vocabulary.dimensions / 2 * math.log(spectrum[-1] / spectrum[0])
    every = np.sort(search.nearest_neighbors(np.arange(words), min(10, words)), axis=1)
    counts = np.unique(every, axis=0, return_counts=True)[1]
    pairs = int((counts * (counts - 1) // 2).sum())
    far = search.distances(ids, np.broadcast_to(ids, (len(ids), len(ids))))
    lost = float((epsilon * far / 2 > -math.log(1.4e-45)).mean())
    infinite = f"infinite but for {pairs:,} of {words * (words - 1) // 2:,} pairs"
    return {
        "CMP": "as promised; an unknown word is a new random vector",
        "VickreyCMP": "as promised; the same",
        "Mahalanobis": f"{stretched:.0f} nats beyond epsilon d",
        "VickreyMhl": f"{stretched:.0f} nats beyond epsilon d",
        "SanText": f"infinite: {lost:.1%} of probabilities are 0 in float32",
        "TEM": f"infinite: {(nearest > gamma).mean():.1%} of words always come out as they are",
        "CusText": infinite,
    }


def row_of(peer: str, figures: dict[str, Any], named: str, seconds: float | None, loss: str) -> str:
    """A row of the table."""
    if "failed" in figures:
        return f"| {peer} | fails: {figures['failed']} | | | | | {loss} |"
    microseconds = figures["microseconds"]
    mine = "none" if seconds is None else f"{named}: {seconds * 1e6:,.1f}"
    times = "" if seconds is None else f"{microseconds / seconds / 1e6:,.0f}"
    return (
        f"| {peer} | {microseconds:,.0f} | {mine} | {times} | {figures['mebibytes']:,.0f} | "
        f"{figures['raw']:.1%} | {loss} |"
    )


def timed(named: str, epsilon: float, vocabulary: Vocabulary, words: list[str]) -> float | None:
    """Seconds a word of dxbeam's mechanism, NAME or NAME:PARAMETER=VALUE; None where it fails."""
    name, _, parameters = named.partition(":")
    try:
        mechanism = make_mechanism(name, epsilon=epsilon, **parse_parameters(parameters))
        return min(ours(mechanism, vocabulary, words, 1)() for _ in "ab")
    except DxbeamError as error:
        print(f"{named}: {error}")
        return None


def chosen(mechanisms: Mapping[str, str], only: str | None) -> list[tuple[str, str]]:
    """A peer's mechanisms with dxbeam's own: all, or the one of this name."""
    return [(peer, named) for peer, named in mechanisms.items() if only in (None, peer)]


def main() -> None:
    """Runs all of them, or one."""
    parser = command_line(__doc__)
    parser.add_argument("--vocabulary", default="demo")
    parser.add_argument("--pypantera", help="the Python of its environment")
    parser.add_argument("--diffractor", help="the Python of its environment")
    parser.add_argument("--epsilon", type=float, default=10.0)
    parser.add_argument("--words", type=int, default=8_000, help="through dxbeam")
    parser.add_argument("--peer_words", type=int, default=100)
    parser.add_argument("--list_words", type=int, default=5_000)
    parser.add_argument("--text", help="take the words of this file")
    parser.add_argument("--only", choices=[*PYPANTERA, *DIFFRACTOR], help="a peer's mechanism")
    arguments = parser.parse_args()
    whole = open_vocabulary(arguments.vocabulary)
    generator = np.random.default_rng(0)  # a benchmark: protects nothing
    plain = np.array([i for i, word in enumerate(whole.words) if word.isascii() and word.isalpha()])
    ids = plain[generator.integers(0, len(plain), arguments.words)]
    vocabulary = whole if whole.neighbor_ids is not None else with_tables(whole, ids)
    words = [whole.words[i] for i in ids]
    in_list = [word for word in words if whole.id_of(word) < arguments.list_words]
    if arguments.text:
        text = Path(arguments.text).read_text("utf-8").lower()
        words = in_list = [word for word in words_of(text) if word.isascii() and word.isalpha()]
    known = losses(whole, arguments.epsilon)
    print(f"{len(whole):,} words in {whole.dimensions} dimensions, epsilon = {arguments.epsilon:g}")
    print("| peer | µs a word | dxbeam, µs | ratio | MiB | raw | largest loss |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        some, listed = Path(folder, "words"), Path(folder, "listed")
        some.write_text("\n".join(words[: arguments.peer_words]), "utf-8")
        listed.write_text("\n".join(in_list[: 5 * arguments.peer_words]), "utf-8")
        rate = str(arguments.epsilon)
        if arguments.pypantera:
            vectors = Path(folder, "vectors.txt")
            write_vectors(vectors, whole, len(whole))
            for peer, named in chosen(PYPANTERA, arguments.only):
                script = ("times_of_pypantera.py", peer, str(vectors), str(some), rate)
                figures = measured(arguments.pypantera, *script)
                seconds = timed(named, arguments.epsilon, vocabulary, words)
                print(row_of(peer, figures, named, seconds, known[peer]), flush=True)
        if arguments.diffractor:
            home = home_of_diffractor(Path(folder, "home"), whole, arguments.list_words)
            for peer, named in chosen(DIFFRACTOR, arguments.only):
                script = ("times_of_diffractor.py", peer, str(listed), "1.0")
                figures = measured(arguments.diffractor, *script, home=home)
                seconds = timed(named, 1.0, vocabulary, words)
                read = figures.get("recovered")
                loss = f"{read[0]} of {read[1]} changed words read off, by seed 42" if read else ""
                print(row_of(f"diffractor {peer}", figures, named, seconds, loss), flush=True)


if __name__ == "__main__":
    main()
