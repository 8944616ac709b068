"""A DoFn that needs a vocabulary, which each process opens once."""

from __future__ import annotations

import apache_beam as beam
from apache_beam.utils.shared import Shared

from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle


class WithVocabulary(beam.DoFn):
    """Has the vocabulary as ``_vocabulary`` from ``setup`` on.

    Args:
      vocabulary: the handle of the artifact.
    """

    def __init__(self, vocabulary: VocabularyHandle):
        self._handle = vocabulary
        self._shared = Shared()  # made here, so that the threads of a process share one

    def setup(self) -> None:
        """Opens it, unless this process has."""
        self._vocabulary = self._shared.acquire(
            lambda: artifact.open_vocabulary(self._handle), tag=self._handle.digest
        )
