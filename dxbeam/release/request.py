"""What is asked for of every release, of words or of vectors: places, key, corpus and ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from dxbeam import keys
from dxbeam.corpus.files import CorpusFile, matching_files
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.iceberg.address import is_table, parse
from dxbeam.corpus.reading import check_readable, kept_schema
from dxbeam.documents import dead_letter_cap
from dxbeam.errors import ConfigurationError
from dxbeam.keys import fingerprint, read_key
from dxbeam.release import output_table
from dxbeam.release.ledger import Account, check_cap
from dxbeam.release.ledger_lines import BEGUN, Entry
from dxbeam.release.manifest import ReleaseJob, Settings, now
from dxbeam.release.run import dead_letters_after_failure
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.text.repair import Repair


def key_fingerprint(key_uri: str) -> str:
    """The fingerprint of a key that is kept."""
    return fingerprint(read_key(key_uri))


def _snapshot_read(corpus: str) -> dict[str, str]:
    """What the manifest says of a table that was read: its snapshot and schema, not its name."""
    if not is_table(corpus):
        return {}
    table = parse("input", corpus)
    return {"input_snapshot": f"{table.snapshot}:{table.schema}"}


class LedgerTerms(NamedTuple):
    """The ledger's file, what it calls the corpus, and what all releases of that may add up to."""

    path: str | None = None
    corpus_id: str | None = None
    max_epsilon: float | None = None


NO_LEDGER = LedgerTerms()


def account(
    terms: LedgerTerms,
    settings: Settings,
    *,
    mechanism: str,
    vocabulary: str,
    key_uri: str | None,
    run: str,
    output: str,
) -> Account | None:
    """What a run needs to enter its release; None where no ledger is asked for.

    ``vocabulary`` is its digest, or "". The kept key is read. ConfigurationError: a ledger without
    a corpus or the other way round, a cap that is no positive number, or settings that leave words
    without a guarantee.
    """
    if terms == NO_LEDGER:  # "" is a name left out
        return None
    for name, value in (("ledger", terms.path), ("corpus_id", terms.corpus_id)):
        if not value:
            raise ConfigurationError(
                f"`{name}` is needed: `ledger`, `corpus_id` and `max_epsilon` go together"
            )
    check_cap(terms.max_epsilon)
    promise = settings.guarantee()
    if not promise.sound or promise.unprotected:
        raise ConfigurationError(
            "`ledger` adds up what is guaranteed; this release guarantees nothing, or nothing for "
            "some words, so there is nothing to add up; change the settings, or leave it out"
        )
    entry = Entry(
        state=BEGUN,
        run=run,
        time=now(),
        corpus=str(terms.corpus_id),
        output=output,
        epsilon=promise.epsilon,
        delta=promise.delta,
        metric=promise.metric.sentence,
        mechanism=mechanism,
        configuration=settings.digest(vocabulary),
        vocabulary=vocabulary,
        key=key_fingerprint(key_uri) if key_uri else "",
    )
    return Account(str(terms.path), entry, terms.max_epsilon)


@dataclass(frozen=True)
class ReleaseRequest:
    """A release as it is asked for, apart from what noise is added to what.

    Attributes:
      corpus: glob of the corpus files, or the address of a table.
      allow_unreadable_files: whether to leave out files that cannot be read to their end.
      metrics_output: where metrics and dead letters go.
      key_uri: where a kept secret key is; None for a new one, drawn inside the job.
      max_dead_letters: with more of them nothing is released: "100" or "0.5%"; None for no cap.
      output_table: the address of the table that is made of the release; None for none.
    """

    corpus: str
    corpus_format: CorpusFormat
    allow_unreadable_files: bool
    output: str
    output_format: str
    metrics_output: str
    key_uri: str | None = None
    max_dead_letters: str | None = None
    ledger: LedgerTerms = NO_LEDGER
    output_table: str | None = None

    def __post_init__(self) -> None:
        dead_letter_cap(self.max_dead_letters)  # refuses what is no cap

    def check(self) -> list[CorpusFile]:
        """The corpus files; refuses a corpus or key that cannot be read, or a table that exists."""
        files = matching_files(self.corpus)
        check_readable(files, self.corpus_format, allow_unreadable=self.allow_unreadable_files)
        if self.key_uri:
            keys.read_key(self.key_uri)
        if self.output_table:
            kept = kept_schema(self.corpus, self.corpus_format)
            output_table.check(self.output_table, self.output, self.output_format, kept)
        return files

    def account(
        self, settings: Settings, mechanism: str, vocabulary: VocabularyHandle | None, run: str
    ) -> Account | None:
        """The run's account in the ledger; None where no ledger is asked for."""
        return account(
            self.ledger,
            settings,
            mechanism=mechanism,
            vocabulary=vocabulary.digest if vocabulary else "",
            key_uri=self.key_uri,
            run=run,
            output=self.output,
        )

    def job(
        self,
        settings: Settings,
        vocabulary: VocabularyHandle | None,
        run: str | None,
        required_digest: str,
        repair: Repair | None = None,
        **facts: Any,
    ) -> ReleaseJob:
        """What is known of the release before it is run; ``facts`` are entries of the manifest.

        The corpus digest must be ``required_digest``, unless that is "". ``run`` is None where no
        run claims its places.
        """
        return ReleaseJob(
            settings,
            vocabulary,
            key_kept=bool(self.key_uri),
            source=self.corpus,
            dead_letters=dead_letters_after_failure(self.metrics_output, run),
            facts={
                "run": run,
                **_snapshot_read(self.corpus),
                **facts,
                "started": now(),
                "kept_fields": list(self.corpus_format.keep_fields),
                "output_format": self.output_format,
            },
            repair=repair,
            dead_letter_cap=dead_letter_cap(self.max_dead_letters),
            required_digest=required_digest,
        )
