"""release.json, the manifest: its content, reading it, and verifying a release against it.

``claim.complete`` writes it last and only once. A prefix without one is not a release.
"""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

import datetime
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from dxbeam import storage
from dxbeam.documents import DeadLetterCap, UnreadableFile
from dxbeam.errors import CorpusError, OutputError, RunError
from dxbeam.guarantees import Guarantee
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.text.repair import Repair
from dxbeam.text.tally import Tally, total

RELEASE = "release.json"
FORMAT = "dxbeam-release"
VERSION = 2
"""Version 1 did not name kept fields in ``unprotected``, and may have worded promises otherwise."""
SHARD_PREFIX = "part"
PIECES = "unfinished-parts"
"""Folder below a release's prefix for shards that are still being written."""
REPAIR, DECODING = "grammar_repair", "decoding"
"""Entries of ``post_processing``: a language model rewrote the texts; or it is a release that was
decoded from another."""
CARRIED = (
    "unprotected", "configuration", "configuration_digest", "vocabulary", "key", "tokens",
    "corpus_digest", "importance_file", "base_file", "kept_fields", "output_format",
)  # fmt: skip
"""Entries of a decoded release that are those of the release it was made of."""
PROJECTION, SENSITIVITY = "projection.npy", "sensitivity.json"
"""Files that a release of vectors may hold next to its shards."""

_PACKAGES = ("dxbeam", "apache-beam", "faiss-cpu", "numpy", "pyarrow", "cryptography")


class Shard(NamedTuple):
    """One file of a release: its name below the prefix, documents, bytes and hex SHA-256."""

    name: str
    documents: int
    bytes: int
    sha256: str


class Settings(Protocol):
    """What a manifest asks of the settings of a release: Configuration or VectorConfiguration."""

    def guarantee(self) -> Guarantee:
        """What is promised."""
        ...

    @property
    def unprotected(self) -> tuple[str, ...]:
        """What is released without protection."""
        ...

    def as_dict(self) -> dict[str, Any]:
        """Every parameter, ready for JSON."""
        ...

    def digest(self, vocabulary: str) -> str:
        """SHA-256 of all that determines the output distribution, the vocabulary included."""
        ...


def now() -> str:
    """The time as release.json has it: UTC, in seconds."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Versions of all that may influence a result."""
    return {"python": platform.python_version(), **{p: metadata.version(p) for p in _PACKAGES}}


def unprotected(settings: Iterable[str], kept_fields: Iterable[str]) -> list[str]:
    """All that is released as it is: what settings leave unprotected, and fields that are kept."""
    return [*settings, *(f"the field {name!r}" for name in kept_fields)]


def vocabulary_entry(vocabulary: VocabularyHandle) -> dict[str, Any]:
    """What release.json says of a vocabulary."""
    return {name: getattr(vocabulary, name) for name in ("digest", "words", "dimensions", "search")}


def is_shard(name: str) -> bool:
    """Whether a file below a prefix is called as a shard is: plainly, so that it is there."""
    return name.startswith(f"{SHARD_PREFIX}-") and "/" not in name


@dataclass(frozen=True)
class ReleaseJob:
    """What is known of a release before it is run.

    Attributes:
      vocabulary: with what words; None for given vectors that need none.
      key_kept: whether the key is kept outside the job, so that the noise can be drawn again.
      source: what is read, and
      dead_letters: where they are after a failure, both for sentences that say why a run failed.
      facts: further entries of the manifest.
      repair: the language model that rewrites the sanitized text, or None.
      dead_letter_cap: with more dead letters nothing is released; None for no cap.
      required_digest: what the corpus digest must be for a release to be made; "" for anything.
    """

    configuration: Settings
    vocabulary: VocabularyHandle | None
    key_kept: bool
    source: str
    dead_letters: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    repair: Repair | None = None
    dead_letter_cap: DeadLetterCap | None = None
    required_digest: str = ""


class RunOutcome(NamedTuple):
    """What a run has counted and written.

    Attributes:
      tallies: the counts over all documents that were sanitized, by group.
      rejected: how many records could not be sanitized and went to the dead letters.
      key_fingerprint: names the key.
      commonest_reason: [] or [(reason, how often)], of those for which records were rejected.
      corpus_digest: names the corpus under this key and configuration; "" to leave it out.
      repaired: how many documents the language model "repaired", how many were "blank", or failed
        and were "kept" as they were or "withheld".
      unreadable: files that were left out because they could not be read.
    """

    shards: Iterable[Shard]
    tallies: Iterable[tuple[str, Tally]]
    rejected: int
    key_fingerprint: str
    commonest_reason: Sequence[tuple[str, int]] = ()
    corpus_digest: str = ""
    repaired: Mapping[str, int] = MappingProxyType({})
    unreadable: Iterable[UnreadableFile] = ()


