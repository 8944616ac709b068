"""Who may write below a prefix: a run claims it, and then completes its release or abandons it.

A claim is a file that only one run can make. Workers may outlive their launcher, and complete the
release while it gives up, so completing and abandoning begin alike: by a file that says which of
the two it is to be, and that only one of them can make.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

from dxbeam import storage
from dxbeam.errors import OutputError
from dxbeam.release import manifest
from dxbeam.release.manifest import PIECES, PROJECTION, RELEASE, SENSITIVITY
from dxbeam.storage.changes import writing

_CLAIM = "unfinished-run"
_DECISION = "unfinished-decision"


def check_empty(prefix: str) -> None:
    """Refuses a prefix below which there is something, or where nothing may be; writes nothing."""
    if (reason := storage.why_unwritable(prefix)) is not None:
        raise OutputError(f"{prefix} cannot be written: {reason}")
    try:
        first = storage.first_file_below(prefix)
    except OSError as error:
        raise OutputError(f"{prefix} cannot be listed ({type(error).__name__})") from None
    if first is not None:
        unfinished = not storage.exists(storage.join(prefix, RELEASE))
        mend = (
            "it looks like a run that is under way or did not finish: if none is under way, "
            "delete the directory"
            if unfinished and is_taken(prefix)
            else "choose a fresh one"
        )
        raise OutputError(f"{prefix} is not empty (it holds {first}); {mend}")


def take_fresh(prefix: str, run: str) -> None:
    """Takes an empty prefix for a run; of several that try at once, one succeeds.

    A run, whose name no other has, may claim again what it has claimed. OutputError refuses others.
    """
    if not holds(prefix, run):
        check_empty(prefix)
    take(prefix, run)


def take(prefix: str, run: str) -> None:
    """Takes a place for a run, whatever else is there, or raises OutputError."""
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


def is_taken(prefix: str) -> bool:
    """Whether some run holds a place now."""
    return storage.exists(storage.join(prefix, _CLAIM))


def holds(prefix: str, run: str) -> bool:
    """Whether this run holds a place now."""
    try:
        return storage.read(storage.join(prefix, _CLAIM)).decode("utf-8", "replace").strip() == run
    except OSError:
        return False


def check(prefix: str, run: str) -> None:
    """Makes sure that a run still holds its place, as workers may outlive its launcher."""
    if not holds(prefix, run):
        raise _claim_lost(prefix)


def _claim_lost(prefix: str) -> OutputError:
    return OutputError(
        f"{prefix}: the launcher of this run has ended and given the prefix up; nothing is "
        "released, run the job again"
    )


def let_go(prefix: str) -> None:
    """Ends the claim that a run had on a place."""
    storage.delete(storage.join(prefix, _CLAIM))


def abandon(
    prefix: str,
    run: str,
    stop_writers: Callable[[], None] = lambda: None,
    *,
    completing_seconds: float = 4.0,
) -> None:
    """Deletes what a failed run has written below a prefix, if it had claimed it.

    A worker may complete the release at the same moment. So the launcher first makes the file that
    decides between the two, as the worker does; nothing is deleted before.

    Args:
      prefix: of the release.
      run: the name under which it was claimed.
      stop_writers: ends what may still write for the run; called once it cannot be released.
      completing_seconds: how long a worker is waited for; a launcher that must stop has ten.

    Raises:
      OutputError: the release was complete, or a worker was completing it; it is said which.
    """
    if not holds(prefix, run):
        if is_released(prefix, run):
            raise _already_released(prefix)
        return  # nothing here is this run's
    release = storage.join(prefix, RELEASE)
    try:
        decided = _decide(prefix, f"abandon {run}")
    except OSError:  # the place is full or gone, so nobody else can decide there either
        decided = True
    waited = 0.0
    while not decided and not storage.exists(release) and waited < completing_seconds:
        time.sleep(0.1)
        waited += 0.1
    if storage.exists(release):
        if decided:
            _forget_decision(prefix)
        raise _already_released(prefix)
    if not decided:
        raise OutputError(
            f"{prefix}: the run was stopped while a worker completed it; if there is no {RELEASE}, "
            "delete the directory"
        )
    stop_writers()
    for name in (_DECISION, RELEASE):  # of writers that were stopped while they wrote them
        storage.delete_unfinished(storage.join(prefix, name))
    let_go(prefix)  # before the decision is forgotten, or a worker could make another
    _delete_shards_but(prefix, set())
    for name in (PROJECTION, SENSITIVITY):
        storage.delete(storage.join(prefix, name))
    _forget_decision(prefix)


def is_released(prefix: str, run: str) -> bool:
    """Whether a run's release is complete."""
    try:
        return bool(manifest.read(prefix).get("run") == run)
    except (OutputError, OSError):
        return False


def _already_released(prefix: str) -> OutputError:
    return OutputError(
        f"{prefix}: the run was stopped when it was complete already, so it is released"
    )


def _decide(prefix: str, decision: str) -> bool:
    """Whether the run's fate is this decision: the first one made holds; repeating it is fine."""
    try:
        storage.create_once(storage.join(prefix, _DECISION), f"{decision}\n".encode())
    except OutputError:
        return False
    return True


def _forget_decision(prefix: str) -> None:
    storage.delete(storage.join(prefix, _DECISION))


def _delete_shards_but(prefix: str, shards: set[str]) -> None:
    """Deletes what repeated bundles and failed runs left: pieces, and all shards but these."""
    for name in list(storage.names_below(prefix)):
        if manifest.is_shard(name) and name not in shards:
            storage.delete(storage.join(prefix, name))
    storage.delete(storage.join(prefix, PIECES))


@writing()
def complete(prefix: str, content: Mapping[str, Any]) -> None:
    """Writes release.json, once, and so completes the release; gives the claim up.

    An engine may repeat the whole run after that, when it loses a worker at the last moment. The
    release that was complete first stays, as somebody may have read it. Where the content names its
    run, that run must hold the claim; OutputError refuses another.
    """
    path, run = storage.join(prefix, RELEASE), content.get("run")
    if storage.exists(path):
        released = manifest.read(prefix)
        if released.get("run") != run:
            raise OutputError(f"{path} was written by another run; choose another output")
        if run is not None:
            content = released
    elif run is not None:
        if not _decide(prefix, f"release {run}"):
            raise _claim_lost(prefix)
        try:
            check(prefix, run)
        except OutputError:
            _forget_decision(prefix)
            raise
    try:
        _delete_shards_but(prefix, {shard["name"] for shard in content["shards"]})
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        storage.create_once(path, text.encode())
    except OSError:
        _forget_decision(prefix)  # so that the launcher can tidy up
        raise
    let_go(prefix)
    _forget_decision(prefix)
