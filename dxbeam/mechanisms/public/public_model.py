"""A public language model as a parameter of a mechanism, opened where it is needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dxbeam.errors import ConfigurationError, described
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.language.model import LanguageModel
from dxbeam.space.vocabulary.words import Vocabulary


@dataclass(frozen=True)
class PublicModel:
    """Which language model a mechanism reads.

    Attributes:
      order: 2 or 3.
      sha256: names the model's content.
      source: the model, or the handle by which each process opens it; None for a record, from which
        a guarantee can be computed but nothing released.

    Raises:
      ConfigurationError: the digest is not that of the source.
    """

    order: int
    sha256: str
    source: LanguageModel | LanguageModelHandle | None = field(
        default=None, compare=False, repr=False
    )

    def __post_init__(self) -> None:
        if self.source is not None and self.source.digest != self.sha256:
            raise ConfigurationError(
                "a public model is named by the digest of another model than its source; noise is "
                "keyed by it, so give the source's own"
            )

    def __getstate__(self) -> dict[str, Any]:
        """What another process gets: the handle of an opened model, by which it opens its own."""
        return {**self.__dict__, "source": self.travelling()}

    def travelling(self) -> LanguageModelHandle | None:
        """The source as another process gets it.

        Raises:
          ConfigurationError: the model is in no file.
        """
        if not isinstance(self.source, LanguageModel):
            return self.source
        if self.source.handle is None:
            raise ConfigurationError(
                "`mechanism` fluent: workers cannot open this language model, which is in the "
                "memory of this process only; write it with dxbeam build-language-model and pass "
                "what dxbeam.open_language_model returns"
            )
        return self.source.handle

    def opened(self, vocabulary: Vocabulary) -> LanguageModel:
        """The model.

        Raises:
          ConfigurationError: it was made for another vocabulary, or is only named.
          ArtifactError: it cannot be opened.
        """
        if isinstance(self.source, LanguageModelHandle):
            from dxbeam.language.artifact import open_language_model  # pyarrow is slow to import

            return open_language_model(self.source, vocabulary)
        if self.source is None:
            raise ConfigurationError(
                "this language model is only named by its digest; open it with "
                "dxbeam.open_language_model"
            )
        if self.source.vocabulary != vocabulary.content_digest:
            raise ConfigurationError(
                "the language model was made for another vocabulary; build one for this one"
            )
        return self.source

    def as_dict(self) -> dict[str, Any]:
        """What names it, ready for JSON; it enters the digest that keys the noise."""
        return {"order": self.order, "sha256": self.sha256}


def public_model(model: object) -> PublicModel | None:
    """A model, or its handle, as a parameter; anything else but None is a ConfigurationError."""
    if model is None or isinstance(model, PublicModel):
        return model
    if isinstance(model, (LanguageModel, LanguageModelHandle)):
        return PublicModel(model.order, model.digest, model)
    raise ConfigurationError(
        "model is a language model, from dxbeam.language, its handle, or None, and this is "
        f"{described(model)}"
    )
