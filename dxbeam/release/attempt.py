"""One attempt at a release: the places and the line of the ledger that a run takes, and gives back.

    with Attempt(output, metrics_output) as attempt:
        attempt.begin(account)
        ...  # run the pipeline, which writes release.json last

A run that fails takes its shards and its metrics away. Its dead letters may say why it failed, so
they stay, under a name that no other run uses; nothing of an earlier run is ever written over.
"""

from __future__ import annotations

import logging
import uuid
from typing import Any

from dxbeam import stopping, storage
from dxbeam.errors import DxbeamError, OutputError
from dxbeam.release import ledger, manifest
from dxbeam.release.ledger import Account

METRICS, GROUPS, DEAD_LETTERS = "metrics.json", "metrics.parquet", "dead_letters.jsonl"
"""Files apart from the release, computed from the raw text."""

_LOG = logging.getLogger(__name__)


def letters_after_failure(apart: str, run: str | None) -> str:
    """Where the dead letters of a run lie once it has failed.

    Args:
      apart: where metrics and dead letters go.
      run: the run's name; None where nobody claimed the place, and so nobody tidies it.
    """
    name = DEAD_LETTERS if run is None else DEAD_LETTERS.replace(".", f"-{run}.")
    return storage.join(apart, name)


class Attempt:
    """Holds an output and a place for metrics for one run, and lets go of them at its end.

    Attributes:
      run: a name that no other run has.
      release: the manifest, once the release is complete.

    Args:
      output: where the release goes.
      apart: where metrics and dead letters go.
    """

    def __init__(self, output: str, apart: str):
        self.run = uuid.uuid4().hex
        self.release: dict[str, Any] = {}
        self._output = output
        self._apart = apart
        self._account: Account | None = None

    def check(self, account: Account | None = None) -> None:
        """Refuses what would be refused if the run began at this moment; writes nothing.

        Raises:
          OutputError: a place is taken, or the ledger has not enough left.
        """
        manifest.check_empty(self._output)
        self._check_apart()
        if account:
            ledger.check(account.path, account.entry, account.max_epsilon)

    def begin(self, account: Account) -> str:
        """Enters the run into the ledger; returns and raises as ``ledger.begin`` does."""
        self._account = account
        try:
            return ledger.begin(account.path, account.entry, account.max_epsilon)
        except DxbeamError:
            self._account = None  # it was refused, so there is no line to take back
            raise

    def claim(self) -> None:
        """Takes both places.

        Raises:
          OutputError: one of them is taken, or cannot be written.
        """
        manifest.claim(self._output, self.run)
        self._check_apart()
        manifest.mark(self._apart, self.run)

    def complete(self) -> None:
        """Lets go of the places of a run that has released, and says so in the ledger."""
        self.release = manifest.read(self._output)
        manifest.give_up_claim(self._apart)
        if self._account:
            digest, documents = self.release["corpus_digest"], self.release["documents_out"]
            ledger.end(self._account.path, self._account.entry, digest, documents)

    def give_up(self, halt: stopping.Halt = lambda: None) -> None:
        """Takes back what a run did that has failed or was stopped, at whatever moment.

        Args:
          halt: ends what may still write for the run.

        Raises:
          OutputError: it was released all the same, and is complete.
        """
        try:
            manifest.abandon(self._output, self.run, halt)
        except OutputError:
            if manifest.is_released(self._output, self.run):
                self.complete()
            raise
        if manifest.holds(self._apart, self.run):
            manifest.give_up_claim(self._apart)  # first, so that no worker writes any more
            self._clear_apart()
        if self._account:
            try:
                ledger.abandon(self._account.path, self._account.entry)
            except OutputError as error:
                _LOG.warning("this run has released nothing, and yet counts: %s", error)

    def __enter__(self) -> Attempt:
        """Takes both places."""
        stopping.begin(self.give_up)
        try:
            self.claim()
        except BaseException:
            stopping.ended()
            self.give_up()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Completes the run's books, or takes back what it did."""
        if kind is None:
            self.complete()
            stopping.ended()
        else:
            stopping.ended()
            self.give_up()

    def _clear_apart(self) -> None:
        for name in (METRICS, GROUPS):
            storage.delete(storage.join(self._apart, name))
        letters = storage.join(self._apart, DEAD_LETTERS)
        if not storage.exists(letters):
            return
        with storage.open_read(letters) as file:
            empty = not file.read(1)
        if empty:
            storage.delete(letters)
        else:
            storage.move(letters, letters_after_failure(self._apart, self.run))

    def _check_apart(self) -> None:
        flag = f"--metrics_output {self._apart}"
        if (reason := storage.why_unwritable(self._apart)) is not None:
            raise OutputError(f"{flag} cannot be written: {reason}")
        try:
            if manifest.is_claimed(self._apart):
                raise OutputError(
                    f"{flag}: a run is under way there or did not finish; if none is under way, "
                    "delete the directory"
                )
            for name in (METRICS, GROUPS, DEAD_LETTERS):
                if storage.exists(storage.join(self._apart, name)):
                    raise OutputError(
                        f"{flag} holds the metrics of another run ({name}); choose another place"
                    )
        except OSError as error:
            raise OutputError(f"{flag} cannot be read ({type(error).__name__})") from None
