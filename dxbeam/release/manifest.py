"""release.json: compose it, verify a release against it, and claim a fresh prefix.

The manifest is written last and only once. A prefix without one is not a release.
"""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

import json
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata
from typing import Any, NamedTuple, Protocol

from dxbeam import stopping, storage
from dxbeam.errors import CorpusError, OutputError, RunError
from dxbeam.guarantees import Guarantee
from dxbeam.space.artifact import VocabularyHandle
from dxbeam.tally import Tally
from dxbeam.text.repair import Repair

RELEASE = "release.json"
FORMAT = "dxbeam-release"
VERSION = 1
SHARD_PREFIX = "part"
PIECES = "unfinished-parts"
"""Folder below a release's prefix for shards that are still being written."""
PROJECTION, SENSITIVITY = "projection.npy", "sensitivity.json"
"""Files that a release of vectors may hold beside its shards."""

_CLAIM = "unfinished-run"
_DECISION = "unfinished-decision"
_COMPLETING_SECONDS = 4.0  # a launcher that is told to stop has ten
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
        """What passes the mechanism by."""
        ...

    def as_dict(self) -> dict[str, Any]:
        """Every parameter, ready for JSON."""
        ...

    def digest(self, vocabulary: str) -> str:
        """SHA-256 of all that determines the law, the vocabulary's digest among it."""
        ...


def versions() -> dict[str, str]:
    """Versions of all that may influence a result."""
    return {"python": platform.python_version(), **{p: metadata.version(p) for p in _PACKAGES}}


def check_empty(prefix: str) -> None:
    """Makes sure that nothing lies below a prefix, and that something may; writes nothing.

    Raises:
      OutputError: something does, or nobody can tell.
    """
    if (reason := storage.why_unwritable(prefix)) is not None:
        raise OutputError(f"{prefix} cannot be written: {reason}")
    try:
        found = storage.first_file_below(prefix)
    except OSError as error:
        raise OutputError(f"{prefix} cannot be listed ({type(error).__name__})") from None
    if found is not None:
        unfinished = not storage.exists(storage.join(prefix, RELEASE))
        mend = (
            "it looks like a run that is under way or did not finish: if none is under way, "
            "delete the directory"
            if unfinished and is_claimed(prefix)
            else "choose a fresh one"
        )
        raise OutputError(f"{prefix} is not empty (it holds {found}); {mend}")


def claim(prefix: str, run: str) -> None:
    """Takes an empty prefix for one of the runs that may try.

    Args:
      prefix: the output directory or gs:// prefix.
      run: a name that no other run has; what a run has claimed it may claim again.

    Raises:
      OutputError: the prefix is not empty, or another run took it.
    """
    if not holds(prefix, run):
        check_empty(prefix)
    mark(prefix, run)


def mark(prefix: str, run: str) -> None:
    """Takes a place for a run, whatever else lies there.

    Raises:
      OutputError: another run took it, or it cannot be written.
    """
    try:
        storage.create_once(storage.join(prefix, _CLAIM), (run + "\n").encode())
    except OutputError:
        raise OutputError(
            f"{prefix}: another run has just started to write here; let it finish, or choose a "
            "fresh place"
        ) from None
    except OSError as error:
        raise OutputError(
            f"{prefix} cannot be written ({type(error).__name__}: {error.strerror})"
        ) from None


def is_claimed(prefix: str) -> bool:
    """Whether some run has a place at the moment."""
    return storage.exists(storage.join(prefix, _CLAIM))


def holds(prefix: str, run: str) -> bool:
    """Whether a place is this run's at the moment."""
    try:
        return storage.read(storage.join(prefix, _CLAIM)).decode("utf-8", "replace").strip() == run
    except OSError:
        return False


def check_claim(prefix: str, run: str) -> None:
    """Makes sure that a run still has its prefix: on a cluster it may outlive its launcher.

    Raises:
      OutputError: the claim was given up, or is another run's.
    """
    if not holds(prefix, run):
        raise _given_up(prefix)


def _given_up(prefix: str) -> OutputError:
    return OutputError(
        f"{prefix}: the launcher of this run has ended and given the prefix up; nothing is "
        "released, run the job again"
    )


def give_up_claim(prefix: str) -> None:
    """Says that the run which had claimed a prefix is over."""
    storage.delete(storage.join(prefix, _CLAIM))


