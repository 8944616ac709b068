"""The page of a preview: one HTML file that asks nobody for anything."""

from __future__ import annotations

import html
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from dxbeam.analysis.measure.settings import Named
from dxbeam.analysis.pages import page as pages
from dxbeam.analysis.pages.model import Page
from dxbeam.analysis.preview.model import page_model
from dxbeam.analysis.preview.packing import packed
from dxbeam.analysis.preview.sample import Sample
from dxbeam.errors import ConfigurationError
from dxbeam.language.model import LanguageModel
from dxbeam.space.search.neighbors import NeighborSearch

LARGEST = 2_000_000
"""Bytes that a page may have."""

TEMPLATE = "preview.html.jinja"

_PAGE = Page(
    "Preview: what a release of this text would be",
    "What a release of this text would be",
    script=True,
)

_HEIGHT = 900  # pixels in a notebook


@dataclass(frozen=True, repr=False)
class Preview:
    """A page that shows a text under every epsilon. It holds the raw text.

    Attributes:
      html: the page.
    """

    html: str

    def __repr__(self) -> str:
        return f"<Preview: a page of {len(self.html.encode()):,} bytes that holds raw text>"

    def _repr_html_(self) -> str:
        """The page in a frame, as notebooks show it."""
        return (
            f'<iframe title="Preview of a release" srcdoc="{html.escape(self.html)}" width="100%" '
            f'height="{_HEIGHT}" style="border: 0" sandbox="allow-scripts"></iframe>'
        )


@dataclass(frozen=True)
class Places:
    """What the command line on the page names.

    Attributes:
      vocabulary: as it was given.
      language_model: as it was given, or "".
      corpus: flags that name the corpus, for a shell.
    """

    vocabulary: str
    language_model: str = ""
    corpus: str = "--input …"


def page(
    sample: Sample,
    mechanisms: Sequence[Named],
    search: NeighborSearch,
    model: LanguageModel | None,
    places: Places,
    keys: list[bytes] | None = None,
) -> Preview:
    """Draws and renders.

    Args:
      sample: the words.
      mechanisms: names and parameters.
      search: the vocabulary.
      model: a public language model, or None.
      places: what the command line on the page names.
      keys: of the draws, for tests; by default new ones that nobody keeps.

    Raises:
      ConfigurationError: a mechanism that cannot be shown, or more than a page can hold.
    """
    data = {
        **page_model(sample, mechanisms, search, model, keys),
        "flags": f"{places.corpus} --vocabulary {shlex.quote(places.vocabulary)}",
        "language_model": shlex.quote(places.language_model),
    }
    shown = {
        "vocabulary": places.vocabulary,
        "vocabulary_words": len(search.vocabulary),
        "remark": sample.remark,
        "rare": _rare(places.language_model if model is not None else ""),
        "original": _original(sample),
    }
    document = pages.render(TEMPLATE, _PAGE, preview=shown, data=packed(data))
    if len(document.encode()) > LARGEST:
        raise ConfigurationError(
            f"`mechanisms`: the page would have more than {LARGEST:,} bytes; name fewer, or show a "
            "shorter text"
        )
    return Preview(document)


def _rare(model: str) -> str:
    source = f"the language model {model}" if model else "their order in the vocabulary, 1 / rank"
    return f"Words are rare below 1 in 10,000, by {source}."


def _original(sample: Sample) -> str:
    pairs = zip(sample.gaps, [*sample.words, ""], strict=True)
    return "".join(gap + word for gap, word in pairs)
