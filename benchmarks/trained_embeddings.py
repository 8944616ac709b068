"""PrivEmb's Figure 4: vectors trained in few dimensions (A1), or projected to as few (M2).

    python -m benchmarks.trained_embeddings --corpora brown.jsonl.gz movie_reviews.jsonl.gz \
        --positive positive-words.txt --negative negative-words.txt

The paper's A1 has embeddings trained at 50, 100 and 200 dimensions on the corpus of its 300
dimensions. As a stand-in such a family is made of public text by the singular vectors of positive
pointwise mutual information, which is what word2vec factors implicitly (Levy, Goldberg: Neural word
embedding as implicit matrix factorization, 2014). A1 adds noise in its own dimensions; M2
projects the one of 300 dimensions, with 1 + beta times the noise. All are scaled to the mean length
of GloVe's vectors, as epsilon is per unit of distance. The task is Figure 3's: positive and
negative words.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse, stats
from sklearn.utils.extmath import randomized_svd

from benchmarks.private_embeddings import DELTA, listed, svm_scores, tell
from benchmarks.privemb import PrivateEmbedding
from benchmarks.rows import command_line, records
from dxbeam.text.tokenization import words
from dxbeam.vectors import sensitivity
from dxbeam.vectors.projections import make_projection

WHOLE, FEWER = 300, (50, 100, 200)
LENGTH = 6.6
"""The mean length of GloVe 840B's vectors."""
EPSILONS, RUNS = (5.0, 10.0, 20.0), 10
LEAST_OFTEN, WINDOW, SMOOTHING = 10, 5, 0.75


def texts(paths: list[str]) -> Iterator[list[str]]:
    """The lower-case words of each document."""
    for record in itertools.chain.from_iterable(map(records, paths)):
        yield [word.lower() for word in words(record["text"])]


def neighbours(documents: list[list[str]], numbers: dict[str, int]) -> Any:
    """How often two words are at most five places apart: sparse float64 [N, N]."""
    pairs = []
    for document in documents:
        ids = np.array([numbers.get(word, -1) for word in document])
        for apart in range(1, WINDOW + 1):
            left, right = ids[:-apart], ids[apart:]
            both = (left >= 0) & (right >= 0)
            pairs.append((left[both], right[both]))
    left, right = (np.concatenate(part) for part in zip(*pairs, strict=True))
    shape = (len(numbers), len(numbers))
    one_way = sparse.coo_array((np.ones(len(left)), (left, right)), shape).tocsr()
    return one_way + one_way.T


def embedded(counts: Any) -> Any:
    """Vectors of 300 dimensions, the most telling first: float64 [N, 300].

    Those of fewer are their beginnings: singular vectors of one matrix.
    """
    counts = counts.tocoo()
    rows = np.asarray(counts.sum(axis=1)).ravel()
    contexts = np.asarray(counts.sum(axis=0)).ravel() ** SMOOTHING
    expected = rows[counts.row] * contexts[counts.col] / contexts.sum()
    information = np.maximum(np.log(counts.data / expected), 0.0)
    matrix = sparse.csr_array((information, (counts.row, counts.col)), counts.shape)
    left, values, _ = randomized_svd(matrix, WHOLE, n_iter=4, random_state=0)
    return left * np.sqrt(values)


def scaled(vectors: Any) -> Any:
    """Brought to GloVe's mean length."""
    return vectors * (LENGTH / np.linalg.norm(vectors, axis=1).mean())


def main() -> None:
    """Prints accuracy and AUC for each number of dimensions and each epsilon."""
    parser = command_line(__doc__)
    parser.add_argument("--corpora", nargs="+", required=True)
    parser.add_argument("--positive", required=True)
    parser.add_argument("--negative", required=True)
    options = parser.parse_args()
    documents = list(texts(options.corpora))
    often = Counter(word for document in documents for word in document)
    numbers = {word: i for i, word in enumerate(w for w, k in often.items() if k >= LEAST_OFTEN)}
    every = embedded(neighbours(documents, numbers))
    generator = np.random.default_rng(0)
    groups = [
        sorted({numbers[word] for word in listed(path) if word in numbers})
        for path in (options.positive, options.negative)
    ]
    count = min(map(len, groups))
    ids = np.concatenate([generator.permutation(group)[:count] for group in groups])
    labels = np.repeat([1, 0], count)
    print(f"{len(numbers):,} words; {count:,} positive and {count:,} negative: accuracy, AUC")
    whole = scaled(every)[ids]
    for m in FEWER:
        few = scaled(every[:, :m])[ids]
        tell(f"{m}, no noise", [svm_scores(few, labels, run) for run in range(RUNS)])
        for epsilon in EPSILONS:
            runs: dict[str, list[tuple[float, ...]]] = {"A1": [], "M2": []}
            for run in range(RUNS):
                plain = PrivateEmbedding(make_projection("none", m), 1.0)
                projection = make_projection("gaussian", WHOLE, m, f"run {run}")
                scale = sensitivity.published(projection, DELTA).value
                projected = PrivateEmbedding(projection, scale)
                for name, embedding, vectors in (("A1", plain, few), ("M2", projected, whole)):
                    released = embedding.released(vectors, epsilon, generator)
                    runs[name].append(svm_scores(released, labels, run))
            for name, scores in runs.items():
                tell(f"{m}, epsilon = {epsilon:g}, {name}", scores)
            a1, m2 = (np.array(runs[name])[:, 1] for name in ("A1", "M2"))
            paired = stats.ttest_rel(a1, m2)
            print(f"  A1 - M2 in AUC: {np.mean(a1 - m2):+.3f}, t = {paired.statistic:.1f}")


if __name__ == "__main__":
    main()