def abandon(prefix: str, run: str, halt: Callable[[], None] = lambda: None) -> None:
    """Deletes what a failed run has written below a prefix, if it had claimed it.

    Workers may outlive the launcher, and complete the release while it gives up. So both first
    decide which it is to be, by a file that only one of them can make; nothing is deleted before.

    Args:
      prefix: of the release.
      run: the name under which it was claimed.
      halt: ends what may still write for the run; called when it cannot be released any more.

    Raises:
      OutputError: the release was complete, or a worker was completing it; it is said which.
    """
    if not holds(prefix, run):
        if is_released(prefix, run):
            raise _complete_already(prefix)
        return  # nothing here is this run's
    release = storage.join(prefix, RELEASE)
    try:
        decided = _decide(prefix, f"abandon {run}")
    except OSError:  # the place is full or gone, so nobody else can decide there either
        decided = True
    waited = 0.0
    while not decided and not storage.exists(release) and waited < _COMPLETING_SECONDS:
        time.sleep(0.1)
        waited += 0.1
    if storage.exists(release):
        if decided:
            _forget_decision(prefix)
        raise _complete_already(prefix)
    if not decided:
        raise OutputError(
            f"{prefix}: the run was stopped while a worker completed it; if there is no {RELEASE}, "
            "delete the directory"
        )
    halt()
    for name in (_DECISION, RELEASE):  # those who were halted while they wrote them
        storage.delete_unfinished(storage.join(prefix, name))
    give_up_claim(prefix)  # before the decision is forgotten, or a worker could make another
    _tidy(prefix, set())
    for name in (PROJECTION, SENSITIVITY):
        storage.delete(storage.join(prefix, name))
    _forget_decision(prefix)


def is_released(prefix: str, run: str) -> bool:
    """Whether a run's release is complete."""
    try:
        return read(prefix).get("run") == run
    except (OutputError, OSError):
        return False


def _complete_already(prefix: str) -> OutputError:
    return OutputError(
        f"{prefix}: the run was stopped when it was complete already, so it is released"
    )


def _decide(prefix: str, decision: str) -> bool:
    """Whether this is what becomes of the run: the first decision holds, a repeated one too."""
    try:
        storage.create_once(storage.join(prefix, _DECISION), f"{decision}\n".encode())
    except OutputError:
        return False
    return True


def _forget_decision(prefix: str) -> None:
    storage.delete(storage.join(prefix, _DECISION))


def _tidy(prefix: str, shards: set[str]) -> None:
    """Deletes what repeated bundles and failed runs left: pieces, and all but these shards."""
    for name in list(storage.names_below(prefix)):
        if _is_shard(name) and name not in shards:
            storage.delete(storage.join(prefix, name))
    storage.delete(storage.join(prefix, PIECES))


def _is_shard(name: str) -> bool:
    """Whether a file below a prefix is called as a shard is: plainly, so that it lies there."""
    return name.startswith(f"{SHARD_PREFIX}-") and "/" not in name


def compose(
    configuration: Settings,
    vocabulary: VocabularyHandle | None,
    key_fingerprint: str,
    key_kept: bool,
    tally: Tally,
    rejected: int,
    shards: Iterable[Shard],
    facts: Mapping[str, Any],
    repair: Repair | None = None,
    repaired: Mapping[str, int] | None = None,
    *,
    source: str = "the corpus",
    dead_letters: str = "the dead letters",
    commonest_reason: str = "",
) -> dict[str, Any]:
    """The content of release.json.

    Args:
      configuration: what was run.
      vocabulary: with what words; None for given vectors that need none.
      key_fingerprint: names the key.
      key_kept: whether the key was given from outside, so that the noise can be drawn again.
      tally: counts over all documents that were sanitized.
      rejected: records that could not be sanitized and went to the dead letters.
      shards: the files.
      facts: further entries.
      repair: the language model that rewrote the sanitized text, or None.
      repaired: how many documents it "repaired", how many were "blank", or failed and were "kept"
        as they were or "withheld".
      source: what was read, for the sentence that says that nothing of it can be released.
      dead_letters: where they lie, for the same sentence.
      commonest_reason: of those for which records were rejected; the same.

    Raises:
      CorpusError: no document was read, or all were rejected.
      RunError: there were texts to repair, and none was repaired.
      OutputError: the shards do not hold as many documents as were sanitized.
    """
    files = sorted(shards)
    if not tally.documents:
        raise CorpusError(
            f"no document could be released: {rejected:,} records were rejected, most often "
            f"because: {commonest_reason}; {dead_letters} says where in {source} and why"
            if rejected
            else f"no document could be released: {source} holds none"
        )
    outcomes = {"repaired": 0, "blank": 0, "kept": 0, "withheld": 0, **(repaired or {})}
    withheld = outcomes["withheld"]
    unrepaired = outcomes["kept"] + withheld
    if unrepaired and not outcomes["repaired"]:
        raise RunError(
            f"--repair_endpoint: the language model repaired none of {unrepaired} texts, so "
            "nothing is released; the log says why: mend that, or leave --repair_model out"
        )
    written = sum(shard.documents for shard in files)
    if written != tally.documents - withheld:
        raise OutputError(
            f"the shards hold {written} documents but {tally.documents - withheld} were "
            "sanitized; nothing is released, run the job again"
        )
    guarantee = configuration.guarantee()
    after: dict[str, Any] = {}
    if repair:
        guarantee = guarantee.with_caveats(*repair.caveats)
        after = {"post_processing": {"grammar_repair": {**repair.as_dict(), **outcomes}}}
    return {
        "format": FORMAT,
        "version": VERSION,
        "guarantee": guarantee.as_dict(),
        "unprotected": list(configuration.unprotected),
        "configuration": configuration.as_dict(),
        "configuration_digest": configuration.digest(vocabulary.digest if vocabulary else ""),
        "vocabulary": {
            "digest": vocabulary.digest,
            "words": vocabulary.words,
            "dimensions": vocabulary.dimensions,
            "search": vocabulary.search,
        }
        if vocabulary
        else None,
        "key": {"fingerprint": key_fingerprint, "kept": key_kept},
        "documents_in": tally.documents + rejected,
        "documents_out": written,
        "dead_letters": rejected + withheld,
        "tokens": tally.tokens,
        **after,
        **facts,
        "shards": [shard._asdict() for shard in files],
        "versions": versions(),
    }