def compose(job: ReleaseJob, outcome: RunOutcome) -> dict[str, Any]:
    """The content of release.json.

    Raises:
      CorpusError: no document was read, or all were rejected.
      RunError: there were texts to repair, and none was repaired; or more dead letters than the
        job allows.
      OutputError: the shards do not hold as many documents as were sanitized, or the corpus is not
        the one that the job requires.
    """
    if job.required_digest not in ("", outcome.corpus_digest):
        raise OutputError(
            "the ledger has no epsilon left for this corpus but to repeat an earlier release, "
            "and the corpus is no longer what it was then; nothing is released"
        )
    shards, tally = sorted(outcome.shards), total(tally for _, tally in outcome.tallies)
    if not tally.documents:
        raise _nothing_to_release(job, outcome)
    repaired = {"repaired": 0, "blank": 0, "kept": 0, "withheld": 0, **outcome.repaired}
    _check_repaired(repaired)
    released = tally.documents - repaired["withheld"]
    written = sum(shard.documents for shard in shards)
    if written != released:
        raise OutputError(
            f"the shards hold {written} documents but {released} were sanitized; nothing is "
            "released, run the job again"
        )
    documents_in = tally.documents + outcome.rejected
    dead_letters = outcome.rejected + repaired["withheld"]
    if job.dead_letter_cap:
        job.dead_letter_cap.check(dead_letters, documents_in)
    configuration, vocabulary = job.configuration, job.vocabulary
    guarantee, further = configuration.guarantee(), dict[str, Any]()
    if job.repair:
        guarantee = guarantee.with_caveats(*job.repair.caveats)
        further["post_processing"] = {REPAIR: {**job.repair.as_dict(), **repaired}}
    if outcome.corpus_digest:
        further["corpus_digest"] = outcome.corpus_digest
    return {
        "format": FORMAT,
        "version": VERSION,
        "guarantee": guarantee.as_dict(),
        "unprotected": unprotected(configuration.unprotected, job.facts.get("kept_fields", ())),
        "configuration": configuration.as_dict(),
        "configuration_digest": configuration.digest(vocabulary.digest if vocabulary else ""),
        "vocabulary": vocabulary_entry(vocabulary) if vocabulary else None,
        "key": {"fingerprint": outcome.key_fingerprint, "kept": job.key_kept},
        "documents_in": documents_in,
        "documents_out": written,
        "dead_letters": dead_letters,
        "tokens": tally.tokens,
        **further,
        **job.facts,
        "shards": [shard._asdict() for shard in shards],
        "versions": versions(),
        "unreadable_files": unreadable_files(outcome.unreadable),
    }


def _nothing_to_release(job: ReleaseJob, outcome: RunOutcome) -> CorpusError:
    if not outcome.rejected:
        return CorpusError(f"no document could be released: {job.source} holds none")
    reason = outcome.commonest_reason[0][0] if outcome.commonest_reason else "no reason is known"
    return CorpusError(
        f"no document could be released: {outcome.rejected:,} records were rejected, most often "
        f"because: {reason}; {job.dead_letters} says where in {job.source} and why"
    )


def _check_repaired(repaired: Mapping[str, int]) -> None:
    """Fails a run whose language model repaired nothing at all."""
    unrepaired = repaired["kept"] + repaired["withheld"]
    if unrepaired and not repaired["repaired"]:
        raise RunError(
            f"`repair_endpoint`: the language model repaired none of {unrepaired} texts, so "
            "nothing is released; the log says why: fix that, or leave `repair_model` out"
        )


def unreadable_files(files: Iterable[UnreadableFile]) -> list[dict[str, str]]:
    """Files that were left out, in order of their names, ready for JSON."""
    return [UnreadableFile(*file)._asdict() for file in sorted(files)]


def read(prefix: str) -> dict[str, Any]:
    """The manifest of a release; OutputError: none, or of an unknown version."""
    path = storage.join(prefix, RELEASE)
    try:
        manifest = json.loads(storage.read(path))
    except OSError:
        raise OutputError(f"{prefix}: there is no {RELEASE}, so this is no whole release") from None
    except (ValueError, RecursionError):
        raise OutputError(f"{path} is damaged (not JSON); restore it from a copy") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise OutputError(f"{path} does not describe a dxbeam release")
    version = manifest.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise OutputError(
            f"{path} is of a version that this dxbeam does not know; install the dxbeam that "
            "wrote it, or restore it from a copy"
        )
    return manifest


def verify(prefix: str) -> dict[str, Any]:
    """Checks the files of a release against its manifest, and returns the manifest.

    OutputError says which file is missing or not what was written, or is no part of the release,
    hidden files and folders included, or what the manifest names that cannot be a shard.
    """
    manifest = read(prefix)
    expected = _digests(storage.join(prefix, RELEASE), manifest.get("shards"))
    for name, digest in expected.items():
        path = storage.join(prefix, name)
        if not storage.exists(path) or storage.sha256(path)[0] != digest:
            raise OutputError(f"{path} is missing or not the file that was released")
    foreign = sorted(storage.names_in(prefix) - {RELEASE, *expected, *_beside(manifest)})
    if foreign:
        more = f", and {len(foreign) - 1:,} more" if len(foreign) > 1 else ""
        raise OutputError(
            f"{storage.join(prefix, foreign[0])} is not part of the release that {RELEASE} "
            f"describes{more}; it was put there later: move it away before the release is published"
        )
    return manifest


def _beside(manifest: Mapping[str, Any]) -> set[str]:
    """Files that a release of vectors has next to its shards."""
    configuration = manifest.get("configuration")
    sensitivity = configuration.get("sensitivity") if isinstance(configuration, dict) else None
    exact = isinstance(sensitivity, dict) and sensitivity.get("method") == "exact"
    projected = bool(manifest.get("projection_file"))
    return {*([PROJECTION] if projected else []), *([SENSITIVITY] if exact and projected else [])}


def _digests(path: str, shards: Any) -> dict[str, str]:
    """SHA-256 of each shard by its name, which is a plain one: no file elsewhere is looked at."""
    digests: dict[str, str] = {}
    for shard in shards if isinstance(shards, list) else [None]:
        name = shard.get("name") if isinstance(shard, dict) else None
        digest = shard.get("sha256") if isinstance(shard, dict) else None
        if not (isinstance(name, str) and is_shard(name) and isinstance(digest, str)):
            raise OutputError(
                f"{path} is damaged ('shards' must list plain names and SHA-256 digests); restore "
                "it from a copy"
            )
        if name in digests:
            raise OutputError(f"{path} is damaged (it lists {name} twice); restore it from a copy")
        digests[name] = digest
    return digests
