"""What an evaluation found, as a table and a self-contained page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import apache_beam as beam
import pyarrow as pa
from apache_beam import pvalue

from dxbeam import storage
from dxbeam.analysis.corpora.gain import gains
from dxbeam.analysis.evaluate.classification import Classified
from dxbeam.analysis.evaluate.document_scores import Score, Sums, scores_of
from dxbeam.analysis.evaluate.figures import columns, figures, found_by_release, without_release
from dxbeam.analysis.evaluate.headings import Heading, ReleaseHeading
from dxbeam.analysis.evaluate.transform import Over, every_document
from dxbeam.analysis.evaluate.word_movers import MOST_PAIRS, MOST_WORDS
from dxbeam.analysis.exposure.attack import Attack
from dxbeam.analysis.exposure.table import ATTACKERS, attack_rows, attacks_of, write_attacks
from dxbeam.analysis.measure.tables import Row, numbers, texts, write_table
from dxbeam.analysis.pages.metrics import EXPLAINED, EXPLAINED_IN
from dxbeam.analysis.pages.model import Page
from dxbeam.analysis.pages.page import REPORT, render

SCORES = "scores.parquet"
_TITLE = "What the released text is good for, and what it tells"
PROBLEM = "nothing-compared.txt"
"""Written in place of the page where there is nothing to compare, for the launcher to tell."""

COLUMNS = pa.schema([
    *texts("release", "metric", "group", "model", "trained_on", "tested_on"),
    *numbers("value", "low", "high"), ("n", pa.int64()),
    *texts("interval"), ("training_documents", pa.int64()),
])  # fmt: skip
"""Of scores.parquet. ``release`` is null for what is reported of originals only, ``group`` for all
documents; ``model``, ``trained_on`` and ``tested_on`` are of classifiers, ``training_documents`` of
learning curves."""

FROM_RAW_TEXT = (
    "Computed from the original text: these figures are not covered by the guarantee of the "
    "release and do not belong with it. Keep them with the corpus."
)


class Unpaired(Protocol):
    """What could not be compared.

    Attributes:
      rejected: how many records of the corpus are no documents.
      only_original, only_released: for each release, how many documents only one side has.
    """

    @property
    def rejected(self) -> int: ...  # noqa: D102
    @property
    def only_original(self) -> Sequence[int]: ...  # noqa: D102
    @property
    def only_released(self) -> Sequence[int]: ...  # noqa: D102


class Measured(NamedTuple):
    """What is computed besides scores of documents, each with the number of the release.

    Attributes:
      classified: PCollection[tuple[int | None, Classified]], None for what is of originals only.
      of_corpora: PCollection[tuple[int, Score]], scores of whole releases.
      attacks: PCollection[tuple[int, Attack]], what attackers get.
    """

    classified: pvalue.PCollection
    of_corpora: pvalue.PCollection
    attacks: pvalue.PCollection


class WriteEvaluation(beam.PTransform):
    """Writes table and page: PCollection[Unpaired] of one -> PCollection[str], the page.

    Args:
      output: an empty directory or gs:// prefix.
      heading: what is known before.
      sums: PCollection[tuple[Over, Sums]].
      measured: what else was computed.
      same_corpus: PCollection[tuple[int, bool]], whether the corpus has the digest that the release
        recorded, by the number of the release, as far as that was looked at.
    """

    def __init__(
        self,
        output: str,
        heading: Heading,
        sums: pvalue.PCollection,
        measured: Measured,
        same_corpus: pvalue.PCollection,
    ):
        super().__init__()
        self._arguments = (
            output,
            heading,
            pvalue.AsIter(sums),
            pvalue.AsIter(measured.classified),
            pvalue.AsIter(measured.of_corpora),
            pvalue.AsDict(same_corpus),
            pvalue.AsIter(measured.attacks),
        )

    def expand(self, unpaired: pvalue.PCollection) -> pvalue.PCollection:
        """Writes when everything is there."""
        return unpaired | "Write" >> beam.Map(_write, *self._arguments)


def _write(
    unpaired: Unpaired,
    output: str,
    heading: Heading,
    sums: Iterable[tuple[Over, Sums]],
    classified: Iterable[tuple[int | None, Classified]],
    of_corpora: Iterable[tuple[int, Score]],
    same_corpus: Mapping[int, bool],
    attacks: Iterable[tuple[int, Attack]],
) -> str:
    by_what = dict(sums)
    for number, release in enumerate(heading.releases):
        every = by_what.get(every_document(number))
        problem = why_not_compared(release, every, same_corpus=same_corpus.get(number, True))
        if problem is not None:
            path = storage.join(output, PROBLEM)
            storage.create_once(path, problem.encode())
            return path
    rows = score_rows(heading, by_what, classified, of_corpora)
    write_table(storage.join(output, SCORES), rows, COLUMNS)
    attacked = attack_rows([release.place for release in heading.releases], attacks)
    write_attacks(output, attacked)
    path = storage.join(output, REPORT)
    storage.create_once(path, page(heading, by_what, unpaired, rows, attacked).encode())
    return path


def why_not_compared(
    release: ReleaseHeading, every: Sums | None, *, same_corpus: bool
) -> str | None:
    """Why a release is not of this corpus, as a sentence; None if it may be.

    Args:
      release: what is known of it.
      every: the sums over all its documents; None where no id is in both.
      same_corpus: False where the corpus has another digest than the release recorded.
    """
    if every is None:
        return (
            f"{release.place}: no document of `released` has the id of a document of `original`, "
            "so nothing can be compared; check that the one was made from the other, and `id_field`"
        )
    if not same_corpus:
        return (
            f"{release.place}: `original` is not the corpus that was released, or was edited since "
            "(its digest under this key is another one), so nothing is compared; name the corpus "
            "as it was"
        )
    if release.in_order and 2 * every.aligned < every.documents:
        others = every.documents - every.aligned
        return (
            f"{release.place}: of {every.documents:,} documents {others:,} have other "
            "white space and punctuation in `released` than in `original`, so the one was not made "
            "from the other though ids are the same; name the corpus that was released"
        )
    return None


def score_rows(
    heading: Heading,
    sums: Mapping[Over, Sums],
    classified: Iterable[tuple[int | None, Classified]],
    of_corpora: Iterable[tuple[int, Score]],
) -> list[Row]:
    """The rows of scores.parquet.

    First classifiers of originals only; then of each release all documents, its corpus as a whole,
    classifiers, and groups in alphabetical order.
    """
    whole: dict[int, list[Row]] = {}
    for release_number, each in of_corpora:
        whole.setdefault(release_number, []).append(Score(*each)._asdict())
    learnt: dict[int | None, list[Classified]] = {}
    for number, score in classified:
        learnt.setdefault(number, []).append(Classified(*score))
    of = {number: [score._asdict() for score in learnt[number]] for number in learnt}
    for scores in of.values():
        scores.sort(key=_in_order)
    of_originals = learnt.get(None, [])
    rows = of.get(None, [])
    for number, release in enumerate(heading.releases):
        for over in sorted(over for over in sums if over[0] == number):
            _, is_group, name = over
            added = [
                score._asdict()
                for score in scores_of(sums[over], with_vocabulary=bool(heading.vocabulary))
            ]
            added = [{"group": name if is_group else None, **row} for row in added]
            if not is_group:
                added += sorted(whole.get(number, []), key=lambda row: EXPLAINED_IN[row["metric"]])
                added += of.get(number, [])
                added += [gain._asdict() for gain in gains(of_originals, learnt.get(number, []))]
            rows += [{"release": release.place, **row} for row in added]
    return [{name: row.get(name) for name in COLUMNS.names} for row in rows]


def _in_order(row: Row) -> tuple[bool, int]:
    """The task before attacks, and learning curves last; whichever came first otherwise."""
    return row["metric"].startswith("attack"), row["training_documents"] or 0


def page(
    heading: Heading,
    sums: Mapping[Over, Sums],
    unpaired: Unpaired,
    rows: Sequence[Row],
    attacked: Sequence[Row],
) -> str:
    """The page as HTML.

    Args:
      heading: what is compared.
      sums: over all documents of each release, at least.
      unpaired: how many documents could not be.
      rows: of scores.parquet.
      attacked: of attackers.parquet.
    """
    by_release = found_by_release(rows)
    parts = [
        _part(release, sums[every_document(number)], unpaired, number, rows)
        | {"attacks": attacks_of(release.place, attacked)}
        for number, release in enumerate(heading.releases)
    ]
    several = len(parts) > 1
    return render(
        "evaluation.html.jinja",
        Page(_TITLE, _TITLE, heading.command),
        heading=heading,
        parts=parts,
        rejected=unpaired.rejected,
        columns=columns(by_release) if several else [],
        found=by_release,
        without_release=without_release(by_release),
        figures=figures(by_release, heading.releases) if several else [],
        most_words=MOST_WORDS,
        most_pairs=MOST_PAIRS,
        raw=FROM_RAW_TEXT,
        explained=EXPLAINED,
        scores_file=SCORES,
        attackers_file=ATTACKERS,
    )


def _part(
    release: ReleaseHeading, every: Sums, unpaired: Unpaired, number: int, rows: Sequence[Row]
) -> dict[str, Any]:
    """What the page says of one release."""
    of_release = [row for row in rows if row["release"] == release.place]
    of_groups: dict[str, dict[str, Row]] = {}
    for row in of_release:
        if row["group"] is not None:
            of_groups.setdefault(row["group"], {})[row["metric"]] = row
    whole = [row for row in of_release if row["group"] is None]
    learnt = [row for row in rows if row["release"] is None]
    learnt += [row for row in whole if row["model"] is not None]
    return {
        "release": release,
        "every": every,
        "only_original": unpaired.only_original[number],
        "only_released": unpaired.only_released[number],
        "scores": [row for row in whole if row["model"] is None],
        "classifiers": [row for row in learnt if row["training_documents"] is None],
        "curve": [row for row in learnt if row["training_documents"] is not None],
        "groups": of_groups,
    }