@stopping.writing()
def write(prefix: str, manifest: Mapping[str, Any]) -> None:
    """Writes release.json, once, and so completes the release; gives the claim up.

    An engine may repeat the whole run after that, when it loses a worker at the last moment. The
    release that was complete first stays, as somebody may have read it.

    Args:
      prefix: of the release.
      manifest: its content; where it names its run, that run must hold the claim.

    Raises:
      OutputError: another run's release.json is there, or the run was given up.
    """
    path, run = storage.join(prefix, RELEASE), manifest.get("run")
    if storage.exists(path):
        found = read(prefix)
        if found.get("run") != run:
            raise OutputError(f"{path} was written by another run; choose another --output")
        if run is not None:
            manifest = found
    elif run is not None:
        if not _decide(prefix, f"release {run}"):
            raise _given_up(prefix)
        try:
            check_claim(prefix, run)
        except OutputError:
            _forget_decision(prefix)
            raise
    try:
        _tidy(prefix, {shard["name"] for shard in manifest["shards"]})
        content = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        storage.create_once(path, content.encode())
    except OSError:
        _forget_decision(prefix)  # so that the launcher can tidy up
        raise
    give_up_claim(prefix)
    _forget_decision(prefix)


def read(prefix: str) -> dict[str, Any]:
    """The manifest of a release.

    Raises:
      OutputError: there is none, so the release is not complete; or it is none of dxbeam's.
    """
    path = storage.join(prefix, RELEASE)
    try:
        manifest = json.loads(storage.read(path))
    except OSError:
        raise OutputError(f"{prefix}: there is no {RELEASE}, so this is no whole release") from None
    except (ValueError, RecursionError):
        raise OutputError(f"{path} is damaged (not JSON); restore it from a copy") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise OutputError(f"{path} does not describe a release of dxbeam's")
    return manifest


def verify(prefix: str) -> dict[str, Any]:
    """Checks every shard of a release against its manifest, and returns the manifest.

    Raises:
      OutputError: a shard is missing or not what was written, or there is a file too many; or the
        manifest names what cannot be a shard of this release.
    """
    manifest = read(prefix)
    expected = _digests(storage.join(prefix, RELEASE), manifest.get("shards"))
    for name, digest in expected.items():
        path = storage.join(prefix, name)
        if not storage.exists(path) or storage.sha256(path)[0] != digest:
            raise OutputError(f"{path} is missing or not the file that was released")
    for name in storage.names_below(prefix):
        if _is_shard(name) and name not in expected:
            path = storage.join(prefix, name)
            raise OutputError(f"{path} is not part of the release that {RELEASE} describes")
    return manifest


def _digests(path: str, shards: Any) -> dict[str, str]:
    """SHA-256 of each shard by its name, which is a plain one: no file elsewhere is looked at."""
    digests = {}
    for shard in shards if isinstance(shards, list) else [None]:
        name = shard.get("name") if isinstance(shard, dict) else None
        digest = shard.get("sha256") if isinstance(shard, dict) else None
        if not (isinstance(name, str) and _is_shard(name) and isinstance(digest, str)):
            raise OutputError(
                f"{path} is damaged ('shards' must list plain names and SHA-256 digests); restore "
                "it from a copy"
            )
        digests[name] = digest
    return digests
