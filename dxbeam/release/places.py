"""Where a job reads and writes: names of places brought to one form, and compared.

A place is a local path, or a gs:// or s3:// prefix. Local ones are compared as the system sees
them, with "..", doubled slashes and symbolic links resolved. To object stores ``a//b`` and
``a/./b`` are separate names, and are written as they are given; but mounts and copying tools take
them for ``a/b``, so they are compared as if they were.

What may be where: what is computed from the raw text (metrics, dead letters) and what is secret or
private (key, ledger) never within a release, as whoever copies the release would copy it along. A
release within the place of the metrics is allowed: it is not handed on with them by accident.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from dxbeam import storage
from dxbeam.errors import ConfigurationError

_STORES = ("gs://", "s3://")


def output_place(parameter: str, place: str) -> str:
    """A place to write to as all else names it: without ``file://`` and slashes at its end.

    ``parameter`` names it in messages. ConfigurationError: another kind of place, or no bucket.
    """
    place = storage.without_file_scheme(place)
    if storage.is_local(place):
        return place.rstrip("/") or "/"
    if not place.startswith(_STORES):
        raise ConfigurationError(
            f"`{parameter}` {place}: name a local directory or a gs:// or s3:// prefix"
        )
    scheme, rest = place[: len(_STORES[0])], place[len(_STORES[0]) :]
    if not rest.partition("/")[0]:
        raise ConfigurationError(
            f"`{parameter}` {place}: name a bucket, as in {scheme}bucket/release"
        )
    return scheme + rest.rstrip("/")


def comparable(place: str) -> str:
    """A form that is equal for all names of one place."""
    place = storage.without_file_scheme(place)
    if storage.is_local(place):
        return os.path.realpath(place)
    scheme, _, rest = place.partition("://")
    bucket, _, name = rest.partition("/")
    return f"{scheme}://{bucket}" + posixpath.normpath("/" + name.lstrip("/"))


def is_within(place: str, around: str) -> bool:
    """Whether a place is the other one, or is below it."""
    return PurePosixPath(comparable(place)).is_relative_to(comparable(around))


def for_release(
    corpus: str, output: str, metrics_output: str | None, key_uri: str | None, ledger: str | None
) -> tuple[str, str]:
    """Where a release goes, and what is computed from the raw text; all places of a job compared.

    ConfigurationError names two places that must be apart and are not.
    """
    release, metrics = release_and_metrics(output, metrics_output)
    keep_out(release, {"key_uri": key_uri, "ledger": ledger})
    keep_from_reading(corpus, {"output": release, "metrics_output": metrics}, ledger)
    return release, metrics


def release_and_metrics(output: str, metrics_output: str | None) -> tuple[str, str]:
    """Where a release goes, and what is computed from the raw text, which may not be within it."""
    release = output_place("output", output)
    metrics = output_place("metrics_output", metrics_output or _beside(release))
    if is_within(metrics, release):
        raise ConfigurationError(
            f"`metrics_output` {metrics} is within `output` {release}: metrics and dead letters "
            "are computed from the raw text and must not be released with it; choose another place"
        )
    return release, metrics


def _beside(release: str) -> str:
    if storage.is_local(release):
        # "." and ".." name a directory without its name.
        named = release if release.rpartition("/")[2] not in ("", ".", "..") else None
        return f"{named or os.path.realpath(release)}-metrics"
    if "/" not in release[len(_STORES[0]) :]:
        raise ConfigurationError(
            f"`output` {release} is a whole bucket, and {release}-metrics would be another one: "
            f"write to a prefix such as {release}/release, or name `metrics_output`"
        )
    return f"{release}-metrics"


def keep_out(release: str, others: Mapping[str, str | None]) -> None:
    """Refuses places, by parameter, within a release: they would be handed on with it."""
    for parameter, place in others.items():
        if place and not place.startswith("env:") and is_within(place, release):
            raise ConfigurationError(
                f"`{parameter}` is within `output` {release} and would be handed on with the "
                "release; keep it in another place"
            )


def keep_from_reading(pattern: str, directories: Mapping[str, str], ledger: str | None) -> None:
    """Refuses a glob of the corpus that takes in what the job itself writes.

    ``directories`` are places that files are written below, by parameters.
    """
    taken_in = [place for place in directories.items() if may_match_below(pattern, place[1])]
    if ledger and may_match(pattern, ledger):
        taken_in.append(("ledger", ledger))
    for parameter, place in taken_in:
        raise ConfigurationError(
            f"`input` {pattern} takes in what the job itself writes to `{parameter}` {place}; "
            "write to another place, or name the corpus more closely"
        )


def may_match(pattern: str, file: str) -> bool:
    """Whether a glob of Beam's may match a file; a set of characters counts as any character."""
    tokens = _tokens(pattern)
    return _are_alike(pattern, file) and len(tokens) in _reached(tokens, comparable(file))


def may_match_below(pattern: str, directory: str) -> bool:
    """Whether a glob of Beam's may match some file below a directory."""
    tokens, start = _tokens(pattern), comparable(directory).rstrip("/") + "/"
    unmatched = _reached(tokens, start) - {len(tokens)}  # what is left of these matches something
    return _are_alike(pattern, directory) and bool(unmatched)


def _are_alike(one: str, other: str) -> bool:
    return storage.is_local(one) == storage.is_local(other)


# Wildcards in a pattern that is taken apart; all else is a single character.
_ANY, _ANY_IN_A_NAME, _ONE = "**", "*-", "?-"


def _tokens(pattern: str) -> list[str]:
    """A pattern taken apart, its directory without wildcards in comparable form."""
    pattern = storage.without_file_scheme(pattern) + ("*" if pattern.endswith("/") else "")
    directory = "".join(re.split(r"[*?\[]", pattern, maxsplit=1)[0].rpartition("/")[:2])
    kinds = {"**": _ANY, "*": _ANY_IN_A_NAME, "?": _ONE, "[": _ONE}
    tokens = re.findall(r"\*\*|\[[!^]?\]?[^\]]*\]|.", pattern[len(directory) :], re.DOTALL)
    named = [kinds.get(token if token == "**" else token[0], token) for token in tokens]
    return [*comparable(directory or ".").rstrip("/"), "/", *named]


def _reached(tokens: list[str], text: str) -> set[int]:
    """How many of the tokens may have matched when all of a text is matched."""
    states = _skipping(tokens, {0})
    for character in text:
        following = set()
        for state in states - {len(tokens)}:
            token = tokens[state]
            if token == _ANY or (token == _ANY_IN_A_NAME and character != "/"):
                following.add(state)
            elif token in (_ONE, character):
                following.add(state + 1)
        states = _skipping(tokens, following)
    return states


def _skipping(tokens: list[str], states: set[int]) -> set[int]:
    """These states, and those behind wildcards that match nothing."""
    reached, waiting = set(), list(states)
    while waiting:
        state = waiting.pop()
        if state not in reached:
            reached.add(state)
            if state < len(tokens) and tokens[state] in (_ANY, _ANY_IN_A_NAME):
                waiting.append(state + 1)
    return reached
