"""A bootstrap over documents, of which each worker knows the replicates by itself."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

REPLICATES = 500


def replicate_weights(seed: int) -> npt.NDArray[np.int64]:
    """How often each replicate of the bootstrap counts a document: int64 [REPLICATES].

    Args:
      seed: the document's own, the same wherever it is counted.
    """
    return np.random.default_rng(seed).poisson(1.0, REPLICATES)
