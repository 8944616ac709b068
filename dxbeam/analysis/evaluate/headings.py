"""What is known of releases before they are compared: their settings, promises and names."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from dxbeam.release.text_release import TextRelease
from dxbeam.space.artifact.artifact import VocabularyHandle


class ReleaseHeading(NamedTuple):
    """What is known of a release.

    Attributes:
      place: where it is.
      promise: the sentence of its guarantee.
      curve: what it was made with but for epsilon, in words.
      epsilon: None where its mechanism has none.
      own_vocabulary: whether it was made with the vocabulary that words were looked up in.
      in_order: whether there is a released word in the place of each original word.
    """

    place: str
    promise: str
    curve: str
    epsilon: float | None
    own_vocabulary: bool
    in_order: bool = False


class Heading(NamedTuple):
    """What is known before anything is compared.

    Attributes:
      corpus: the files of the originals.
      releases: each release, in the order of their numbers.
      vocabulary: the name of the vocabulary that words were looked up in; "" for none.
      group_by: the field whose groups are reported separately; "" for none.
      command: by which it is made.
    """

    corpus: str
    releases: tuple[ReleaseHeading, ...]
    vocabulary: str
    group_by: str
    command: str


def in_order_of_settings(release: TextRelease) -> tuple[str, tuple[str, ...], float, float]:
    """Releases that differ in epsilon only side by side, whatever their names."""
    setting = release.setting
    return setting.mechanism, setting.further, setting.rank_c or 0.0, setting.epsilon or 0.0


def release_heading(release: TextRelease, vocabulary: VocabularyHandle | None) -> ReleaseHeading:
    """What is known of a release, and whether it was made with the vocabulary that is read."""
    made_with = release.manifest.get("vocabulary") or {}
    return ReleaseHeading(
        place=release.prefix,
        promise=release.manifest["guarantee"]["sentence"],
        curve=release.setting.curve,
        epsilon=release.setting.epsilon,
        own_vocabulary=vocabulary is not None and made_with.get("digest") == vocabulary.digest,
        in_order=release.in_order,
    )


def told_apart(releases: list[ReleaseHeading]) -> tuple[ReleaseHeading, ...]:
    """Releases that were made with the same settings, by the names of their directories, too."""
    often = Counter((release.curve, release.epsilon) for release in releases)
    return tuple(
        release._replace(curve=f"{release.curve} ({release.place.rstrip('/').rpartition('/')[2]})")
        if often[release.curve, release.epsilon] > 1
        else release
        for release in releases
    )
