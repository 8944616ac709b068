"""What all pages of measurements are made of."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dxbeam.analysis.measure.public_parameters import taken_apart
from dxbeam.analysis.measure.tables import Row
from dxbeam.analysis.pages.model import Figure, Page
from dxbeam.space.artifact.artifact import VocabularyHandle

REPORT = "report.html"


class Heading(NamedTuple):
    """What is known before anything is measured.

    Attributes:
      vocabulary: its ``name``, ``words`` and ``dimensions``.
      corpus: the files whose words were measured; "" for words of the vocabulary.
      command: by which it is measured.
    """

    vocabulary: dict[str, Any]
    corpus: str
    command: str


def heading(
    name: str, vocabulary: VocabularyHandle, corpus: str | None, command: Sequence[str]
) -> Heading:
    """What a page begins with.

    Args:
      name: the vocabulary as it was given.
      vocabulary: its handle.
      corpus: the files whose words are measured, if any are.
      command: its name and arguments, after "dxbeam".
    """
    described = {"name": name, "words": vocabulary.words, "dimensions": vocabulary.dimensions}
    return Heading(described, corpus or "", shlex.join(["dxbeam", *command]))


def render(template: str, page: Page, **values: Any) -> str:
    """A page from a template of this folder."""
    environment = Environment(
        loader=PackageLoader("dxbeam", "analysis/pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    version = metadata.version("dxbeam")
    return environment.get_template(template).render(page=page, version=version, **values)


def figure(title: str, svg: str, alternative: str, rows: Sequence[Row] = ()) -> Figure:
    """A picture, what it shows in words, and the rows behind it."""
    return Figure(title, Markup(svg), alternative, rows)


def pictured(
    title: str, picture: tuple[Callable[..., str], Callable[..., str]], *values: Any
) -> Figure:
    """A picture of some values by the two functions that draw it and say what it shows."""
    draw, in_words = picture
    return figure(title, draw(*values), in_words(*values))


def flags(row: Row, vocabulary: str) -> str:
    """The flags of dxbeam sanitize that choose the setting of a row of a table."""
    chosen = (
        f"--vocabulary {shlex.quote(vocabulary)} --mechanism {row['mechanism']} "
        f"--epsilon {row['epsilon']:.12g}"
    )
    further = taken_apart(row["parameters"])
    if further.parameters:
        chosen += f" --parameters {further.parameters}"
    if further.flags:
        chosen += f" {further.flags}"
    return chosen if row["rank_c"] is None else f"{chosen} --rank_c {row['rank_c']:.12g}"
