"""The shape of multidimensional Laplace noise: its lengths, and in two dimensions its directions.

Its length r has the density f_G of Gamma(n, 1/epsilon) and its direction is uniform (equation 2 of
"d_X-Privacy for Text and the Curse of Dimensionality", arXiv 2411.13784; Figure 4 shows both for
n = 2). The samples are of the noise that releases get, ``mechanisms.sampling.noise.laplace``, which
is not drawn by length and direction; so a sample against f_G is a test of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from dxbeam.mechanisms.sampling.noise import Floats, laplace, laplace_draws


class NoiseSample(NamedTuple):
    """Drawn noise.

    Attributes:
      n: dimensions.
      epsilon: inverse scale, in 1 / units of the embedding.
      vectors: float64 [k, n], in units of the embedding.
      lengths: float64 [k], of the vectors.
      p_value: of a Kolmogorov-Smirnov test of the lengths against Gamma(n, 1/epsilon): how
        probable it is that a sample of that distribution is as far from it.
    """

    n: int
    epsilon: float
    vectors: Floats
    lengths: Floats
    p_value: float

    @property
    def directions(self) -> Floats:
        """The unit vectors that point where the noise does: float64 [k, n]."""
        return np.asarray(self.vectors / self.lengths[:, None])


def draw(n: int, epsilon: float, count: int, seed: int) -> NoiseSample:
    """Noise vectors and how well their lengths fit.

    Args:
      n: dimensions.
      epsilon: inverse scale, in 1 / units of the embedding.
      count: how many vectors.
      seed: of the noise, which falls on no word and protects nothing.
    """
    generator = np.random.default_rng(seed)
    random = generator.integers(0, 2**64, (count, laplace_draws(n)), dtype=np.uint64)
    vectors = laplace(random, n, epsilon)
    lengths = np.linalg.norm(vectors, axis=1)
    fit = stats.kstest(lengths, stats.gamma(n, scale=1 / epsilon).cdf)
    return NoiseSample(n, epsilon, vectors, lengths, float(fit.pvalue))


def length_density(r: npt.ArrayLike, n: int, epsilon: float) -> Floats:
    """f_G(r) = epsilon^n r^(n-1) exp(-epsilon r) / (n-1)!, of any shape, r in units of length."""
    return np.asarray(stats.gamma.pdf(r, n, scale=1 / epsilon))
