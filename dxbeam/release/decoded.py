"""Decoding a finished release: what is refused, and the release.json of what is decoded.

A decoded release is a separate release: shards and a release.json, which names that of the first
by its digest. Configuration, key and corpus are those of the first, as nothing was drawn anew; how
it was decoded is in ``post_processing``. A ledger has no line of it, as it costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dxbeam import storage
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.release import manifest, places
from dxbeam.release.manifest import DECODING, Shard
from dxbeam.release.verification.verify import verify_release
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.text import recorded_configuration as recorded
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.release_decoding import ReleaseDecoding, why_not_decoded_again


@dataclass(frozen=True)
class FirstRelease:
    """A release that can be decoded: its release.json, its SHA-256, what it was made with."""

    prefix: str
    manifest: dict[str, Any]
    digest: str
    configuration: Configuration

    @property
    def pattern(self) -> str:
        """A glob of its shards."""
        return storage.join(self.prefix, f"{manifest.SHARD_PREFIX}-*")

    @property
    def read_as(self) -> CorpusFormat:
        """How its shards are read."""
        levels = self.configuration.epsilon_by
        return CorpusFormat(
            self.manifest["output_format"],
            keep_fields=tuple(self.manifest["kept_fields"]),
            epsilon_by=levels.field if levels else None,
        )


def first_release(prefix: str, importance: str | None = None) -> FirstRelease:
    """Checks a release as ``dxbeam verify`` does, and whether it can be decoded.

    ConfigurationError says why it cannot. ``importance`` is the file of the words' weights, where
    it was made with one.
    """
    verified = verify_release(prefix, importance=importance)
    release, configuration = verified.manifest, verified.manifest["configuration"]
    if configuration.get("release") == "vectors":
        raise _refused(prefix, "it holds noisy vectors, and released words are decoded")
    if processed := release.get("post_processing"):
        done = "decoded already" if DECODING in processed else "rewritten by a language model"
        raise _refused(prefix, f"it was {done}; decode the release that it was made of")
    settings = recorded.rebuilt(configuration, importance)
    if settings is None:
        raise _refused(prefix, _why_not_rebuilt(configuration))
    if reason := why_not_decoded_again(settings):
        raise _refused(prefix, reason)
    levels = settings.epsilon_by
    if levels and levels.field not in release["kept_fields"]:
        raise _refused(
            prefix,
            f"each document has an epsilon by its field {levels.field!r}, which the release does "
            "not hold; release with `keep_fields` for it",
        )
    return FirstRelease(prefix, release, verified.digest, settings)


def _refused(prefix: str, reason: str) -> ConfigurationError:
    return ConfigurationError(f"`release` {prefix} cannot be decoded: {reason}")


def _why_not_rebuilt(configuration: Mapping[str, Any]) -> str:
    if recorded.has_listed_base(configuration):
        return "of the file of its base measure only a digest is recorded"
    if "importance" in recorded.files_needed(configuration):
        return "of the file of the words' weights only a digest is recorded; give `importance`"
    return "its settings cannot be made again from release.json, as of releases by an earlier rule"


def check_places(release: str, output: str) -> str:
    """The place to write to; neither it nor the release that is read may be within the other."""
    output = places.output_place("output", output)
    if places.is_within(output, release) or places.is_within(release, output):
        raise ConfigurationError(
            f"`output` {output} and `release` {release} are within one another; choose another "
            "output"
        )
    return output


def check_vocabulary(first: FirstRelease, vocabulary: VocabularyHandle) -> None:
    """Refuses a vocabulary that the release was not made with."""
    words = first.manifest.get("vocabulary")
    if not isinstance(words, dict) or words.get("digest") != vocabulary.digest:
        raise ConfigurationError(
            f"`vocabulary` {vocabulary.uri} is not the one that `release` {first.prefix} was made "
            "with; give that one"
        )


def compose(
    first: FirstRelease,
    settings: ReleaseDecoding,
    shards: Iterable[Shard],
    run: str | None,
    context: list[dict[str, Any]],
    started: str,
) -> dict[str, Any]:
    """The content of the decoded release's release.json.

    OutputError refuses another number of documents than the first release holds.
    """
    written = sorted(shards)
    documents = sum(shard.documents for shard in written)
    if documents != first.manifest["documents_out"]:
        raise OutputError(
            f"{first.prefix} holds {first.manifest['documents_out']:,} documents and "
            f"{documents:,} were decoded; nothing is written, run the job again"
        )
    return {
        "format": manifest.FORMAT,
        "version": manifest.VERSION,
        "guarantee": settings.guarantee().as_dict(),
        **{name: first.manifest[name] for name in manifest.CARRIED if name in first.manifest},
        "documents_in": documents,
        "documents_out": documents,
        "dead_letters": 0,
        "post_processing": {DECODING: settings.as_dict()},
        "run": run,
        "in_context": context,
        "started": started,
        "shards": [shard._asdict() for shard in written],
        "versions": manifest.versions(),
        "unreadable_files": [],
    }
