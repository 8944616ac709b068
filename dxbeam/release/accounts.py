"""What a ledger says of each corpus: spent, left, released, repeated, abandoned; for a person."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from dxbeam.guarantees import at_most
from dxbeam.release import ledger
from dxbeam.release.ledger_lines import ABANDONED, BEGUN, Entry

_EXPLANATIONS = (
    "All releases of a corpus together tell any two words x and x' (or texts or vectors, where "
    "these are what is released) apart by a likelihood ratio of at most exp(epsilon spent * "
    "d(x, x')), up to the delta.",
    "Repeats are copies of an earlier release: the same corpus, settings and kept key give the "
    "same bytes, or the same noise read by another decoder, so they spend nothing.",
    "Unfinished runs never said how they ended. They may have released something, so they count.",
    "Abandoned runs released nothing and count for nothing.",
)
_NO_CAP = "The cap is not recorded in a ledger; --max_epsilon N shows what is left of N."


class KeyAccount(NamedTuple):
    """What was released of a corpus under one key that is kept, named by its fingerprint.

    Unfinished runs count as releases; copies are repeats.
    """

    key: str
    epsilon: float
    releases: int
    repeats: int


@dataclass(frozen=True)
class CorpusAccount:
    """What was released of one corpus.

    Copies of a release count once, as repeats; unfinished runs, which never said how they ended,
    count in epsilon and delta; abandoned ones released nothing. ``metrics`` are the distances in
    which the guarantees are stated; ``first`` and ``last`` are when runs began, in ISO 8601.
    """

    corpus: str
    epsilon: float
    delta: float
    releases: int
    repeats: int
    unfinished: int
    abandoned: int
    metrics: tuple[str, ...]
    first: str
    last: str
    keys: tuple[KeyAccount, ...]

    def left(self, max_epsilon: float | None) -> float | None:
        """What a cap leaves to spend; below 0 where more was spent; None without a cap."""
        return None if max_epsilon is None else max_epsilon - self.epsilon

    def as_dict(self, max_epsilon: float | None) -> dict[str, Any]:
        """All fields, the cap and what it leaves, ready for JSON."""
        keys = [key._asdict() for key in self.keys]
        cap = {"max_epsilon": max_epsilon, "left": self.left(max_epsilon)}
        return {**asdict(self), "metrics": list(self.metrics), "keys": keys, **cap}


def accounts(entries: Iterable[Entry]) -> list[CorpusAccount]:
    """The account of each corpus of a ledger, in the order in which they came up."""
    runs: dict[str, list[Entry]] = {}
    for entry in ledger.latest(entries):
        runs.setdefault(entry.corpus, []).append(entry)
    return [_account(corpus, of_corpus) for corpus, of_corpus in runs.items()]


def _account(corpus: str, runs: Sequence[Entry]) -> CorpusAccount:
    first_with: dict[tuple[str, ...], Entry] = {}
    repeats: Counter[str] = Counter()
    for entry in runs:
        counts = entry.state != ABANDONED
        if counts and first_with.setdefault(entry.content(), entry) is not entry:
            repeats[entry.key] += 1
    counted = list(first_with.values())
    releases: Counter[str] = Counter()
    by_key: dict[str, float] = {}
    for entry in counted:
        releases[entry.key] += 1
        by_key[entry.key] = by_key.get(entry.key, 0.0) + entry.epsilon
    epsilon, delta = ledger.spent(runs, corpus)
    unfinished = sum(entry.state == BEGUN for entry in counted)
    return CorpusAccount(
        corpus=corpus,
        epsilon=epsilon,
        delta=delta,
        releases=len(counted) - unfinished,
        repeats=repeats.total(),
        unfinished=unfinished,
        abandoned=sum(entry.state == ABANDONED for entry in runs),
        metrics=tuple(dict.fromkeys(entry.metric for entry in counted)),
        first=min(entry.time for entry in runs),
        last=max(entry.time for entry in runs),
        keys=tuple(
            KeyAccount(key, spent, releases[key], repeats[key])
            for key, spent in by_key.items()
            if key  # that is kept
        ),
    )


def report(path: str, corpora: Sequence[CorpusAccount], max_epsilon: float | None) -> str:
    """A table of accounts, and what its words mean."""
    if not corpora:
        return f"{path}: no release is recorded yet"
    rows = [
        "corpus|epsilon spent|cap|left|delta|releases|repeats|unfinished|abandoned|last run".split(
            "|"
        )
    ]
    for each in corpora:
        rows.append(
            [
                each.corpus,
                at_most(each.epsilon),
                "?" if max_epsilon is None else f"{max_epsilon:g}",
                _left(each.left(max_epsilon)),
                at_most(each.delta),
                *map(str, (each.releases, each.repeats, each.unfinished, each.abandoned)),
                each.last[:10],
            ]
        )
    parts = [f"{path}: what was released of each corpus", "", *_aligned(rows)]
    by_key = [
        [each.corpus, key.key, at_most(key.epsilon), str(key.releases), str(key.repeats)]
        for each in corpora
        for key in each.keys
    ]
    if by_key:
        head = ["corpus", "kept key", "epsilon spent", "releases", "repeats"]
        parts += ["", "Under keys that are kept:", "", *_aligned([head, *by_key])]
    notes = [*_EXPLANATIONS, *([_NO_CAP] if max_epsilon is None else [])]
    for each in corpora:
        if each.metrics:
            largest = "the largest of these: " if len(each.metrics) > 1 else ""
            metrics = "; ".join(f"the {metric}" for metric in each.metrics)
            notes.append(f"For {each.corpus}, d is {largest}{metrics}.")
    return "\n".join([*parts, "", *(textwrap.fill(note, 100) for note in notes)])


def _left(left: float | None) -> str:
    if left is None:
        return "?"
    # Rounded down, as what is spent is rounded up.
    if left > 0:
        return at_most(-left).removeprefix("-")
    return f"0, and {at_most(-left)} too much was spent" if left else "0"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
