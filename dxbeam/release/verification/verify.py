"""Whether a release is what was released: its files, its counts, and what it promises.

Every file is read again and compared with release.json, and release.json with itself: counts with
counts, the guarantee's sentence with the guarantee's numbers, both with the configuration. Of some
entries release.json is the only witness, such as when the job ran. Whoever can write the files can
change those. So what was not checked is always said, and a release is called unchanged only where
the digest of release.json was compared with one that was kept elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dxbeam import storage
from dxbeam.errors import ConfigurationError, DamagedReleaseError, OutputError
from dxbeam.release import manifest
from dxbeam.release.verification import report as verification_report
from dxbeam.release.verification import witnesses
from dxbeam.release.verification.recorded_contents import (
    check_contents,
    checked_projection,
    damaged,
)
from dxbeam.release.verification.recorded_promise import check_promise

_ENTRIES = {
    "format", "version", "guarantee", "unprotected", "configuration", "configuration_digest",
    "vocabulary", "key", "documents_in", "documents_out", "dead_letters", "tokens",
    "post_processing", "corpus_digest", "run", "in_context", "importance_file", "base_file",
    "search_asked_for", "started", "kept_fields", "output_format", "projection_file", "shards",
    "versions", "unreadable_files", "input_snapshot",
}  # fmt: skip
"""All that release.json may hold."""

_SNAPSHOT = r"\d+:\d+"
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"


@dataclass(frozen=True)
class VerifiedRelease:
    """A release in which nothing wrong was found.

    Attributes:
      prefix: where it is.
      manifest: the content of release.json.
      digest: hex SHA-256 of release.json. Where it was noted elsewhere, nobody can have changed
        the release since.
      unchanged: whether this digest was compared with one that was noted elsewhere.
      unchecked: what could not be checked, and why; a sentence each.
    """

    prefix: str
    manifest: dict[str, Any]
    digest: str
    unchanged: bool
    unchecked: tuple[str, ...]

    @property
    def report(self) -> str:
        """What was found, for a person who decides whether to use the release."""
        return verification_report.report(
            self.prefix, self.manifest, self.digest, self.unchanged, self.unchecked
        )


def verify_release(
    prefix: str,
    vocabulary: str | None = None,
    importance: str | None = None,
    stop_words: str | None = None,
    digest: str | None = None,
    ledger: str | None = None,
    decoded_from: str | None = None,
    base: str | None = None,
) -> VerifiedRelease:
    """Reads a release and checks all that can be checked by what is given.

    Args:
      prefix: the release's directory or gs:// prefix.
      vocabulary: the one it was made with, as ``open_vocabulary`` takes it.
      importance: the file of the words' weights, where it was made with one.
      stop_words: the file of the stop words, where it was made with one.
      digest: hex SHA-256 of release.json, noted when it was released.
      ledger: the ledger that the run was entered in, or with ``decoded_from`` that one's run.
      decoded_from: that release, where this one was made by ``dxbeam decode``; it is checked too.
      base: the file of the base measure, where it was made with one.

    Raises:
      DamagedReleaseError: a file is missing, superfluous or changed, or release.json contradicts
        itself or what is given.
      OutputError: there is no release, or it cannot be read.
      ConfigurationError: a file that is given cannot be read, or is of no use.
    """
    path = storage.join(prefix, manifest.RELEASE)
    try:
        if not storage.exists(path):
            raise OutputError(
                f"{prefix}: there is no {manifest.RELEASE}, so there is no whole release here; "
                "check the path"
            )
        own_ledger = None if decoded_from else ledger
        held = witnesses.opened(vocabulary, importance, stop_words, digest, own_ledger, base)
        try:
            release = manifest.verify(prefix)
        except OutputError as error:
            raise DamagedReleaseError(str(error)) from None
        unchanged, unchecked = witnesses.check_witnesses(path, release, held)
        _check_entries(path, release)
        unchecked += [
            *_unknown_entries(release),
            *_check_first(path, release, decoded_from, vocabulary, importance, ledger),
            *check_promise(path, release, checked_projection(prefix, release), held),
            *check_contents(prefix, release, held.vocabulary),
        ]
        actual, _ = storage.sha256(path)
    except OSError as error:
        raise OutputError(f"{prefix} cannot be read ({type(error).__name__})") from None
    return VerifiedRelease(prefix, release, actual, unchanged, tuple(unchecked))


def _check_entries(path: str, release: Mapping[str, Any]) -> None:
    """Entries that nothing else in the release speaks of have the form that they should have."""
    key = release.get("key")
    if not (
        isinstance(key, dict)
        and re.fullmatch("[0-9a-f]+", str(key.get("fingerprint")))
        and isinstance(key.get("kept"), bool)
    ):
        raise damaged(path, "'key' must hold a fingerprint and whether the key is kept")
    started = release.get("started")
    if started is not None and not re.fullmatch(_TIME, str(started)):
        raise damaged(path, "'started' must be a time")
    if not re.fullmatch(_SNAPSHOT, str(release.get("input_snapshot", "0:0"))):
        raise damaged(path, "'input_snapshot' must be the numbers of a snapshot and a schema")


def _check_first(
    path: str,
    release: Mapping[str, Any],
    prefix: str | None,
    vocabulary: str | None,
    importance: str | None,
    ledger: str | None,
) -> list[str]:
    """Compares a decoded release with the one that it was decoded from; what was not checked."""
    processed = release.get("post_processing")
    decoding = processed.get(manifest.DECODING) if isinstance(processed, dict) else None
    if decoding is None and prefix is None:
        return []
    if decoding is None:
        raise ConfigurationError("`decoded_from`: the release was not decoded from another")
    if prefix is None:
        return [
            "Whether the release that this one was decoded from is whole, and what they have in "
            "common is the same: give it (--decoded_from)."
        ]
    first = verify_release(prefix, vocabulary, importance, ledger=ledger)
    if not isinstance(decoding, dict) or decoding.get("release_sha256") != first.digest:
        raise DamagedReleaseError(
            f"{path} was decoded from another release than {prefix} (the SHA-256 of that one's "
            f"{manifest.RELEASE} is {first.digest}); name the one that it was made of"
        )
    counts = {"documents_in": "documents_out", "documents_out": "documents_out"}
    for name, first_name in {**{name: name for name in manifest.CARRIED}, **counts}.items():
        if release.get(name) != first.manifest.get(first_name):
            raise damaged(path, f"{name!r} is not that of the release it was decoded from")
    return []


def _unknown_entries(release: Mapping[str, Any]) -> list[str]:
    unknown = sorted(release.keys() - _ENTRIES)
    if not unknown:
        return []
    return [f"Entries that this version does not know: {', '.join(map(repr, unknown))}."]
