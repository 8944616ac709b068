"""Parts of long documents -> sanitized parts -> the documents.

A part is sanitized wherever there is a free worker, and in whatever order. A retried part has the
same noise, as it depends on the document and the place in it, so it is sanitized to the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam import pvalue, typehints
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import Timestamp

from dxbeam.documents import Document
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.text.batch import Batch
from dxbeam.text.parts.divided import Part, add, joined
from dxbeam.text.tally import Tally
from dxbeam.transforms.sanitize_rows import TALLIES, SanitizeDoFn, Whole
from dxbeam.transforms.secret_key import KeptKey

_WHOLES, _TEXTS = "wholes", "texts"


class DocumentsOfParts(NamedTuple):
    """Documents that were put together, and their counts, as ``SanitizeDocuments`` returns them."""

    documents: pvalue.PCollection
    tallies: pvalue.PCollection


class SanitizeParts(beam.PTransform):
    """Sanitizes parts of documents and puts them together: (parts, wholes) -> DocumentsOfParts.

    ``sanitize`` divided the documents; ``inputs`` are key, vocabulary and language model, as it
    takes them.
    """

    def __init__(self, sanitize: SanitizeDoFn, inputs: tuple[Any, Any, Any], row_type: Any):
        super().__init__()
        self._sanitize, self._inputs, self._row_type = sanitize, inputs, row_type

    def expand(self, divided: tuple[pvalue.PCollection, pvalue.PCollection]) -> DocumentsOfParts:
        """Parts to all workers, then each document to one."""
        parts, wholes = divided
        texts = (
            parts
            | "ToAllWorkers" >> beam.Reshuffle()
            | "SanitizePart"
            >> beam.ParDo(_SanitizePart(self._sanitize), *self._inputs).with_output_types(
                typehints.Tuple[bytes, typehints.Tuple[int, str, Tally]]
            )
        )
        results = (
            {_WHOLES: wholes, _TEXTS: texts}
            | "OfOneDocument" >> beam.CoGroupByKey()
            | "Join"
            >> beam.ParDo(_Join(self._sanitize), *self._inputs).with_outputs(
                TALLIES, main="documents"
            )
        )
        results["documents"].element_type = self._row_type
        results[TALLIES].element_type = typehints.Tuple[str, Tally]
        return DocumentsOfParts(results["documents"], results[TALLIES])


class _OfParts(SanitizeDoFn):
    """Uses the search and the settings of the one that divided the documents."""

    def __init__(self, sanitize: SanitizeDoFn):
        self.__dict__.update(sanitize.__dict__)

    def finish_bundle(self) -> Iterator[Any]:
        """Nothing waits."""
        return iter(())


class _SanitizePart(_OfParts):
    def process(  # type: ignore[override]
        self,
        element: tuple[str, int, Part],
        secret_key: bytes | KeptKey,
        handle: VocabularyHandle,
        model: LanguageModelHandle | None,
    ) -> Iterator[tuple[bytes, tuple[int, str, Tally]]]:
        level, number, part = element
        batch = Batch(self._sanitizer_of(level, secret_key, handle, model))
        add(batch, part)
        [result] = batch.finish()
        assert result.document is not None
        self._tokens.inc(result.tally.tokens)
        self._progress.count(documents=0, words=result.tally.tokens)
        yield part.key, (number, result.document.text, result.tally)


class _Join(_OfParts):
    def process(  # type: ignore[override]
        self,
        element: tuple[bytes, dict[str, Iterable[Any]]],
        secret_key: bytes | KeptKey,
        handle: VocabularyHandle,
        model: LanguageModelHandle | None,
    ) -> Iterator[Any]:
        wholes: Iterable[Whole] = element[1][_WHOLES]
        parts = {number: (text, tally) for number, text, tally in element[1][_TEXTS]}
        for whole in wholes:
            assert sorted(parts) == list(range(1, whole.parts + 1)), "a part of a document is lost"
            sanitizer = self._sanitizer_of(whole.level, secret_key, handle, model)
            texts = [parts[number] for number in sorted(parts)]
            document, tally, *_ = joined(sanitizer, Document(whole.id, ""), texts)
            assert document is not None
            self._documents.inc()
            self._progress.count(documents=1, words=0)
            row = beam.Row(id=document.id, text=document.text, **whole.kept)
            time = Timestamp(micros=whole.micros)
            yield TimestampedValue(row, time)
            yield pvalue.TaggedOutput(TALLIES, TimestampedValue((whole.group, tally), time))
