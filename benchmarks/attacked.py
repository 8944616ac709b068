"""What attackers recover of documents under mechanisms that buy the same guarantee in other ways.

    python -m benchmarks.attacked --vocabulary vocabularies/glove --corpora corpora \
        --settings santext@2 fluent@2.5 laplace@10 laplace:decode=context@10 \
        --output benchmarks/results/attacked.jsonl

Settings are as in ``benchmarks/decoding.py``, but a decoder is named in them. The first documents
of those that it releases are attacked, of each the words that the vocabulary knows, as one
sentence. All settings draw from the same random numbers. Attackers know word counts and pairs of
``--model``, and the language model that ``fluent`` and decoders read:

- ``unchanged`` takes the text at its word;
- ``context`` reads what is released, or of decoded text the noisy vectors, with what follows what;
- ``knowing`` knows besides which words are rare, and guesses the most probable rare word at each.

Each row is written as soon as it is known, and rows that are there are not computed again. Shares
are with intervals of 95 % over documents. ``python -m benchmarks.tables`` joins them with the
accuracies of ``bases.jsonl``.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.decoding import private_corpus, texts_of
from benchmarks.rows import arguments, keep, kept, measured_where
from dxbeam.analysis.attackers.channel import Channel
from dxbeam.analysis.attackers.context import (
    CANDIDATES,
    Candidates,
    candidates_for,
    read_texts,
    share_right,
)
from dxbeam.analysis.attackers.draws import draw
from dxbeam.analysis.attackers.fluent_texts import candidates_of_fluent
from dxbeam.analysis.attackers.make_channel import make_channel, pair_draws
from dxbeam.analysis.attackers.noisy_context import candidates_from_vectors
from dxbeam.analysis.attackers.prior import prior_from_counts
from dxbeam.analysis.attackers.word_pairs import learn_pairs
from dxbeam.analysis.evaluate.language_scores import RARE
from dxbeam.analysis.frontier.read_texts import Drawn, release_texts
from dxbeam.analysis.measure.public_parameters import Known, read, with_reading
from dxbeam.analysis.measure.read_words import model_of
from dxbeam.analysis.measure.settings import Setting
from dxbeam.language.exponent import raised
from dxbeam.language.model import language_model_of
from dxbeam.language.sentences import sentence_ends
from dxbeam.mechanisms.fluent import Fluent
from dxbeam.mechanisms.public.public_model import public_model
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.text.tokenization import split, words

WIDE = 400
"""Candidates of each word among which the attacker that knows rare words looks for one."""

TEXTS_AT_ONCE = 250
PAIRS, PAIRS_AT_ONCE = 20_000, 2_500


class Bench:
    """The documents, and what attackers know."""

    def __init__(self, flags: argparse.Namespace):
        self.flags = flags
        self.search = NeighborSearch(open_vocabulary(flags.vocabulary))
        vocabulary = self.search.vocabulary
        corpus = private_corpus(flags.corpora, flags.private, flags.released)
        ids = (vocabulary.ids_of(words(each.text)) for each in corpus.learnt[: flags.documents])
        self.texts = [text for text in (each[each >= 0] for each in ids) if len(text)]
        public = [each["text"] for each in texts_of(flags.corpora, flags.model)]
        sentences = [part for text in public for part in self._sentences(text)]
        model = language_model_of(sentences, vocabulary, flags.order)
        model = dataclasses.replace(model, numbers=raised(model.numbers, flags.exponent))
        self.model = Known(flags.model, public_model(model))
        runs = [
            part[part >= 0]
            for sentence in sentences
            for part in np.split(sentence, np.flatnonzero(sentence < 0))
        ]
        self.following = learn_pairs(runs, len(vocabulary))
        counts = np.bincount(np.concatenate(runs), minlength=len(vocabulary))
        self.prior = prior_from_counts("public text", counts)
        self.rare = self.prior.shares < RARE

    def _sentences(self, text: str) -> list[Ids]:
        gaps, tokens = split(text)
        ends = [i for i, gap in enumerate(gaps[1:-1], 1) if sentence_ends(gap)]
        return np.split(self.search.vocabulary.ids_of(tokens), ends)

    def setting(self, mechanism: str, epsilon: float) -> Setting:
        """A mechanism with its parameters, and what it reads with."""
        name, *pairs = mechanism.split(":")
        named = read(dict(pair.split("=", 1) for pair in pairs))
        parameters = with_reading(name, named, self.model)
        return Setting(name, tuple(parameters.items()), (epsilon,), ())

    def row(self, mechanism: str, epsilon: float) -> dict[str, Any]:
        """What attackers get."""
        right: dict[str, list[Ids]] = {"unchanged": [], "context": [], "knowing": []}
        generator, setting = np.random.default_rng(1), self.setting(mechanism, epsilon)
        channel = self._channel(setting)
        draws = setting.make().draws(self.search.vocabulary.dimensions)
        for start in range(0, len(self.texts), TEXTS_AT_ONCE):
            texts = self.texts[start : start + TEXTS_AT_ONCE]
            shape = (sum(map(len, texts)), draws)
            random = generator.integers(0, 2**64, shape, dtype=np.uint64)
            released, wide = self._attacked(setting, texts, random, channel)
            likely = Candidates(
                wide.ids[:, :CANDIDATES],
                wide.posterior[:, :CANDIDATES],
                wide.priors[:, :CANDIDATES],
            )
            right["unchanged"] += released
            right["context"] += read_texts(likely, texts, self.following)
            right["knowing"] += self._rare_guesses(wide, released)
        shares = {name: share_right(self.texts, guesses) for name, guesses in right.items()}
        of_rare = {
            f"{name}_rare": share_right(self.texts, guesses, self.rare)
            for name, guesses in right.items()
        }
        del shares["knowing"]
        return {**self.key(mechanism, epsilon), **shares, **of_rare, **measured_where()}

    def key(self, mechanism: str, epsilon: float) -> dict[str, Any]:
        """What names a row."""
        flags = self.flags
        return {
            "private": flags.private,
            "documents": flags.documents,
            "model": flags.model,
            "order": flags.order,
            "exponent": flags.exponent,
            "mechanism": mechanism,
            "epsilon": epsilon,
        }

    def _channel(self, setting: Setting) -> Channel | None:
        """Of words that are released one by one."""
        if setting.reading is not None:
            return None
        mechanism = setting.make()
        columns = pair_draws(mechanism, self.search.vocabulary.dimensions)
        generator = np.random.default_rng(2)
        learnt = (
            generator.integers(0, 2**64, (PAIRS_AT_ONCE, columns), dtype=np.uint64)
            for _ in range(PAIRS // PAIRS_AT_ONCE)
        )
        return make_channel(mechanism, None, self.prior, learnt, self.search)

    def _attacked(
        self, setting: Setting, texts: Sequence[Ids], random: Any, channel: Channel | None
    ) -> tuple[list[Ids], Candidates]:
        """What is released of texts, and what each word may have been."""
        mechanism, ids = setting.make(), np.concatenate(texts)
        sizes = [len(text) for text in texts]
        ends = np.cumsum(sizes)[:-1]
        if channel is not None:
            drawn = draw(mechanism, None, ids, random, self.search)
            return (
                np.split(drawn.released, ends),
                candidates_for(channel, drawn.released, WIDE),
            )
        read_drawn: Drawn = release_texts(setting, ids, sizes, random, self.search)
        released = np.split(read_drawn.released, ends)
        if read_drawn.noisy is not None:
            return released, candidates_from_vectors(
                mechanism, read_drawn.noisy, self.prior, self.search, WIDE
            )
        assert isinstance(mechanism, Fluent)
        assert setting.reading is not None
        opened = model_of(setting.reading, self.search)
        return released, candidates_of_fluent(
            mechanism, opened, released, self.prior, self.search, WIDE
        )

    def _rare_guesses(self, wide: Candidates, released: Sequence[Ids]) -> list[Ids]:
        """At each place the most probable rare word; without one the released word."""
        which = self.rare[wide.ids]
        best = np.take_along_axis(wide.ids, which.argmax(axis=1)[:, None], axis=1)[:, 0]
        guesses = np.where(which.any(axis=1), best, np.concatenate(released))
        return np.split(guesses, np.cumsum([len(text) for text in released])[:-1])


def wanted(flags: argparse.Namespace) -> Iterator[tuple[str, float]]:
    """Settings and their epsilons."""
    for setting in flags.settings:
        name, _, epsilon = setting.rpartition("@")
        yield name, float(epsilon)


def main() -> None:
    """Computes the rows that are missing."""
    parser = arguments(__doc__, documents=1_000)
    parser.add_argument("--released", type=int, default=8_000)
    parser.add_argument("--model", default="movie_reviews")
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--exponent", type=float, default=1.0, help="of the model")
    parser.add_argument("--settings", nargs="+", required=True)
    flags = parser.parse_args()
    bench = Bench(flags)
    rows = kept(flags.output)
    for one in wanted(flags):
        key = bench.key(*one)
        if any(key.items() <= row.items() for row in rows):
            continue
        row = bench.row(*one)
        keep(flags.output, row)
        shares = {name: round(row[name][0], 3) for name in row if isinstance(row[name], tuple)}
        print(*one, shares, flush=True)


if __name__ == "__main__":
    main()
