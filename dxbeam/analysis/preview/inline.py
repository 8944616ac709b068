"""A preview in a notebook."""

from __future__ import annotations

from collections.abc import Sequence

from dxbeam.analysis.measure.settings import named_mechanisms
from dxbeam.analysis.preview.model import MECHANISMS
from dxbeam.analysis.preview.page import Places, Preview, page
from dxbeam.analysis.preview.sample import sample_of
from dxbeam.errors import ConfigurationError, described
from dxbeam.language.artifact import open_language_model
from dxbeam.language.model import LanguageModel
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary

_IN_MEMORY = "VOCABULARY"


def preview(
    text: str | Sequence[str],
    vocabulary: str | Vocabulary | NeighborSearch = "demo",
    mechanisms: str = MECHANISMS,
    language_model: str | LanguageModel | None = None,
) -> Preview:
    """Shows a text under every epsilon, with sliders; in a notebook as it is, else by ``html``.

    What is shown holds the raw text: keep a notebook that shows it with the corpus, and clear its
    output before you pass it on. Draws use new keys that nobody keeps.

    Args:
      text: a text; or several, of which some are drawn at random. 200 words are shown at most.
      vocabulary: its place, "demo", or what ``open_vocabulary`` returns.
      mechanisms: names and parameters, as dxbeam preview takes them.
      language_model: its place, "demo", or what ``open_language_model`` returns: a public model to
        decode with and to know how frequent words are; None for neither.

    Returns:
      the page: text of HTML in ``html``.

    Raises:
      ConfigurationError: no known word in the text, or a mechanism that cannot be shown.
      ArtifactError: there is no such vocabulary or language model.
    """
    texts = [text] if isinstance(text, str) else list(text)
    if not texts or not all(isinstance(each, str) for each in texts):
        raise ConfigurationError(
            f"preview takes a text, or several in a list, and this is {described(text)}"
        )
    name = vocabulary if isinstance(vocabulary, str) else _IN_MEMORY
    opened = open_vocabulary(vocabulary) if isinstance(vocabulary, str) else vocabulary
    search = opened if isinstance(opened, NeighborSearch) else NeighborSearch(opened)
    model, place = language_model, ""
    if isinstance(model, str):
        place, model = model, open_language_model(model, search.vocabulary)
    elif model is not None:
        place = "MODEL"
    sample = sample_of(texts, search.vocabulary)
    return page(sample, named_mechanisms(mechanisms), search, model, Places(name, place))
