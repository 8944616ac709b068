"""What an evaluation found, as a table and a page that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import apache_beam as beam
import pyarrow as pa
from apache_beam import pvalue

from dxbeam import storage
from dxbeam.analysis.classification import Classified
from dxbeam.analysis.document_scores import Sums, scores_of
from dxbeam.analysis.evaluate import ALL, Over
from dxbeam.analysis.pages import REPORT, render
from dxbeam.analysis.tables import Row, write_table
from dxbeam.analysis.word_movers import MOST_PAIRS, MOST_WORDS
from dxbeam.errors import CorpusError

SCORES = "scores.parquet"

COLUMNS = pa.schema(
    [
        ("metric", pa.string()),
        ("group", pa.string()),
        ("model", pa.string()),
        ("trained_on", pa.string()),
        ("tested_on", pa.string()),
        ("value", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("n", pa.int64()),
        ("interval", pa.string()),
    ]
)
"""Of scores.parquet. ``group`` is null for all documents; ``model``, ``trained_on`` and
``tested_on`` are of classifiers."""

FROM_RAW_TEXT = (
    "Computed from the original text: these figures are not covered by the guarantee of the "
    "release and do not belong with it. Keep them with the corpus."
)


class Heading(NamedTuple):
    """What is known before anything is compared.

    Attributes:
      corpus: the files of the originals.
      release: where the release lies.
      promise: the sentence of its guarantee.
      vocabulary: the name of the vocabulary that words were looked up in; "" for none.
      own_vocabulary: whether the release was made with the same one.
      group_by: the field whose groups are told apart; "" for none.
      command: by which it is made.
    """

    corpus: str
    release: str
    promise: str
    vocabulary: str
    own_vocabulary: bool
    group_by: str
    command: str


class WriteEvaluation(beam.PTransform):
    """Writes table and page: PCollection[dict] of one, the unpaired -> PCollection[str], the page.

    Args:
      output: an empty directory or gs:// prefix.
      heading: what is known before.
      sums: PCollection[tuple[Over, Sums]].
      classified: PCollection[Classified].
    """

    def __init__(
        self,
        output: str,
        heading: Heading,
        sums: pvalue.PCollection,
        classified: pvalue.PCollection,
    ):
        super().__init__()
        self._output = output
        self._heading = heading
        self._sums = sums
        self._classified = classified

    def expand(self, unpaired: pvalue.PCollection) -> pvalue.PCollection:
        """Writes when everything is there."""
        return unpaired | "Write" >> beam.Map(
            _write,
            self._output,
            self._heading,
            pvalue.AsIter(self._sums),
            pvalue.AsIter(self._classified),
        )


def _write(
    unpaired: Mapping[str, int],
    output: str,
    heading: Heading,
    sums: Iterable[tuple[Over, Sums]],
    classified: Iterable[Classified],
) -> str:
    by_what = dict(sums)
    if ALL not in by_what:
        raise CorpusError(
            "no document of `released` has the id of a document of `original`, so nothing can be "
            "compared; check that the one was made from the other, and `id_field`"
        )
    rows = score_rows(by_what, classified, bool(heading.vocabulary))
    write_table(storage.join(output, SCORES), rows, COLUMNS)
    path = storage.join(output, REPORT)
    storage.create_once(path, page(heading, by_what[ALL], unpaired, rows).encode())
    return path


def score_rows(
    sums: Mapping[Over, Sums], classified: Iterable[Classified], with_vocabulary: bool
) -> list[Row]:
    """The rows of scores.parquet: all documents, classifiers, then groups in alphabetical order."""
    rows = []
    for over in sorted(sums):
        is_group, name = over
        group = name if is_group else None
        rows += [
            {"group": group, **score._asdict()} for score in scores_of(sums[over], with_vocabulary)
        ]
        if over == ALL:
            rows += [score._asdict() for score in classified]
    return [{name: row.get(name) for name in COLUMNS.names} for row in rows]


def page(heading: Heading, every: Sums, unpaired: Mapping[str, int], rows: Sequence[Row]) -> str:
    """The page as HTML.

    Args:
      heading: what is compared.
      every: the sums over all documents.
      unpaired: how many documents could not be.
      rows: of scores.parquet.
    """
    whole = [row for row in rows if row["group"] is None]
    of_groups: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row["group"] is not None:
            of_groups.setdefault(row["group"], {})[row["metric"]] = row
    return render(
        "evaluation.html.jinja",
        heading=heading,
        every=every,
        unpaired=unpaired,
        scores=[row for row in whole if row["model"] is None],
        classifiers=[row for row in whole if row["model"] is not None],
        groups=of_groups,
        most_words=MOST_WORDS,
        most_pairs=MOST_PAIRS,
        raw=FROM_RAW_TEXT,
        explained=EXPLAINED,
        scores_file=SCORES,
    )


EXPLAINED = {
    "unchanged": "words that came out as they were, of all words",
    "unchanged_known": "the same, of words in the vocabulary",
    "out_of_vocabulary": "words of the originals that are not in the vocabulary",
    "out_of_vocabulary_released": "words of the release that are not in the vocabulary",
    "bleu": "BLEU, 0 to 100, as sacrebleu computes it",
    "chrf": "chrF, 0 to 100, as sacrebleu computes it",
    "rouge1": "ROUGE-1, F measure, mean over documents",
    "rouge2": "ROUGE-2, likewise",
    "rougeL": "ROUGE-L, likewise",
    "embedding_similarity": "cosine of the mean word vectors, mean over documents",
    "wmd": "Word Mover's Distance, mean over documents, in units of the embedding",
    "wmd_relaxed": "a lower bound of it, for documents of every length",
}
"""What the metrics are, for a reader of the page."""
