"""Whether it matters what ``fluent`` reads: order, smoothing, a share of single words, gamma.

    python -m benchmarks.fluent_models --vocabulary vocabularies/glove --corpora corpora \
        --documents 8000 --seeds 1 2 3 --settings kn3@2.85 kn2:tau=1.25@3.18 words@2.51 base@2.55 \
        --output benchmarks/results/fluent_models.jsonl

A setting is a model and an epsilon: ``kn`` for Kneser and Ney's smoothing, ``wb`` for Witten and
Bell's, each with its order; ``mix=M`` for a share M of single words in each level; ``gamma=G``;
``tau=T`` for the model's power. ``base`` is ``santext --base frequency``, ``words`` the same with
frequencies of words in the model's text. All of a seed draw from the same random numbers. The first
documents of ``benchmarks/decoding.py`` are released and learnt from, all others are tested.
"""

from __future__ import annotations

import argparse
import dataclasses
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.decoding import RARE, accuracy, private_corpus, texts_of
from benchmarks.rows import arguments, keep, measured_where, sentences_of
from benchmarks.witten_bell import WittenBell
from dxbeam.language.counts import Counts, count_sentences, summed
from dxbeam.language.exponent import raised
from dxbeam.language.kneser_ney import Smoothed, smooth
from dxbeam.language.model import LanguageModel
from dxbeam.language.sentences import sentence_ends
from dxbeam.language.sparse_rows import SparseRows, sparse_rows
from dxbeam.mechanisms.fluent import Fluent
from dxbeam.mechanisms.public.base_measure import FrequencyBase, ListedBase
from dxbeam.mechanisms.sampling.released_before import STARTS, places_after
from dxbeam.mechanisms.santext import SanText
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.text.tokenization import split, words

AT_ONCE = 20_000


