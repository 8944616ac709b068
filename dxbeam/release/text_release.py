"""Releases of text that are there: found by their names, checked, and what they were made with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from dxbeam import storage
from dxbeam.corpus.files import CorpusFile
from dxbeam.corpus.formats import FORMATS, CorpusFormat
from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.release.manifest import DECODING, RELEASE
from dxbeam.release.places import comparable
from dxbeam.release.request import key_fingerprint
from dxbeam.release.verification.recorded_contents import is_rewritten
from dxbeam.release.verification.verify import verify_release


class TextRelease(NamedTuple):
    """A release of text that was found whole, and how its files are read."""

    prefix: str
    manifest: dict[str, Any]
    read_as: CorpusFormat

    @property
    def files(self) -> list[CorpusFile]:
        """Its files, as its manifest names them."""
        return [
            CorpusFile(storage.join(self.prefix, shard["name"]), shard["name"], shard["bytes"])
            for shard in self.manifest["shards"]
        ]

    @property
    def in_order(self) -> bool:
        """Whether there is a released word in the place of each original word."""
        configuration = self.manifest["configuration"]
        return not (
            configuration.get("bag_of_words")
            or configuration.get("unknown_words") == "drop"
            or configuration.get("detect")  # one placeholder for several words
            or is_rewritten(self.manifest)
        )

    @property
    def setting(self) -> ReleaseSetting:
        """What it was made with."""
        configuration = self.manifest["configuration"]
        mechanism = dict(configuration["mechanism"])
        name, epsilon = mechanism.pop("name"), mechanism.pop("epsilon", None)
        further = [f"{parameter} = {_shown(value)}" for parameter, value in mechanism.items()]
        if levels := configuration.get("epsilon_by"):
            further.append(f"at most, by {levels['field']}")
        if bag := configuration.get("bag_of_words"):
            further.append(f"bags of {bag['length']} words")
        if (unknown := configuration.get("unknown_words", "noise")) != "noise":
            further.append(f"unknown words: {unknown}")
        if configuration.get("detect"):
            further.append("with placeholders")
        if decoder := configuration.get("decoder"):
            further.append(f"decoded by {decoder['decode']}, loss {decoder['loss']}")
        if configuration.get("truecase"):
            further.append("with capitals")
        if is_rewritten(self.manifest):
            further.append("repaired")
        elif processed := self.manifest.get("post_processing"):
            decoding = processed[DECODING]
            further.append(f"decoded from the release by {decoding['decode']}")
            further.append(f"loss {decoding['loss']}")
            further += ["with capitals"] * ("truecase" in decoding)
        resampling = configuration.get("rank_resampling") or {}
        return ReleaseSetting(name, tuple(further), resampling.get("c"), epsilon)


class ReleaseSetting(NamedTuple):
    """What a release was made with, as its manifest says.

    ``further`` is what else was chosen but for epsilon and c. Both are None where there is none.
    """

    mechanism: str
    further: tuple[str, ...]
    rank_c: float | None
    epsilon: float | None

    @property
    def curve(self) -> str:
        """All but epsilon, in words."""
        resampled = [] if self.rank_c is None else [f"c = {self.rank_c:g}"]
        return ", ".join([self.mechanism, *self.further, *resampled])


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return str(value.get("kind", "given"))
    return f"{value:g}" if isinstance(value, float) else str(value)


def named_releases(text: str) -> list[str]:
    """The places that a text names, each once: one or several, separated by commas.

    An item that is no release is a glob. OutputError: a glob matches no release.
    """
    items = [text] if _is_release(text) else [item for item in text.split(",") if item]
    by_place: dict[str, str] = {}
    for item in items:
        for place in [item] if _is_release(item) else _matching(item):
            by_place.setdefault(comparable(place), place)
    return list(by_place.values())


def _is_release(place: str) -> bool:
    try:
        return storage.exists(storage.join(place, RELEASE))
    except (OSError, ValueError):
        return False


def _matching(item: str) -> list[str]:
    if not re.search(r"[*?\[]", item):
        return [item]  # which is refused, in its own words, where it is opened
    try:
        paths = [path for path, _ in storage.match(storage.join(item, RELEASE))]
    except OSError as error:
        raise OutputError(
            f"`released` {item}: cannot be listed ({type(error).__name__}); check the path"
        ) from None
    if not paths:
        raise OutputError(
            f"`released` {item}: there is no {RELEASE} in what matches, so no release"
        )
    return [path.removesuffix(RELEASE).rstrip("/") for path in paths]


def open_text_release(prefix: str) -> TextRelease:
    """Checks a release as ``dxbeam verify`` does; OutputError: it holds no text, or no ids."""
    release = verify_release(prefix).manifest
    name = release.get("output_format")
    if release["configuration"].get("release") == "vectors":
        raise OutputError(f"{prefix} holds released vectors, and only released text is compared")
    if name not in FORMATS:
        raise OutputError(f"{prefix}: its release.json names a format that is not known here")
    if not FORMATS[name].HAS_FIELDS:
        raise OutputError(
            f"{prefix} is in plain text, which has no ids to find the originals by; release with "
            "`output_format` jsonl or parquet"
        )
    return TextRelease(prefix, release, CorpusFormat(name))


def check_key(key_uri: str, releases: Sequence[TextRelease]) -> None:
    """Refuses a key that releases were not made with."""
    key = key_fingerprint(key_uri)
    for release in releases:
        if release.manifest["key"]["fingerprint"] != key:
            raise ConfigurationError(
                f"`key_uri` {key_uri}: the release {release.prefix} was made with another key; "
                "name its key, or leave it out"
            )
