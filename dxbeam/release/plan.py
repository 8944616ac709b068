"""What a run would do, what it would guarantee, and how long it would take: for --dry_run."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dxbeam.corpus import reading
from dxbeam.corpus.files import CorpusFile, text_bytes
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.documents import Document, Rejected, document_problem
from dxbeam.errors import CorpusError
from dxbeam.language.model import LanguageModel
from dxbeam.release import expected_shares
from dxbeam.release.context import Pair
from dxbeam.release.manifest import unprotected
from dxbeam.release.usefulness import likely_cause
from dxbeam.space.search.backends.choose_backend import AUTO
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.remarks import remarks
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.configuration import UNKNOWN_WORDS, Configuration
from dxbeam.text.decoding.pieces import FOLLOWS, STARTS
from dxbeam.text.repair import Repair
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.text.tally import Tally

_SAMPLED_DOCUMENTS = 200
_TIMED_WORDS, _SENTENCE = 1024, 20


class Forecast(NamedTuple):
    """A forecast from a sample.

    Attributes:
      tokens: words to be released.
      tokens_per_second: of one search thread.
      sample: what became of the words of a sample that was sanitized.
      problem: why no record of it could be used, if none could.
      example: a public sentence, drawn and decoded.
      cause: why words of the sample are unknown, where many are.
    """

    tokens: int
    tokens_per_second: float
    sample: Tally = Tally()
    problem: str = ""
    example: tuple[str, ...] = ()
    cause: str = ""

    @property
    def core_seconds(self) -> float:
        """Time for one core."""
        return self.tokens / self.tokens_per_second


def estimate(
    files: Sequence[CorpusFile],
    corpus_format: CorpusFormat,
    vocabulary: Vocabulary,
    configuration: Configuration,
    backend: str = AUTO,
    language_model: LanguageModel | None = None,
) -> Forecast:
    """Counts and sanitizes words of a sample of the largest file, and times a search.

    What is timed are words of the vocabulary, so a key of zeros is enough for them.
    """
    configuration = configuration.at_largest
    file = max(files, key=lambda file: file.size)
    documents, share, problem = _documents(file, corpus_format)
    sampled = sum(
        configuration.bag.length
        if configuration.bag
        else len(configuration.words.words(document.text, vocabulary))
        for document in documents
    )
    total = sampled / share * text_bytes(files) / max(1, text_bytes([file]))
    search = NeighborSearch(vocabulary, 1, backend)
    sample = expected_shares.sanitized_sample(documents, search, configuration, language_model)
    sanitizer = Sanitizer(search, configuration, language_model=language_model)
    ids: Ids = np.arange(_TIMED_WORDS, dtype=np.int64) % len(vocabulary)
    run = [(bytes(32), 0, len(ids))]
    breaks = np.where(ids % _SENTENCE, FOLLOWS, STARTS).astype(np.int8)
    sanitizer.release(run, ids, breaks)  # the first search also sets things up
    start = time.perf_counter()
    sanitizer.release(run, ids, breaks)
    tokens_per_second = len(ids) / (time.perf_counter() - start)
    example = expected_shares.decoded_example(search, configuration, language_model)
    cause = likely_cause((document.text for document in documents), vocabulary, configuration.words)
    return Forecast(int(total), tokens_per_second, sample, problem, example, cause)


def _documents(file: CorpusFile, corpus_format: CorpusFormat) -> tuple[list[Document], float, str]:
    """The first documents of a file, the share of it that was read, and why there are none."""
    documents: list[Document] = []
    reason = "it holds none"
    try:
        read = 0
        for split in itertools.islice(reading.splits(file, corpus_format), 1):
            for record in itertools.islice(reading.read(split, corpus_format), _SAMPLED_DOCUMENTS):
                read += 1
                if isinstance(record, Rejected):
                    reason = record.reason
                elif document_problem(record) is None:
                    documents.append(record)
        share = corpus_format.format.share_of_file(file, corpus_format, read) if read else 1.0
    except CorpusError as error:  # a file that the run may be allowed to leave out
        share, reason = 1.0, str(error)
    problem = f"no record among the first of {file.path} can be used: {reason}"
    return documents, share, "" if documents else problem


def describe(
    files: Sequence[CorpusFile],
    configuration: Configuration,
    vocabulary: Vocabulary,
    context: Sequence[Pair],
    forecast: Forecast,
    output: str,
    metrics_output: str,
    repair: Repair | None = None,
    kept_fields: Sequence[str] = (),
) -> str:
    """The plan as a person reads it."""
    guarantee = configuration.guarantee().with_caveats(*(repair.caveats if repair else ()))
    parameters = configuration.as_dict()
    size = sum(file.size for file in files)
    unit = "words to release" if configuration.bag else "tokens"
    approximately = ", searched approximately" if vocabulary.index is not None else ""
    resampling, bag = parameters["rank_resampling"], parameters.get("bag_of_words")
    levels, decoder = parameters.get("epsilon_by"), parameters.get("decoder")
    planned = {
        "read": f"{len(files):,} file(s), {size:,} bytes, about {forecast.tokens:,} {unit}",
        "mechanism": _listed(parameters["mechanism"]),
        "resampling": f"among neighbours, {_listed(resampling)}" if resampling else "none",
        "vocabulary": f"{len(vocabulary):,} words in {vocabulary.dimensions} dimensions"
        + approximately,
        "other words": UNKNOWN_WORDS[configuration.unknown_words],
        **({"detected": configuration.detector.replaced} if configuration.detector else {}),
        **({"epsilon by": _by_level(levels)} if levels else {}),
        **({"bag": _listed(bag)} if bag else {}),
        **({"decoder": _listed(decoder)} if decoder else {}),
        **({"capitals": _listed(parameters["truecase"])} if configuration.truecase else {}),
        **({"repair": _listed(repair.as_dict())} if repair else {}),
        "write": f"{output} (metrics and dead letters: {metrics_output})",
    }
    shares = expected_shares.sentences(
        forecast.sample, configuration.bag is not None, forecast.cause
    )
    lines = [
        "Plan",
        *(f"  {name:<11} {value}" for name, value in planned.items()),
        "Guarantee",
        f"  {guarantee.sentence}",
        *(f"  {name:<11} {value}" for name, value in guarantee.table),
        f"  unprotected {'; '.join(unprotected(configuration.unprotected, kept_fields))}",
        *(f"  In context: {pair.sentence}." for pair in context),
        *(f"  Note: {caveat}" for caveat in guarantee.caveats),
        "Estimate",
        *(f"  Warning: {remark}" for remark in remarks(vocabulary)),
        f"  about {duration(forecast.core_seconds)} of one core "
        f"({forecast.tokens_per_second:,.0f} tokens per second), less with more cores"
        + ("; the language model takes further time" if repair else ""),
        *(f"  {sentence}" for sentence in (*forecast.example, *shares)),
        *([f"  Warning: {forecast.problem}"] if forecast.problem else []),
        *(["  What comes out so is what the language model rewrites."] if repair else []),
        "Nothing was written (--dry_run).",
    ]
    return "\n".join(lines)


def _by_level(levels: Mapping[str, Any]) -> str:
    """Which documents have which epsilon."""
    listed = ", ".join(
        f"{epsilon:g} for {value!r}" for value, epsilon in levels["epsilons"].items()
    )
    others = levels["otherwise"]
    rest = "others are dead letters" if others is None else f"{others:g} for all others"
    return f"{levels['field']}: {listed}; {rest}"


def _listed(values: Mapping[str, Any]) -> str:
    """Names and values as a person reads them; of what has a name, the name first."""
    rest = ", ".join(
        f"{name.replace('_', ' ')} "
        + (f"({_listed(value)})" if isinstance(value, Mapping) else f"{value}")
        for name, value in values.items()
        if name != "name"
    )
    return f"{values['name']}, {rest}" if "name" in values else rest


def duration(seconds: float) -> str:
    """Seconds in a unit in which a person grasps them."""
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    if seconds < 7200:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:,.1f} hours"
