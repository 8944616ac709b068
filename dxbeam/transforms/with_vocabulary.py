"""What DoFns read besides elements, opened once by each process: vocabulary, language model."""

from __future__ import annotations

import logging
import os

import apache_beam as beam
import faiss
import threadpoolctl
from apache_beam.utils.shared import Shared

from dxbeam.language.artifact import open_language_model
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.language.model import LanguageModel
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.backends.choose_backend import check_name
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.remarks import remarks

_LOG = logging.getLogger(__name__)


class WithVocabulary(beam.DoFn):
    """Has the vocabulary as ``_vocabulary`` from ``setup`` on."""

    def __init__(self, vocabulary: VocabularyHandle):
        self._handle = vocabulary
        self._shared = Shared()  # made here, so that the threads of a process share one

    def setup(self) -> None:
        """Opens it, unless this process has."""
        self._vocabulary = self._shared.acquire(
            lambda: artifact.open_vocabulary(self._handle), tag=self._handle.digest
        )


class Opening:
    """Opens a search and a language model once per process; made where the pipeline is.

    Args:
      threads: that a search uses in each worker process.
      backend: how it searches, one of ``choose_backend.NAMES``.
    """

    def __init__(self, threads: int, backend: str):
        check_name(backend)
        self._threads, self._backend = threads, backend
        self._shared_search, self._shared_model = Shared(), Shared()

    def set_threads(self) -> None:
        """Limits threads, as libraries would use all cores in each process."""
        faiss.omp_set_num_threads(self._threads)
        threadpoolctl.threadpool_limits(self._threads)

    def search(self, handle: VocabularyHandle) -> NeighborSearch:
        """A search in a vocabulary."""

        def opened() -> NeighborSearch:
            _LOG.info("process %d opens a vocabulary of %s words", os.getpid(), f"{handle.words:,}")
            vocabulary = artifact.open_vocabulary(handle)
            for remark in remarks(vocabulary):
                _LOG.warning("%s", remark)
            return NeighborSearch(vocabulary, self._threads, self._backend)

        shared: NeighborSearch = self._shared_search.acquire(opened, tag=handle.digest)
        return shared

    def model(self, handle: LanguageModelHandle, search: NeighborSearch) -> LanguageModel:
        """A language model of the vocabulary that is searched."""

        def opened() -> LanguageModel:
            _LOG.info("process %d opens a language model of order %d", os.getpid(), handle.order)
            return open_language_model(handle, search.vocabulary)

        shared: LanguageModel = self._shared_model.acquire(opened, tag=handle.digest)
        return shared
