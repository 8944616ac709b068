"""What a measurement is asked for, and what it plans once it knows vocabulary and words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.analysis.measure import grids
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
from dxbeam.analysis.measure.read_words import texts_of
from dxbeam.analysis.measure.word_sample import UNIFORM, WordSample
from dxbeam.analysis.theory import geometry
from dxbeam.analysis.theory.geometry import Bounds, Nearer, Threshold
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import (
    MECHANISMS,
    ChoosesWords,
    Mechanism,
    check_vocabulary,
    make_mechanism,
)
from dxbeam.mechanisms.public.importance import Importance
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.reader import why_not_decoded

_POINTS_OF_CHANNELS = 10  # the sums of a channel take long, and are of one epsilon

REPEATED_WORDS = 100
"""How many words are released again and again; fewer where fewer are measured."""

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

    def made(self) -> Mechanism:
        """The mechanism at the first epsilon."""
        return made((self.mechanism, self.parameters), self.epsilons[0], self.importance)

    @property
    def reading(self) -> Reading | None:
        """What it reads texts with; None where words are released one by one."""
        return reading_of(self.parameters)

    def configuration(self) -> Configuration:
        """The settings of a release at the first epsilon; none asks for consent."""
        decoder = self.reading.decoder if self.reading else None
        return Configuration(self.made(), decoder=decoder, allow_unsound=True)

    @property
    def parameters_text(self) -> str:
        """The parameters as --parameters takes them, and what is public of words, last."""
        return written(self.parameters, self.importance.source if self.importance else "")


class Question(NamedTuple):
    """What is asked.

    Attributes:
      mechanisms: each with its parameters.
      epsilons: the same for all mechanisms, in increasing order; None gives each its own.
      rank_cs: of rank resampling, in increasing order; without it is always measured as well.
      repeats: how often each of a few words is released for N_w and S_w; 0 for not at all.
      importance: public weights of words for all mechanisms, or None.
    """

    mechanisms: tuple[Named, ...]
    epsilons: tuple[float, ...] | None
    rank_cs: tuple[float, ...]
    repeats: int
    importance: NamedWeights | None = None


class Plan(NamedTuple):
    """What is measured.

    Attributes:
      sample: the words.
      settings: what is measured on them.
      repeats: how often each of the repeated words is released.
      repeated: ids of these words.
      thresholds: Table 2 of the sample.
      points: Figure 6 of the sample over the epsilons of Laplace noise; empty where it is not
        measured.
      bounds: of the repeated words, over the same epsilons.
    """

    sample: WordSample
    settings: list[Setting]
    repeats: int
    repeated: list[int]
    thresholds: list[Threshold]
    points: list[Nearer]
    bounds: list[Bounds]


def plan(question: Question, sample: WordSample, search: NeighborSearch) -> Plan:
    """Gives every mechanism its grid, and computes what needs no noise.

    Words of a corpus are not repeated, as a table of single words would quote the corpus.
    """
    settings = [
        Setting(
            *named,
            epsilons_of(named[1], question.epsilons)
            or tuple(grid_of(named, sample, search, question.importance)),
            question.rank_cs,
            question.importance,
        )
        for named in question.mechanisms
    ]
    known = np.array(sample.known_ids, np.int64)
    thresholds = geometry.thresholds(known, search, sample.texts_of_known)
    laplace = nearest_laplace(settings)
    repeated = sample.ids[:REPEATED_WORDS]
    if sample.weighting != UNIFORM or not question.repeats:
        repeated = []
    return Plan(
        sample,
        settings,
        question.repeats,
        repeated,
        thresholds,
        geometry.nearer(thresholds, search.vocabulary.dimensions, laplace.epsilons)
        if laplace
        else [],
        geometry.bounds(np.array(repeated, np.int64), laplace.epsilons, search)
        if laplace and repeated
        else [],
    )


def nearest_laplace(settings: Sequence[Setting]) -> Setting | None:
    """The mechanism that the paper's geometry is about: laplace, without a decoder."""
    return next(
        (one for one in settings if one.mechanism == "laplace" and one.reading is None), None
    )


def grid_of(
    named: Named,
    sample: WordSample,
    search: NeighborSearch,
    importance: NamedWeights | None = None,
) -> list[float]:
    """A grid over the range in which the words begin to come out as themselves.

    Of words that are decoded after the mechanism chose them it is the range before decoding, at a
    few points.
    """
    mechanism, reading = made(named, importance=importance), reading_of(named[1])
    known = np.array(sample.known_ids, np.int64)
    if reading is None:
        return grids.automatic(mechanism, known, search)
    if reading.decoder and isinstance(mechanism, ChoosesWords):
        return grids.by_shares(mechanism, known, search, _POINTS_OF_CHANNELS)
    ids = np.array(sample.ids, np.int64)
    return grids.automatic(mechanism, ids, search, reading, texts_of(sample))


def made(
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
    return tuple(name for name in MECHANISMS if not why_not_decoded(made((name, ()))))


def promises(name: str, parameters: Sequence[tuple[str, Value]] = ()) -> bool:
    """Whether a mechanism promises something for every word.

    Args:
      name: the mechanism's.
      parameters: its parameters other than epsilon.
    """
    guarantee = made((name, tuple(parameters))).guarantee()
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
            mechanism, reading = made(named), reading_of(named[1])
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
        made(named, importance=importance)
        for epsilon in epsilons_of(named[1], tuple(epsilons) or None) or ():
            made(named, epsilon, importance).draws(dimensions)


def check_words(question: Question, vocabulary: VocabularyHandle) -> None:
    """Refuses what is public of words, but not of this vocabulary's.

    Raises:
      ConfigurationError: lists that name none of its words, or a scan of another vocabulary.
    """
    known = [
        made(named, importance=question.importance)
        for named in question.mechanisms
        if question.importance or any(isinstance(value, Known) for _, value in named[1])
    ]
    if known:
        opened = artifact.open_vocabulary(vocabulary)
        for mechanism in known:
            check_vocabulary(mechanism, opened)
        for _, parameters in question.mechanisms:
            if reading := reading_of(parameters):
                reading.model.opened(opened)
