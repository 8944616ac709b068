"""One run of a launcher: it claims its places, runs, and then completes or takes back what it did.

    run = Run(output, metrics_output)
    run.take()
    required_digest = run.enter(account)
    ...  # run the pipeline, which writes release.json last
    run.complete()  # or, whatever went wrong, run.undo()
    print(run.release)

A run that fails takes its shards and its metrics away. Its dead letters may say why it failed, so
they stay, under a name that no other run uses; nothing of an earlier run is ever written over.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from typing import Any

from dxbeam import storage
from dxbeam.errors import DxbeamError, OutputError
from dxbeam.release import claim, ledger, manifest
from dxbeam.release.ledger import Account

METRICS, GROUPS, DEAD_LETTERS = "metrics.json", "metrics.parquet", "dead_letters.jsonl"
"""Files in the place for metrics, computed from the raw text."""

_LOG = logging.getLogger(__name__)


def dead_letters_after_failure(metrics_output: str, run: str | None) -> str:
    """Where the dead letters of a run are once it has failed; those of no run keep their name."""
    name = DEAD_LETTERS if run is None else DEAD_LETTERS.replace(".", f"-{run}.")
    return storage.join(metrics_output, name)


class Run:
    """Holds an output and a place for metrics for one run, and lets go of them at its end.

    Attributes:
      name: no other run has it.
      release: the content of release.json, once the release is complete.
      digest: hex SHA-256 of release.json, once the release is complete.
    """

    def __init__(self, output: str, metrics_output: str):
        self.name = uuid.uuid4().hex
        self.output = output
        self.metrics_output = metrics_output
        self.release: dict[str, Any] = {}
        self.digest = ""
        self._account: Account | None = None

    @property
    def noted(self) -> str:
        """What whoever runs it should note elsewhere, once the release is complete."""
        return (
            f"Keep this SHA-256 of {manifest.RELEASE} in another place: {self.digest}; "
            f"dxbeam verify {self.output} --digest SHA256 compares it"
        )

    def check(self, account: Account | None = None) -> None:
        """Refuses what would be refused if the run began now; writes nothing."""
        claim.check_empty(self.output)
        self._check_metrics_output()
        if account:
            ledger.check(account.path, account.entry, account.max_epsilon)

    def enter(self, account: Account | None) -> str:
        """Enters the run into the ledger, if there is one; what ``ledger.begin`` returns, or ""."""
        if account is None:
            return ""
        self._account = account
        try:
            return ledger.begin(account.path, account.entry, account.max_epsilon)
        except DxbeamError:
            self._account = None  # it was refused, so there is no line to take back
            raise

    def take(self) -> None:
        """Takes both places, or raises OutputError."""
        claim.take_fresh(self.output, self.name)
        self._check_metrics_output()
        claim.take(self.metrics_output, self.name)

    def complete(self) -> None:
        """Lets go of the places of a run that has released, and says so in the ledger."""
        self.release = manifest.read(self.output)
        self.digest, _ = storage.sha256(storage.join(self.output, manifest.RELEASE))
        claim.let_go(self.metrics_output)
        if self._account:
            digest, documents = self.release["corpus_digest"], self.release["documents_out"]
            ledger.end(self._account.path, self._account.entry, digest, documents, self.digest)

    def undo(self, stop_writers: Callable[[], None] = lambda: None) -> None:
        """Takes back what a run did that has failed or was stopped, at whatever moment.

        ``stop_writers`` ends what may still write for it. OutputError: it was released anyway.
        """
        try:
            claim.abandon(self.output, self.name, stop_writers)
        except OutputError:
            if claim.is_released(self.output, self.name):
                self.complete()
            raise
        if claim.holds(self.metrics_output, self.name):
            claim.let_go(self.metrics_output)  # first, so that no worker writes any more
            self._tidy_metrics_output()
        if self._account:
            try:
                ledger.abandon(self._account.path, self._account.entry)
            except OutputError as error:
                _LOG.warning("this run has released nothing, and yet counts: %s", error)

    def _tidy_metrics_output(self) -> None:
        for name in (METRICS, GROUPS):
            storage.delete(storage.join(self.metrics_output, name))
        letters = storage.join(self.metrics_output, DEAD_LETTERS)
        if not storage.exists(letters):
            return
        with storage.open_read(letters) as file:
            empty = not file.read(1)
        if empty:
            storage.delete(letters)
        else:
            storage.move(letters, dead_letters_after_failure(self.metrics_output, self.name))

    def _check_metrics_output(self) -> None:
        place = f"`metrics_output` {self.metrics_output}"
        if (reason := storage.why_unwritable(self.metrics_output)) is not None:
            raise OutputError(f"{place} cannot be written: {reason}")
        try:
            if claim.is_taken(self.metrics_output):
                raise OutputError(
                    f"{place}: a run is under way there or did not finish; if none is under way, "
                    "delete the directory"
                )
            for name in (METRICS, GROUPS, DEAD_LETTERS):
                if storage.exists(storage.join(self.metrics_output, name)):
                    raise OutputError(
                        f"{place} holds the metrics of another run ({name}); choose another place"
                    )
        except OSError as error:
            raise OutputError(f"{place} cannot be read ({type(error).__name__})") from None
