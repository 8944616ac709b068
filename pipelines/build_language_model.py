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

import dataclasses
import time
import uuid
from collections.abc import Sequence
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import stopping, storage
from dxbeam.commands import launch
from dxbeam.commands.flags.building import BuildLanguageModelOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import BUILD_LANGUAGE_MODEL, SanitizeOptions
from dxbeam.commands.options import parse, require
from dxbeam.commands.request import check_corpus, read_corpus
from dxbeam.corpus.files import matching_files
from dxbeam.errors import ConfigurationError
from dxbeam.language.arpa import read_arpa
from dxbeam.language.arpa_file import check_header
from dxbeam.language.artifact import write_language_model
from dxbeam.language.artifact_manifest import LANGUAGE_MODEL
from dxbeam.language.casings import kept_casings
from dxbeam.language.counts import check_order
from dxbeam.language.exponent import check_exponent, raised
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.language.kneser_ney import smooth
from dxbeam.language.model import LanguageModel
from dxbeam.language.perplexity import perplexity
from dxbeam.language.sentences import RULE as SENTENCES
from dxbeam.language.sources import described_files
from dxbeam.release import claim
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text import tokenization
from dxbeam.transforms.reading.count_ngrams import (
    HELD_OUT,
    TRAINING,
    WriteNgramCounts,
    read_casings,
    read_counts,
    read_documents,
)

_COUNTS = "counts"
"""The folder of what the workers count; deleted once the model is complete."""


def check(options: PipelineOptions) -> VocabularyHandle:
    """Refuses everything that can be known to be wrong before a run; writes nothing.

    Returns:
      the vocabulary's handle.

    Raises:
      DxbeamError: says what it is.
    """
    flags, shared = options.view_as(BuildLanguageModelOptions), options.view_as(SanitizeOptions)
    require(shared, "vocabulary")
    require(options.view_as(OutputOptions), "output")
    if bool(flags.arpa) == bool(shared.input):
        raise ConfigurationError(
            "a language model is made of --input, public text, or of --arpa, a published model; "
            "give one of them"
        )
    for name in ("held_out", "unseen_mass"):
        if not 0 <= getattr(flags, name) < 1:
            raise ConfigurationError(f"--{name} is a share, from 0 to less than 1")
    check_exponent(flags.exponent)
    claim.check_empty(options.view_as(OutputOptions).output)
    vocabulary = artifact.handle(shared.vocabulary)
    check_order(flags.order, vocabulary.words)
    if flags.arpa:
        check_header(flags.arpa, flags.order)
    else:
        check_corpus(shared, shared.input)
    return vocabulary


def build(options: PipelineOptions, vocabulary: VocabularyHandle) -> beam.Pipeline:
    """Assembles the counting; nothing runs yet."""
    flags, shared = options.view_as(BuildLanguageModelOptions), options.view_as(SanitizeOptions)
    pipeline = launch.new_pipeline(options)
    read = pipeline | "Read" >> read_corpus(shared)
    _ = read.documents | "WriteNgramCounts" >> WriteNgramCounts(
        vocabulary, flags.order, flags.held_out, _counts(options)
    )
    return pipeline


def _counts(options: PipelineOptions) -> str:
    return storage.join(options.view_as(OutputOptions).output, _COUNTS)


def count_corpus(options: PipelineOptions, vocabulary: VocabularyHandle) -> None:
    """Counts n-grams and casings, into files below the output."""
    launch.spread(options, sum(f.size for f in matching_files(_shared(options).input)))
    launch.run(build(options, vocabulary))


def _shared(options: PipelineOptions) -> Any:
    return options.view_as(SanitizeOptions)


