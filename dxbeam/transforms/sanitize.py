"""SanitizeDocuments: the Sanitizer as a Beam transform.

The DoFn buffers documents until their words fill a search, and hands each back with the window
and timestamp it came with. It carries neither the key nor the vocabulary: the key arrives as a
side input, the vocabulary is opened once per process and memory-mapped.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, get_type_hints

import apache_beam as beam
import faiss
import threadpoolctl
from apache_beam import pvalue, typehints
from apache_beam.metrics import Metrics
from apache_beam.transforms.error_handling import ErrorHandler
from apache_beam.transforms.window import GlobalWindows
from apache_beam.typehints.row_type import RowTypeConstraint
from apache_beam.utils.shared import Shared
from apache_beam.utils.windowed_value import WindowedValue

from dxbeam.documents import (
    REPEATED_ID,
    Document,
    Rejected,
    check_fields,
    id_as_text,
    id_problem,
    printable_id,
    row_field,
    text_problem,
)
from dxbeam.errors import ConfigurationError
from dxbeam.language.artifact import (
    check_vocabulary,
    knows_capitals,
    language_model_handle,
    open_language_model,
)
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.language.model import LanguageModel
from dxbeam.mechanisms import ReadsReleased
from dxbeam.randomness import NO_TAGS, add_tags, document_tag
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.backends.choose_backend import AUTO, check_name
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.remarks import remarks
from dxbeam.text.batch import Batch, Sanitized
from dxbeam.text.candidates import CANDIDATES
from dxbeam.text.configuration import Configuration
from dxbeam.text.public.public_model import with_model
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.text.tally import Tally
from dxbeam.transforms.exceptions import WithExceptionHandling
from dxbeam.transforms.progress import Progress
from dxbeam.transforms.reading.corpus_digest import AddTags
from dxbeam.transforms.reading.sources import REJECTED, repeated_ids
from dxbeam.transforms.secret_key import (
    KeptKey,
    kept_key,
    key_fingerprint,
    layout_key_of,
    obtain_secret_key,
)

_LOG = logging.getLogger(__name__)

TALLIES = "tallies"
"""Tag of the counts of each document next to a transform's main output."""

_MOST_CHARACTERS = 1 << 22
"""Of texts that wait for one of another level before they are handed on in order."""

