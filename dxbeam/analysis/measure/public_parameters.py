"""What is public of words, as parameters of a mechanism in --mechanisms.

    santext:base=frequency:base_exponent=0.5    --base and --base_exponent of dxbeam sanitize
    santext:constant_scan=scan.json             --constant exact, with this scan
    laplace:decode=context                      --decode context --language_model DIR
    fluent                                      --mechanism fluent --language_model DIR

So one table holds a mechanism with and without them. The weights of --importance are a flag for
all, and are in a table's column of parameters in the same way; so is the language model.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from dxbeam.errors import ConfigurationError
from dxbeam.language.artifact import language_model_handle
from dxbeam.mechanisms.constants.exact_constant import ExactConstant
from dxbeam.mechanisms.public.public_model import PublicModel, public_model
from dxbeam.text.decoding.decoder import CONTEXT, Decoder, decoder_of
from dxbeam.text.public.base_file import read_base
from dxbeam.text.public.constant_file import read_constant

BASE, EXPONENT, SCAN, IMPORTANCE = "base", "base_exponent", "constant_scan", "importance"
DECODE, LOSS, MODEL = "decode", "decode_loss", "language_model"
_FLAGS = {  # in the order in which a column holds them
    BASE: "--base",
    EXPONENT: "--base_exponent",
    SCAN: "--constant exact --constant_scan",
    DECODE: "--decode",
    LOSS: "--decode_loss",
    MODEL: "--language_model",
    IMPORTANCE: "--importance",
}
_ARGUMENTS = {SCAN: "constant", MODEL: "model"}


@dataclass(frozen=True)
class Known:
    """What a parameter names, and how it was named.

    Attributes:
      source: as it was written.
      value: a base measure, a constant, or None where another parameter holds what it says.
    """

    source: str
    value: Any

    def __str__(self) -> str:
        return self.source


Value = str | Known
"""Of a parameter."""

Mechanism = tuple[str, Iterable[tuple[str, Value]]]
"""A mechanism's name and its parameters other than epsilon."""


class Reading(NamedTuple):
    """A language model that a setting reads texts with.

    Attributes:
      model: which.
      decoder: how drawn noise is read; None for a mechanism that reads released words.
    """

    model: PublicModel
    decoder: Decoder | None = None

    @property
    def together(self) -> bool:
        """Whether a released word depends on those around it."""
        return self.decoder is None or self.decoder.kind == CONTEXT


class Written(NamedTuple):
    """A table's column of parameters, taken apart.

    Attributes:
      parameters: as --parameters takes them.
      flags: further flags of dxbeam sanitize, with their values.
    """

    parameters: str
    flags: str


def read(parameters: dict[str, str]) -> dict[str, Value]:
    """The parameters of a mechanism, those that are public knowledge read.

    Raises:
      ConfigurationError: a file cannot be read, or an exponent without a base measure.
    """
    known: dict[str, Value] = dict(parameters)
    if EXPONENT in known and BASE not in known:
        raise ConfigurationError("`mechanisms`: base_exponent goes with base; leave it out")
    if BASE in parameters:
        exponent = parameters.get(EXPONENT, "1")
        try:
            number = float(exponent)
        except ValueError:
            raise ConfigurationError(
                f"`mechanisms`: base_exponent must be a number, not {exponent}"
            ) from None
        known[BASE] = Known(parameters[BASE], read_base(parameters[BASE], number))
        if EXPONENT in parameters:
            known[EXPONENT] = Known(exponent, None)
    if SCAN in parameters:
        known[SCAN] = Known(parameters[SCAN], read_constant(parameters[SCAN]))
    return known


def named_model(uri: str | None) -> Known | None:
    """The language model that a flag names, if it names one.

    Raises:
      DxbeamError: it cannot be opened.
    """
    return Known(uri, public_model(language_model_handle(uri))) if uri else None


