"""What reading noise with a public language model gives.

    python -m benchmarks.decoding --vocabulary vocabularies/glove --corpora corpora \
        --private mr_sentence_polarity --model movie_reviews --judge brown --output table.jsonl

The private documents are sanitized by ``Sanitizer`` with each setting, under one key for all, so
decoders of a mechanism read the same noise (rank resampling has separate noise). Settings are as
in ``dxbeam frontier``, with an epsilon: ``santext:base=frequency:base_exponent=0.5@1.6``,
``santext:constant_scan=scan.json@1.6``. ``fluent`` reads the same language model (``--settings
fluent@2.5 --readers nearest --order 3``). Each row is written to ``--output`` as soon as it is
known; rows that are there are not computed again. ``python -m benchmarks.tables`` draws the pages.

unchanged: of words in the vocabulary. rare: of those whose probability in the text of ``--rare_by``
is below 1e-4. accuracy: of a TF-IDF and logistic regression that learns from released documents and
is tested on originals. perplexity: under a bigram model (Witten and Bell) of ``--judge``, a text
that no decoder saw, of words after a word; only where both originals are in the vocabulary, as what
is released for unknown ones is seldom right ("everywhere": there, too). Intervals are of 95 %.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.rows import arguments, keep, kept, measured_where, records, sentences_of
from benchmarks.witten_bell import WittenBell
from dxbeam.analysis.measure import public_parameters
from dxbeam.documents import Document
from dxbeam.language.model import LanguageModel, language_model_of
from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import KINDS, RULE, Decoder
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.text.tokenization import words

KEY = hashlib.sha256(b"dxbeam benchmarks/decoding 1").digest()
"""A published key: these releases protect nobody."""

SETTINGS = (
    "laplace@10 laplace@8 laplace@12 laplace@15 laplace@6 "
    "santext@2 santext@2.5 santext@1.5 santext@3"
)
READERS = "nearest prior context context_distance rank_c"
RANK_C = 0.02
RARE = 1e-4
MOST_WORDS = 200
"""The first N words of a long document are taken."""


class Corpus(NamedTuple):
    """Private documents: those that are released and learnt from, and those that test."""

    learnt: list[Document]
    labels: list[str]
    tested: list[str]
    tested_labels: list[str]


def texts_of(corpora: Path, name: str) -> list[dict[str, Any]]:
    """The records of a corpus."""
    return list(records(corpora / f"{name}.jsonl.gz"))


def private_corpus(corpora: Path, name: str, learnt: int) -> Corpus:
    """N documents to learn from, drawn at random, and all others to test."""
    records = texts_of(corpora, name)
    order = np.random.default_rng(0).permutation(len(records))
    taken = [records[i] for i in order]
    pairs = [(" ".join(each["text"].split(" ")[:MOST_WORDS]), each["label"]) for each in taken]
    documents = [Document(str(i), text) for i, (text, _) in enumerate(pairs)]
    labels = [label for _, label in pairs]
    tested = [text for text, _ in pairs[learnt:]]
    return Corpus(documents[:learnt], labels[:learnt], tested, labels[learnt:])


def ratio(hits: Any, counts: Any) -> tuple[float, float]:
    """A ratio of sums over documents, and 1.96 standard errors of it."""
    share, total = float(hits.sum() / counts.sum()), float(counts.sum())
    return share, 1.96 * math.sqrt(float(np.square(hits - share * counts).sum())) / total


def accuracy(corpus: Corpus, released: Sequence[str], learnt: int) -> tuple[float, float]:
    """Of what is learnt from the first N released documents, on originals."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

    features = TfidfVectorizer()
    model = LogisticRegression(max_iter=1000)
    model.fit(features.fit_transform(released[:learnt]), corpus.labels[:learnt])
    share = float(model.score(features.transform(corpus.tested), corpus.tested_labels))
    return share, 1.96 * math.sqrt(share * (1 - share) / len(corpus.tested))


