"""Beam's conventions for records that cannot be used, and its options that would quote records."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.options.pipeline_options import DebugOptions, PipelineOptions, TypeOptions
from apache_beam.transforms.error_handling import ErrorHandler

from dxbeam.errors import ConfigurationError

_NO_SAMPLES = "disable_always_on_exception_sampling"


def forbid_quoting(options: PipelineOptions) -> None:
    """Refuses options that put elements, which are raw text, into messages and samples.

    Dataflow samples the element at which a worker fails unless an experiment turns that off, so
    this adds the experiment to the options.

    Raises:
      ConfigurationError: such an option is set.
    """
    types, debug = options.view_as(TypeOptions), options.view_as(DebugOptions)
    if types.runtime_type_check or types.performance_runtime_type_check:
        raise ConfigurationError(
            "`runtime_type_check` quotes elements, which are raw text, in messages; leave it out"
        )
    kinds = ("data_sampling", "exception_sampling")
    experiments = [name for name in debug.experiments or [] if name != _NO_SAMPLES]
    sampling = [name for name in experiments if any(kind in name for kind in kinds)]
    if sampling:
        raise ConfigurationError(
            f"`experiments` {sampling[0]} shows elements, which are raw text, outside the job; "
            "leave it out"
        )
    debug.add_experiment(_NO_SAMPLES)


class WithExceptionHandling(beam.PTransform):
    """A transform that returns ``documents`` and ``rejected``, as Beam's own return good and bad.

    A rejected record is a row of where it was and the reason. Beam would hand on the record itself
    and the traceback, which hold the text. With an ``error_handler``, which takes the rejected
    records of several transforms, only the documents are returned.
    """

    def __init__(
        self,
        transform: beam.PTransform,
        main_tag: str = "good",
        dead_letter_tag: str = "bad",
        error_handler: ErrorHandler | None = None,
    ):
        super().__init__()
        if main_tag == dead_letter_tag:
            raise ConfigurationError(
                f"`main_tag` and `dead_letter_tag` are both {main_tag!r}; choose two names"
            )
        self._transform, self._error_handler = transform, error_handler
        self._outputs: Any = namedtuple("Outputs", (main_tag, dead_letter_tag))  # type: ignore[misc]

    def expand(self, rows: pvalue.PCollection) -> Any:
        """The documents and the rejected records, or with an error handler only the documents."""
        results = rows | self._transform
        if self._error_handler is None:
            return self._outputs(results.documents, results.rejected)
        self._error_handler.add_error_pcollection(results.rejected)
        return results.documents


def error_output(error_handling: Any, taken: str) -> str | None:
    """The name that ``error_handling: {output: NAME}`` of Beam YAML gives to rejected records.

    ``taken`` is the name of the other output.
    """
    if not error_handling:
        return None
    # Beam YAML adds where it read them, as __line__ and __uuid__.
    names = {name for name in error_handling if not name.startswith("__")}
    output = str(error_handling.get("output", ""))
    if names != {"output"} or not output or output == taken:
        raise ConfigurationError(
            "`error_handling` names the output for rejected records, as {output: errors}, and "
            f"nothing else; {taken!r} is the name of the others"
        )
    return output
