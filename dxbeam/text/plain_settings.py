"""Plain values, as flags, YAML and notebooks have them -> a mechanism or a Configuration."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

from dxbeam.errors import ConfigurationError
from dxbeam.language.artifact import language_model_handle
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.mechanisms import MECHANISMS, Mechanism, check_public, make_mechanism, parse_parameters
from dxbeam.mechanisms.constants.exact_constant import CONSTANTS, EXACT, WORST_CASE
from dxbeam.mechanisms.parameters import checked_choice
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.text.bag_of_words import BagOfWords, read_stop_words
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import decoder_of
from dxbeam.text.detection.detector import NONE, detector_of
from dxbeam.text.epsilon_by_field import parse_epsilon_by
from dxbeam.text.public.base_file import read_base
from dxbeam.text.public.constant_file import read_constant
from dxbeam.text.public.importance_file import read_importance
from dxbeam.text.truecase import Truecase
from dxbeam.text.word_rule import word_rule_of

_WITH_SETTINGS = ("epsilon", "importance", "base", "constant")
"""Parameters of mechanisms that are settings by themselves, and so not among ``parameters``."""


def configuration_of(
    mechanism: str = "laplace",
    epsilon: float | None = None,
    parameters: str = "",
    *,
    epsilon_by: str | None = None,
    importance: str | None = None,
    base: str | None = None,
    base_exponent: float | None = None,
    constant: str = WORST_CASE,
    constant_scan: str | None = None,
    language_model: str | None = None,
    rank_c: float | None = None,
    unknown_words: str = "noise",
    bag_of_words: int | None = None,
    stop_words: str | None = None,
    allow_unsound: bool = False,
    decode: str | None = None,
    decode_loss: str | None = None,
    truecase: bool = False,
    tokenization: str | int | None = None,
    segmenter: str = "none",
    detect: str = NONE,
    detect_model: str | None = None,
) -> Configuration:
    """The configuration that plain values stand for: those of the flags of dxbeam sanitize.

    Args:
      mechanism: its name, a key of MECHANISMS.
      epsilon: privacy loss per unit of distance; needed without ``epsilon_by``.
      parameters: further parameters of the mechanism, as ``"delta=1e-6,distance=5"``.
      epsilon_by: an epsilon for each document by a public field, as ``"consent:low=5,high=10"``.
      importance: public weights of words, a file or a name such as ``"stop_words"``.
      base: public base measure, a file or ``"frequency"``.
      base_exponent: the power to which it is raised; None for 1.
      constant: ``"worst_case"``, or ``"exact"`` for the constant of this vocabulary.
      constant_scan: with exact, the file that dxbeam scan-constant wrote.
      language_model: URI of the language model that ``fluent`` reads, or ``"demo"``.
      rank_c: decay of rank resampling; None for none.
      unknown_words: what becomes of words outside the vocabulary, a key of UNKNOWN_WORDS.
      bag_of_words: the length of released bags; None keeps all words in order.
      stop_words: with a bag, the list that is left out: a file, ``"english"`` or ``"none"``.
      allow_unsound: consent to settings that guarantee nothing, or leave words unprotected.
      decode: how drawn noise is read: ``"nearest"``, ``"prior"`` or ``"context"``.
      decode_loss: which word a decoder releases: ``"word"`` or ``"distance"``.
      truecase: whether to put capitals into released texts as public text has them.
      tokenization: 1 or 2, which punctuation divides words; None for the segmenter's.
      segmenter: how scripts without spaces are cut, a key of SEGMENTERS.
      detect: ``"none"``, or ``"presidio"`` for typed placeholders of what it recognises.
      detect_model: a spaCy model that recognises more, an installed package or a folder.

    Raises:
      ConfigurationError: a value that does not exist, a file that cannot be read, values that do
        not go together, and what ``Configuration`` refuses.
    """
    levels = parse_epsilon_by(epsilon_by, epsilon) if epsilon_by else None
    drawing = mechanism_of(
        mechanism,
        levels.largest if levels else epsilon,
        parameters,
        importance=importance,
        base=base,
        base_exponent=base_exponent,
        constant=constant,
        constant_scan=constant_scan,
        language_model=language_model,
    )
    if stop_words and bag_of_words is None:
        raise ConfigurationError("`stop_words` is only of use with `bag_of_words`; leave it out")
    return Configuration(
        drawing,
        None if rank_c is None else RankResampling(rank_c),
        unknown_words,
        None
        if bag_of_words is None
        else BagOfWords(bag_of_words, read_stop_words(stop_words or "english")),
        allow_unsound=allow_unsound,
        epsilon_by=levels,
        decoder=decoder_of(decode, decode_loss),
        truecase=Truecase() if truecase else None,
        words=word_rule_of(tokenization, segmenter),
        detector=detector_of(detect, detect_model),
    )


PLAIN_SETTINGS = tuple(inspect.signature(configuration_of).parameters)
"""Names of all plain values that decide a configuration."""


def mechanism_of(
    mechanism: str,
    epsilon: float | None,
    parameters: str = "",
    *,
    importance: str | None = None,
    base: str | None = None,
    base_exponent: float | None = None,
    constant: str = WORST_CASE,
    constant_scan: str | None = None,
    language_model: str | None = None,
) -> Mechanism:
    """The mechanism that plain values stand for, see ``configuration_of``.

    Raises:
      ConfigurationError: a value that does not exist, a file that cannot be read, or values that do
        not go together.
    """
    further = parse_parameters(parameters)
    for name in _WITH_SETTINGS:
        if name in further:
            raise ConfigurationError(f"`parameters`: {name} has a separate flag, `{name}`")
    if base_exponent is not None and not base:
        raise ConfigurationError("`base_exponent` is only of use with `base`; leave it out")
    _check_constant(mechanism, constant, constant_scan)
    exponent = 1.0 if base_exponent is None else base_exponent
    return make_mechanism(
        mechanism,
        epsilon=epsilon,
        importance=read_importance(importance) if importance else None,
        base=read_base(base, exponent) if base else None,
        constant=read_constant(constant_scan) if constant_scan else None,
        model=_model_of(mechanism, language_model),
        **further,
    )


def _check_constant(mechanism: str, constant: str, scan: str | None) -> None:
    meaning = "whether epsilon is that of any vocabulary, or of the one that was scanned"
    exact = checked_choice("`constant`", constant, CONSTANTS, meaning) == EXACT
    if exact:
        check_public(mechanism, "constant")
    if exact and not scan:
        raise ConfigurationError(
            "`constant` exact needs `constant_scan`, the file that dxbeam scan-constant writes "
            "for this vocabulary and these settings; without it nobody knows the constant"
        )
    if scan and not exact:
        raise ConfigurationError("`constant_scan` is only of use with `constant` exact")


def reads_model(mechanism: str) -> bool:
    """Whether the mechanism of this name has a language model as a parameter."""
    kind: Any = MECHANISMS.get(mechanism)
    return kind is not None and any(field.name == "model" for field in dataclasses.fields(kind))


def _model_of(mechanism: str, language_model: str | None) -> LanguageModelHandle | None:
    """The handle of the model that a mechanism reads; None for one that reads none."""
    if not reads_model(mechanism):
        return None
    if language_model is None:
        raise ConfigurationError(
            f"`mechanism` {mechanism} needs a `language_model`: what dxbeam build-language-model "
            "wrote, or demo with the demo vocabulary"
        )
    return language_model_handle(language_model)
