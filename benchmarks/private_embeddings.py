"""PrivEmb's experiments on released vectors, with the published and with the exact sensitivity.

    python -m benchmarks.private_embeddings --vocabulary vocabularies/glove \
        --positive positive-words.txt --negative negative-words.txt --sentences 'mr=mr.jsonl.gz'

M1 adds noise to the vectors as they are, M2 projects them first. Figures 1 and 2 (distances, inner
products), Figure 3 (positive and negative words told apart), and Table 1 (sentences classified by
the mean of their noisy word vectors) with noise for each token, for each distinct word, and for
each sentence: which of these it is decides the table, and the paper does not say.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.privemb import (
    PrivateEmbedding,
    distance_bound,
    inner_product_bound,
    pair_errors,
    projected_dimensions,
)
from benchmarks.rows import command_line, records
from dxbeam.space.artifact import artifact
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.tokenization import words
from dxbeam.vectors import sensitivity
from dxbeam.vectors.projections import DEFAULT_SEED, make_projection

DELTA = 1e-6


def embeddings(
    vocabulary: Vocabulary, betas: tuple[float, ...], exact: bool, seed: str = DEFAULT_SEED
) -> Iterator[tuple[str, PrivateEmbedding]]:
    """M1, and M2 for each beta, projected by the seed; the scale is exact or as published."""
    n = vocabulary.dimensions
    yield "M1", PrivateEmbedding(make_projection("none", n), 1.0)
    for beta in betas:
        projection = make_projection("gaussian", n, projected_dimensions(beta, n, DELTA), seed)
        scale = (
            sensitivity.exact(vocabulary, projection).value
            if exact
            else sensitivity.published(projection, DELTA).value
        )
        yield f"M2 {beta:g}", PrivateEmbedding(projection, scale)


def pairs(vocabulary: Vocabulary, exact: bool) -> None:
    """Figures 1 and 2."""
    generator = np.random.default_rng(0)
    ids = generator.choice(len(vocabulary), 200, replace=False)
    one, other = np.split(vocabulary.vectors_of(ids), 2)
    longest = float(np.linalg.norm(np.concatenate([one, other]), axis=1).max())
    print("                 s      epsilon  distance (at most)        inner product (at most)")
    for name, embedding in embeddings(vocabulary, (0.5, 0.6, 0.7), exact):
        m, s = embedding.projection.projected, embedding.sensitivity
        for epsilon in (1.0, 2.0, 5.0):
            errors = pair_errors(one, other, embedding, epsilon, 10, seed=1)
            at = (m, 200, longest, s - 1, epsilon, DELTA)
            print(
                f"{name:8} m = {m:<4} {s:.3f}  {epsilon:<8g} "
                f"{errors.distances.mean():7.1f} {distance_bound(*at):>12,.0f}      "
                f"{errors.inner_products.mean():9.1f} {inner_product_bound(*at):>16,.0f}"
            )


def listed(path: str) -> list[str]:
    """The words of a lexicon, one a line; lines that begin with ; are comments."""
    lines = Path(path).read_text("latin-1").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith(";")]


def polarity(vocabulary: Vocabulary, positive: str, negative: str, exact: bool) -> None:
    """Figure 3: a linear SVM on single words; every run has its own projection, noise and split."""
    generator = np.random.default_rng(0)
    groups = [vocabulary.ids_of(listed(path)) for path in (positive, negative)]
    groups = [np.unique(ids[ids != UNKNOWN]) for ids in groups]
    count = min(map(len, groups))
    ids = np.concatenate([generator.choice(group, count, replace=False) for group in groups])
    vectors, labels = vocabulary.vectors_of(ids), np.repeat([1, 0], count)
    print(f"\n{count:,} positive and {count:,} negative words: accuracy, AUC (sd of a run)")
    tell("no noise", [svm_scores(vectors, labels, 0)])
    runs: dict[str, list[tuple[float, ...]]] = {}
    for run in range(10):
        for name, embedding in embeddings(vocabulary, (0.7, 0.8, 0.9), exact, f"run {run}"):
            for epsilon in (5.0, 10.0, 20.0):
                released = embedding.released(vectors, epsilon, generator)
                named = f"{name}, epsilon = {epsilon:g}"
                runs.setdefault(named, []).append(svm_scores(released, labels, run))
    for name, scores in runs.items():
        tell(name, scores)


def svm_scores(vectors: Any, labels: Any, run: int) -> tuple[float, float]:
    """Accuracy and AUC of a linear SVM on a random fifth; the run is the seed."""
    x, test_x, y, test_y = train_test_split(vectors, labels, test_size=0.2, random_state=run)
    model = make_pipeline(StandardScaler(), LinearSVC(dual=False)).fit(x, y)
    return model.score(test_x, test_y), roc_auc_score(test_y, model.decision_function(test_x))


def tell(name: str, runs: list[tuple[float, ...]]) -> None:
    """Prints the mean of each score and the standard deviation of a run."""
    values = np.array(runs)
    spread = values.std(axis=0, ddof=1) if len(runs) > 1 else np.zeros(values.shape[1])
    cells = (f"{mean:.3f} ({sd:.3f})" for mean, sd in zip(values.mean(axis=0), spread, strict=True))
    print(f"  {name:24}", "  ".join(cells))


def sentences(vocabulary: Vocabulary, name: str, path: str, exact: bool) -> None:
    """Table 1: train and test accuracy of logistic regression, 5 folds."""
    texts = list(records(path))
    tokens = [vocabulary.ids_of(words(record["text"])) for record in texts]
    tokens = [ids[ids != UNKNOWN] for ids in tokens]
    labels = np.array([str(record["label"]) for record in texts])[[len(t) > 0 for t in tokens]]
    tokens = [ids for ids in tokens if len(ids)]
    starts = np.cumsum([0, *map(len, tokens)][:-1])
    flat = np.concatenate(tokens)
    lengths = np.diff(np.append(starts, len(flat)))[:, None]

    def means(of_tokens: Any) -> Any:
        return np.add.reduceat(of_tokens, starts, axis=0) / lengths

    print(f"\n{name}, {len(tokens):,} sentences: train, test accuracy (sd of a fold)")
    plain = vocabulary.vectors_of(flat)
    tell("no noise", _folds(means(plain), labels))
    generator = np.random.default_rng(0)
    kinds, which = np.unique(flat, return_inverse=True)
    for method, embedding in embeddings(vocabulary, (0.9,), exact):
        for noised, vectors in (
            ("each token", lambda e=embedding: means(e.released(plain, 10.0, generator))),
            (
                "each distinct word",
                lambda e=embedding: means(
                    e.released(vocabulary.vectors_of(kinds), 10.0, generator)[which]
                ),
            ),
            ("each sentence", lambda e=embedding: e.released(means(plain), 10.0, generator)),
        ):
            tell(f"{method}, {noised}", _folds(vectors(), labels))


def _folds(vectors: Any, labels: Any) -> list[tuple[float, float]]:
    scores = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(vectors):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LogisticRegression(C=10, max_iter=300).fit(vectors[train], labels[train])
        scores.append(
            (model.score(vectors[train], labels[train]), model.score(vectors[test], labels[test]))
        )
    return scores


def main() -> None:
    """Reads the flags."""
    parser = command_line(__doc__)
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--positive")
    parser.add_argument("--negative")
    parser.add_argument("--sentences", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--exact", action="store_true", help="noise for the exact sensitivity")
    options = parser.parse_args()
    vocabulary = artifact.open_vocabulary(options.vocabulary)
    pairs(vocabulary, options.exact)
    if options.positive and options.negative:
        polarity(vocabulary, options.positive, options.negative, options.exact)
    for named in options.sentences:
        sentences(vocabulary, *named.split("=", 1), options.exact)


if __name__ == "__main__":
    main()
