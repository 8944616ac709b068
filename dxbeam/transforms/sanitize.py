"""SanitizeDocuments: the Sanitizer as a Beam transform; its DoFn is in ``sanitize_rows.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, get_type_hints

import apache_beam as beam
from apache_beam import pvalue, typehints
from apache_beam.transforms.error_handling import ErrorHandler
from apache_beam.typehints.row_type import RowTypeConstraint

from dxbeam.documents import Rejected, check_fields
from dxbeam.errors import ConfigurationError
from dxbeam.language.artifact import check_vocabulary, knows_capitals, language_model_handle
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.mechanisms import ReadsReleased
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.backends.choose_backend import AUTO
from dxbeam.text.candidates import CANDIDATES
from dxbeam.text.configuration import Configuration
from dxbeam.text.parts.divided import Part
from dxbeam.text.public.public_model import with_model
from dxbeam.text.tally import Tally
from dxbeam.transforms.exceptions import WithExceptionHandling, forbid_quoting
from dxbeam.transforms.long_documents.divided import SanitizeParts
from dxbeam.transforms.reading.corpus_digest import AddTags
from dxbeam.transforms.reading.sources import REJECTED, repeated_ids
from dxbeam.transforms.sanitize_rows import (
    PARTS,
    TAGS,
    TALLIES,
    WHOLES,
    SanitizeDoFn,
    Unchanged,
    Whole,
)
from dxbeam.transforms.secret_key import kept_key, key_fingerprint, layout_key_of, obtain_secret_key
from dxbeam.transforms.with_vocabulary import Opening

beam.coders.registry.register_coder(VocabularyHandle, beam.coders.RowCoder)
beam.coders.registry.register_coder(LanguageModelHandle, beam.coders.RowCoder)


class SanitizedDocuments(NamedTuple):
    """What ``SanitizeDocuments`` returns.

    Attributes:
      documents: rows of id, sanitized text and the kept fields.
      rejected: PCollection[Rejected], records that could not be used; where and why, never the
        text.
      tallies: PCollection[tuple[str, Tally]], the group and the counts of each document.
      key_fingerprint: PCollection[str], one element that names the key; None where nothing is
        broadcast.
      layout_key: PCollection[bytes], one element for WriteShards, which needs it for bags of words;
        None where nothing is broadcast.
      corpus_digest: PCollection[str], if it was asked for, else None: one element that names the
        documents under this key and configuration, however they are ordered and divided. It is a
        sum of keyed digests, so without the key it says nothing of them.
    """

    documents: pvalue.PCollection
    rejected: pvalue.PCollection
    tallies: pvalue.PCollection
    key_fingerprint: pvalue.PCollection
    layout_key: pvalue.PCollection
    corpus_digest: pvalue.PCollection | None


class SanitizeDocuments(beam.PTransform):
    """Sanitizes rows with an ``id`` and a ``text``.

    Noise is keyed by a row's id and text, so two rows with one id would come out equal if their
    texts are, which would show it. So rows of bounded input in the global window are first compared
    by their ids, and all with a duplicate id are rejected. In a stream, and in other
    windows, there is no moment when all ids are known: there, make sure that they are unique.

    Args:
      configuration: mechanism, rank resampling and the treatment of unknown words.
      vocabulary: URI or handle of a vocabulary artifact that every worker can read, or ``"demo"``.
      key_uri: where the secret key is (see ``keys.read_key``); by default a new key is
        drawn inside the job, broadcast, and forgotten.
      keep_fields: further attributes of the rows to pass on as they are.
      group_by: an attribute by whose values the counts are grouped, or None.
      level: the attribute that decides which epsilon a row has, where the configuration has
        ``epsilon_by``; by default the field that it names. Rows without an epsilon are rejected.
      search_threads: threads a search uses in each worker process.
      backend: how nearest words are found exactly, one of ``choose_backend.NAMES``; what is
        released does not depend on it.
      language_model: URI or handle of the language-model artifact that the configuration's decoder
        or truecase reads, or ``"demo"``; None where there is neither.
      candidates: how many candidates of each word the decoder hands on with their probabilities, in
        a field ``candidates`` of the rows that RepairGrammar takes away again; 0 for none.
      digest_corpus: whether to name the corpus as well; for bounded input only.
      broadcast: whether the key and the handles are broadcast as side inputs. In a stream they need
        not be: then every worker reads the key from ``key_uri`` itself, which must be given, as
        some engines do not hold a stream back until what is broadcast has arrived.
      unique_ids: whether the ids are known to be unique, as those of ReadDocuments are; then they
        are not compared, and no row has to wait for another.
      divide_above: documents of more characters are divided among workers and put together again,
        to the same bytes; for bounded input in the global window only. None to divide none, and
        those are not divided that are released as bags or with ``candidates``.

    Takes a PCollection of rows (``beam.Row`` or a NamedTuple), returns ``SanitizedDocuments``.

    Raises:
      ConfigurationError: ``keep_fields`` or ``group_by`` name what may not be kept or counted by,
        see ``documents.check_fields``; or an option of the pipeline would let texts into messages,
        see ``exceptions.forbid_quoting``.
    """

    def __init__(
        self,
        configuration: Configuration,
        vocabulary: str | VocabularyHandle,
        key_uri: str | None = None,
        *,
        keep_fields: Sequence[str] = (),
        group_by: str | None = None,
        search_threads: int = 1,
        digest_corpus: bool = False,
        unique_ids: bool = False,
        divide_above: int | None = None,
        backend: str = AUTO,
        level: str | None = None,
        language_model: str | LanguageModelHandle | None = None,
        candidates: int = 0,
        broadcast: bool = True,
    ):
        super().__init__()
        if not isinstance(configuration, Configuration):
            raise ConfigurationError(
                "SanitizeDocuments takes a Configuration, such as Configuration(Laplace(10.0)), "
                f"and this is a {type(configuration).__name__}; SanitizeRows of "
                "dxbeam.transforms.yaml takes plain values"
            )
        mechanism = configuration.mechanism
        if isinstance(mechanism, ReadsReleased) and mechanism.model:
            # Refuses one that workers cannot open; Beam would hide the reason.
            mechanism.model.travelling()
        check_fields("text", "id", keep_fields, group_by)
        self._opening = Opening(search_threads, backend)
        if not broadcast and not key_uri:
            raise ConfigurationError(
                "`key_uri` is needed where workers read the key themselves, as in a stream"
            )
        self._broadcast = broadcast
        self._unique_ids = unique_ids
        self._divide_above = divide_above
        self._digest_corpus = digest_corpus
        if not isinstance(vocabulary, VocabularyHandle):
            vocabulary = artifact.handle(vocabulary)
        self._handle = vocabulary
        if isinstance(language_model, str):
            language_model = language_model_handle(language_model)
        self._language_model = language_model
        self._configuration = configuration = with_language_model(
            configuration, language_model, vocabulary
        )
        self._key_uri = key_uri
        self._keep_fields = tuple(keep_fields)
        self._group_by = group_by
        levels = configuration.epsilon_by
        self._level = (level or levels.field) if levels else None
        if self._level == "text":
            raise ConfigurationError(
                "`epsilon_by` names 'text', which is sanitized: epsilon must depend on a public "
                "field; choose another"
            )
        self._candidates = candidates
        if candidates and CANDIDATES in self._keep_fields:
            raise ConfigurationError(
                f"`keep_fields` {CANDIDATES}: this name is taken by what the decoder hands on; "
                "rename the field"
            )

    def expand(self, documents: pvalue.PCollection) -> SanitizedDocuments:
        """Draws the key, broadcasts it and the vocabulary's handle, sanitizes."""
        forbid_quoting(documents.pipeline.options)
        if self._broadcast:
            secret_key = obtain_secret_key(documents.pipeline, self._key_uri)
            handle, model = self._broadcast_handles(documents.pipeline)
            key: Any = pvalue.AsSingleton(secret_key)
        else:
            # No step but those of the stream: Flink restarts what is connected with a failure, and
            # steps that are not would keep Beam from giving a lost worker up.
            secret_key = None
            handle, model, key = self._handle, self._language_model, kept_key(str(self._key_uri))
        divides = self._divide_above and documents.is_bounded and documents.windowing.is_default()
        sanitize = SanitizeDoFn(
            self._configuration,
            self._keep_fields,
            self._group_by,
            self._opening,
            digest_corpus=self._digest_corpus,
            level=self._level,
            candidates=self._candidates,
            divide_above=self._divide_above if divides else None,
        )
        results = documents | "Sanitize" >> beam.ParDo(
            sanitize,
            key,
            handle,
            {} if self._unique_ids else repeated_ids(documents),
            model,
        ).with_outputs(REJECTED, TALLIES, TAGS, PARTS, WHOLES, main="documents")
        row_type = self._row_type(documents.element_type)
        results["documents"].element_type = row_type
        results[REJECTED].element_type = Rejected
        results[TALLIES].element_type = typehints.Tuple[str, Tally]
        results[TAGS].element_type = bytes
        corpus_digest = results[TAGS] | "DigestCorpus" >> AddTags() if self._digest_corpus else None
        documents, tallies = results["documents"], results[TALLIES]
        if divides:
            results[PARTS].element_type = typehints.Tuple[str, int, Part]
            results[WHOLES].element_type = typehints.Tuple[bytes, Whole]
            joined = (results[PARTS], results[WHOLES]) | "SanitizeParts" >> SanitizeParts(
                sanitize, (key, handle, model), row_type
            )
            documents = (documents, joined.documents) | "AllDocuments" >> beam.Flatten()
            tallies = (tallies, joined.tallies) | "AllTallies" >> beam.Flatten()
        return SanitizedDocuments(
            documents=documents
            | "PassDocuments" >> beam.ParDo(Unchanged()).with_output_types(row_type),
            rejected=results[REJECTED],
            tallies=tallies
            | "PassTallies"
            >> beam.ParDo(Unchanged()).with_output_types(typehints.Tuple[str, Tally]),
            key_fingerprint=key_fingerprint(secret_key) if self._broadcast else None,
            layout_key=layout_key_of(secret_key) if self._broadcast else None,
            corpus_digest=corpus_digest,
        )

    def with_exception_handling(
        self,
        main_tag: str = "good",
        dead_letter_tag: str = "bad",
        error_handler: ErrorHandler | None = None,
    ) -> beam.PTransform:
        """As Beam's own transforms: ``good, bad = rows | sanitize.with_exception_handling()``.

        Rejected records are rejected in any case; this only names them as Beam does. See
        ``WithExceptionHandling``.
        """
        return WithExceptionHandling(self, main_tag, dead_letter_tag, error_handler)

    @property
    def keeps_key(self) -> bool:
        """Whether the key is kept at a ``key_uri``, and not drawn inside the job."""
        return self._key_uri is not None

    def _broadcast_handles(self, pipeline: beam.Pipeline) -> tuple[Any, Any]:
        once = pipeline | "Once" >> beam.Impulse()

        def broadcast(handle: Any) -> pvalue.AsSingleton:
            kind = type(handle)
            named = beam.Map(_handle, handle).with_output_types(kind)
            return pvalue.AsSingleton(once | kind.__name__ >> named)

        return broadcast(self._handle), self._language_model and broadcast(self._language_model)

    def _row_type(self, element_type: Any) -> RowTypeConstraint:
        row_type = RowTypeConstraint.from_user_type(element_type)
        types = dict(row_type._fields) if row_type is not None else {}
        if isinstance(element_type, type):  # annotations may have been kept as text
            types |= {
                name: kind for name, kind in get_type_hints(element_type).items() if name in types
            }
        further = [name for name in (self._group_by, self._level) if name]
        needed = ["id", "text", *self._keep_fields, *further]
        if row_type is not None and not set(needed) <= set(types):
            raise TypeError(
                f"SanitizeDocuments needs rows with the fields {', '.join(needed)}; these have "
                f"{sorted(types)}"
            )
        kept = [(name, types.get(name, Any)) for name in self._keep_fields]
        kept += [(CANDIDATES, str)] * bool(self._candidates)
        return RowTypeConstraint.from_fields([("id", str), ("text", str), *kept])


def _handle(_: bytes, handle: Any) -> Any:
    return handle


def with_language_model(
    configuration: Configuration, model: LanguageModelHandle | None, vocabulary: VocabularyHandle
) -> Configuration:
    """The configuration, its decoder and its truecase naming the language model.

    Raises:
      ConfigurationError: a model is needed and missing, or given and of no use.
      ArtifactError: the model was made for another vocabulary.
    """
    if model is None:
        return with_model(configuration, None, casings=False)
    check_vocabulary(model, vocabulary.digest)
    return with_model(configuration, model.digest, knows_capitals(model))
