"""RepairGrammar: a language model rewrites sanitized text, through Beam's RunInference.

It takes what SanitizeDocuments returns and nothing else: rows that anything else made are refused
when the pipeline is built, so raw text has no way to a model. Where SanitizeDocuments hands on
candidates, the model is given them too, and they go no further.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam import pvalue, typehints
from apache_beam.ml.inference.base import (
    KeyedModelHandler,
    ModelHandler,
    PredictionResult,
    RunInference,
)
from apache_beam.typehints.row_type import RowTypeConstraint

from dxbeam.documents import Rejected
from dxbeam.errors import ConfigurationError
from dxbeam.text.candidates import CANDIDATES, message
from dxbeam.text.chat_model import ChatError, PatientModel, usable
from dxbeam.text.repair import FAILURES, Repair
from dxbeam.transforms.reading.sources import REJECTED
from dxbeam.transforms.sanitize_rows import SanitizeDoFn, Unchanged

_OUTCOMES = "outcomes"
REPAIRED, BLANK, KEPT, WITHHELD = "repaired", "blank", "kept", "withheld"
"""What became of a document: rewritten; without a word to rewrite; failed and released as it was;
failed and not released."""

_FAILED = "failed"


class ChatCompletions(ModelHandler[str, PredictionResult, PatientModel]):
    """A model behind an OpenAI-compatible endpoint: str -> PredictionResult with a str.

    A request is repeated where that may help, and an endpoint that seems dead is asked no more. The
    API key is read on the worker and is no part of this object. (Beam's RemoteModelHandler would
    repeat without an end in sight, and log a trace each time.)

    Args:
      settings: which model.
    """

    def __init__(self, settings: Repair):
        super().__init__()
        self._settings = settings

    def load_model(self) -> PatientModel:
        """The model as this worker reaches it."""
        return PatientModel(self._settings)

    def run_inference(
        self, batch: Sequence[str], model: PatientModel, _: Any = None
    ) -> list[PredictionResult]:
        """Rewrites each text."""
        return [PredictionResult(text, model.answer(text), self._settings.model) for text in batch]

    def batch_elements_kwargs(self) -> dict[str, int]:
        """One text per request, so that one failure concerns one document."""
        return {"min_batch_size": 1, "max_batch_size": 1}


def text_of(prediction: Any) -> Any:
    """The rewritten text of a prediction: a PredictionResult's inference, or the prediction."""
    return prediction.inference if isinstance(prediction, PredictionResult) else prediction


class RepairedDocuments(NamedTuple):
    """What ``RepairGrammar`` returns.

    Attributes:
      documents: the same rows as came in, with the rewritten text.
      rejected: PCollection[Rejected], documents that were withheld.
      outcomes: PCollection[tuple[str, int]], how many documents were repaired, blank, kept,
        withheld; they add up to the documents that came in.
    """

    documents: pvalue.PCollection
    rejected: pvalue.PCollection
    outcomes: pvalue.PCollection