def store_counted(options: PipelineOptions, vocabulary: Vocabulary) -> LanguageModelHandle:
    """Smooths what was counted, and writes the model."""
    flags, shared = options.view_as(BuildLanguageModelOptions), _shared(options)
    place, words = _counts(options), len(vocabulary)
    counts = read_counts(place, TRAINING, words, flags.order)
    numbers = raised(smooth(counts, flags.prune), flags.exponent)
    model = LanguageModel(words, vocabulary.content_digest, numbers)
    last = counts.codes % (words + 2)
    held_out = read_counts(place, HELD_OUT, words, flags.order)
    casings = kept_casings(read_casings(place), vocabulary) if vocabulary.lowercase else None
    return write_language_model(
        options.view_as(OutputOptions).output,
        model,
        casings,
        rules={"words": tokenization.RULE, "sentences": SENTENCES},
        prune=flags.prune,
        **_power(flags.exponent),
        counted={
            "documents": read_documents(place, TRAINING),
            "words": int(counts.counts.sum()),
            "unknown_words": int(counts.counts[last == words].sum()),
            **_stored(model),
        },
        held_out={
            "share": flags.held_out,
            "documents": read_documents(place, HELD_OUT),
            "words": int(held_out.counts.sum()),
            "perplexity": perplexity(model, held_out),
        },
        source={
            "kind": "text",
            "files": described_files(
                (f.path, f.name, f.size) for f in matching_files(shared.input)
            ),
        },
    )


def _power(exponent: float) -> dict[str, float]:
    """What the manifest says of the exponent; nothing of 1."""
    return {} if exponent == 1 else {"exponent": exponent}


def _stored(model: LanguageModel) -> dict[str, int]:
    triples = model.numbers.triples
    stored = {"pairs": len(model.numbers.pairs)}
    return stored if triples is None else {**stored, "triples": len(triples)}


def store_arpa(options: PipelineOptions, vocabulary: Vocabulary) -> LanguageModelHandle:
    """Reads a published model, and writes it for the vocabulary."""
    flags = options.view_as(BuildLanguageModelOptions)
    read = read_arpa(flags.arpa, vocabulary, flags.order, flags.unseen_mass, _is_word)
    numbers = raised(read.model.numbers, flags.exponent)
    digest, size = storage.sha256(flags.arpa)
    return write_language_model(
        options.view_as(OutputOptions).output,
        dataclasses.replace(read.model, numbers=numbers),
        None,
        **_power(flags.exponent),
        rules={"words": tokenization.RULE, "sentences": SENTENCES},
        counted={**read.facts, **_stored(read.model)},
        unseen_mass=flags.unseen_mass,
        source={
            "kind": "arpa",
            "files": [{"name": flags.arpa.rpartition("/")[2], "bytes": size, "sha256": digest}],
        },
    )


def _is_word(text: str) -> bool:
    """Whether a word of a published model is one by this rule, and not punctuation."""
    return bool(tokenization.words(text))


def abandon(output: str) -> None:
    """Deletes what a failed build has written."""
    for name in list(storage.names_below(output)):
        storage.delete(storage.join(output, name))


@launch.naming_flags
def build_language_model(argv: Sequence[str]) -> None:
    """Counts or reads, smooths, stores, and says what was written."""
    options = parse(argv, BUILD_LANGUAGE_MODEL, __doc__ or "")
    handle = check(options)
    flags, output = (
        options.view_as(BuildLanguageModelOptions),
        options.view_as(OutputOptions).output,
    )
    if options.view_as(TestOptions).dry_run:
        source = flags.arpa or _shared(options).input
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
            written = store_arpa(options, vocabulary)
        else:
            count_corpus(options, handle)
            written = store_counted(options, vocabulary)
            storage.delete(_counts(options))
        claim.let_go(output)
    print(_written(written, output, time.monotonic() - started))


def _written(handle: LanguageModelHandle, output: str, seconds: float) -> str:
    facts: dict[str, Any] = LANGUAGE_MODEL.read_manifest(output)
    counted, held_out = facts["counted"], facts.get("held_out", {}).get("perplexity")
    said = f"Wrote a language model of order {handle.order} to {output} in {seconds:.0f} seconds: "
    said += ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in counted.items())
    return said + (f"; perplexity {held_out:,.0f} of documents held out" if held_out else "")


if __name__ == "__main__":
    launch.main(build_language_model)
