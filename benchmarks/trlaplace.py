"""The exact delta of TrLaplace's two calibrations, and their noise: docs/results/trlaplace.md.

    python -m benchmarks.trlaplace --vocabulary vocabularies/glove

epsilon is the paper's, for a ball of radius C = 1; vectors are scaled so that all are in it. Real
pairs are words and their nearest neighbours. Prints three tables in Markdown.
"""

from __future__ import annotations

import math

import numpy as np

from benchmarks.rows import command_line
from dxbeam.mechanisms.gaussian import Gaussian
from dxbeam.mechanisms.published.trlaplace_published import TrLaplacePublished
from dxbeam.mechanisms.trlaplace import TrLaplace, exact_delta
from dxbeam.space.artifact import artifact
from dxbeam.space.search.neighbors import NeighborSearch

DELTA = 1e-5
_RANDOM, _PAIRS = 1000, 2000


def variance(rate: float, limit: float) -> float:
    """Of a coordinate's truncated Laplace noise."""
    y = rate * limit
    return (2 - (y * y + 2 * y + 2) * math.exp(-y)) / (rate * rate * -math.expm1(-y))


def unit_vectors(rows: int, n: int) -> np.ndarray:
    """Random directions."""
    vectors = np.random.default_rng(n).normal(size=(rows, n))  # a benchmark: protects nothing
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def real_differences(uri: str, n: int) -> np.ndarray:
    """Between words and their nearest neighbours, in the first n dimensions, within the ball."""
    vocabulary = artifact.open_vocabulary(artifact.handle(uri))
    ids = np.unique(np.linspace(0, len(vocabulary) - 1, _PAIRS).astype(np.int64))
    near = NeighborSearch(vocabulary).neighbor(ids, np.ones(len(ids), np.int64))
    largest = np.linalg.norm(vocabulary.vectors[:, :n], axis=1).max()
    return np.asarray((vocabulary.vectors_of(ids) - vocabulary.vectors_of(near))[:, :n] / largest)


def normal_noise() -> None:
    """Standard deviations for a ball of radius 1: the exact one, and the one of textbooks."""
    print("\n| ε | analytic σ / C | √(2 ln(1.25/δ)) · 2/ε |\n|---|---|---|")
    for epsilon in (0.05, 0.2, 0.5, 1.0, 2.0, 10.0, 30.0):
        classical = math.sqrt(2 * math.log(1.25 / DELTA)) * 2 / epsilon
        proved = f"{classical:.4g}" if epsilon < 1 else f"{classical:.4g} (not proved)"
        print(f"| {epsilon:g} | {Gaussian(epsilon / 2, DELTA, clip=1.0).sigma:.4g} | {proved} |")


def main() -> None:
    """Prints the tables."""
    parser = command_line(__doc__)
    parser.add_argument("--vocabulary", required=True)
    arguments = parser.parse_args()
    print(
        "| n | ε | calibration | A / C | on an axis | diagonal | random, least and most | "
        "nearest words, least, median, most |\n|---|---|---|---|---|---|---|---|"
    )
    for n in (50, 300):
        real = real_differences(arguments.vocabulary, n)
        axis, diagonal = np.zeros(n), np.full(n, 2 / math.sqrt(n))
        axis[0] = 2
        random = 2 * unit_vectors(_RANDOM, n)
        for epsilon in (1.0, 10.0, 80.0):
            rate = epsilon / 2 / math.sqrt(n)
            for kind in (TrLaplacePublished, TrLaplace):
                if kind is TrLaplacePublished and rate / DELTA ** (1 / n) >= 1:
                    print(f"| {n} | {epsilon:g} | published | undefined | | | | |")
                    continue
                limit = kind(epsilon / 2, DELTA, 1.0).limit(n)
                chances = exact_delta(random, rate, limit)
                pairs = exact_delta(real, rate, limit)
                cells = [
                    f"{n}",
                    f"{epsilon:g}",
                    "published" if kind is TrLaplacePublished else "sound",
                    f"{limit:.4g}",
                    f"{exact_delta(axis, rate, limit):.4g}",
                    f"{exact_delta(diagonal, rate, limit):.4g}",
                    f"{chances.min():.4g}, {chances.max():.4g}",
                    f"{pairs.min():.3g}, {np.median(pairs):.3g}, {pairs.max():.3g}",
                ]
                print("| " + " | ".join(cells) + " |")
    print("\n| n = 300, ε = 1, δ = 1e-5 | variance of a coordinate / C² |\n|---|---|")
    rate = 0.5 / math.sqrt(300)
    published = TrLaplacePublished(0.5, DELTA, 1.0).limit(300)
    sound = TrLaplace(0.5, DELTA, 1.0).limit(300)
    rows = {
        "TrLaplace as published (not private)": variance(rate, published),
        "TrLaplace, sound": variance(rate, sound),
        "Laplace on every coordinate, δ = 0": 2 / rate**2,
        "normal noise": Gaussian(0.5, DELTA, clip=1.0).sigma ** 2,
        "multidimensional Laplace, δ = 0": 301 / 0.5**2,
    }
    for name, value in rows.items():
        print(f"| {name} | {value:.4g} |")
    normal_noise()


if __name__ == "__main__":
    main()
