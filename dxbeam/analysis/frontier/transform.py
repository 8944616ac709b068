"""Measures the frontier as Beam transforms: one task for each mechanism and epsilon.

An attacker learns a mechanism at one epsilon and attacks all words with what it learnt, without
rank resampling and with each c, so that is what a worker does at a time. Random numbers follow from
the seed and the task: however tasks are spread, the result is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam
import numpy as np
from apache_beam import pvalue

from dxbeam.analysis.attackers.channel import Channel
from dxbeam.analysis.attackers.context import candidates_for, share_right
from dxbeam.analysis.attackers.draws import Draws, draw
from dxbeam.analysis.attackers.make_channel import make_channel, pair_draws
from dxbeam.analysis.attackers.models.asked_for import Opener
from dxbeam.analysis.attackers.models.released_texts import Public
from dxbeam.analysis.attackers.noisy_context import candidates_from_vectors
from dxbeam.analysis.attackers.noisy_vector import has_noise_density
from dxbeam.analysis.attackers.prior import Prior, prior_from_counts, uniform_prior
from dxbeam.analysis.attackers.resampled_channel import (
    resampled_channel,
)
from dxbeam.analysis.attackers.word_pairs import WordPairs
from dxbeam.analysis.evaluate.language_scores import RARE
from dxbeam.analysis.frontier import compute as frontier
from dxbeam.analysis.frontier.attackers_table import blind
from dxbeam.analysis.frontier.compute import READING_NOISE, Estimate, Point
from dxbeam.analysis.frontier.following import NOBODY, Context
from dxbeam.analysis.frontier.plan import SETTINGS, Task, followed
from dxbeam.analysis.frontier.read_texts import (
    Drawn,
    by_context,
    point_of_texts,
    unchanged_rare,
)
from dxbeam.analysis.frontier.texts_with_models import estimates_with_models
from dxbeam.analysis.measure.transform import Seeded, SharedSearch, spread
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids

_PAIRS_AT_ONCE = 2_500

_RELEASED, _LEARNT, _READ, _INVERTED = 0, 1, 3, 4
"""Apart in the seed, so that what is attacked is not what was learnt; 2 is of documents."""


class MeasureFrontier(beam.PTransform):
    """Releases and attacks: PCollection[Task] -> PCollection[tuple[int, Point]].

    A point for each task and each c, under the task's number.

    Args:
      counts: PCollection of one: int64 [N + 1], as ``CountWords`` counts words of public text; or
        None for attackers that take all words for equally frequent.
      search: of the vocabulary.
      seed: of the noise. The words are not released to anyone.
      pairs: how many words an attacker releases itself to learn a mechanism.
      context: documents that are read with context; None for none.
    """

    def __init__(
        self,
        counts: pvalue.PCollection | None,
        search: SharedSearch,
        seed: int,
        pairs: int,
        context: Context | None = None,
    ):
        super().__init__()
        self._counts = counts
        self._context = context
        self._measure = _MeasureFrontier(search, seed, pairs, context)

    def expand(self, tasks: pvalue.PCollection) -> pvalue.PCollection:
        """Spreads tasks over workers."""
        known: list[Any] = [self._counts and pvalue.AsSingleton(self._counts)]
        if self._context is not None:
            known += [pvalue.AsSingleton(side) for side in self._context[:2]]
            if self._context.texts is not None:
                known.append(pvalue.AsList(self._context.texts))
        return spread(tasks, SETTINGS) | "Attack" >> beam.ParDo(self._measure, *known)


class _MeasureFrontier(Seeded):
    def __init__(self, search: SharedSearch, seed: int, pairs: int, context: Context | None):
        super().__init__(search, seed)
        self._pairs = pairs
        self._attackers = context.asked if context else NOBODY

    def setup(self) -> None:
        super().setup()
        self._opener = Opener(self._attackers)

    def process(
        self,
        task: Task,
        counts: Any,
        documents: Sequence[Any] = (),
        following: WordPairs | None = None,
        public_texts: Sequence[Ids] = (),
    ) -> Iterator[tuple[int, Point]]:
        with self._progress.counted(SETTINGS):
            texts = [np.array(document.ids, np.int64) for document in documents]
            known: dict[str, Estimate | None] = {}
            public = following and Public(self._prior(counts), following, public_texts)
            if task.setting.reading:
                assert public is not None
                yield task.part, self._of_texts(task, texts, public)
                return
            for point, channel in self._points(task, counts):
                if public is not None:
                    point = self._read(task, point.with_documents(**known), channel, texts, public)
                    known = {name: point.estimate(name) for name in READING_NOISE}
                yield task.part, point

    def _prior(self, counts: Any) -> Prior:
        if counts is None:
            return uniform_prior(len(self._search.vocabulary))
        return prior_from_counts("public text", counts[:-1])

    def _channel(self, task: Task, prior: Prior) -> Channel:
        mechanism, search = task.setting.make(), self._search
        draws = pair_draws(mechanism, search.vocabulary.dimensions)
        numbers = self._numbers(_LEARNT, task.part)
        starts = range(0, self._pairs, _PAIRS_AT_ONCE)
        learnt = (numbers(min(_PAIRS_AT_ONCE, self._pairs - start), draws) for start in starts)
        return make_channel(mechanism, None, prior, learnt, search)

    def _of_texts(self, task: Task, texts: Sequence[Ids], public: Public) -> Point:
        """The point of a setting that reads texts."""
        setting, prior = task.setting, public.prior
        random = self._random(task, _READ, sum(map(len, texts)))
        draws_words = setting.reading and setting.reading.decoder
        channel = None
        if draws_words and not has_noise_density(setting.make()):
            channel = self._channel(task, prior)
        point, drawn = point_of_texts(
            setting, texts, random, prior, channel, public.following, self._search
        )
        point = point.with_documents(believed=point.unchanged, **blind(texts, prior))
        return self._with_models(task, point, None, texts, drawn, public)

    def _points(self, task: Task, counts: Any) -> Iterator[tuple[Point, Channel]]:
        setting, search = task.setting, self._search
        mechanism, [epsilon] = setting.make(), setting.epsilons
        words = len(search.vocabulary)
        chosen = self._channel(task, self._prior(counts))
        random = self._random(task, _RELEASED, len(task.ids))
        ids, counted = np.array(task.ids, np.int64), None
        for c in (None, *setting.rank_cs):
            if c and not followed(c, epsilon, words):
                continue
            channel = resampled_channel(chosen, c, epsilon, search) if c else chosen
            counted = frontier.measured(mechanism, c, ids, random, channel, search, counted)
            yield frontier.point(mechanism, setting.parameters_text, c, counted), channel

    def _read(
        self, task: Task, point: Point, channel: Channel, texts: Sequence[Ids], public: Public
    ) -> Point:
        """With what attackers get that read documents; noisy vectors are the same for all c."""
        mechanism, ids = task.setting.make(), np.concatenate(texts)
        random = self._random(task, _READ, len(ids))
        drawn = draw(mechanism, point.rank_c, ids, random, self._search)
        rare = channel.prior.shares < RARE
        readings = {"": candidates_for(channel, drawn.released)}
        if drawn.noisy is not None and point.estimate("noisy_context") is None:
            readings["noisy_"] = candidates_from_vectors(
                mechanism, drawn.noisy, channel.prior, self._search
            )
        released = np.split(drawn.released, np.cumsum([len(text) for text in texts])[:-1])
        estimates: dict[str, Estimate | None] = {
            "believed": Estimate(*share_right(texts, released))
        }
        for seen, candidates in readings.items():
            estimates |= by_context(candidates, texts, public.following, rare, seen)
        if rare[ids].any():
            estimates["unchanged_rare"] = unchanged_rare(texts, drawn.released, rare)
        point = point.with_documents(**estimates, **blind(texts, public.prior))
        return self._with_models(task, point, channel, texts, drawn, public)

    def _with_models(
        self,
        task: Task,
        point: Point,
        channel: Channel | None,
        texts: Sequence[Ids],
        drawn: Draws | Drawn,
        public: Public,
    ) -> Point:
        """With what attackers get that have a model, where they are asked for."""
        if not public.texts:
            return point
        columns = self._columns(task)
        numbers = self._numbers(_INVERTED, task.part)
        known = point.estimate("noisy_learned") or point.estimate("noisy_model")
        noisy = None if known else drawn.noisy
        seen = Drawn(noisy, drawn.chosen, drawn.released)
        attackers = self._opener.attackers(self._search.vocabulary, public.prior)
        estimates = estimates_with_models(
            task.setting, point.rank_c, texts, seen, channel, public, attackers,
            lambda rows: numbers(rows, columns), self._search,
        )  # fmt: skip
        return point.with_documents(**estimates)

    def _random(self, task: Task, kind: int, rows: int) -> Random:
        return self._numbers(kind, task.part)(rows, self._columns(task))

    def _columns(self, task: Task) -> int:
        """How many numbers a word needs, that of rank resampling last."""
        draws = task.setting.make().draws(self._search.vocabulary.dimensions)
        return draws + RankResampling(1.0).draws()
