"""What every page has, whatever it is about; the templates fill in the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from dxbeam.analysis.measure.tables import Row


@dataclass(frozen=True)
class Page:
    """Head and foot of a page.

    Attributes:
      title: in the window's bar.
      heading: what the page is about.
      command: by which it was made; "" where the page does not say.
      script: whether it has a script of its own; no page may load anything.
    """

    title: str
    heading: str
    command: str = ""
    script: bool = False


@dataclass(frozen=True)
class Figure:
    """A picture.

    Attributes:
      title: above it.
      svg: the picture.
      alt: what it shows, in words: for screen readers, and below it.
      rows: of the table behind it.
    """

    title: str
    svg: Markup
    alt: str
    rows: Sequence[Row] = ()
