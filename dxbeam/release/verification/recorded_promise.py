"""What release.json promises, compared with itself and with the configuration next to it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import Guarantee
from dxbeam.release import manifest
from dxbeam.release.context import as_dicts, in_context
from dxbeam.release.manifest import Settings
from dxbeam.release.verification.recorded_contents import are_strings, damaged, is_of_vectors
from dxbeam.release.verification.witnesses import Witnesses
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text import recorded_configuration as recorded_text
from dxbeam.text.configuration import Configuration, of_draws
from dxbeam.text.decoding.release_decoding import ReleaseDecoding
from dxbeam.text.repair import Repair
from dxbeam.vectors import recorded_configuration as recorded_vectors

_WORDS = (
    "sentence", "notion", "metric", "metric_name", "unit", "composition", "evidence", "citation",
)  # fmt: skip
"""Fields of a guarantee that say something in words."""

_FOLLOWS = "Whether the guarantee follows from the configuration: "

_RELATIVE = 1e-5
"""Distances may differ by so much between machines."""


def check_promise(
    path: str,
    release: Mapping[str, Any],
    matrix: npt.NDArray[np.float32] | None,
    witnesses: Witnesses,
) -> tuple[str, ...]:
    """Checks the guarantee; returns what was not checked, a sentence each.

    ``matrix`` is the projection of released vectors, float32 [m, n]. DamagedReleaseError: the
    guarantee is not that of the configuration, or no guarantee.
    """
    _check_fields(path, release)
    _check_digest(path, release)
    other = _other_version(release)
    return (
        *_check_sentence(path, release, other),
        *_check_configuration(path, release, matrix, witnesses, other),
        *_check_context(path, release, witnesses, other),
    )


def _check_fields(path: str, release: Mapping[str, Any]) -> None:
    said = release.get("guarantee")
    if not isinstance(said, dict):
        raise damaged(path, "'guarantee' is missing")
    for name in _WORDS:
        if not (isinstance(said.get(name), str) and said[name].strip()):
            raise damaged(path, f"the guarantee's {name!r} is missing")
    for name in ("caveats", "unprotected"):
        if not are_strings(said.get(name)):
            raise damaged(path, f"the guarantee's {name!r} must be a list of sentences")
    if not are_strings(release.get("unprotected")):
        raise damaged(path, "'unprotected' must be a list of what is released as it is")
    if "epsilon" not in said or "delta" not in said:
        raise damaged(path, "the guarantee lacks its epsilon or its delta")
    if said["epsilon"] is not None and not (_is_finite(said["epsilon"]) and said["epsilon"] > 0):
        raise damaged(path, "the guarantee's epsilon must be a positive, finite number")
    if not (_is_finite(said["delta"]) and 0 <= said["delta"] <= 1):
        raise damaged(path, "the guarantee's delta must be a number from 0 to 1")


def _is_finite(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]


def _check_digest(path: str, release: Mapping[str, Any]) -> None:
    recorded, words = release.get("configuration"), release.get("vocabulary")
    if not isinstance(recorded, dict):
        raise damaged(path, "'configuration' is missing")
    vocabulary = words.get("digest") if isinstance(words, dict) else ""
    canonical = json.dumps(
        {"vocabulary": vocabulary, **of_draws(recorded)}, sort_keys=True, separators=(",", ":")
    )
    if hashlib.sha256(canonical.encode()).hexdigest() != release.get("configuration_digest"):
        raise damaged(path, "'configuration' and 'vocabulary' do not fit 'configuration_digest'")


def _other_version(release: Mapping[str, Any]) -> str | None:
    """Why sentences cannot be compared: another version may have worded them otherwise."""
    versions, here = release.get("versions"), manifest.versions()["dxbeam"]
    wrote = versions.get("dxbeam") if isinstance(versions, dict) else None
    if wrote != here:
        return f"dxbeam {wrote} wrote the release, and this is dxbeam {here}"
    earlier = release["version"] != manifest.VERSION
    return f"an earlier dxbeam {wrote} wrote the release" if earlier else None


def _check_sentence(path: str, release: Mapping[str, Any], other: str | None) -> tuple[str, ...]:
    """The sentence follows from the guarantee's own numbers."""
    said = release["guarantee"]
    try:
        follows = Guarantee.from_dict(said).as_dict() == said
    # A field is missing, or of another type.
    except (KeyError, TypeError, ValueError, ArithmeticError):
        follows = False
    problem = "the guarantee's sentence does not follow from its other fields"
    question = "Whether the sentence follows from the guarantee's numbers"
    return () if follows else _not_as_computed(path, problem, question, other)


def _not_as_computed(path: str, problem: str, question: str, other: str | None) -> tuple[str, ...]:
    """What was not checked, as another version may have worded it; raises where this one did."""
    if other is None:
        raise damaged(path, problem)
    return (f"{question}: {other}.",)


