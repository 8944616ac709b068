"""TextSanitizer: the Sanitizer with scikit-learn's ``fit`` and ``transform``.

It learns nothing of the texts: ``fit`` opens the public vocabulary. Every call of ``transform``
draws new noise, so each is a separate release of its texts, and their epsilons add up. Sanitize
before cross-validation, and not in each of its folds, or give a Pipeline ``memory``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError, CorpusError, described
from dxbeam.language.artifact import open_language_model
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.text.sanitizer import Sanitizer

try:
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError:
    raise ImportError(
        "dxbeam.scikit_learn needs scikit-learn; install it with: pip install 'dxbeam[evaluate]'"
    ) from None


class TextSanitizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Replaces every word of texts by a differentially private one.

    Args:
      vocabulary: URI of a vocabulary artifact, or ``"demo"``; or an open Vocabulary.
      configuration: a Configuration or a mechanism; None for Laplace at epsilon 10.
      language_model: URI of the language model that the configuration reads, or ``"demo"``, or an
        open LanguageModel; None where it reads none.
    """

    def __init__(
        self, vocabulary: Any = "demo", configuration: Any = None, language_model: Any = None
    ):
        self.vocabulary = vocabulary
        self.configuration = configuration
        self.language_model = language_model

    def fit(self, X: Any = None, y: Any = None) -> TextSanitizer:  # noqa: ARG002, N803
        """Opens the vocabulary and the language model; the texts are not looked at.

        Raises:
          DxbeamError: they cannot be opened, or settings that are refused.
        """
        vocabulary, model = self.vocabulary, self.language_model
        if isinstance(vocabulary, str):
            vocabulary = open_vocabulary(vocabulary)
        if isinstance(model, str):
            model = open_language_model(model, vocabulary)
        settings = Laplace(10.0) if self.configuration is None else self.configuration
        self.sanitizer_ = Sanitizer(vocabulary, settings, language_model=model)
        return self

    def transform(self, X: Iterable[str | Document]) -> list[str]:  # noqa: N803
        """A released text for each text, in order, with new noise.

        Args:
          X: texts, such as a list or one column of a data frame.

        Raises:
          ConfigurationError: this is no column of texts.
          CorpusError: a text that cannot be used; it names its place.
        """
        if hasattr(X, "columns"):
            raise ConfigurationError(
                f"TextSanitizer takes one column of texts, and this is {described(X)}; choose a "
                "column, such as frame['text']"
            )
        if not hasattr(self, "sanitizer_"):
            self.fit()
        texts = []
        for number, result in enumerate(self.sanitizer_.sanitize(X), 1):
            if result.rejected:
                raise CorpusError(f"text {number} cannot be sanitized: {result.rejected.reason}")
            assert result.document
            texts.append(result.document.text)
        return texts

    def __getstate__(self) -> dict[str, Any]:
        """Without the open sanitizer, which holds a secret key; the copy draws a new one."""
        return {k: v for k, v in super().__getstate__().items() if k != "sanitizer_"}

    def __sklearn_is_fitted__(self) -> bool:
        """Whether it may transform: always, as it learns nothing."""
        return True
