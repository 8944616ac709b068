"""SanitizeDocuments and BuildVocabulary with plain values as arguments, for Beam YAML.

``templates/beam_yaml/providers.yaml`` names them. Their arguments' hints and docstrings become the
schema that Beam YAML checks a pipeline against.
"""

# No "from __future__ import annotations" here: Beam YAML reads the hints as they are.

import tempfile
from collections.abc import Iterator
from pathlib import Path

import apache_beam as beam
import numpy as np
from apache_beam import pvalue
from apache_beam.typehints.row_type import RowTypeConstraint

from dxbeam import artifact, storage
from dxbeam.configuration import Configuration
from dxbeam.embeddings import ReadingReport, read_embeddings
from dxbeam.mechanisms import make_mechanism, parse_parameters
from dxbeam.neighbors import NeighborSearch
from dxbeam.resampling import RankResampling
from dxbeam.tally import Tally
from dxbeam.transforms.sanitize import TALLIES
from dxbeam.transforms.sanitize import SanitizeDocuments as SanitizeRows
from dxbeam.transforms.sinks import NOT_COVERED
from dxbeam.transforms.sources import REJECTED


class SanitizeDocuments(beam.PTransform):
    """Sanitizes rows with an id and a text.

    Outputs: documents (rows of id, sanitized text and kept fields), rejected (rows of where and
    reason, never the text) and tallies (a row of counts for each document, with a note that says
    what they are: computed from the raw text, so not covered by the guarantee. Add them up, and
    write them to a place apart from the documents).

    Args:
      vocabulary: URI of a vocabulary artifact that every worker can read, or demo.
      epsilon: privacy loss per unit of distance between word vectors.
      mechanism: name of the mechanism.
      parameters: further parameters of the mechanism, as name=value,name=value.
      rank_c: decay of rank resampling; none where it is left out.
      unknown_words: noise, mask, drop or keep.
      key_uri: where the secret key lies; by default a new one is drawn and forgotten.
      keep_fields: further fields of the rows to release as they are, separated by commas.
      allow_unsound: consent to settings that guarantee nothing, or leave words unprotected.
    """

    def __init__(
        self,
        vocabulary: str,
        epsilon: float,
        mechanism: str = "laplace",
        parameters: str = "",
        rank_c: float | None = None,
        unknown_words: str = "noise",
        key_uri: str | None = None,
        keep_fields: str = "",
        allow_unsound: bool = False,
    ):
        super().__init__()
        self._sanitize = SanitizeRows(
            Configuration(
                make_mechanism(mechanism, epsilon=epsilon, **parse_parameters(parameters)),
                None if rank_c is None else RankResampling(rank_c),
                unknown_words,
                allow_unsound=allow_unsound,
            ),
            vocabulary,
            key_uri,
            keep_fields=tuple(name for name in keep_fields.split(",") if name),
        )

    def expand(self, rows: pvalue.PCollection) -> dict[str, pvalue.PCollection]:
        """Rows in, rows out."""
        results = rows | "Sanitize" >> self._sanitize
        return {
            "documents": results["documents"],
            "rejected": results[REJECTED],
            "tallies": results[TALLIES] | "Counts" >> beam.Map(_counts).with_output_types(_COUNTS),
        }


_COUNTS = RowTypeConstraint.from_fields([("note", str), *((name, int) for name in Tally._fields)])


def _counts(of: tuple[str, Tally]) -> beam.Row:
    return beam.Row(note=NOT_COVERED, **of[1]._asdict())


class BuildVocabulary(beam.PTransform):
    """Turns an embedding file into a vocabulary artifact, on one worker.

    For a large vocabulary use pipelines.build_vocabulary, which spreads the neighbour table over
    workers. Output: one row of uri, digest, words and dimensions.

    Args:
      embeddings: GloVe, word2vec or fastText file; plain, .gz or in a .zip.
      output: fresh directory or gs:// prefix.
      lowercase: whether to lower-case the words.
      max_words: keep the first words of the file; 0 for all.
      neighbors: neighbours stored a word.
    """

    def __init__(
        self,
        embeddings: str,
        output: str,
        lowercase: bool = False,
        max_words: int = 0,
        neighbors: int = 256,
    ):
        super().__init__()
        self._build = _Build(embeddings, output, lowercase, max_words, neighbors)

    def expand(self, begin: pvalue.PBegin) -> pvalue.PCollection:
        """One element, which does it all."""
        return begin | "Once" >> beam.Create([None]) | "Build" >> beam.ParDo(self._build)


@beam.typehints.with_output_types(artifact.VocabularyHandle)
class _Build(beam.DoFn):
    def __init__(
        self, embeddings: str, output: str, lowercase: bool, max_words: int, neighbors: int
    ):
        self._embeddings = embeddings
        self._output = output
        self._lowercase = lowercase
        self._max_words = max_words or None
        self._neighbors = neighbors

    def process(self, _: None) -> Iterator[artifact.VocabularyHandle]:
        report = ReadingReport()
        reading = read_embeddings(
            self._embeddings, max_words=self._max_words, lowercase=self._lowercase, report=report
        )
        with tempfile.TemporaryDirectory() as folder:
            local = Path(folder)
            chunks = ((chunk.words, chunk.vectors) for chunk in reading)
            shape = artifact.write_words_and_vectors(chunks, local)
            search = NeighborSearch(artifact.open_draft(folder, shape.digest))
            table, radii = search.table(np.arange(shape.words), self._neighbors)
            np.save(local / artifact.NEIGHBORS, table)
            np.save(local / artifact.CLOSE_RADIUS, radii)
            for path in local.iterdir():
                storage.copy(str(path), storage.join(self._output, path.name))
        yield artifact.write_manifest(
            self._output, shape, self._lowercase, {"name": Path(self._embeddings).name}
        )
