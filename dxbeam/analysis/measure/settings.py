"""Mechanisms with their parameters, as --mechanisms names them, and where they are measured."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dxbeam.analysis.measure.public_parameters import (
    DECODE,
    LOSS,
    Known,
    Reading,
    Value,
    arguments,
    epsilons_of,
    read,
    reading_of,
    with_reading,
    written,
)
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import MECHANISMS, Mechanism, make_mechanism
from dxbeam.mechanisms.public.importance import Importance
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.reader import why_not_decoded

Named = tuple[str, tuple[tuple[str, Value], ...]]
"""A mechanism's name and its parameters other than epsilon."""


class NamedWeights(NamedTuple):
    """Public weights of words, and how --importance names them.

    Attributes:
      source: a name, or a file.
      weights: what it names.
    """

    source: str
    weights: Importance


class Setting(NamedTuple):
    """A mechanism and the grid it is measured on.

    Attributes:
      mechanism: its name.
      parameters: its parameters other than epsilon, as (name, value).
      epsilons: in increasing order.
      rank_cs: of rank resampling; without it is always measured as well.
      importance: public weights of words, or None.
    """

    mechanism: str
    parameters: tuple[tuple[str, Value], ...]
    epsilons: tuple[float, ...]
    rank_cs: tuple[float, ...]
    importance: NamedWeights | None = None

    def make(self) -> Mechanism:
        """The mechanism at the first epsilon."""
        return make_named((self.mechanism, self.parameters), self.epsilons[0], self.importance)

    @property
    def reading(self) -> Reading | None:
        """What it reads texts with; None where words are released one by one."""
        return reading_of(self.parameters)

    def configuration(self) -> Configuration:
        """The settings of a release at the first epsilon; none asks for consent."""
        decoder = self.reading.decoder if self.reading else None
        return Configuration(self.make(), decoder=decoder, allow_unsound=True)

    @property
    def parameters_text(self) -> str:
        """The parameters as --parameters takes them, and what is public of words, last."""
        return written(self.parameters, self.importance.source if self.importance else "")


def make_named(
    named: Named, epsilon: float | None = None, importance: NamedWeights | None = None
) -> Mechanism:
    """A mechanism at an epsilon; by default at one that is defined in few dimensions.

    Raises:
      ConfigurationError: it does not take these parameters or weights, or not this epsilon.
    """
    name, parameters = named
    weights = None if importance is None else importance.weights
    if epsilon is None:
        [epsilon, *_] = epsilons_of(parameters, None) or (0.1,)
    return make_mechanism(name, epsilon=epsilon, importance=weights, **arguments(parameters))


def without_consent() -> tuple[str, ...]:
    """Names of the mechanisms that promise something for every word, and so need no consent."""
    return tuple(name for name in MECHANISMS if promises(name))


def decoding(decode: str | None, decode_loss: str | None) -> dict[str, str]:
    """The flags of a decoder, as parameters of mechanisms; without those that are None."""
    flags = ((DECODE, decode), (LOSS, decode_loss))
    return {name: value for name, value in flags if value is not None}


def decodable() -> tuple[str, ...]:
    """Names of the mechanisms whose draws can be decoded."""
    return tuple(name for name in MECHANISMS if not why_not_decoded(make_named((name, ()))))


def promises(name: str, parameters: Sequence[tuple[str, Value]] = ()) -> bool:
    """Whether a mechanism promises something for every word.

    Args:
      name: the mechanism's.
      parameters: its parameters other than epsilon.
    """
    guarantee = make_named((name, tuple(parameters))).guarantee()
    return guarantee.sound and not guarantee.unprotected


def named_mechanisms(
    text: str,
    every: Sequence[str] = tuple(MECHANISMS),
    language_model: Known | None = None,
    of_all: Mapping[str, str] | None = None,
) -> tuple[Named, ...]:
    """``"laplace,gaussian:delta=1e-6"`` as names and parameters.

    Args:
      text: as above, or ``all``.
      every: what ``all`` stands for.
      language_model: what decoders and ``fluent`` read with, or None.
      of_all: parameters of all of them, which none may name again.

    Raises:
      ConfigurationError: there is no such mechanism, it has no such parameter, cannot be decoded,
        or is named twice; or decoders without a language model.
    """
    of_all = of_all or {}
    listed: list[Named] = []
    for entry in (",".join(every) if text == "all" else text).split(","):
        name, *values = re.split(r":(?!//)", entry.strip())  # not that of a URI
        parameters = dict(pair.partition("=")[::2] for pair in values)
        if "epsilon" in parameters:
            raise ConfigurationError("`mechanisms`: epsilon is what is measured; leave it out")
        if "importance" in parameters:
            raise ConfigurationError("`mechanisms`: importance has a separate flag, `importance`")
        if again := of_all.keys() & parameters.keys():
            raise ConfigurationError(
                f"`mechanisms` {text}: {min(again)} is given for all of them; give it once"
            )
        known = with_reading(name, read({**parameters, **of_all}), language_model)
        named = name, tuple(sorted(known.items()))
        try:
            mechanism, reading = make_named(named), reading_of(named[1])
            if reading and reading.decoder and (reason := why_not_decoded(mechanism)):
                raise ConfigurationError(reason)
        except ConfigurationError as error:
            raise ConfigurationError(str(error).replace("`mechanism` ", "`mechanisms` ")) from None
        if named in listed:
            raise ConfigurationError(f"`mechanisms` {text} names {name} twice")
        listed.append(named)
    return tuple(listed)


def rank_cs(text: str) -> tuple[float, ...]:
    """``"0.02,0.04"`` as increasing numbers above 0; ``none`` for no rank resampling.

    Raises:
      ConfigurationError: not such numbers.
    """
    if text == "none":
        return ()
    try:
        cs = sorted({float(part) for part in text.split(",") if part.strip()} - {0.0})
    except ValueError:
        cs = [-1.0]
    if not all(0 < c < float("inf") for c in cs):
        raise ConfigurationError(f"`rank_cs` {text}: write numbers above 0, as 0.02,0.04")
    return tuple(cs)


def check_defined(
    mechanisms: Sequence[Named],
    epsilons: Sequence[float],
    dimensions: int,
    importance: NamedWeights | None = None,
) -> None:
    """Refuses weights that a mechanism does not take, and a grid on which it is undefined.

    Raises:
      ConfigurationError: says where and why.
    """
    for named in mechanisms:
        make_named(named, importance=importance)
        for epsilon in epsilons_of(named[1], tuple(epsilons) or None) or ():
            make_named(named, epsilon, importance).draws(dimensions)
