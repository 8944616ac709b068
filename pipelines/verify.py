"""Checks that a release is whole, unchanged and promises what its settings promise.

    dxbeam verify release
    dxbeam verify gs://bucket/releases/2026-01-31

reads every file of the release again and compares digests, sizes and numbers of documents with
release.json; and the guarantee in release.json with the numbers and the configuration beside it. It
prints what is promised, what is unprotected and what could not be checked. Neither the vocabulary
nor the key nor the metrics are needed.

Exit code 0: nothing is wrong. 1: the release is damaged, and a sentence says where. 2: there is no
release there, or it cannot be read.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from dxbeam.commands import program
from dxbeam.release.verification import DamagedReleaseError, verify_release


def verify(argv: Sequence[str]) -> int:
    """Prints the report on a release, or what is wrong with it; returns the exit code."""
    parser = program.Arguments("verify", __doc__ or "")
    parser.add_argument(
        "release", metavar="RELEASE", help="the directory or gs:// prefix that --output named"
    )
    try:
        print(verify_release(parser.parse_args(argv).release).report)
    except DamagedReleaseError as error:
        print(f"dxbeam: {error}", file=sys.stderr)
        return program.FAILURE
    return 0


if __name__ == "__main__":
    program.main(verify)
