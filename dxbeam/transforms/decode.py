"""DecodeDocuments: the ReleaseDecoder as a Beam transform, and what completes a decoded release.

What takes long to know of a mechanism is learnt once in the job and broadcast. Vocabulary and model
are opened once per process and memory-mapped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.metrics import Metrics
from apache_beam.utils.windowed_value import WindowedValue

from dxbeam import storage
from dxbeam.documents import Document
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.language.model import LanguageModel
from dxbeam.release import claim, decoded, manifest
from dxbeam.release.decoded import FirstRelease
from dxbeam.release.manifest import Shard
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.backends.choose_backend import AUTO
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.decoding.release_decoder import ReleaseDecoder, learnt_by_epsilon
from dxbeam.text.decoding.release_decoding import ReleaseDecoding
from dxbeam.text.decoding.released_channel import Learnt
from dxbeam.transforms.progress import Progress
from dxbeam.transforms.with_vocabulary import Opening

_CHARACTERS_AT_ONCE = 1 << 18
"""Of texts that are decoded together."""


class DecodeDocuments(beam.PTransform):
    """Decodes released documents: PCollection[Document] -> PCollection[Document]."""

    def __init__(
        self,
        settings: ReleaseDecoding,
        vocabulary: VocabularyHandle,
        model: LanguageModelHandle,
        search_threads: int = 1,
        backend: str = AUTO,
    ):
        super().__init__()
        self._reading = settings, vocabulary, model, Opening(search_threads, backend)

    def expand(self, documents: pvalue.PCollection) -> pvalue.PCollection:
        """Learns once, and decodes."""
        once = documents.pipeline | "Once" >> beam.Impulse()
        learnt = pvalue.AsSingleton(once | "Learn" >> beam.ParDo(_Learn(*self._reading)))
        return documents | "Decode" >> beam.ParDo(
            _Decode(*self._reading), learnt
        ).with_output_types(Document)


class _OpensModel(beam.DoFn):
    """Opens what a release is decoded with."""

    def __init__(
        self,
        settings: ReleaseDecoding,
        vocabulary: VocabularyHandle,
        model: LanguageModelHandle,
        opening: Opening,
    ):
        self._settings, self._handles, self._opening = settings, (vocabulary, model), opening

    def setup(self) -> None:
        self._opening.set_threads()

    def _open(self) -> tuple[ReleaseDecoding, NeighborSearch, LanguageModel]:
        vocabulary, model = self._handles
        search = self._opening.search(vocabulary)
        return self._settings, search, self._opening.model(model, search)


class _Learn(_OpensModel):
    """What is known of each level's mechanism, by its epsilon: one element."""

    def process(self, _: bytes) -> Iterator[dict[float, Learnt]]:
        yield learnt_by_epsilon(*self._open())


class _Decode(_OpensModel):
    def setup(self) -> None:
        super().setup()
        self._documents = Metrics.counter("dxbeam", "documents")
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
            self._decoder = ReleaseDecoder(*self._open(), learnt)
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

    ``run`` is the name under which the prefix was claimed, and ``context`` what epsilon means in
    the vocabulary, ready for JSON.
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