def witten_bell(counts: Counts) -> Smoothed:
    """Each level (c + T · lower) / (C + T), the lowest by counts plus a half."""
    size, width = counts.words + 2, counts.words + 1
    pairs, often = summed(counts.codes % size**2, counts.counts)
    single = np.bincount(pairs % size, often, width) + 0.5
    single /= single.sum()
    backoff, table = _level(pairs // size, size, pairs % size, width, often)
    if counts.order == 2:
        return Smoothed(single, single, backoff, table)
    real = counts.codes // size % size != width
    codes, often = counts.codes[real], counts.counts[real]
    rows = np.searchsorted(pairs, codes // size)
    return Smoothed(
        single, single, backoff, table, *_level(rows, len(pairs), codes % size, width, often)
    )


def _level(rows: Ids, contexts: int, columns: Ids, width: int, counts: Ids) -> tuple[Any, Any]:
    kinds = np.bincount(rows, minlength=contexts)
    exact = counts / (np.bincount(rows, counts, contexts) + kinds)[rows]
    values = exact.astype(np.float32)
    above = values.astype(np.float64) > exact
    values[above] = np.nextafter(values[above], np.float32(0))
    backoff = 1 - np.bincount(rows, values, contexts)
    return backoff, sparse_rows(np.cumsum([0, *kinds]), columns, values, width)


def mixed(numbers: Smoothed, share: float) -> Smoothed:
    """With a share of the level below in each level."""

    def less(table: SparseRows) -> SparseRows:
        values = np.asarray(table.values) * np.float32(1 - share)
        return dataclasses.replace(table, values=values)

    def more(backoff: Any) -> Any:
        return 1 - (1 - np.asarray(backoff)) * (1 - share)

    numbers = numbers._replace(backoff=more(numbers.backoff), pairs=less(numbers.pairs))
    if numbers.triples is None:
        return numbers
    return numbers._replace(backoff2=more(numbers.backoff2), triples=less(numbers.triples))


class Bench:
    """The documents, and the text that models are made of."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.search = NeighborSearch(open_vocabulary(options.vocabulary))
        vocabulary = self.search.vocabulary
        self.corpus = private_corpus(options.corpora, options.private, options.documents)
        self.public = [each["text"] for each in texts_of(options.corpora, options.model)]
        known = [vocabulary.ids_of(words(text)) for text in self.public]
        self.rare = WittenBell(known, len(vocabulary)).prior < RARE
        self.gaps, texts, breaks = [], [], []
        for document in self.corpus.learnt:
            gaps, tokens = split(document.text)
            starts = [0, *(i for i, gap in enumerate(gaps[1:-1], 1) if sentence_ends(gap))]
            before = np.zeros(len(tokens), np.int64)
            before[starts[: len(tokens)]] = STARTS
            self.gaps.append(gaps)
            texts.append(vocabulary.ids_of(tokens))
            breaks.append(before)
        self.ends = np.cumsum([len(text) for text in texts])[:-1]
        self.ids, self.places = np.concatenate(texts), places_after(np.concatenate(breaks))

    @lru_cache(16)  # noqa: B019
    def model(self, kind: str, share: float = 0.0, tau: float = 1.0) -> LanguageModel:
        """A model by its name, as ``kn3``."""
        vocabulary, counts = self.search.vocabulary, self.counts(int(kind[2]))
        numbers = smooth(counts) if kind.startswith("kn") else witten_bell(counts)
        numbers = raised(mixed(numbers, share) if share else numbers, tau)
        return LanguageModel(len(vocabulary), vocabulary.content_digest, numbers)

    def base(self, kind: str, tau: float) -> FrequencyBase | ListedBase:
        """By rank, or by how frequent words are in the model's text."""
        if kind == "base":
            return FrequencyBase(tau)
        names, shares = self.search.vocabulary.words, self.model("kn2").prior.tolist()
        return ListedBase(dict(zip(names, shares, strict=False)), tau)

    @lru_cache(2)  # noqa: B019
    def counts(self, order: int) -> Counts:
        """Of the public text."""
        vocabulary, parts = self.search.vocabulary, []
        for text in self.public:
            parts += sentences_of(text, vocabulary)
        return count_sentences(parts, len(vocabulary), order)

    def released(self, name: str, epsilon: float, seed: int) -> Ids:
        """What is released of all words."""
        generator = np.random.default_rng(seed)
        kind, *pairs = name.split(":")
        options = {key: float(value) for key, value in (pair.split("=") for pair in pairs)}
        tau = options.get("tau", 1.0)
        if kind in ("base", "words"):
            drawing = SanText(epsilon, base=self.base(kind, tau))
            parts = np.split(self.ids, range(AT_ONCE, len(self.ids), AT_ONCE))
            return np.concatenate([
                drawing.release(part, _random(generator, len(part), drawing.draws(0)), self.search)
                for part in parts
            ])  # fmt: skip
        model = self.model(kind, options.get("mix", 0.0), tau)
        fluent = Fluent(epsilon, gamma=options.get("gamma", 6.0), model=model)  # type: ignore[arg-type]
        random = _random(generator, len(self.ids), fluent.draws(0))
        return fluent.release_in_order(self.ids, random, self.search, self.places)

    def row(self, name: str, epsilon: float, seed: int) -> dict[str, Any]:
        """What a setting leaves."""
        released, names = self.released(name, epsilon, seed), self.search.vocabulary.words
        texts = [
            "".join(map("".join, zip(gaps, [*(names[i] for i in ids), ""], strict=True)))
            for gaps, ids in zip(self.gaps, np.split(released, self.ends), strict=True)
        ]
        same, known = released == self.ids, self.ids >= 0
        return {
            "private": self.options.private,
            "documents": self.options.documents,
            "setting": name,
            "epsilon": epsilon,
            "seed": seed,
            "unchanged": float(same[known].mean()),
            "unchanged_rare": float(same[known & self.rare[self.ids]].mean()),
            "accuracy": accuracy(self.corpus, texts, len(texts)),
            **measured_where(),
        }


def _random(generator: np.random.Generator, rows: int, draws: int) -> Any:
    return generator.integers(0, 2**64, (rows, draws), dtype=np.uint64)


def main() -> None:
    """Measures each setting with each seed."""
    parser = arguments(__doc__, documents=8_000)
    parser.add_argument("--model", default="movie_reviews")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--settings", nargs="+", required=True)
    options = parser.parse_args()
    bench = Bench(options)
    for seed in options.seeds:
        for setting in options.settings:
            name, _, epsilon = setting.rpartition("@")
            row = bench.row(name, float(epsilon), seed)
            keep(options.output, row)
            print(setting, seed, row["unchanged_rare"], row["accuracy"], flush=True)


if __name__ == "__main__":
    main()
