"""The card of a release: one page for the officer who signs it, made from the release only.

The card says nothing that the release does not say, so whoever may read the release may read the
card. It leaves out ids and values of kept fields, which are raw text. It shows no document either
where words are released without protection.

Terms are those of NIST SP 800-226 (2025), Guidelines for Evaluating Differential Privacy
Guarantees.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from dxbeam import storage
from dxbeam.release import manifest
from dxbeam.release.context import TYPICAL, Pair
from dxbeam.release.verification.contents import first_records
from dxbeam.release.verification.recorded_contents import damaged
from dxbeam.release.verification.report import rows, unprotected
from dxbeam.release.verification.verify import VerifiedRelease

RECORDS = 3
"""So many released documents are shown."""

_CHARACTERS, _NUMBERS, _ENTRIES, _DIGEST = 280, 6, 8, 64
"""What is shown at most: of a text, of a vector, of a list; and the length of a SHA-256 in hex."""

_NO_PROTECTION = 10.0
"""A factor of e^10, some 20,000, tells two words apart whatever was believed before."""


class Line(NamedTuple):
    """A term and what is said under it."""

    term: str
    text: str


class Card(NamedTuple):
    """What is on the card; entries of several sentences or lines are tuples of them.

    Attributes:
      name: of the release: the last part of its path.
      started: when the job ran, as it is recorded; "" where it is not.
      unchanged: whether the digest was compared with one that was kept elsewhere.
      unchecked: what could not be checked.
      promise: the guarantee's sentence.
      meaning: what it means for the words of this vocabulary.
      terms: of NIST SP 800-226.
      visible: what is released as it is.
      uncovered: what the guarantee does not cover.
      records: released documents, shortened.
      why_no_records: why there are none; "" where there are.
    """

    name: str
    started: str
    unchanged: bool
    unchecked: tuple[str, ...]
    promise: str
    meaning: tuple[str, ...]
    terms: tuple[Line, ...]
    hazards: tuple[Line, ...]
    visible: tuple[str, ...]
    uncovered: tuple[str, ...]
    facts: tuple[Line, ...]
    parameters: tuple[Line, ...]
    digests: tuple[Line, ...]
    records: tuple[str, ...]
    why_no_records: str


def card(verified: VerifiedRelease) -> Card:
    """The card of a release that was verified; raises OutputError where that cannot be shown."""
    release = verified.manifest
    said = release["guarantee"]
    pairs = _pairs(verified)
    why = _why_no_records(release)
    return Card(
        name=verified.prefix.rstrip("/").rpartition("/")[2] or verified.prefix,
        started=str(release.get("started") or ""),
        unchanged=verified.unchanged,
        unchecked=verified.unchecked,
        promise=said["sentence"],
        meaning=tuple(_sentence(pair) for pair in pairs),
        terms=_terms(release),
        hazards=tuple(_hazards(release, pairs)),
        visible=tuple(unprotected(release)),
        uncovered=tuple(said["caveats"]),
        facts=tuple(Line(*row) for row in rows(release, verified.digest) if row[0] in _FACTS),
        parameters=_parameters(release["configuration"]),
        digests=_digests(verified),
        records=() if why else tuple(_records(verified)),
        why_no_records=why,
    )


_FACTS = ("documents", "fields", "decoded", "decoded from", "vocabulary", "key", "files")
"""Rows of what ``verify`` prints that the card shows as they are."""


def _pairs(verified: VerifiedRelease) -> list[Pair]:
    """What epsilon means in the vocabulary, as release.json has it."""
    try:
        return [
            Pair(
                str(row["words"]),
                row["neighbor_rank"],
                float(row.get("median_distance", row.get("largest_distance"))),
                None if row["exponent"] is None else float(row["exponent"]),
                float(row["delta"]),
            )
            for row in verified.manifest.get("in_context") or ()
        ]
    except (KeyError, TypeError, ValueError, AttributeError):
        path = storage.join(verified.prefix, manifest.RELEASE)
        raise damaged(path, "'in_context' must list pairs of words") from None


def _sentence(pair: Pair) -> str:
    return f"{pair.sentence[:1].upper()}{pair.sentence[1:]}."


def _terms(release: Mapping[str, Any]) -> tuple[Line, ...]:
    said = release["guarantee"]
    if said["epsilon"] is None:
        return (Line("Definition", f"None is met: {said['citation']}."),)
    epsilon = f"epsilon = {said['epsilon']:g} for each unit of the distance d"
    return (
        Line(
            "Definition",
            f"{said['notion']}, {said['evidence']}: {said['citation']}. It promises less for "
            "originals that are further apart.",
        ),
        Line("Parameters", f"{epsilon}; delta = {said['delta']:g}; d is the {said['metric']}."),
        Line(
            "Unit of privacy",
            f"One {said['unit']}: the promise is between any two {said['covers']}. It is not a "
            "person: whoever has written much is protected less.",
        ),
        Line(
            "Model",
            "Central: whoever runs the job reads the raw text, and is trusted. Chance is drawn in "
            "the job, before anything is written. Readers of the release are not trusted, whatever "
            "else they know.",
        ),
        Line(
            "Composition",
            f"{said['composition']} Further releases of the corpus add to it: keep a ledger.",
        ),
    )


def _hazards(release: Mapping[str, Any], pairs: list[Pair]) -> Iterator[Line]:
    yield Line(
        "Another scale",
        "Epsilon is per unit of distance. It cannot be compared with the epsilon of a "
        "differentially private count.",
    )
    typical = next((pair.exponent for pair in pairs if pair.words == TYPICAL), None)
    if typical is not None and typical > _NO_PROTECTION:
        yield Line(
            "Large factor",
            f"Between two typical words the factor may reach e^{math.ceil(typical)}. So large a "
            "bound protects nothing by itself: how many words attackers recover must be measured "
            "(dxbeam frontier).",
        )
    yield Line(
        "Public inputs",
        "A vocabulary, language model or list of words that was made from the private corpus voids "
        "the promise. The release cannot show where they came from.",
    )
    key = release["key"]
    yield Line(
        "Key",
        "The key is kept: whoever gets it can take the noise away. Keep it apart from the release."
        if key["kept"]
        else "The key was drawn for this release and forgotten, as the job records it.",
    )
    if release["kept_fields"]:
        fields = ", ".join(map(str, release["kept_fields"]))
        yield Line("Linkage", f"Document ids and kept fields ({fields}) can link to other data.")
    else:
        yield Line("Linkage", "Document ids can link to other data, if they are not random.")


def _parameters(configuration: Mapping[str, Any]) -> tuple[Line, ...]:
    values = ((name, value) for name, value in configuration.items() if value is not None)
    return tuple(Line(name.replace("_", " "), _shown(value)) for name, value in values)


def _shown(value: Any) -> str:
    """A value of the configuration on one line; long lists and digests are shortened."""
    if isinstance(value, Mapping):
        parts = (
            (str(name).replace("_", " "), part) for name, part in value.items() if part is not None
        )
        return ", ".join(
            _shown(part) if name == "name" else f"{name} {_shown(part)}" for name, part in parts
        )
    if isinstance(value, list):
        if len(value) > _ENTRIES:
            return f"({len(value):,} entries)"
        return f"({', '.join(map(_shown, value))})"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.12g}"
    text = str(value)
    return f"{text[:12]}…" if len(text) == _DIGEST else text


def _digests(verified: VerifiedRelease) -> tuple[Line, ...]:
    shards = verified.manifest["shards"]
    shown = shards[:_ENTRIES]
    lines = [
        Line(manifest.RELEASE, verified.digest),
        *(Line(shard["name"], shard["sha256"]) for shard in shown),
    ]
    if more := len(shards) - len(shown):
        lines.append(Line(f"{more:,} more files", f"in {manifest.RELEASE}"))
    return tuple(lines)


def _why_no_records(release: Mapping[str, Any]) -> str:
    """Why no document is shown; "" where some may be: nothing of them is raw but gaps."""
    said, policy = release["guarantee"], release["configuration"].get("unknown_words")
    if said["epsilon"] is None:
        return "None is shown, as nothing is promised for this release."
    replaced = (policy in ("mask", "drop")) + bool(release["configuration"].get("detect"))
    if len(said["unprotected"]) > replaced:
        return "None is shown, as some of the words are released without protection."
    return ""


def _records(verified: VerifiedRelease) -> Iterator[str]:
    """The first documents of the release, without their ids and kept fields."""
    left = RECORDS
    for shard in verified.manifest["shards"]:
        path = storage.join(verified.prefix, shard["name"])
        records = first_records(path, left)
        yield from map(_record, records)
        left -= len(records)
        if not left:
            return


def _record(record: Mapping[str, Any]) -> str:
    if "vector" in record:
        numbers = record["vector"]
        shown = ", ".join(f"{number:.4g}" for number in numbers[:_NUMBERS])
        return f"{shown}{', …' if len(numbers) > _NUMBERS else ''} ({len(numbers):,} numbers)"
    text = str(record.get("text", ""))
    if len(text) <= _CHARACTERS:
        return text
    return text[:_CHARACTERS].rpartition(" ")[0] + " …"
