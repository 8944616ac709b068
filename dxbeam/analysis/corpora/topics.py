"""Whether topics that are learnt of a release group documents as topics of the originals do.

Topics are those of a non-negative matrix factorization of TF-IDF weights (Lee, Seung 1999, by
scikit-learn), learnt of each side by itself, as who has only the release does. A document's topic
is that of its largest share. How alike the two groupings are is the adjusted Rand index (Hubert,
Arabie 1985): 1 for the same groups, 0 for groups as alike as random ones, whatever they are called.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from threadpoolctl import threadpool_limits

from dxbeam.analysis.corpora.texts import bootstrapped
from dxbeam.analysis.corpora.word_statistics import Counted
from dxbeam.analysis.evaluate.document_scores import Score
from dxbeam.space.search.neighbors import Floats, Ids

TOPICS = 10

LEAST_DOCUMENTS = 10 * TOPICS

_MOST_WORDS = 5_000
_COMMON = 0.25
"""Words of more than this share of the documents tell no topic."""


def topic_agreement(words: Counted, weights: Floats) -> Iterator[Score]:
    """The adjusted Rand index; nothing for fewer than 100 documents.

    Args:
      words: from ``counted``.
      weights: float64 [1 + REPLICATES, D], how often each document counts.
    """
    if words.original.shape[0] < LEAST_DOCUMENTS:
        return
    before, after = _topics(words.original), _topics(words.released)
    if before is None or after is None:
        return
    both = before * TOPICS + after

    def alike(some: Floats) -> Floats:
        tables = [np.bincount(both, row, TOPICS**2).reshape(TOPICS, TOPICS) for row in some]
        return np.array([adjusted_rand_index(table) for table in tables])

    yield bootstrapped("topic_agreement", weights, alike, -1.0, 1.0)


def adjusted_rand_index(table: Any) -> float:
    """Of how many documents are in each pair of groups: float64 [K, L] -> a number up to 1."""
    inside = _pairs(table).sum()
    first, second = (_pairs(table.sum(axis=axis)).sum() for axis in (0, 1))
    expected = first * second / max(float(_pairs(table.sum())), 1.0)
    most = (first + second) / 2
    return 1.0 if most == expected else float((inside - expected) / (most - expected))


def _pairs(counts: Any) -> Any:
    return counts * (counts - 1) / 2


def _topics(counts: Any) -> Ids | None:
    """The topic of each document, int64 [D]; None where too few words tell topics."""
    documents = counts.getnnz(axis=0)
    telling = np.flatnonzero((documents > 1) & (documents <= _COMMON * counts.shape[0]))
    order = np.argsort(-documents[telling], kind="stable")[:_MOST_WORDS]
    if len(order) < TOPICS:
        return None
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(counts[:, telling[order]])
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        shares = NMF(TOPICS, init="nndsvd", max_iter=200, random_state=0).fit_transform(weighted)
    return np.asarray(shares.argmax(axis=1))