class Bench:
    """Everything that rows have in common."""

    def __init__(self, flags: argparse.Namespace):
        self.flags = flags
        self.search = NeighborSearch(open_vocabulary(flags.vocabulary))
        self.corpus = private_corpus(flags.corpora, flags.private, flags.documents)
        self.model = self._language_model(flags.model)
        self.judge = WittenBell(self._ids(flags.judge), len(self.search.vocabulary))
        self.rare = WittenBell(self._ids(flags.rare_by), len(self.search.vocabulary)).prior < RARE
        self.originals = [self._read(document.text) for document in self.corpus.learnt]

    def _read(self, text: str) -> Any:
        return self.search.vocabulary.ids_of(words(text))

    def _ids(self, names: Sequence[str]) -> list[Any]:
        return [self._read(each["text"]) for name in names for each in texts_of(
            self.flags.corpora, name)]  # fmt: skip

    def _language_model(self, names: Sequence[str]) -> LanguageModel:
        texts = [each["text"] for name in names for each in texts_of(self.flags.corpora, name)]
        sentences = (part for text in texts for part in sentences_of(text, self.search.vocabulary))
        return language_model_of(sentences, self.search.vocabulary, self.flags.order)

    def sanitizer(self, mechanism: str, epsilon: float, reader: str) -> Sanitizer:
        """The release path of a row."""
        name, *pairs = mechanism.split(":")
        parameters = public_parameters.read(dict(pair.split("=", 1) for pair in pairs))
        model = {"model": self.model} if name == "fluent" else {}
        public = public_parameters.arguments(parameters.items())
        sampler = make_mechanism(name, epsilon=epsilon, **public, **model)
        if reader in ("nearest", "rank_c"):
            resampling = RankResampling(RANK_C) if reader == "rank_c" else None
            return Sanitizer(self.search, Configuration(sampler, resampling), KEY)
        kind, _, loss = reader.partition("_")
        sizes = {"candidates": self.flags.candidates, "kept": self.flags.kept}
        chosen = {name: size for name, size in sizes.items() if size is not None}
        decoder = Decoder(kind, loss or "word", model=self.model.digest, **chosen)
        return Sanitizer(self.search, Configuration(sampler, decoder=decoder), KEY, self.model)

    def row(self, mechanism: str, epsilon: float, reader: str) -> dict[str, Any]:
        """Releases the corpus and measures it; without a mechanism, the originals."""
        started = time.process_time()
        if mechanism == "originals":
            released = [document.text for document in self.corpus.learnt]
        else:
            sanitizer = self.sanitizer(mechanism, epsilon, reader)
            results = list(sanitizer.sanitize(self.corpus.learnt))
            released = [result.document.text for result in results if result.document]
            assert len(released) == len(results)
        seconds = time.process_time() - started
        return {
            **self.key(mechanism, epsilon, reader),
            **({"rule": RULE} if reader.startswith(KINDS) else {}),
            "processor_seconds": round(seconds, 1),
            "sha256": hashlib.sha256("\n".join(released).encode()).hexdigest(),
            "words": int(sum(map(len, self.originals))),
            **self._kept(released),
            **self._likely(released),
            "accuracy": accuracy(self.corpus, released, len(released)),
            "accuracy_of_3000": accuracy(self.corpus, released, 3_000),
            "tested": len(self.corpus.tested),
            **measured_where(),
        }

    def key(self, mechanism: str, epsilon: float, reader: str) -> dict[str, Any]:
        """What names a row."""
        options = self.flags
        return {
            "private": options.private,
            "documents": len(self.corpus.learnt),
            "model": "+".join(options.model),
            "order": options.order,
            "candidates": options.candidates,
            "judge": "+".join(options.judge),
            "mechanism": mechanism,
            "epsilon": epsilon,
            "reader": reader,
            **({} if options.kept is None else {"kept": options.kept}),
        }

    def _kept(self, released: Sequence[str]) -> dict[str, Any]:
        counts = []
        for ids, text in zip(self.originals, released, strict=True):
            same, known = self._read(text) == ids, ids >= 0
            rare = known & self.rare[ids]
            counts.append([same[known].sum(), known.sum(), same[rare].sum(), rare.sum()])
        hits, known, rare_hits, rare = np.array(counts).T
        return {
            "unchanged": ratio(hits, known),
            "unchanged_rare": ratio(rare_hits, rare),
            "rare": float(rare.sum() / known.sum()),
        }

    def _likely(self, released: Sequence[str]) -> dict[str, Any]:
        likelihood = {}
        for name, everywhere in (("perplexity", False), ("perplexity_everywhere", True)):
            losses = [
                self.judge.losses(self._read(text), everywhere | (ids >= 0))
                for ids, text in zip(self.originals, released, strict=True)
            ]
            sums = np.array([each.sum() for each in losses])
            loss, error = ratio(sums, np.array([len(each) for each in losses]))
            likelihood[name] = [math.exp(loss + off) for off in (0.0, -error, error)]
        return likelihood


def table(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The rows in Markdown."""
    yield "| ε | released | unchanged | of rare words | accuracy | of 3,000 | perplexity |"
    yield "|---|---|---|---|---|---|---|"
    for row in rows:
        (unchanged, error), (rare, rare_error) = row["unchanged"], row["unchanged_rare"]
        (share, spread), (small, _) = row["accuracy"], row["accuracy_of_3000"]
        name = row["mechanism"] if row["mechanism"] == "originals" else (
            f"{row['mechanism']}, {row['reader']}")  # fmt: skip
        yield (
            f"| {row['epsilon'] or '–'} | {name} | {unchanged:.3f} ± {error:.3f} "
            f"| {rare:.3f} ± {rare_error:.3f} | {share:.3f} ± {spread:.3f} | {small:.3f} "
            f"| {row['perplexity'][0]:,.0f} |"
        )


def main() -> None:
    """Computes the rows that are missing, and prints all."""
    parser = arguments(__doc__, documents=6_000)
    parser.add_argument("--model", nargs="+", default=["movie_reviews"])
    parser.add_argument("--order", type=int, default=2)
    parser.add_argument("--candidates", type=int)
    parser.add_argument("--kept", type=int)
    parser.add_argument("--judge", nargs="+", default=["brown"])
    parser.add_argument("--rare_by", nargs="+", default=["movie_reviews"])
    parser.add_argument("--settings", nargs="+", default=SETTINGS.split())
    parser.add_argument("--readers", nargs="+", default=READERS.split())
    options = parser.parse_args()
    bench = Bench(options)
    rows = kept(options.output)
    wanted = [("originals", 0.0, "none")] + [
        (name, float(epsilon), reader)
        for reader in options.readers
        for name, _, epsilon in (setting.partition("@") for setting in options.settings)
    ]
    for one in wanted:
        key = bench.key(*one)
        if any(key.items() <= row.items() for row in rows):
            continue
        rows.append(bench.row(*one))
        keep(options.output, rows[-1])
        print(list(table(rows[-1:]))[-1], flush=True)
    print("\n".join(table([row for row in rows if row["model"] == "+".join(options.model)])))


if __name__ == "__main__":
    main()
