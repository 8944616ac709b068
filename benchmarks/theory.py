"""The noisy dot product's distribution function: time a value and error, by dimension.

    python -m benchmarks.theory [noisy_dot_product.json]

With a file of reference values, {"F_Z": {"n=2,eps=1,z=0.058": {"F": "…", "S": "…"}}}, the largest
absolute error of the distribution function and the largest relative error of the tail are shown.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from dxbeam.analysis.theory.noisy_dot_product import cdf, survival

VALUES = 100_000


def errors(path: Path) -> tuple[int, float, float]:
    """How many values, worst absolute error of F, worst relative error of the tail."""
    absolute, relative = [], []
    values = json.loads(path.read_text())["F_Z"]
    for key, value in values.items():
        n, epsilon, z = (float(part.partition("=")[2]) for part in key.split(","))
        absolute.append(abs(float(cdf(z, int(n), epsilon)) - float(value["F"])))
        relative.append(abs(float(survival(z, int(n), epsilon)) / float(value["S"]) - 1))
    return len(values), max(absolute), max(relative)


def microseconds(function: object, n: int) -> float:
    """Time a value, of a vector of values over the bulk of the law."""
    z = np.random.default_rng(0).normal(0, np.sqrt(n + 1), VALUES)
    function(z[:1000], n, 1.0)  # type: ignore[operator]
    start = time.perf_counter()
    function(z, n, 1.0)  # type: ignore[operator]
    return (time.perf_counter() - start) / VALUES * 1e6


if __name__ == "__main__":
    print("n      cdf us  survival us")
    for n in (2, 3, 10, 25, 50, 100, 300, 1000):
        print(f"{n:<6} {microseconds(cdf, n):6.2f}  {microseconds(survival, n):6.2f}")
    for path in sys.argv[1:]:
        print("{} values: absolute error {:.1e}, tail's relative error {:.1e}".format(
            *errors(Path(path))
        ))  # fmt: skip
