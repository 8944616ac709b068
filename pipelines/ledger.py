"""Shows what a ledger says was released of each corpus, and what is left to spend.

    dxbeam ledger gs://bucket/ledger.jsonl --max_epsilon 30
    dxbeam ledger ledger.jsonl --corpus_id notes --json

For each corpus: the epsilon and delta that its releases add up to, what the cap leaves, how many
releases, repeats, unfinished and abandoned runs there are, and the same for each key that is kept.
The ledger is only read. What adds up, and why: docs/guides/ledger.md.

Exit code 0, or 2 with a sentence where the file is no ledger or does not know the corpus.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from dxbeam import storage
from dxbeam.commands import program
from dxbeam.commands.flags.arguments import number
from dxbeam.errors import OutputError
from dxbeam.release import accounts, ledger


def show_ledger(argv: Sequence[str]) -> int:
    """Prints the accounts of a ledger; returns the exit code."""
    parser = program.Arguments("ledger", __doc__ or "")
    parser.add_argument(
        "ledger", metavar="FILE", help="the file or gs:// object that --ledger named"
    )
    parser.add_argument(
        "--corpus_id", metavar="NAME", help="show only this corpus (default: every one)"
    )
    parser.add_argument(
        "--max_epsilon",
        type=number,
        metavar="N",
        help="the cap of your releases, to show what it leaves; a ledger does not record it",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for programs")
    flags = parser.parse_args(argv)
    ledger.check_cap(flags.max_epsilon)
    try:
        there = storage.exists(flags.ledger)
    except OSError:
        there = False
    if not there:
        raise OutputError(f"{flags.ledger}: there is no such file; check the path")
    reported = accounts.accounts(ledger.read(flags.ledger))
    if flags.corpus_id is not None:
        known = ", ".join(each.corpus for each in reported) or "none"
        reported = [each for each in reported if each.corpus == flags.corpus_id]
        if not reported:
            raise OutputError(
                f"{flags.ledger}: nothing is recorded of a corpus {flags.corpus_id!r}; the ledger "
                f"knows {known}"
            )
    if flags.json:
        corpora = [each.as_dict(flags.max_epsilon) for each in reported]
        print(json.dumps({"ledger": flags.ledger, "corpora": corpora}, indent=2))
    else:
        print(accounts.report(flags.ledger, reported, flags.max_epsilon))
    return 0


if __name__ == "__main__":
    program.main(show_ledger)
