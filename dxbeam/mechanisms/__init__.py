"""The registry of mechanisms; what each of them offers is in ``capabilities.py``.

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
from typing import Any

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.capabilities import (
    AddsNoise,
    ChoosesWords,
    DescribesNoise,
    Mechanism,
    ReadsReleased,
    ScalesNoise,
    WeighsWords,
)
from dxbeam.mechanisms.parameters import choices_of, parse_parameters
from dxbeam.space.vocabulary.words import Vocabulary

__all__ = [
    "DEFAULT",
    "MECHANISMS",
    "AddsNoise",
    "ChoosesWords",
    "DescribesNoise",
    "Mechanism",
    "ReadsReleased",
    "ScalesNoise",
    "WeighsWords",
    "check_public",
    "check_vocabulary",
    "find_mechanisms",
    "make_mechanism",
    "parse_parameters",
]

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
    """Refuses importance, base or constant (``key``) for a mechanism without it, and says why.

    A name that is no mechanism's is left to ``make_mechanism``.
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

    It has too many dimensions, none of the words of a public list, or is not the one that was
    scanned for the mechanism's constant.
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


def _number(name: str, value: Any) -> Any:
    if name in (*_PUBLIC, "model"):
        return value  # the mechanism refuses what is none
    try:
        if isinstance(value, bool):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise ConfigurationError(f"the parameter {name} must be a number, not {value}") from None
