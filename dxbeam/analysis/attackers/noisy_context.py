"""The attacker that reads noisy vectors in order, with a model of which words follow which.

No release shows noisy vectors. But a decoder reads them with a public language model, and what it
writes is its best guess: this attacker with a weaker model. So what it gets is about what decoding
can give back, and what decoded text tells whoever takes it at its word.

Of each noisy vector the words of the largest posterior are kept, as if there were no others, and
read as context.py does.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from dxbeam.analysis.attackers.context import CANDIDATES, Candidates
from dxbeam.analysis.attackers.noisy_vector import guess_from_vectors, noise_density
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.mechanisms import Mechanism
from dxbeam.space.search.neighbors import Floats, NeighborSearch


def candidates_from_vectors(
    mechanism: Mechanism,
    noisy: Floats,
    prior: Prior,
    search: NeighborSearch,
    count: int = CANDIDATES,
) -> Candidates:
    """The most probable words given each noisy vector only.

    Args:
      mechanism: with its epsilon.
      noisy: float64 [T, n], words' vectors plus noise.
      prior: what is believed beforehand.
      search: the vocabulary.
      count: how many words; all of a smaller vocabulary.

    Raises:
      ConfigurationError: the mechanism has no known noise density.
    """
    density, count = noise_density(mechanism, search), min(count, len(search.vocabulary))
    ids = guess_from_vectors(mechanism, noisy, prior, count, search)
    scores = np.log(prior.shares[ids])
    for row, (query, words) in enumerate(zip(noisy, ids, strict=True)):
        starts = density.starts(search.vocabulary.vectors_of(words))
        apart = query - starts
        if density.coordinates is not None:
            apart = apart @ density.coordinates
        lengths = np.abs(apart).sum(axis=1)
        if density.euclidean:
            lengths = np.sqrt(np.square(apart).sum(axis=1))
        scores[row] += density.log_density(lengths)
        scores[row, np.abs(apart).max(axis=1) > density.limit * (1 + 1e-9) + 1e-9] = -np.inf
    return Candidates(ids, softmax(scores, axis=1), prior.shares[ids])
