"""Logistic regressions, one for each part of the documents, trained on all the other parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, hstack
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

PARTS = 5

Numbers = npt.NDArray[np.float64]
Ids = npt.NDArray[np.int64]


class Predictions(NamedTuple):
    """What a model said of all documents.

    Attributes:
      classes: int64 [n], the class that it took each document to be of.
      scores: float64 [n], how much it took it for one of class 1; with two classes only.
    """

    classes: Ids
    scores: Numbers


def train(features: Sequence[Any], truth: Ids, parts: Ids, *, scaled: bool = False) -> list[Model]:
    """A model for each part, trained on the others.

    Args:
      features: of one kind, a text each.
      truth: int64 [n], the classes.
      parts: int64 [n].
      scaled: of vectors, whether their scale means nothing; as ``Model``.
    """
    models = []
    with threadpool_limits(1):  # more would wait for one another, and for other workers
        for part in range(PARTS):
            inside = np.flatnonzero(parts != part)
            some = [features[i] for i in inside.tolist()]
            models.append(Model(some, truth[inside], scaled=scaled))
    return models


def predict(models: Sequence[Model], features: Sequence[Any], parts: Ids) -> Predictions:
    """What the models say, each of the documents of its part.

    Args:
      models: as ``train`` returns them.
      features: of one kind, a text each.
      parts: int64 [n].
    """
    said = Predictions(np.zeros(len(parts), np.int64), np.zeros(len(parts)))
    with threadpool_limits(1):
        for part, model in enumerate(models):
            inside = np.flatnonzero(parts == part)
            if len(inside):
                classes, scores = model.predict([features[i] for i in inside.tolist()])
                said.classes[inside] = classes
                said.scores[inside] = scores
    return said


class Model:
    """Logistic regression, of TF-IDF weights where features are counts.

    Args:
      features: of one kind, a text each.
      truth: int64 [n], the classes.
      scaled: whether vectors are moved and scaled, by what is trained on, to a mean of 0 and a mean
        squared length of 1. Encoders differ in scale, and the penalty of weights depends on it.
    """

    def __init__(self, features: Sequence[Any], truth: Ids, *, scaled: bool = False):
        self._only = int(truth[0]) if len(set(truth.tolist())) == 1 else None
        blocks = count_matrices(features)
        self._used = [np.union1d(0, np.flatnonzero(block.getnnz(axis=0))) for block in blocks]
        self._tfidf = [
            TfidfTransformer(sublinear_tf=True).fit(block[:, used])
            for block, used in zip(blocks, self._used, strict=True)
        ]
        self._mean, self._length = 0.0, 1.0
        if scaled:
            vectors = np.stack(features).astype(np.float64)
            self._mean = vectors.mean(axis=0)
            self._length = np.sqrt(np.square(vectors - self._mean).sum(axis=1).mean()) or 1.0
        if self._only is None:
            self._regression = LogisticRegression(C=10.0, max_iter=500)
            self._regression.fit(self._matrix(features), truth)

    def _matrix(self, features: Sequence[Any]) -> Any:
        if not self._tfidf:
            return (np.stack(features) - self._mean) / self._length
        blocks = zip(self._tfidf, count_matrices(features), self._used, strict=True)
        return hstack([tfidf.transform(block[:, used]) for tfidf, block, used in blocks]).tocsr()

    def predict(self, features: Sequence[Any]) -> tuple[Ids, Numbers]:
        """Classes, int64 [n], and how much each text is taken for one of class 1, float64 [n]."""
        if self._only is not None:
            return np.full(len(features), self._only), np.zeros(len(features))
        matrix = self._matrix(features)
        scores = self._regression.decision_function(matrix)
        classes = self._regression.predict(matrix)
        return classes, scores if scores.ndim == 1 else np.zeros(len(features))


def count_matrices(features: Sequence[Any]) -> list[Any]:
    """Counts as a matrix of float64 [documents, columns] for each block; [] for vectors."""
    if isinstance(features[0], np.ndarray):
        return []
    matrices = []
    for block, (_, _, columns) in enumerate(features[0]):
        rows = [feature[block] for feature in features]
        starts = np.cumsum([0, *(len(places) for places, _, _ in rows)])
        places = np.concatenate([places for places, _, _ in rows])
        counts = np.concatenate([counts for _, counts, _ in rows]).astype(np.float64)
        matrices.append(csr_matrix((counts, places, starts), shape=(len(rows), columns)))
    return matrices
