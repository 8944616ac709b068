"""What looks words up on a worker: a vocabulary and a language model, opened once per process."""

from __future__ import annotations

import apache_beam as beam
from apache_beam.utils.shared import Shared

from dxbeam.language.artifact import open_language_model
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.language.model import LanguageModel
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.vocabulary.words import Vocabulary


class WithVocabulary(beam.DoFn):
    """Opens a vocabulary and a language model of it, where there are handles.

    Args:
      vocabulary: the handle of the artifact, or None.
      language_model: the handle of a model of it, or None.
    """

    def __init__(
        self,
        vocabulary: VocabularyHandle | None,
        language_model: LanguageModelHandle | None = None,
    ):
        self._handle, self._model_handle = vocabulary, language_model
        # Made here, so that the threads of a process share one.
        self._shared, self._models = Shared(), Shared()

    def setup(self) -> None:
        """Opens both."""
        handle, model_handle = self._handle, self._model_handle
        self._vocabulary: Vocabulary | None = handle and self._shared.acquire(
            lambda: artifact.open_vocabulary(handle), tag=handle.digest
        )
        vocabulary = self._vocabulary
        self._model: LanguageModel | None = None
        if model_handle is not None and vocabulary is not None:
            self._model = self._models.acquire(
                lambda: open_language_model(model_handle, vocabulary), tag=model_handle.digest
            )