class RepairGrammar(beam.PTransform):
    """Rewrites the text of sanitized rows.

    Args:
      model: any ModelHandler that takes texts; it is given no id and no field.
      failures: "keep" releases a document that the model failed on as the mechanism left it;
        "reject" sends it to the dead letters.
      text_of: the text in a prediction, for handlers whose predictions are something else.

    Takes the ``documents`` of SanitizeDocuments and returns ``RepairedDocuments``.

    Raises:
      ConfigurationError: no such rule for failures.
      TypeError: when it is applied to anything but the output of SanitizeDocuments.
    """

    def __init__(
        self,
        model: ModelHandler,
        failures: str = "keep",
        text_of: Callable[[Any], Any] = text_of,
    ):
        super().__init__()
        if failures not in FAILURES:
            raise ConfigurationError(
                f"`repair_failures` is one of {', '.join(FAILURES)}, not {failures!r}"
            )
        self._model = model
        self._failures = failures
        self._text_of = text_of

    def expand(self, rows: pvalue.PCollection) -> RepairedDocuments:
        """Asks the model once per document, and gathers what failed."""
        if not _is_sanitized(rows):
            raise TypeError(
                "RepairGrammar takes the documents that SanitizeDocuments returns, as they come "
                "from it; these rows may hold raw text, which no model is given"
            )
        row_type = _without_candidates(rows.element_type)
        result_type = typehints.Tuple[str, str, row_type]
        texts = rows | "SkipBlank" >> beam.ParDo(_skip_blank).with_outputs(BLANK, main="to_rewrite")
        texts["to_rewrite"].element_type = typehints.Tuple[row_type, str]
        texts[BLANK].element_type = result_type
        answers, failures = (
            texts["to_rewrite"]
            | "Ask" >> RunInference(KeyedModelHandler(self._model)).with_exception_handling()
        )
        answered = answers | "Answer" >> beam.Map(_answer, self._text_of)
        unanswered = failures.failed_inferences | "NoAnswer" >> beam.FlatMap(_no_answer)
        answered.element_type = unanswered.element_type = result_type
        settled = (
            (texts[BLANK], answered, unanswered)
            | "All" >> beam.Flatten()
            # What the model said is settled here: nothing that fails later asks it again, and what
            # is counted is what is written.
            | "Settle" >> beam.Reshuffle()
        )
        results = settled | "Release" >> beam.ParDo(_release, self._failures).with_outputs(
            REJECTED, _OUTCOMES, main="documents"
        )
        results["documents"].element_type = row_type
        results[REJECTED].element_type = Rejected
        results[_OUTCOMES].element_type = str
        outcomes = results[_OUTCOMES] | "Count" >> beam.combiners.Count.PerElement()
        return RepairedDocuments(results["documents"], results[REJECTED], outcomes)


def _without_candidates(row_type: Any) -> Any:
    """The type of the rows that are released."""
    fields = dict(row_type._fields)
    if fields.pop(CANDIDATES, None) is None:
        return row_type
    return RowTypeConstraint.from_fields(list(fields.items()))


def _skip_blank(row: Any) -> Iterator[Any]:
    """Rows with a word, and what a model is asked of each; candidates go no further."""
    content = row._asdict()
    candidates = content.pop(CANDIDATES, None)
    released = row if candidates is None else beam.Row(**content)
    if not row.text.strip():
        yield pvalue.TaggedOutput(BLANK, (BLANK, "", released))
    elif candidates is None:
        yield released, row.text
    else:
        yield released, message(row.text, candidates)


def _answer(answered: tuple[Any, Any], text_of: Callable[[Any], Any]) -> tuple[str, str, Any]:
    row, prediction = answered
    try:
        text = usable(text_of(prediction))
    except ChatError as error:
        return _FAILED, error.reason, row
    return REPAIRED, "", beam.Row(**{**row._asdict(), "text": text})


def _no_answer(failed: tuple[Any, tuple[Any, ...]]) -> Iterator[tuple[str, str, Any]]:
    """Each document of a batch that failed: our own errors with their reason, others by name."""
    batch, (kind, _, trace) = failed
    is_our_own = isinstance(kind, type) and issubclass(kind, ChatError)
    reason = str(getattr(kind, "__name__", kind))
    if is_our_own:
        reason = trace[-1].partition(": ")[2].strip()
    for row, _ in batch:
        yield _FAILED, reason, row


def _release(result: tuple[str, str, Any], failures: str) -> Iterator[Any]:
    outcome, reason, row = result
    if outcome == _FAILED:
        outcome = WITHHELD if failures == "reject" else KEPT
    yield pvalue.TaggedOutput(_OUTCOMES, outcome)
    if outcome == WITHHELD:
        letter = Rejected(row.id, f"the language model did not repair this document: {reason}")
        yield pvalue.TaggedOutput(REJECTED, letter)
    else:
        yield row


def _is_sanitized(rows: pvalue.PCollection) -> bool:
    """Whether these are the documents of SanitizeDocuments, with no transform in between."""
    last = rows.producer
    if not isinstance(getattr(last.transform, "fn", None), Unchanged):
        return False
    [source] = last.inputs
    made_by = getattr(source.producer, "transform", None)
    return isinstance(getattr(made_by, "fn", None), SanitizeDoFn) and source.tag is None