_TAGS = "tags"
"""Tag of what names the documents of each bundle together: the sum of their tags."""

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

    Takes a PCollection of rows (``beam.Row`` or a NamedTuple), returns ``SanitizedDocuments``.

    Raises:
      ConfigurationError: ``keep_fields`` or ``group_by`` name what may not be kept or counted by,
        see ``documents.check_fields``.
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
        check_name(backend)
        self._backend = backend
        if not broadcast and not key_uri:
            raise ConfigurationError(
                "`key_uri` is needed where workers read the key themselves, as in a stream"
            )
        self._broadcast = broadcast
        self._unique_ids = unique_ids
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
        self._search_threads = search_threads
        self._candidates = candidates
        if candidates and CANDIDATES in self._keep_fields:
            raise ConfigurationError(
                f"`keep_fields` {CANDIDATES}: this name is taken by what the decoder hands on; "
                "rename the field"
            )

    def expand(self, documents: pvalue.PCollection) -> SanitizedDocuments:
        """Draws the key, broadcasts it and the vocabulary's handle, sanitizes."""
        if self._broadcast:
            secret_key = obtain_secret_key(documents.pipeline, self._key_uri)
            handle, model = self._broadcast_handles(documents.pipeline)
            key: Any = pvalue.AsSingleton(secret_key)
        else:
            # No step but those of the stream: Flink restarts what is connected with a failure, and
            # steps that are not would keep Beam from giving a lost worker up.
            secret_key = None
            handle, model, key = self._handle, self._language_model, kept_key(str(self._key_uri))
        sanitize = _SanitizeDoFn(
            self._configuration,
            self._keep_fields,
            self._group_by,
            self._search_threads,
            self._digest_corpus,
            self._backend,
            self._level,
            self._candidates,
        )
        results = documents | "Sanitize" >> beam.ParDo(
            sanitize,
            key,
            handle,
            {} if self._unique_ids else repeated_ids(documents),
            model,
        ).with_outputs(REJECTED, TALLIES, _TAGS, main="documents")
        row_type = self._row_type(documents.element_type)
        results["documents"].element_type = row_type
        results[REJECTED].element_type = Rejected
        results[TALLIES].element_type = typehints.Tuple[str, Tally]
        results[_TAGS].element_type = bytes
        corpus_digest = (
            results[_TAGS] | "DigestCorpus" >> AddTags() if self._digest_corpus else None
        )
        return SanitizedDocuments(
            documents=results["documents"]
            | "PassDocuments" >> beam.ParDo(_Unchanged()).with_output_types(row_type),
            rejected=results[REJECTED],
            tallies=results[TALLIES]
            | "PassTallies"
            >> beam.ParDo(_Unchanged()).with_output_types(typehints.Tuple[str, Tally]),
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
        handle = once | (
            "VocabularyHandle"
            >> beam.Map(_handle, self._handle).with_output_types(VocabularyHandle)
        )
        if self._language_model is None:
            return pvalue.AsSingleton(handle), None
        model = once | (
            "LanguageModelHandle"
            >> beam.Map(_handle, self._language_model).with_output_types(LanguageModelHandle)
        )
        return pvalue.AsSingleton(handle), pvalue.AsSingleton(model)

    def _row_type(self, element_type: Any) -> RowTypeConstraint:
        given = RowTypeConstraint.from_user_type(element_type)
        types = dict(given._fields) if given is not None else {}
        if isinstance(element_type, type):  # annotations may have been kept as text
            types |= {
                name: kind for name, kind in get_type_hints(element_type).items() if name in types
            }
        further = [name for name in (self._group_by, self._level) if name]
        needed = ["id", "text", *self._keep_fields, *further]
        if given is not None and not set(needed) <= set(types):
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


def is_sanitized(rows: pvalue.PCollection) -> bool:
    """Whether these are the documents of SanitizeDocuments, with no transform in between."""
    last = rows.producer
    if not isinstance(getattr(last.transform, "fn", None), _Unchanged):
        return False
    [given] = last.inputs
    made_by = getattr(given.producer, "transform", None)
    return isinstance(getattr(made_by, "fn", None), _SanitizeDoFn) and given.tag is None


class _Unchanged(beam.DoFn):
    """Emits what it takes, unchanged.

    Beam 2.77 flushes what waits for a DoFn with ``process_batch`` before it calls the
    ``finish_bundle`` of the DoFn in front, so what that one emits there would be lost: all the
    documents at the end of a bundle, where data frames follow. Behind this step they are not.
    """

    def process(self, element: Any) -> Iterator[Any]:
        yield element


class _Origin(NamedTuple):
    """What is remembered of a row while its words wait."""

    where: WindowedValue  # the row's windows and timestamp, with no value
    group: str
    kept: dict[str, Any]


@dataclass(eq=False, repr=False, slots=True)
class _Ticket:
    """A row under way: where it came from, and once its words are released what became of it.

    It has no repr, as that would show the text.
    """

    origin: _Origin
    characters: int
    result: Sanitized | None = None


class _Waiting(NamedTuple):
    """Rows whose words wait for a search, and their tickets in the same order."""

    words: Batch
    tickets: deque[_Ticket]


def _level_of(row: Any, name: str | None) -> str:
    """The value of the attribute that decides a row's epsilon; "" for none."""
    value = getattr(row, name) if name else ""
    return "" if value is None else str(value)


class _SanitizeDoFn(beam.DoFn):
    def __init__(
        self,
        configuration: Configuration,
        keep_fields: tuple[str, ...],
        group_by: str | None,
        search_threads: int,
        digest_corpus: bool,
        backend: str,
        level: str | None,
        candidates: int,
    ):
        self._candidates = candidates
        self._digest_corpus, self._level = digest_corpus, level
        self._configuration = configuration
        self._keep_fields = keep_fields
        self._group_by = group_by
        self._search_threads, self._backend = search_threads, backend
        self._shared_model = Shared()
        self._shared = Shared()  # made here, so that all instances in a process share one search
        self._documents = Metrics.counter("dxbeam", "documents")
        self._tokens = Metrics.counter("dxbeam", "tokens")
        self._rejected = Metrics.counter("dxbeam", "rejected")

    def setup(self) -> None:
        faiss.omp_set_num_threads(self._search_threads)
        threadpoolctl.threadpool_limits(self._search_threads)
        self._sanitizer: Sanitizer | None = None
        self._progress = Progress()

    def start_bundle(self) -> None:
        self._batches: dict[float, _Waiting] = {}  # by epsilon
        self._in_order: deque[_Ticket] = deque()  # of all of them, as the rows came
        self._characters = 0  # of their texts
        self._tags = NO_TAGS

    def process(
        self,
        row: Any,
        secret_key: bytes | KeptKey,
        handle: VocabularyHandle,
        repeated: Mapping[str, bool],
        model: LanguageModelHandle | None,
        given: Any = beam.DoFn.WindowedValueParam,
    ) -> Iterable[Any]:
        own_id = id_as_text(row_field(row, "id"))
        reason = id_problem(own_id) or text_problem(row_field(row, "text"))
        if reason is None and own_id in repeated:
            reason = REPEATED_ID
        level, levels = _level_of(row, self._level), self._configuration.epsilon_by
        if reason is None and levels and levels.epsilon_of(level) is None:
            reason = levels.problem
        if reason is not None:
            self._rejected.inc()
            return [pvalue.TaggedOutput(REJECTED, Rejected(printable_id(own_id), reason))]
        group = str(getattr(row, self._group_by)) if self._group_by else ""
        kept = {name: getattr(row, name) for name in self._keep_fields}
        batch = self._batch_of(level, secret_key, handle, model)
        ticket = _Ticket(_Origin(given.with_value(None), group, kept), len(row.text))
        batch.tickets.append(ticket)
        self._in_order.append(ticket)
        self._characters += ticket.characters
        key = batch.words.add(Document(own_id, row.text))
        if self._digest_corpus:
            self._tags = add_tags(self._tags, document_tag(key))
        self._settle(batch.words.take(), batch.tickets)
        if self._characters > _MOST_CHARACTERS and len(self._batches) > 1:
            self._settle_all()  # a rare level would hold the others back
        return self._emit() if self._in_order and self._in_order[0].result else ()

    def finish_bundle(self) -> Iterator[Any]:
        self._settle_all()
        yield from self._emit()
        if self._digest_corpus:
            yield pvalue.TaggedOutput(_TAGS, GlobalWindows.windowed_value(self._tags))

    def _batch_of(
        self,
        level: str,
        secret_key: bytes | KeptKey,
        handle: VocabularyHandle,
        model: LanguageModelHandle | None,
    ) -> _Waiting:
        """Where rows of a level wait; each epsilon has a separate sanitizer."""
        if self._sanitizer is None:
            search = self._open(handle)
            opened = self._open_model(model, search) if model else None
            key = secret_key.read() if isinstance(secret_key, KeptKey) else secret_key
            self._sanitizer = Sanitizer(search, self._configuration, key, opened, self._candidates)
        sanitizer = self._sanitizer.at_level(level)
        assert sanitizer is not None
        epsilon = sanitizer.configuration.mechanism.epsilon
        if epsilon not in self._batches:
            self._batches[epsilon] = _Waiting(Batch(sanitizer), deque())
        return self._batches[epsilon]

    def _open(self, handle: VocabularyHandle) -> NeighborSearch:
        """A search in the vocabulary, which is opened once per process."""

        def search() -> NeighborSearch:
            _LOG.info("process %d opens a vocabulary of %s words", os.getpid(), f"{handle.words:,}")
            vocabulary = artifact.open_vocabulary(handle)
            for remark in remarks(vocabulary):
                _LOG.warning("%s", remark)
            return NeighborSearch(vocabulary, self._search_threads, self._backend)

        shared: NeighborSearch = self._shared.acquire(search, tag=handle.digest)
        return shared

    def _open_model(self, handle: LanguageModelHandle, search: NeighborSearch) -> LanguageModel:
        """The language model, which is opened once per process."""

        def model() -> LanguageModel:
            _LOG.info("process %d opens a language model of order %d", os.getpid(), handle.order)
            return open_language_model(handle, search.vocabulary)

        shared: LanguageModel = self._shared_model.acquire(model, tag=handle.digest)
        return shared

    def _settle(self, results: Sequence[Sanitized], tickets: deque[_Ticket]) -> None:
        """Notes what became of the first rows of a batch."""
        if not results:
            return
        tokens = sum(result.tally.tokens for result in results)
        self._documents.inc(len(results))
        self._tokens.inc(tokens)
        self._progress.count(documents=len(results), words=tokens)
        for result in results:
            tickets.popleft().result = result

    def _settle_all(self) -> None:
        for batch in self._batches.values():
            self._settle(batch.words.finish(), batch.tickets)

    def _emit(self) -> Iterator[Any]:
        """Hands on the rows that are ready, in the order in which they came.

        Which row is of which level, and when a batch was full, does not show in the order.
        """
        while self._in_order and self._in_order[0].result:
            ticket = self._in_order.popleft()
            self._characters -= ticket.characters
            assert ticket.result is not None
            document, tally, candidates, _ = ticket.result
            assert document is not None
            origin, shown = ticket.origin, {CANDIDATES: candidates} if self._candidates else {}
            released = beam.Row(id=document.id, text=document.text, **origin.kept, **shown)
            yield origin.where.with_value(released)
            yield pvalue.TaggedOutput(TALLIES, origin.where.with_value((origin.group, tally)))
