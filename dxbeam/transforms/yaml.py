"""SanitizeRows and BuildVocabulary: transforms with plain values as arguments, for Beam YAML.

``templates/beam_yaml/providers.yaml`` names them. Their arguments' hints and docstrings become the
schema that Beam YAML checks a pipeline against.
"""

# No "from __future__ import annotations" here: Beam YAML reads the hints as they are.

import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import apache_beam as beam
import numpy as np
from apache_beam import pvalue
from apache_beam.typehints.row_type import RowTypeConstraint

from dxbeam import storage
from dxbeam.documents import field_names
from dxbeam.errors import ArtifactError, ConfigurationError
from dxbeam.mechanisms.constants.exact_constant import WORST_CASE
from dxbeam.release import claim, places
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact import manifest as artifact_manifest
from dxbeam.space.embeddings.reader import ReadingReport, read_embeddings
from dxbeam.space.search.backends.choose_backend import AUTO, check_name
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.decoding.decoder import NEAREST
from dxbeam.text.plain_settings import PLAIN_SETTINGS, configuration_of
from dxbeam.text.tally import Tally
from dxbeam.transforms.exceptions import error_output
from dxbeam.transforms.metrics import NOT_COVERED
from dxbeam.transforms.sanitize import SanitizeDocuments

_DOCUMENTS = "documents"


class SanitizeRows(beam.PTransform):
    """Sanitizes rows with an id and a text.

    Of bounded input, all rows with a duplicate id are rejected.

    Outputs: documents (rows of id, sanitized text and kept fields), rejected (rows of where and
    reason, never the text) and tallies (a row of counts for each document, with a note that says
    what they are: computed from the raw text, so not covered by the guarantee. Add them up, and
    write them to a place apart from the documents). With error_handling, only documents and the
    output it names.

    Args:
      vocabulary: URI of a vocabulary artifact that every worker can read, or demo.
      epsilon: privacy loss per unit of distance between word vectors; needed without epsilon_by.
      mechanism: name of the mechanism.
      parameters: further parameters of the mechanism, as name=value,name=value.
      decode: how drawn noise is read: nearest, prior or context; see docs/guides/decoding.md.
      decode_loss: word or distance, which word a decoder releases.
      language_model: URI of the language model that a decoder, truecase or fluent reads, or demo.
      truecase: whether to put capitals into the texts as public text has them.
      epsilon_by: an epsilon for each row by a public field, as FIELD:VALUE=EPSILON,VALUE=EPSILON;
        rows with another value have the one above, or are rejected where there is none.
      importance: public weights of words for santext or tem: a file, or a name such as stop_words.
      base: public base measure for santext or tem: a file, or frequency.
      base_exponent: the power to which it is raised; 1 where it is left out.
      constant: worst_case, or exact for the constant of this vocabulary.
      constant_scan: with exact, the file that dxbeam scan-constant wrote.
      rank_c: decay of rank resampling; none where it is left out.
      unknown_words: noise, mask, drop or keep.
      tokenization: 1 or 2, which punctuation divides words; see docs/guides/languages.md.
      segmenter: none, longest_match or graphemes, how scripts without spaces are cut.
      detect: none, or presidio for typed placeholders of e-mail addresses and the like; see
        docs/guides/detecting.md.
      detect_model: a spaCy model that recognises more, on every worker.
      key_uri: where the secret key is; by default a new one is drawn and forgotten.
      keep_fields: further fields of the rows to release as they are, separated by commas.
      allow_unsound: consent to settings that guarantee nothing, or leave words unprotected.
      search: how nearest words are found exactly, auto, int8, int7, float32, faiss or torch; the
        same words are released.
      error_handling: the output for rejected records, as {output: errors}; of a record it says
        where it was and why, never the text.
    """

    def __init__(
        self,
        vocabulary: str,
        epsilon: float | None = None,
        mechanism: str = "laplace",
        parameters: str = "",
        *,
        rank_c: float | None = None,
        unknown_words: str = "noise",
        key_uri: str | None = None,
        keep_fields: str = "",
        allow_unsound: bool = False,
        importance: str | None = None,
        search: str = AUTO,
        epsilon_by: str = "",
        base: str | None = None,
        base_exponent: float | None = None,
        constant: str = WORST_CASE,
        constant_scan: str | None = None,
        decode: str = NEAREST,
        decode_loss: str | None = None,
        language_model: str | None = None,
        truecase: bool = False,
        tokenization: str | None = None,
        segmenter: str = "none",
        detect: str = "none",
        detect_model: str | None = None,
        error_handling: Mapping[str, str] | None = None,
    ):
        settings = {name: value for name, value in locals().items() if name in PLAIN_SETTINGS}
        super().__init__()
        self._errors = error_output(error_handling, _DOCUMENTS)
        self._sanitize = SanitizeDocuments(
            configuration_of(**settings),
            vocabulary,
            key_uri,
            keep_fields=field_names(keep_fields),
            backend=search,
            language_model=language_model,
        )

    def expand(self, rows: pvalue.PCollection) -> dict[str, pvalue.PCollection]:
        """Rows in, rows out."""
        results = rows | "Sanitize" >> self._sanitize
        if self._errors:
            return {_DOCUMENTS: results.documents, self._errors: results.rejected}
        return {
            _DOCUMENTS: results.documents,
            "rejected": results.rejected,
            "tallies": results.tallies | "Counts" >> beam.Map(_counts).with_output_types(_COUNTS),
        }


