"""Checks that a release is whole and promises what its settings promise.

    dxbeam verify release --digest 5891b5b5…
    dxbeam verify gs://bucket/releases/2026-01-31 --ledger gs://bucket/ledger.jsonl

reads every file of the release again and compares digests, sizes, fields and counts with
release.json; and the guarantee in release.json with the numbers and the configuration next to it.
It prints first what it could not check, then what is promised and what is unprotected. Only a
digest of release.json that was kept elsewhere shows that nobody has edited it: dxbeam sanitize
prints the digest and enters it in the ledger.

    dxbeam verify release --digest 5891b5b5… --card card.html

also writes a card, one page for the officer who signs the release. It is made from the release
only, so whoever may read the release may read it.

    dxbeam verify release --output_table iceberg://lake/notes.released

makes a table of Iceberg, or of BigQuery (bq://PROJECT.DATASET.TABLE), of a release in Parquet, once
nothing is wrong with it.

Exit code 0: nothing is wrong. 1: the release is damaged, and a sentence says where. 2: there is no
release there, or it cannot be read.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence

from dxbeam import storage
from dxbeam.commands import program
from dxbeam.errors import ConfigurationError, DamagedReleaseError, OutputError
from dxbeam.release import output_table, places
from dxbeam.release.card import card
from dxbeam.release.verification.verify import VerifiedRelease, verify_release

_FLAGS = (
    ("digest", "SHA256", "of release.json, as noted when it was released"),
    ("ledger", "FILE", "the ledger that the job was given"),
    ("vocabulary", "DIR", "the vocabulary of the release, to check what needs it"),
    ("importance", "FILE", "the file of word weights, if there was one"),
    ("base", "FILE", "the file of the base measure, if there was one"),
    ("stop_words", "FILE", "the file of stop words, if there was one"),
    ("decoded_from", "DIR", "the release that dxbeam decode read to make this one; checked too"),
    ("card", "FILE", "where to write the card, a page that may be published"),
    ("output_table", "TABLE", "the table to make of the release"),
)


def verify(argv: Sequence[str]) -> int:
    """Prints the report on a release, or what is wrong with it; returns the exit code."""
    parser = program.Arguments("verify", __doc__ or "")
    parser.add_argument(
        "release", metavar="RELEASE", help="the directory or gs:// prefix that --output named"
    )
    for name, metavar, meaning in _FLAGS:
        parser.add_argument(f"--{name}", metavar=metavar, help=meaning)
    flags = vars(parser.parse_args(argv))
    release, place, table = flags.pop("release"), flags.pop("card"), flags.pop("output_table")
    if place:
        _check_place(place, release)
    try:
        verified = verify_release(release, **flags)
        print(verified.report)
        if place:
            _write_card(place, verified)
        if table:
            output_table.publish(release, table)
            print(f"Table: {table}")
    except DamagedReleaseError as error:
        print(f"dxbeam: {error}", file=sys.stderr)
        return program.FAILURE
    return 0


def _check_place(place: str, release: str) -> None:
    """Refuses a card that cannot be made, or would be taken for a part of the release."""
    if importlib.util.find_spec("jinja2") is None:
        raise ConfigurationError(
            "`card` needs jinja2; install it with: pip install 'dxbeam[report]'"
        )
    if places.is_within(place, release):
        raise ConfigurationError(
            f"`card` {place} is within the release {release}, which may hold nothing but what was "
            "released; write it to another place"
        )
    if storage.exists(place):
        raise OutputError(f"`card` {place} exists already; choose another name")


def _write_card(place: str, verified: VerifiedRelease) -> None:
    """Writes the card. jinja2 is loaded here only: nothing else that verifies needs it."""
    from dxbeam.analysis.pages.card import card_page

    storage.create_once(place, card_page(card(verified)).encode())
    print(f"Card: {place}")


if __name__ == "__main__":
    program.main(verify)
