"""Checks that a release is whole and promises what its settings promise.

    dxbeam verify release --digest 5891b5b5…
    dxbeam verify gs://bucket/releases/2026-01-31 --ledger gs://bucket/ledger.jsonl

reads every file of the release again and compares digests, sizes, fields and counts with
release.json; and the guarantee in release.json with the numbers and the configuration beside it. It
prints first what it could not check, then what is promised and what is unprotected. Only a digest
of release.json that was kept elsewhere shows that nobody has edited it: dxbeam sanitize prints the
digest and enters it in the ledger.

Exit code 0: nothing is wrong. 1: the release is damaged, and a sentence says where. 2: there is no
release there, or it cannot be read.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dxbeam.commands import program
from dxbeam.errors import DamagedReleaseError
from dxbeam.release.verification import verify_release


def verify(argv: Sequence[str]) -> int:
    """Prints the report on a release, or what is wrong with it; returns the exit code."""
    parser = program.Arguments("verify", __doc__ or "")
    parser.add_argument(
        "release", metavar="RELEASE", help="the directory or gs:// prefix that --output named"
    )
    parser.add_argument(
        "--digest", metavar="SHA256", help="of release.json, as noted when it was released"
    )
    parser.add_argument("--ledger", metavar="FILE", help="the ledger that the job was given")
    parser.add_argument(
        "--vocabulary", metavar="DIR", help="the vocabulary of the release, to check what needs it"
    )
    parser.add_argument(
        "--importance", metavar="FILE", help="the file of word weights, if there was one"
    )
    parser.add_argument(
        "--stop_words", metavar="FILE", help="the file of stop words, if there was one"
    )
    given = vars(parser.parse_args(argv))
    try:
        print(verify_release(given.pop("release"), **given).report)
    except DamagedReleaseError as error:
        print(f"dxbeam: {error}", file=sys.stderr)
        return program.FAILURE
    return 0


if __name__ == "__main__":
    program.main(verify)
