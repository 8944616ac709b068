"""DecodeDocuments: the ReleaseDecoder as a Beam transform, and what completes a decoded release.

What takes long to know of a mechanism is learnt once in the job and broadcast. Vocabulary and model
are opened once per process and memory-mapped.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
import faiss
import threadpoolctl
from apache_beam import pvalue
from apache_beam.metrics import Metrics
from apache_beam.utils.shared import Shared
from apache_beam.utils.windowed_value import WindowedValue

from dxbeam import storage
from dxbeam.documents import Document
from dxbeam.language.artifact import open_language_model
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.language.model import LanguageModel
from dxbeam.release import claim, decoded, manifest
from dxbeam.release.decoded import FirstRelease
from dxbeam.release.manifest import Shard
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.backends.choose_backend import AUTO, check_name
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.decoding.release_decoder import ReleaseDecoder, learnt_by_epsilon
from dxbeam.text.decoding.release_decoding import ReleaseDecoding
from dxbeam.text.decoding.released_channel import Learnt
from dxbeam.transforms.progress import Progress

_LOG = logging.getLogger(__name__)

_CHARACTERS_AT_ONCE = 1 << 18
"""Of texts that are decoded together."""


class DecodeDocuments(beam.PTransform):
    """Decodes released documents: PCollection[Document] -> PCollection[Document].

    Args:
      settings: of the decoding.
      vocabulary: handle of the release's vocabulary.
      model: handle of the public language model.
      search_threads: threads a search uses in each worker process.
      backend: how nearest words are found, one of ``choose_backend.NAMES``.
    """

    def __init__(
        self,
        settings: ReleaseDecoding,
        vocabulary: VocabularyHandle,
        model: LanguageModelHandle,
        search_threads: int = 1,
        backend: str = AUTO,
    ):
        super().__init__()
        check_name(backend)
        self._opening = _Opening(vocabulary, model, search_threads, backend)
        self._settings = settings

    def expand(self, documents: pvalue.PCollection) -> pvalue.PCollection:
        """Learns once, and decodes."""
        learnt = (
            documents.pipeline
            | "Once" >> beam.Impulse()
            | "Learn" >> beam.ParDo(_Learn(self._settings, self._opening))
        )
        return documents | "Decode" >> beam.ParDo(
            _Decode(self._settings, self._opening), pvalue.AsSingleton(learnt)
        ).with_output_types(Document)


class _Opening:
    """Opens vocabulary and model once per process."""

    def __init__(
        self, vocabulary: VocabularyHandle, model: LanguageModelHandle, threads: int, backend: str
    ):
        self._vocabulary, self._model = vocabulary, model
        self._threads, self._backend = threads, backend
        self._shared_search, self._shared_model = Shared(), Shared()

    def set_threads(self) -> None:
        faiss.omp_set_num_threads(self._threads)
        threadpoolctl.threadpool_limits(self._threads)

    def search(self) -> NeighborSearch:
        def opened() -> NeighborSearch:
            _LOG.info("process %d opens a vocabulary and a language model", os.getpid())
            vocabulary = artifact.open_vocabulary(self._vocabulary)
            return NeighborSearch(vocabulary, self._threads, self._backend)

        shared: NeighborSearch = self._shared_search.acquire(opened, tag=self._vocabulary.digest)
        return shared

    def model(self, search: NeighborSearch) -> LanguageModel:
        shared: LanguageModel = self._shared_model.acquire(
            lambda: open_language_model(self._model, search.vocabulary), tag=self._model.digest
        )
        return shared


class _Learn(beam.DoFn):
    """What is known of each level's mechanism, by its epsilon: one element."""

    def __init__(self, settings: ReleaseDecoding, opening: _Opening):
        self._settings, self._opening = settings, opening

    def setup(self) -> None:
        self._opening.set_threads()

    def process(self, _: bytes) -> Iterator[dict[float, Learnt]]:
        search = self._opening.search()
        yield learnt_by_epsilon(self._settings, search, self._opening.model(search))


class _Decode(beam.DoFn):
    def __init__(self, settings: ReleaseDecoding, opening: _Opening):
        self._settings, self._opening = settings, opening
        self._documents = Metrics.counter("dxbeam", "documents")

    def setup(self) -> None:
        self._opening.set_threads()
        self._decoder: ReleaseDecoder | None = None
        self._progress = Progress()

    def start_bundle(self) -> None:
        self._waiting: list[WindowedValue] = []
        self._characters = 0

    def process(
        self,
        document: Document,
        learnt: dict[float, Learnt],
        where: Any = beam.DoFn.WindowedValueParam,
    ) -> Iterable[Any]:
        if self._decoder is None:
            search = self._opening.search()
            model = self._opening.model(search)
            self._decoder = ReleaseDecoder(self._settings, search, model, learnt)
        self._waiting.append(where)
        self._characters += len(document.text)
        return self._decoded() if self._characters >= _CHARACTERS_AT_ONCE else ()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        if self._waiting:
            yield from self._decoded()

    def _decoded(self) -> Sequence[WindowedValue]:
        waiting, self._waiting, self._characters = self._waiting, [], 0
        documents = [Document(*each.value) for each in waiting]
        assert self._decoder is not None
        texts = self._decoder.decode(documents)
        self._documents.inc(len(texts))
        self._progress.count(documents=len(texts))
        return [
            each.with_value(document._replace(text=text))
            for each, document, text in zip(waiting, documents, texts, strict=True)
        ]


class WriteDecodedManifest(beam.PTransform):
    """Writes release.json when all shards are written: PCollection[Shard] -> PCollection[str].

    Args:
      prefix: of the decoded release.
      first: the release that was decoded.
      settings: how it was.
      run: the name under which the prefix was claimed; None where nobody claims.
      context: what epsilon means in the vocabulary, ready for JSON.
    """

    def __init__(
        self,
        prefix: str,
        first: FirstRelease,
        settings: ReleaseDecoding,
        run: str | None,
        context: list[dict[str, Any]],
    ):
        super().__init__()
        self._prefix = prefix
        self._known = (first, settings, run, context, manifest.now())

    def expand(self, shards: pvalue.PCollection) -> pvalue.PCollection:
        """One element, whose side input is all that must be there first."""
        return (
            shards.pipeline
            | "Once" >> beam.Impulse()
            | "Write"
            >> beam.Map(_write, self._prefix, self._known, pvalue.AsIter(shards)).with_output_types(
                str
            )
        )


def _write(_: bytes, prefix: str, known: Any, shards: Iterable[Shard]) -> str:
    first, settings, run, context, started = known
    claim.complete(prefix, decoded.compose(first, settings, shards, run, context, started))
    return storage.join(prefix, manifest.RELEASE)
