"""The language model that a mechanism reads, from plain values; for the command line and YAML."""

from __future__ import annotations

import dataclasses

from dxbeam.errors import ConfigurationError
from dxbeam.language.artifact import language_model_handle
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.mechanisms import MECHANISMS


def reads_model(mechanism: str) -> bool:
    """Whether the mechanism of this name has a language model as a parameter."""
    made = MECHANISMS.get(mechanism)
    if made is None:
        return False
    return any(field.name == "model" for field in dataclasses.fields(made))  # type: ignore[arg-type]


def model_of_mechanism(mechanism: str, language_model: str | None) -> LanguageModelHandle | None:
    """The handle of the model that a mechanism reads; None for one that reads none.

    Args:
      mechanism: its name.
      language_model: where the model is stored, or None.

    Raises:
      ConfigurationError: the mechanism reads a model, and none is given.
      ArtifactError: there is no such model.
    """
    if not reads_model(mechanism):
        return None
    if language_model is None:
        raise ConfigurationError(
            f"`mechanism` {mechanism} needs a `language_model`: what dxbeam build-language-model "
            "wrote, or demo with the demo vocabulary"
        )
    return language_model_handle(language_model)