_COUNTS = RowTypeConstraint.from_fields([("note", str), *((name, int) for name in Tally._fields)])


def _counts(of: tuple[str, Tally]) -> beam.Row:
    return beam.Row(note=NOT_COVERED, **of[1]._asdict())


class BuildVocabulary(beam.PTransform):
    """Turns an embedding file into a vocabulary artifact, on one worker.

    For a large vocabulary use dxbeam build-vocabulary, which spreads the neighbour table over
    workers. Output: one row of uri, digest, words and dimensions.

    Args:
      embeddings: GloVe, word2vec or fastText file; plain, .gz or in a .zip.
      output: fresh directory or gs:// prefix.
      lowercase: whether to lower-case the words.
      max_words: keep the first words of the file; 0 for all.
      neighbors: neighbours stored a word.
      search: how these are found, auto, int8, int7, float32, faiss or torch; they are the same.
    """

    def __init__(
        self,
        embeddings: str,
        output: str,
        *,
        lowercase: bool = False,
        max_words: int = 0,
        neighbors: int = 256,
        search: str = AUTO,
    ):
        super().__init__()
        check_name(search)
        if max_words < 0 or neighbors < 1:
            raise ConfigurationError("BuildVocabulary: max_words is 0 or more, neighbors 1 or more")
        if not embeddings or not output:
            raise ConfigurationError("BuildVocabulary: embeddings and output each name a place")
        place = places.output_place("output", output)
        self._build = _Build(embeddings, place, lowercase, max_words or None, neighbors, search)

    def expand(self, begin: pvalue.PBegin) -> pvalue.PCollection:
        """One element, which does it all; OutputError: the output is not empty."""
        claim.check_empty(self._build.output)
        once = begin | "Once" >> beam.Create([uuid.uuid4().hex])  # where an engine tries again, too
        return once | "Build" >> beam.Map(self._build.build).with_output_types(
            artifact.VocabularyHandle
        )


@dataclass(frozen=True)
class _Build:
    embeddings: str
    output: str
    lowercase: bool
    max_words: int | None
    neighbors: int
    backend: str

    def build(self, run: str) -> artifact.VocabularyHandle:
        """Writes the artifact, unless an earlier try has; ``run`` is the name of all tries."""
        with tempfile.TemporaryDirectory() as folder:
            written = self._write(Path(folder))
            handle = written._replace(uri=self.output)
            if not self._is_there(handle):
                self._publish(Path(folder), run)
        return handle

    def _write(self, local: Path) -> artifact.VocabularyHandle:
        """Makes the whole artifact in a local folder."""
        report = ReadingReport()
        reading = read_embeddings(
            self.embeddings, max_words=self.max_words, lowercase=self.lowercase, report=report
        )
        chunks = ((chunk.words, chunk.vectors) for chunk in reading)
        shape = artifact.write_words_and_vectors(chunks, local)
        search = NeighborSearch(artifact.open_draft(str(local), shape.digest), backend=self.backend)
        table, radii = search.neighbor_table(np.arange(shape.words), self.neighbors)
        np.save(local / artifact_manifest.NEIGHBORS, table)
        np.save(local / artifact_manifest.CLOSE_RADIUS, radii)
        source = {"name": Path(self.embeddings).name}
        return artifact.write_manifest(str(local), shape, self.lowercase, source)

    def _is_there(self, handle: artifact.VocabularyHandle) -> bool:
        """Whether an earlier try has completed this very artifact."""
        try:
            return artifact.handle(self.output) == handle
        except ArtifactError:
            return False

    def _publish(self, local: Path, run: str) -> None:
        """Copies an artifact to the output, its manifest last."""
        claim.take_fresh(self.output, run)
        try:
            for path in local.iterdir():
                if path.name != artifact_manifest.MANIFEST:
                    storage.copy(str(path), storage.join(self.output, path.name))
            written = (local / artifact_manifest.MANIFEST).read_bytes()
            storage.create_once(storage.join(self.output, artifact_manifest.MANIFEST), written)
        except BaseException:
            artifact.abandon(self.output)
            raise
        finally:
            claim.let_go(self.output)
