"""Beam's pipeline options, which parse the flags once and not a thousand times.

Beam asks the options of a pipeline for a view of themselves some 950 times while it builds, checks
and starts a release, and every view makes a parser and parses the whole command line: 0.3 s.
"""

from __future__ import annotations

from typing import Any, TypeVar

from apache_beam.options.pipeline_options import PipelineOptions

View = TypeVar("View", bound=PipelineOptions)

_VIEWS = "_views"


class RunOptions(PipelineOptions):
    """The options of a run; each view is made once. All views share their values anyway."""

    def view_as(self, cls: type[View]) -> View:
        """The options as those of this class."""
        views: dict[type[PipelineOptions], Any] = self.__dict__.setdefault(_VIEWS, {})
        if cls not in views:
            views[cls] = super().view_as(cls)
        view: View = views[cls]
        return view

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != _VIEWS}
