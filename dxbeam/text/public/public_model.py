"""Which settings of a release use a public language model, and that they have it."""

from __future__ import annotations

from dataclasses import replace

from dxbeam.errors import ConfigurationError, check_type
from dxbeam.language.model import LanguageModel
from dxbeam.mechanisms import ReadsReleased
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.configuration import Configuration

NO_CAPITALS = (
    "`truecase` needs a `language_model` that knows capitals: one made of text, for a vocabulary "
    "in lower case"
)
"""Why a model is of no use for capitals."""


def with_model(configuration: Configuration, model: str | None, casings: bool) -> Configuration:
    """The configuration, its decoder and its truecase naming the model.

    Args:
      configuration: the settings.
      model: the model's digest; None where none is given.
      casings: whether the model knows capitals.

    Raises:
      ConfigurationError: a model is needed and missing, or given and of no use, or another than a
        setting names, or knows no capitals.
    """
    decoder, truecase = configuration.decoder, configuration.truecase
    mechanism = configuration.mechanism
    read = mechanism.model if isinstance(mechanism, ReadsReleased) else None
    if model is not None and read is not None and read.sha256 != model:
        raise ConfigurationError(
            f"`language_model` is not the one that `mechanism` {configuration.mechanism.name} reads"
        )
    if decoder is None and truecase is None:
        if model is not None and read is None:
            raise ConfigurationError(
                "`language_model` is of use with `decode` prior or context, with `truecase`, or "
                "with `mechanism` fluent only; leave it out"
            )
        return configuration
    if model is None:
        which = f"`decode` {decoder.kind}" if decoder else "`truecase`"
        raise ConfigurationError(
            f"{which} needs a `language_model`: what dxbeam build-language-model wrote, or demo "
            "with the demo vocabulary"
        )
    if truecase and not casings:
        raise ConfigurationError(NO_CAPITALS)
    for named, which in ((decoder, "the decoder"), (truecase, "`truecase`")):
        if named and named.model not in ("", model):
            raise ConfigurationError(
                f"`language_model` is not the one that {which} names by its digest"
            )
    return replace(
        configuration,
        decoder=decoder and replace(decoder, model=model),
        truecase=truecase and replace(truecase, model=model),
    )


def naming(
    configuration: Configuration, model: LanguageModel | None, vocabulary: Vocabulary
) -> Configuration:
    """The configuration, its decoder and its truecase naming an open model of this vocabulary."""
    if model is None:
        return with_model(configuration, None, casings=False)
    check_type(model, LanguageModel, "`language_model` is what dxbeam.open_language_model returns")
    if model.vocabulary != vocabulary.content_digest:
        raise ConfigurationError(
            "`language_model` was made for another vocabulary than `vocabulary`; build one for "
            "this vocabulary"
        )
    return with_model(configuration, model.digest, model.casings is not None)
