r"""Turns public text into a language model: which words follow which, for a vocabulary.

    dxbeam build-language-model --input 'public/*.jsonl' --vocabulary vocabulary --output model

A decoder reads what a mechanism drew with such a model. Pairs of words are counted and smoothed
(interpolated Kneser-Ney); the unknown word and starts of sentences are counted too, and how words
are capitalized. One document in twenty is left out of the counts, and the model's perplexity on
these is written to manifest.json. Counting is a Beam pipeline, so --runner and its flags spread a
large corpus over workers, which must be able to write to --output.

    --order 3                     triples of words as well: better, and several times the size
    --prune 1                     without pairs and triples that occur once: far smaller
    --exponent 1.25               for fluent: probable words become more so, rare ones less
    --arpa model.arpa.gz          a published model instead of --input, as KenLM and SRILM write it

The text must be public: a model made from the private corpus voids the guarantee.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import stopping, storage
from dxbeam.commands import launch
from dxbeam.commands.flags.building import BuildLanguageModelOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import BUILD_LANGUAGE_MODEL, SanitizeOptions
from dxbeam.commands.jobs.build_language_model import (
    abandon,
    check,
    counts_place,
    described,
    store_arpa,
    store_counted,
)
from dxbeam.commands.options import parse
from dxbeam.commands.request import read_corpus
from dxbeam.corpus.files import matching_files
from dxbeam.release import claim
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.transforms.reading.count_ngrams import WriteNgramCounts


def build(options: PipelineOptions, vocabulary: VocabularyHandle) -> beam.Pipeline:
    """Assembles the counting; nothing runs yet."""
    flags, shared = options.view_as(BuildLanguageModelOptions), options.view_as(SanitizeOptions)
    pipeline = launch.new_pipeline(options)
    read = pipeline | "Read" >> read_corpus(shared)
    _ = read.documents | "WriteNgramCounts" >> WriteNgramCounts(
        vocabulary, flags.order, flags.held_out, counts_place(options)
    )
    return pipeline


def count_corpus(options: PipelineOptions, vocabulary: VocabularyHandle) -> None:
    """Counts n-grams and casings, into files below the output."""
    corpus = options.view_as(SanitizeOptions).input
    launch.spread(options, sum(file.size for file in matching_files(corpus)))
    launch.run(build(options, vocabulary))


@launch.naming_flags
def build_language_model(argv: Sequence[str]) -> None:
    """Counts or reads, smooths, stores, and says what was written."""
    options = parse(argv, BUILD_LANGUAGE_MODEL, __doc__ or "")
    handle = check(options)
    flags = options.view_as(BuildLanguageModelOptions)
    output = options.view_as(OutputOptions).output
    if options.view_as(TestOptions).dry_run:
        source = flags.arpa or options.view_as(SanitizeOptions).input
        print(
            f"Plan\n  read   {source}\n  order  {flags.order}\n  write  {output}\n"
            "Nothing was written (--dry_run)."
        )
        return
    started, run = time.monotonic(), uuid.uuid4().hex

    def abandoned(stop_writers: stopping.StopWriters) -> None:
        if claim.holds(output, run):
            stop_writers()
            abandon(output)

    with stopping.undone_on_failure(abandoned):
        claim.take_fresh(output, run)
        vocabulary = artifact.open_vocabulary(handle)
        if flags.arpa:
            stored = store_arpa(options, vocabulary)
        else:
            count_corpus(options, handle)
            stored = store_counted(options, vocabulary)
            storage.delete(counts_place(options))
        claim.let_go(output)
    print(described(stored, output, time.monotonic() - started))


if __name__ == "__main__":
    launch.main(build_language_model)