def with_reading(
    name: str, parameters: dict[str, Value], language_model: Known | None
) -> dict[str, Value]:
    """The parameters of a mechanism, with what it reads texts with.

    Args:
      name: the mechanism's.
      parameters: as ``read`` gives them.
      language_model: how it was named, and which it is; None for none.

    Raises:
      ConfigurationError: there is no such decoder, or no language model for it.
    """
    known = dict(parameters)
    if MODEL in known:
        raise ConfigurationError(f"`mechanisms`: {MODEL} has a separate flag, `{MODEL}`")
    decode, loss = (None if name not in known else str(known[name]) for name in (DECODE, LOSS))
    decoder = decoder_of(decode, loss)
    if decoder is None:
        known.pop(DECODE, None)
        if name == "fluent" and language_model is not None:
            known[MODEL] = language_model
        return known
    if language_model is None:
        raise ConfigurationError(
            f"decode={decoder.kind} reads with a public language model; name it with "
            "`language_model`, or leave decode out"
        )
    known[DECODE] = Known(decoder.kind, Reading(language_model.value, decoder))
    known.update({LOSS: Known(loss, None)} if loss else {})
    return {**known, MODEL: Known(language_model.source, None)}


def reading_of(parameters: Iterable[tuple[str, Value]]) -> Reading | None:
    """What a mechanism reads texts with; None for one that is measured word by word."""
    for name, value in parameters:
        if isinstance(value, Known) and isinstance(value.value, Reading):
            return value.value
        if name == MODEL and isinstance(value, Known) and value.value is not None:
            return Reading(value.value)
    return None


def reads_together(mechanisms: Iterable[Mechanism]) -> bool:
    """Whether one of these releases words that depend on those around them."""
    readings = [reading_of(parameters) for _, parameters in mechanisms]
    return any(reading and reading.together for reading in readings)


def check_readings(
    mechanisms: Iterable[Mechanism],
    language_model: Known | None,
    *,
    texts: bool,
    where: str,
) -> None:
    """Refuses a language model of no use, and words that are read together but come without texts.

    Args:
      mechanisms: each with its parameters.
      language_model: what was named.
      texts: whether there are texts to measure on.
      where: what to do where there are none and some are needed.

    Raises:
      ConfigurationError: says which.
    """
    readings = [(name, reading_of(parameters)) for name, parameters in mechanisms]
    if language_model is not None and not any(reading for _, reading in readings):
        raise ConfigurationError(
            "`language_model` is read by fluent and by decoders (prior, context); name one of "
            "them, or leave `language_model` out"
        )
    for name, reading in readings:
        if reading and reading.together and not texts:
            how = f" with decode={reading.decoder.kind}" if reading.decoder else ""
            raise ConfigurationError(
                f"{name}{how} releases words that depend on those around them, so it is measured "
                f"on texts; {where}"
            )


def arguments(parameters: Iterable[tuple[str, Value]]) -> dict[str, Any]:
    """What ``make_mechanism`` takes."""
    values: dict[str, Any] = {}
    for name, value in parameters:
        if not isinstance(value, Known):
            values[name] = value
        elif value.value is not None and name != DECODE:
            values[_ARGUMENTS.get(name, name)] = value.value
    return values


def epsilons_of(
    parameters: Iterable[tuple[str, Value]], wanted: tuple[float, ...] | None
) -> tuple[float, ...] | None:
    """At which epsilons a mechanism is measured: with a scan those that it solved for.

    Args:
      parameters: of the mechanism.
      wanted: the same for all mechanisms; None where each has separate epsilons.

    Raises:
      ConfigurationError: the scan solved for none of those that are asked for.
    """
    constant = arguments(parameters).get("constant")
    if not isinstance(constant, ExactConstant):
        return wanted
    solved = tuple(epsilon for epsilon, _ in constant.levels)
    if wanted is None:
        return solved
    both = tuple(epsilon for epsilon in wanted if epsilon in solved)
    if not both:
        raise ConfigurationError(
            f"`epsilons`: the scan of `mechanisms` solved for "
            f"{', '.join(f'{epsilon:g}' for epsilon in solved)}, and for none of these"
        )
    return both


def written(parameters: Iterable[tuple[str, Value]], importance: str = "") -> str:
    """The column of a table: parameters as --parameters takes them, public knowledge last."""
    pairs = sorted(parameters, key=lambda pair: (pair[0] in _FLAGS, pair[0]))
    parts = [f"{name}={value}" for name, value in pairs]
    return ",".join([*parts, *([f"{IMPORTANCE}={importance}"] if importance else [])])


def taken_apart(text: str) -> Written:
    """What ``written`` wrote, as flags; a source may hold a comma only where it is the last."""
    flags: list[str] = []
    for name in reversed(_FLAGS):
        text, here, source = f",{text}".rpartition(f",{name}=")
        if here:
            flags.insert(0, f"{_FLAGS[name]} {shlex.quote(source)}")
        else:
            text = source
        text = text.removeprefix(",")
    return Written(text, " ".join(flags))
