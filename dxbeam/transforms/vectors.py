"""ReleaseVectors: the VectorReleaser as a Beam transform, and its Parquet shards.

As in sanitize.py, the key arrives as a side input and the vocabulary is opened once per process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from apache_beam import pvalue, typehints
from apache_beam.metrics import Metrics
from apache_beam.typehints.row_type import RowTypeConstraint
from apache_beam.utils.shared import Shared

from dxbeam.corpus import parquet
from dxbeam.documents import REPEATED_ID, Document, Rejected, printable_id, with_text_id
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.text.tally import Tally
from dxbeam.transforms.exceptions import forbid_quoting
from dxbeam.transforms.progress import Progress
from dxbeam.transforms.reading.corpus_digest import DigestCorpus
from dxbeam.transforms.reading.sources import REJECTED, repeated_ids
from dxbeam.transforms.sanitize_rows import TALLIES
from dxbeam.transforms.secret_key import key_fingerprint, layout_key_of, obtain_secret_key
from dxbeam.transforms.shards import WritePieces
from dxbeam.vectors.configuration import VectorConfiguration
from dxbeam.vectors.release import VectorReleaser

ROW = RowTypeConstraint.from_fields([("id", str), ("vector", bytes), ("fields", str)])
"""A vector on its way to a file: little-endian float32 [m], and the kept fields as JSON."""


class ReleasedVectors(NamedTuple):
    """What ``ReleaseVectors`` returns.

    Attributes:
      vectors: PCollection of rows of ``ROW``.
      rejected: PCollection[Rejected].
      tallies: PCollection[tuple[str, Tally]], one document each and nothing else: how many words a
        text has is not released.
      key_fingerprint: PCollection[str], one element that names the key.
      layout_key: PCollection[bytes], one element for WriteVectorShards.
      corpus_digest: PCollection[str], one element that names the corpus, see ``DigestCorpus``.
    """

    vectors: pvalue.PCollection
    rejected: pvalue.PCollection
    tallies: pvalue.PCollection
    key_fingerprint: pvalue.PCollection
    layout_key: pvalue.PCollection
    corpus_digest: pvalue.PCollection


class ReleaseVectors(beam.PTransform):
    """Releases a noisy vector for each Document.

    Documents with a duplicate id are rejected, as by ``SanitizeDocuments``.

    Args:
      configuration: what is released, and how.
      vocabulary: handle of an artifact that every worker can read; None for given vectors.
      key_uri: where the secret key is; by default a new one is drawn inside the job.
      unique_ids: whether the ids are known to be unique, as those of ReadDocuments are.

    Takes a PCollection[Document] and returns ``ReleasedVectors``.

    Raises:
      ConfigurationError: an option of the pipeline would let texts into messages, see
        ``exceptions.forbid_quoting``.
    """

    def __init__(
        self,
        configuration: VectorConfiguration,
        vocabulary: VocabularyHandle | None,
        key_uri: str | None = None,
        *,
        unique_ids: bool = False,
    ):
        super().__init__()
        self._unique_ids = unique_ids
        self._configuration = configuration
        self._vocabulary = vocabulary
        self._key_uri = key_uri

    def expand(self, documents: pvalue.PCollection) -> ReleasedVectors:
        """Draws the key, broadcasts it, releases."""
        forbid_quoting(documents.pipeline.options)
        secret_key = obtain_secret_key(documents.pipeline, self._key_uri)
        results = documents | "Release" >> beam.ParDo(
            _ReleaseDoFn(self._configuration, self._vocabulary),
            pvalue.AsSingleton(secret_key),
            {} if self._unique_ids else repeated_ids(documents),
        ).with_outputs(REJECTED, TALLIES, main="vectors")
        results["vectors"].element_type = ROW
        results[REJECTED].element_type = Rejected
        results[TALLIES].element_type = typehints.Tuple[str, Tally]
        digest = self._configuration.digest(self._vocabulary.digest if self._vocabulary else "")
        return ReleasedVectors(
            vectors=results["vectors"],
            rejected=results[REJECTED],
            tallies=results[TALLIES],
            key_fingerprint=key_fingerprint(secret_key),
            layout_key=layout_key_of(secret_key),
            corpus_digest=documents | "DigestCorpus" >> DigestCorpus(secret_key, digest),
        )


class _ReleaseDoFn(beam.DoFn):
    def __init__(self, configuration: VectorConfiguration, vocabulary: VocabularyHandle | None):
        self._configuration = configuration
        self._handle = vocabulary
        self._shared = Shared()
        self._count = Metrics.counter("dxbeam", "vectors")

    def setup(self) -> None:
        self._releaser: VectorReleaser | None = None
        self._progress = Progress()

    def process(
        self, document: Document, secret_key: bytes, repeated: Mapping[str, bool]
    ) -> Iterator[Any]:
        document = with_text_id(document)
        if isinstance(document.id, str) and document.id in repeated:
            yield pvalue.TaggedOutput(REJECTED, Rejected(printable_id(document.id), REPEATED_ID))
            return
        for result in self._open(secret_key).release([document]):
            if isinstance(result, Rejected):
                yield pvalue.TaggedOutput(REJECTED, result)
                continue
            self._count.inc()
            self._progress.count(vectors=1)
            vector = result.vector.astype("<f4").tobytes()
            yield beam.Row(id=document.id, vector=vector, fields=document.fields)
            yield pvalue.TaggedOutput(TALLIES, ("", Tally(documents=1)))

    def _open(self, secret_key: bytes) -> VectorReleaser:
        if self._releaser is None:
            handle, self._vocabulary = self._handle, None
            if handle is not None:
                self._vocabulary = self._shared.acquire(
                    lambda: artifact.open_vocabulary(handle), tag=handle.digest
                )
            self._releaser = VectorReleaser(self._vocabulary, self._configuration, secret_key)
        return self._releaser


class WriteVectorShards(beam.PTransform):
    """Writes vectors as Parquet: rows of ``ROW`` -> PCollection[Shard].

    Columns ``id`` (string), ``vector`` (fixed-size list of m float32), the kept fields. Arguments
    are those of ``WriteShards`` and ``WritePieces``; ``dimensions`` is m.
    """

    def __init__(
        self,
        prefix: str,
        dimensions: int,
        layout_key: pvalue.PCollection,
        kept: pa.Schema,
        num_shards: int = 0,
        run: str | None = None,
    ):
        super().__init__()
        kind = pa.list_(pa.float32(), dimensions)
        encoding = parquet.encoding_of("vector", kind, kept, _to_floats)
        self._pieces = WritePieces(prefix, encoding, num_shards, run, layout_key)

    def expand(self, rows: pvalue.PCollection) -> pvalue.PCollection:
        """Encodes, deals, writes, and reads each file again for its digest."""
        return rows | "WritePieces" >> self._pieces


def _to_floats(vector: bytes) -> npt.NDArray[np.float32]:
    return np.frombuffer(vector, "<f4")
