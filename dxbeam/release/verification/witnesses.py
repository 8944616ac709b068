"""What is next to a release to check it by: vocabulary, files, a digest, the ledger's line."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dxbeam import storage
from dxbeam.errors import ConfigurationError, DamagedReleaseError, OutputError
from dxbeam.release import ledger
from dxbeam.release.ledger_lines import RELEASED, Entry
from dxbeam.release.manifest import DECODING
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.vocabulary.words import Vocabulary

_ONLY_HERE = (
    "Whether release.json itself was edited. Nothing else says when the job ran, which key it had "
    "and whether that is kept, and how many dead letters there were. Compare its SHA-256 with one "
    "that was kept elsewhere (--digest), or with the ledger (--ledger)."
)


@dataclass(frozen=True)
class Witnesses:
    """What a release is checked by, each None where it is not given.

    Attributes:
      handle: of the vocabulary.
      vocabulary: the same, open.
      importance: the file of the words' weights.
      stop_words: the file of the stop words.
      digest: hex SHA-256 that release.json should have.
      ledger: the ledger that the run was entered in.
      base: the file of the base measure.
    """

    handle: VocabularyHandle | None = None
    vocabulary: Vocabulary | None = None
    importance: str | None = None
    stop_words: str | None = None
    digest: str | None = None
    ledger: str | None = None
    base: str | None = None

    def lacks(self, files: Iterable[str]) -> bool:
        """Whether one of these files is not given."""
        return any(getattr(self, name) is None for name in files)

    def refuse_files_but(self, needed: Iterable[str]) -> None:
        """Refuses a file that the release was not made with."""
        for name in sorted({"importance", "base", "stop_words"} - set(needed)):
            if getattr(self, name) is not None:
                raise ConfigurationError(
                    f"`{name}`: the release was made without such a file; leave it out"
                )


def opened(
    vocabulary: str | None,
    importance: str | None,
    stop_words: str | None,
    digest: str | None,
    ledger: str | None,
    base: str | None = None,
) -> Witnesses:
    """What a release is checked by, opened."""
    if digest is not None and not re.fullmatch("[0-9a-fA-F]{64}", digest):
        raise ConfigurationError("`digest` is the SHA-256 of release.json, 64 hexadecimal digits")
    handle = artifact.handle(vocabulary) if vocabulary else None
    words = artifact.open_vocabulary(handle) if handle else None
    sha256 = digest and digest.lower()
    return Witnesses(handle, words, importance, stop_words, sha256, ledger, base)


def check_witnesses(
    path: str, release: Mapping[str, Any], at_hand: Witnesses
) -> tuple[bool, list[str]]:
    """Compares release.json with what was noted of it elsewhere.

    Returns whether its digest was compared, and what was not checked, a sentence each.
    DamagedReleaseError: it is another one.
    """
    digest, _ = storage.sha256(path)
    compared, unchecked = False, []
    if at_hand.digest is not None:
        compared = True
        if not hmac.compare_digest(digest, at_hand.digest):
            raise DamagedReleaseError(
                f"{path} was changed, or is of another release (its SHA-256 is {digest}, not the "
                "one that is given); restore it from a copy"
            )
    processed = release.get("post_processing")
    if at_hand.ledger is not None and isinstance(processed, dict) and DECODING in processed:
        raise ConfigurationError(
            "`ledger`: a decoded release costs nothing, so no ledger has a line of it; name the "
            "release that it was made of too (`decoded_from`), which the ledger has"
        )
    if at_hand.ledger is not None:
        line = _line(path, release, at_hand.ledger)
        _compare(path, release, at_hand.ledger, line)
        if line.release_sha256:
            compared = True
            if line.release_sha256 != digest:
                raise DamagedReleaseError(
                    f"{path} was changed since the ledger {at_hand.ledger} has its SHA-256; "
                    "restore it from a copy"
                )
        else:
            unchecked.append("The ledger's line has no SHA-256 of release.json: it is too old.")
    return compared, unchecked if compared else [_ONLY_HERE, *unchecked]


def _line(path: str, release: Mapping[str, Any], place: str) -> Entry:
    """The ledger's last line of the run."""
    if not storage.exists(place):
        raise OutputError(f"the ledger {place}: there is no such file; check the path")
    runs = {entry.run: entry for entry in ledger.latest(ledger.read(place))}
    recorded = runs.get(str(release.get("run")))
    if recorded is None or recorded.state != RELEASED:
        raise DamagedReleaseError(
            f"{path} is of a run that the ledger {place} does not have as released; restore it "
            "from a copy, or name the ledger of this release"
        )
    return recorded


def _compare(path: str, release: Mapping[str, Any], place: str, line: Entry) -> None:
    guarantee, words, key = (
        entry if isinstance(entry := release.get(name), dict) else {}
        for name in ("guarantee", "vocabulary", "key")
    )
    recorded = {
        "epsilon": (guarantee.get("epsilon"), line.epsilon),
        "delta": (guarantee.get("delta"), line.delta),
        "metric": (guarantee.get("metric"), line.metric),
        "configuration_digest": (release.get("configuration_digest"), line.configuration),
        "vocabulary": (words.get("digest", ""), line.vocabulary),
        "corpus_digest": (release.get("corpus_digest"), line.corpus_digest),
        "documents_out": (release.get("documents_out"), line.documents),
        "key": (key.get("fingerprint") if key.get("kept") else "", line.key),
    }
    for name, (said, entered) in recorded.items():
        if said != entered:
            raise DamagedReleaseError(
                f"{path} is damaged ({name!r} is not what the ledger {place} has of this run); "
                "restore it from a copy"
            )
