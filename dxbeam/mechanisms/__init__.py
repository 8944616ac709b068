"""The registry of mechanisms, and what each of them offers.

A mechanism is a frozen dataclass of parameters in a separate file, and its ``name`` is that of the
file. That is all the registry needs: it finds the mechanisms among the files of this folder and of
published/.
A mechanism holds no randomness and no vocabulary: word ids and random numbers come in, word ids go
out.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import pkgutil
import sys
from typing import Any, ClassVar, Protocol, runtime_checkable

from dxbeam.errors import ConfigurationError, described
from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms.channels.noise_density import NoiseDensity
from dxbeam.mechanisms.channels.word_channel import WordChannel
from dxbeam.mechanisms.constants.exact_constant import ExactConstant
from dxbeam.mechanisms.parameters import choices_of
from dxbeam.mechanisms.public.base_measure import BaseMeasure
from dxbeam.mechanisms.public.importance import Importance
from dxbeam.mechanisms.public.public_model import PublicModel
from dxbeam.mechanisms.sampling.noise import Floats
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary


class Mechanism(Protocol):
    """What every mechanism offers.

    Attributes:
      name: how it is called on the command line and in the manifest.
      epsilon: its privacy parameter.
    """

    name: ClassVar[str]

    def __init__(self, **parameters: Any): ...

    @property
    def epsilon(self) -> float: ...  # noqa: D102

    def draws(self, dimensions: int) -> int:
        """How many uint64 random numbers ``release`` uses for one word."""
        ...

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """Releases a word for each word.

        Args:
          ids: int64 [B]; UNKNOWN for a word outside the vocabulary, which is treated as the
            public unknown word.
          random: uint64 [B, draws or more], independent of everything else.
          search: neighbour queries over the vocabulary.

        Returns:
          int64 [B], each a word of the vocabulary; row i depends only on row i of ids and random.
        """
        ...

    def guarantee(self) -> Guarantee:
        """What this mechanism promises for one word."""
        ...


@runtime_checkable
class AddsNoise(Protocol):
    """What a mechanism offers besides if it adds noise to a word's vector; ``release`` uses it.

    The distribution of what is released given the noisy vector must not depend on the word.
    """

    def noise(self, random: Random, search: NeighborSearch) -> Floats:
        """The noise of each word.

        Args:
          random: as for ``release``; random numbers that are not used for noise come after those
            that are.
          search: the vocabulary, on which the noise's distribution may depend, but never on the
            word.

        Returns:
          float64 [B, n]; row i depends only on row i of ``random``.
        """
        ...


@runtime_checkable
class ReadsReleased(Protocol):
    """What a mechanism offers besides if it reads the words that it has released before a word.

    Attributes:
      model: the public language model that it reads them with, or None.
    """

    @property
    def model(self) -> PublicModel | None: ...  # noqa: D102

    def release_in_order(
        self, ids: Ids, random: Random, search: NeighborSearch, places: Ids
    ) -> Ids:
        """Releases a word for each word.

        Args:
          ids: int64 [B].
          random: uint64 [B, draws or more].
          search: the vocabulary.
          places: int64 [B, 2], the two words before each, as released_before.py names them.

        Returns:
          int64 [B]; a row depends on its own row of the arguments and on the rows that ``places``
          names.
        """
        ...


@runtime_checkable
class DescribesNoise(AddsNoise, Protocol):
    """A mechanism of whose noisy vector the density is known, so that it can be decoded."""

    def noise_starts(self, ids: Ids, search: NeighborSearch) -> Floats:
        """The vectors that the noise is added to: float64 [B, n]."""
        ...

    def density(self, search: NeighborSearch) -> NoiseDensity:
        """The density of the noisy vector given the word."""
        ...


@runtime_checkable
class ChoosesWords(Protocol):
    """A mechanism that draws a word with known probabilities, so that it can be decoded."""

    def release(self, ids: Ids, random: Random, search: NeighborSearch) -> Ids:
        """As ``Mechanism`` says."""
        ...

    def channel(self, search: NeighborSearch) -> WordChannel:
        """The probabilities of drawn words given originals."""
        ...


@runtime_checkable
class WeighsWords(Protocol):
    """A mechanism that draws a word by its probability, so that public values of words may enter.

    Attributes:
      importance: public weights by which harmless words stay unchanged more often, or None.
      base: public base measure, by which likely words are released more often, or None.
      constant: what a scan of one vocabulary found, or None for the worst case of all.
    """

    @property
    def importance(self) -> Importance | None: ...  # noqa: D102

    @property
    def base(self) -> BaseMeasure | None: ...  # noqa: D102

    @property
    def constant(self) -> ExactConstant | None: ...  # noqa: D102


@runtime_checkable
class ScalesNoise(AddsNoise, Protocol):
    """A mechanism whose noise at any epsilon is a scaled copy of one distribution.

    So one draw of noise says what is released at every epsilon: the word nearest to
    ``noise_starts`` plus ``noise``.
    """

    @property
    def noise_scale(self) -> float:
        """What the noise at this epsilon is a multiple of, for one and the same ``random``."""
        ...

    def noise_starts(self, ids: Ids, search: NeighborSearch) -> Floats:
        """The vectors that the noise is added to: float64 [B, n]."""
        ...


DEFAULT = "laplace"
"""The mechanism that is used where none is named."""


def find_mechanisms() -> dict[str, type[Mechanism]]:
    """The mechanisms by name, the default first and the others in alphabetic order.

    They are the files of this folder, and those of published/, which guarantee nothing. A file's
    mechanism is the class with a ``name``.

    Raises:
      ConfigurationError: a mechanism's name is not its file's, or it is no frozen dataclass with
        ``draws``, ``release`` and ``guarantee``.
    """
    mechanisms: dict[str, type[Mechanism]] = {}
    published = importlib.import_module(f"{__name__}.published")
    for folder in (sys.modules[__name__], published):
        for file in pkgutil.iter_modules(folder.__path__):
            if file.ispkg:
                continue
            module = importlib.import_module(f"{folder.__name__}.{file.name}")
            classes: list[tuple[str, Any]] = inspect.getmembers(module, inspect.isclass)
            for _, kind in classes:
                if kind.__module__ == module.__name__ and "name" in vars(kind):
                    _check(kind, file.name)
                    mechanisms[file.name] = kind
    return dict(sorted(mechanisms.items(), key=lambda named: (named[0] != DEFAULT, named[0])))


def _check(kind: type[Any], file: str) -> None:
    where = f"{kind.__module__.replace('.', '/')}.py: {kind.__name__}"
    if kind.name != file:
        raise ConfigurationError(
            f"{where} has the name {kind.name!r}; a mechanism has the name of its file, so set "
            f'name = "{file}" or rename the file'
        )
    settings = getattr(kind, "__dataclass_params__", None)
    if settings is None or not settings.frozen:
        raise ConfigurationError(f"{where} must be a dataclass(frozen=True)")
    for method in ("draws", "release", "guarantee"):
        if not callable(getattr(kind, method, None)):
            raise ConfigurationError(f"{where} has no method {method}; see Mechanism")


MECHANISMS: dict[str, type[Mechanism]] = find_mechanisms()
"""Every mechanism by its name."""


def make_mechanism(name: str, **parameters: Any) -> Mechanism:
    """The mechanism of this name.

    Args:
      name: a key of MECHANISMS.
      parameters: its fields, numbers or, where a field is a choice, names; numbers may come as
        text, and None leaves a field at its default.
        ``importance`` is what ``read_importance`` gives, ``base`` what ``read_base`` and
        ``constant`` what ``read_constant`` gives, ``model`` a language model or its handle.

    Raises:
      ConfigurationError: no such mechanism, a parameter that it does not have, lacks or that is
        out of range.
    """
    if name not in MECHANISMS:
        [*close] = difflib.get_close_matches(str(name).lower(), MECHANISMS, 1)
        raise ConfigurationError(
            f"`mechanism` {name}: there is no such mechanism; "
            + (f"did you mean {close[0]}? All are: " if close else "choose from ")
            + ", ".join(MECHANISMS)
        )
    kind = MECHANISMS[name]
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    chosen = {key: value for key, value in parameters.items() if value is not None}
    for key in chosen:
        if key in _PUBLIC:
            check_public(name, key)
        if key not in fields:
            raise ConfigurationError(
                f"`mechanism` {name} has no parameter {key}; it has {', '.join(fields)}"
            )
    for key, field in fields.items():
        if key not in chosen and field.default is dataclasses.MISSING:
            raise ConfigurationError(f"`mechanism` {name} needs the parameter {key}")
    return kind(
        **{
            key: value if choices_of(fields[key]) else _number(key, value)
            for key, value in chosen.items()
        }
    )


_PUBLIC = ("importance", "base", "constant")
"""Parameters that are neither numbers nor names."""


def check_public(name: str, key: str) -> None:
    """Refuses public weights, a base measure or an exact constant for a mechanism without them.

    Args:
      name: a mechanism's; any other is left to ``make_mechanism``.
      key: importance, base or constant.

    Raises:
      ConfigurationError: the mechanism has no such parameter; it says why.
    """
    kind = MECHANISMS.get(name)
    if kind and all(field.name != key for field in dataclasses.fields(kind)):  # type: ignore[arg-type]
        raise ConfigurationError(_no_public(kind, key))


def _no_public(kind: type[Mechanism], key: str) -> str:
    """Why a mechanism takes no weights of words, no base measure or no exact constant."""
    takes = [
        each.name
        for each in MECHANISMS.values()
        if any(field.name == key for field in dataclasses.fields(each))  # type: ignore[arg-type]
    ]
    if key == "constant" and any(field.name == "model" for field in dataclasses.fields(kind)):  # type: ignore[arg-type]
        return (
            f"`{key}` exact goes with `mechanism` {' or '.join(takes)}, not with {kind.name}: what "
            "it guarantees depends on the words released before, and after some of them the "
            "worst case is all but reached"
        )
    if key != "importance":
        what = "exact" if key == "constant" else ""
        return (
            f"`{key}` {what}".rstrip() + f" goes with `mechanism` {' or '.join(takes)}, which "
            f"draw a word by its probability, not with {kind.name}"
        )
    reason = (
        "noise whose scale depends on the word has no finite bound"
        if issubclass(kind, AddsNoise)
        else "there is no form of it for which a bound is proved"
    )
    return (
        f"`importance` goes with `mechanism` {' or '.join(takes)}, not with {kind.name}: {reason}; "
        "see docs/guides/budgets-per-word.md"
    )


def check_vocabulary(mechanism: Mechanism, vocabulary: Vocabulary) -> None:
    """Refuses a vocabulary that a mechanism cannot be used with.

    Raises:
      ConfigurationError: it has too many dimensions, none of the words of a public list, or is not
        the one that was scanned for the mechanism's constant.
    """
    mechanism.draws(vocabulary.dimensions)
    if not isinstance(mechanism, WeighsWords):
        return
    if mechanism.importance:
        mechanism.importance.of(vocabulary)
    if mechanism.base:
        mechanism.base.logs(vocabulary)
    if mechanism.constant:
        mechanism.constant.check(vocabulary)


def parse_parameters(text: str) -> dict[str, str]:
    """``"delta=1e-6,clip=5"`` as a mapping.

    Raises:
      ConfigurationError: not of this form, or a name twice.
    """
    if not isinstance(text, str):
        raise ConfigurationError(
            f"`parameters` are one text, as in 'delta=1e-6,clip=5', and this is {described(text)}"
        )
    parameters: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (name and equals and value) or name in parameters:
            raise ConfigurationError(
                f"`parameters` {text}: write it as name=value,name=value, each name once"
            )
        parameters[name] = value
    return parameters


def _number(name: str, value: Any) -> Any:
    if name in (*_PUBLIC, "model"):
        return value  # the mechanism refuses what is none
    try:
        if isinstance(value, bool):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise ConfigurationError(f"the parameter {name} must be a number, not {value}") from None