def _check_configuration(
    path: str,
    release: Mapping[str, Any],
    matrix: npt.NDArray[np.float32] | None,
    witnesses: Witnesses,
    other: str | None,
) -> tuple[str, ...]:
    """The guarantee is what this configuration promises."""
    recorded = release["configuration"]
    settings = _rebuilt(path, recorded, matrix, witnesses)
    if settings is None:
        return (f"{_FOLLOWS}{_why_not_rebuilt(recorded)}.",)
    promised = (
        _promised(path, release, settings).with_caveats(*_caveats_of_repair(release)).as_dict()
    )
    kept = release.get("kept_fields") if release["version"] > 1 else ()
    unprotected = manifest.unprotected(settings.unprotected, kept or ())
    same = (release["guarantee"], release["unprotected"]) == (promised, unprotected)
    if not same and other is None:
        raise damaged(path, "the guarantee does not follow from the configuration")
    unchecked = []
    if not same:
        unchecked.append(f"{_FOLLOWS}{other}, which says: {promised['sentence']}")
    if is_of_vectors(release) and recorded_vectors.is_taken_from_record(
        recorded, witnesses.vocabulary
    ):
        unchecked.append(
            "Whether no pair of words is stretched more than the sensitivity says: give "
            "--vocabulary, of at most "
            f"{recorded_vectors.MOST_WORDS_SCANNED:,} words, and all pairs are tried."
        )
    return tuple(unchecked)


def _promised(path: str, release: Mapping[str, Any], settings: Settings) -> Guarantee:
    """What the settings promise, and what is said besides where the release was decoded."""
    processed = release.get("post_processing")
    if not (isinstance(processed, dict) and manifest.DECODING in processed):
        return settings.guarantee()
    try:
        if not isinstance(settings, Configuration) or len(processed) > 1:
            raise ConfigurationError("only released words are decoded, and nothing follows")
        return ReleaseDecoding.from_dict(processed[manifest.DECODING], settings).guarantee()
    except (KeyError, TypeError, AttributeError, ConfigurationError):
        raise damaged(path, "what it says of decoding is not what was decoded") from None


def _caveats_of_repair(release: Mapping[str, Any]) -> tuple[str, ...]:
    """What a language model that rewrote the texts adds to the caveats."""
    try:
        repair = release["post_processing"][manifest.REPAIR]
        shown = repair.get("candidates", 0)
        settings = Repair(repair["model"], f"https://{repair['endpoint']}", candidates=shown)
        return settings.caveats
    except (KeyError, TypeError, AttributeError, ConfigurationError):
        return ()


def _rebuilt(
    path: str,
    recorded: Mapping[str, Any],
    matrix: npt.NDArray[np.float32] | None,
    witnesses: Witnesses,
) -> Settings | None:
    """The settings that are recorded, if they can be made again."""
    if recorded.get("release") == "vectors":
        return recorded_vectors.rebuilt(recorded, matrix, witnesses.vocabulary)
    needed = recorded_text.files_needed(recorded)
    witnesses.refuse_files_but(needed)
    settings = recorded_text.rebuilt(
        recorded, witnesses.importance, witnesses.stop_words, witnesses.base
    )
    if needed and settings is None and not witnesses.lacks(needed):
        raise damaged(
            path,
            f"{' and '.join(map(repr, needed))} of the configuration fit no other entry or not the "
            "file that is given; if another file was used, give that one",
        )
    return settings


def _why_not_rebuilt(recorded: Mapping[str, Any]) -> str:
    if recorded.get("release") == "vectors":
        return "the configuration cannot be made again from what is recorded of it"
    if needed := recorded_text.files_needed(recorded):
        flags = " and ".join(f"--{name} FILE" for name in needed)
        return f"of a file of your own only a digest is recorded, so give {flags}"
    return (
        "the configuration cannot be made again from what is recorded of it, as of releases under "
        "an earlier rule"
    )


def _check_context(
    path: str, release: Mapping[str, Any], witnesses: Witnesses, other: str | None
) -> tuple[str, ...]:
    """What release.json says of the vocabulary, and of epsilon in it."""
    words = release.get("vocabulary")
    if witnesses.vocabulary is None or witnesses.handle is None:
        if not words:
            return ()
        context = " and 'in_context'" if release.get("in_context") else ""
        return (f"The vocabulary's size{context}: give --vocabulary.",)
    if words != manifest.vocabulary_entry(witnesses.handle):
        raise damaged(path, "'vocabulary' is not the vocabulary that is given")
    if is_of_vectors(release):
        return ()
    try:
        guarantee = Guarantee.from_dict(release["guarantee"])
        computed = as_dicts(in_context(guarantee, NeighborSearch(witnesses.vocabulary)))
        same = _alike(computed, release.get("in_context"))
    except (KeyError, TypeError, ValueError):
        same = False
    problem = "'in_context' does not follow from the guarantee and the vocabulary"
    question = "What epsilon means in the vocabulary ('in_context')"
    return () if same else _not_as_computed(path, problem, question, other)


def _alike(computed: object, recorded: object) -> bool:
    """Whether two values of JSON are equal, but for the last digits of numbers."""
    if isinstance(computed, float) and _is_finite(recorded):
        return math.isclose(computed, recorded, rel_tol=_RELATIVE)  # type: ignore[arg-type]
    if isinstance(computed, dict) and isinstance(recorded, dict):
        return computed.keys() == recorded.keys() and all(
            _alike(computed[name], recorded[name]) for name in computed
        )
    if isinstance(computed, list) and isinstance(recorded, list):
        return len(computed) == len(recorded) and all(map(_alike, computed, recorded))
    return computed == recorded
