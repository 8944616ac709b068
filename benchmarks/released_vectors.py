"""Released vectors: what projections stretch, how long finding out takes, what an attacker learns.

    python -m benchmarks.released_vectors --vocabulary vocabularies/glove [--words 100]

The first table scans all pairs of the vocabulary. The second releases words once as float32, as
float64 and on the grid, and counts from how many words of the vocabulary each could have come.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import numpy.typing as npt

from dxbeam.audit.reachability import Release, add, add_on_grid, reachable
from dxbeam.mechanisms.sampling.noise import laplace, laplace_draws
from dxbeam.randomness import fill
from dxbeam.space.artifact import artifact
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.vectors import sensitivity
from dxbeam.vectors.configuration import VectorConfiguration
from dxbeam.vectors.projections import make_projection

PUBLISHED = bytes(32)
"""A published key: these vectors protect nobody."""


def words_left(
    words: npt.NDArray[np.float64],
    epsilon: float,
    dtype: type[np.floating],
    release: Release,
    targets: npt.NDArray[np.int64],
    key: bytes,
) -> npt.NDArray[np.int64]:
    """Releases each target word once, and counts the words that could have been it: int64 [B].

    Args:
      words: projected vectors, float64 [N, m].
      epsilon: the noise's parameter in the projected space, epsilon over sensitivity.
      dtype: the float type of words and noise.
      release: how they become what is released.
      targets: positions of the words to release, [B].
      key: 32 bytes that name the noise.
    """
    m = words.shape[1]
    random = np.empty((len(targets), laplace_draws(m) + laplace_draws(m) % 2), np.uint64)
    fill(key, 0, random)
    noise = laplace(random, m, epsilon).astype(dtype)
    typed = words.astype(dtype)
    counts = np.empty(len(targets), np.int64)
    for row, target in enumerate(targets):
        left = reachable(release(typed[target], noise[row]), typed, release)
        assert target in left
        counts[row] = len(left)
    return counts


def stretches(vocabulary: Vocabulary) -> None:
    """Sensitivities of projections to 50, 100 and 200 dimensions."""
    n = vocabulary.dimensions
    print("m    projection  exact     spectral  published  widest pair                     seconds")
    for m in (m for m in (50, 100, 200) if m < n):
        for kind in ("gaussian", "orthogonal", "pca"):
            projection = make_projection(kind, n, m, vocabulary=vocabulary)
            start = time.perf_counter()
            exact = sensitivity.exact(vocabulary, projection)
            seconds = time.perf_counter() - start
            spectral = sensitivity.spectral(projection).value
            published = (
                f"{sensitivity.published(projection, 1e-6).value:.4f}" if kind == "gaussian" else ""
            )
            pair = ", ".join(exact.pair or ())
            print(
                f"{m:<4} {kind:<11} {exact.value:<9.6f} {spectral:<9.6f} {published:<10} "
                f"{pair:<31} {seconds:.1f}"
            )


def candidates(vocabulary: Vocabulary, count: int) -> None:
    """Words from which what was released could have come."""
    n = vocabulary.dimensions
    ids = np.append(np.arange(len(vocabulary)), UNKNOWN)
    targets = np.random.default_rng(0).integers(0, len(vocabulary), count)
    print(f"\nwords left of {len(ids):,}: median (share of releases with one word left)")
    print("projection  epsilon  float32          float64          grid")
    for kind, m in (("none", n), ("pca", min(50, n))):
        projection = make_projection(kind, n, m, vocabulary=vocabulary)
        words = projection.apply_all(vocabulary.vectors_of(ids))
        bound = sensitivity.spectral(projection)
        for epsilon in (1, 5, 10, 20):
            settings = VectorConfiguration("word", epsilon, projection, bound)
            cells = []
            for dtype, release, few in (
                (np.float32, add, targets),
                (np.float64, add, targets),
                (np.float64, add_on_grid(settings.step), targets[:10]),
            ):
                left = words_left(words, 1 / settings.scale, dtype, release, few, PUBLISHED)
                cells.append(f"{int(np.median(left)):>7,} ({(left == 1).mean():.2f})")
            print(f"{kind:<11} {epsilon:<8} " + "   ".join(cells))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--words", type=int, default=100)
    arguments = parser.parse_args()
    opened = artifact.open_vocabulary(artifact.handle(arguments.vocabulary))
    stretches(opened)
    candidates(opened, arguments.words)
