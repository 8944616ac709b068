"""What a run would do, promise and take: the text of --dry_run."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dxbeam.corpus import reading
from dxbeam.corpus.files import CorpusFile, is_compressed
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.documents import Document
from dxbeam.errors import CorpusError
from dxbeam.release.context import in_context
from dxbeam.space.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary import Vocabulary
from dxbeam.text.configuration import Configuration
from dxbeam.text.repair import Repair
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.text.tokenization import words

_SAMPLED_DOCUMENTS = 200
_TIMED_WORDS = 1024


class Estimate(NamedTuple):
    """A forecast from a sample: words to be released, and words a second of one search thread."""

    tokens: int
    tokens_a_second: float

    @property
    def core_seconds(self) -> float:
        """Time for one core."""
        return self.tokens / self.tokens_a_second


def estimate(
    files: Sequence[CorpusFile],
    corpus_format: CorpusFormat,
    vocabulary: Vocabulary,
    configuration: Configuration,
) -> Estimate:
    """Counts words in a sample of the first file and times a search with a throw-away key."""
    file = max(files, key=lambda file: file.size)
    documents = list(itertools.islice(_documents(file, corpus_format), _SAMPLED_DOCUMENTS))
    sampled = sum(
        configuration.bag.length if configuration.bag else len(words(document.text))
        for document in documents
    )
    read = sum(len(document.text.encode()) for document in documents) or 1
    total = sum(file.size for file in files) * (3 if is_compressed(file.path) else 1)
    sanitizer = Sanitizer(NeighborSearch(vocabulary, threads=1), configuration)
    ids: Ids = np.arange(_TIMED_WORDS, dtype=np.int64) % len(vocabulary)
    run = [(bytes(32), 0, len(ids))]
    sanitizer.release(run, ids)  # the first search also sets things up
    start = time.perf_counter()
    sanitizer.release(run, ids)
    return Estimate(int(total * sampled / read), len(ids) / (time.perf_counter() - start))


def _documents(file: CorpusFile, corpus_format: CorpusFormat) -> list[Document]:
    found: list[Document] = []
    with contextlib.suppress(CorpusError):  # a file that the run may be allowed to leave out
        for split in itertools.islice(reading.splits(file, corpus_format), 1):
            for record in itertools.islice(reading.read(split, corpus_format), _SAMPLED_DOCUMENTS):
                if isinstance(record, Document):
                    found.append(record)
    return found


def describe(
    files: Sequence[CorpusFile],
    configuration: Configuration,
    vocabulary: Vocabulary,
    forecast: Estimate,
    output: str,
    metrics_output: str,
    repair: Repair | None = None,
) -> str:
    """The plan as a person reads it."""
    guarantee = configuration.guarantee().with_caveats(*(repair.caveats if repair else ()))
    search = NeighborSearch(vocabulary)
    parameters = configuration.as_dict()
    size = sum(file.size for file in files)
    unit = "words to release" if configuration.bag else "tokens"
    lines = [
        "Plan",
        f"  read      {len(files):,} file(s), {size:,} bytes, about {forecast.tokens:,} {unit}",
        f"  mechanism {parameters['mechanism']}",
        f"  resample  {parameters['rank_resampling'] or 'no'}",
        f"  words     {len(vocabulary):,} words in {vocabulary.dimensions} dimensions; "
        f"others: {configuration.unknown_words}"
        + ("; the nearest are looked for approximately" if vocabulary.index is not None else ""),
        *([f"  bag       {parameters['bag_of_words']}"] if configuration.bag else []),
        *([f"  repair    {repair.as_dict()}"] if repair else []),
        f"  write     {output} (metrics: {metrics_output})",
        "Guarantee",
        f"  {guarantee.sentence}",
        *(f"  {name:<11} {value}" for name, value in guarantee.table),
        *(f"  In context: {neighbor.sentence}." for neighbor in in_context(guarantee, search)),
        *(f"  Note: {caveat}" for caveat in guarantee.caveats),
        "Estimate",
        f"  about {_duration(forecast.core_seconds)} of one core "
        f"({forecast.tokens_a_second:,.0f} tokens a second), less with more cores"
        + ("; the language model takes further time" if repair else ""),
        "Nothing was written (--dry_run).",
    ]
    return "\n".join(lines)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:,.1f} hours"
