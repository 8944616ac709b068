"""Canaries planted under the settings of releases, as a Beam transform."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apache_beam as beam
from apache_beam import pvalue
from threadpoolctl import threadpool_limits

from dxbeam.analysis.evaluate.with_vocabulary import WithVocabulary
from dxbeam.analysis.exposure.attack import Attack
from dxbeam.analysis.exposure.planted import classes_of_secrets, plant, rows_of
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.configuration import Configuration


class PlantCanaries(beam.PTransform):
    """Plants canaries: PBegin -> PCollection[tuple[int, Attack]], with the number of the release.

    Args:
      settings: of each release, by its number.
      canaries: how many of each class of words.
      vocabulary: the handle of the artifact.
    """

    def __init__(
        self, settings: Sequence[Configuration], canaries: int, vocabulary: VocabularyHandle
    ):
        super().__init__()
        self._numbered = list(enumerate(settings))
        self._plant = _Plant(canaries, vocabulary)

    def expand(self, begin: pvalue.PBegin) -> pvalue.PCollection:
        """Takes each release by itself."""
        return (
            begin | "Settings" >> beam.Create(self._numbered) | "Plant" >> beam.ParDo(self._plant)
        )


class _Plant(WithVocabulary):
    def __init__(self, canaries: int, vocabulary: VocabularyHandle):
        super().__init__(vocabulary)
        self._canaries = canaries

    def setup(self) -> None:
        super().setup()
        assert self._vocabulary is not None
        self._search = NeighborSearch(self._vocabulary)

    def process(self, numbered: tuple[int, Configuration]) -> Iterator[tuple[int, Attack]]:
        number, settings = numbered
        vocabulary, resampling = self._search.vocabulary, settings.resampling
        rank_c = None if resampling is None else resampling.c
        with threadpool_limits(1):  # more would wait for other workers
            for name, candidates, exposed in plant(
                settings.mechanism,
                rank_c,
                classes_of_secrets(vocabulary.words),
                self._canaries,
                self._search,
            ):
                for attack in rows_of(name, candidates, exposed):
                    yield number, attack
