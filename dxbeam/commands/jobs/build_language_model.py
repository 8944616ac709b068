"""What ``dxbeam build-language-model`` is asked for, and how a model is stored."""

from __future__ import annotations

import dataclasses
from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam import storage
from dxbeam.commands.flags.building import BuildLanguageModelOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import SanitizeOptions
from dxbeam.commands.options import require
from dxbeam.commands.request import check_corpus
from dxbeam.corpus.files import matching_files
from dxbeam.corpus.formats import table_kind
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
    read_casings,
    read_counts,
    read_documents,
)

_COUNTS = "counts"


def check(options: PipelineOptions) -> VocabularyHandle:
    """The vocabulary's handle; refuses all that can be known to be wrong before a run."""
    flags, shared = options.view_as(BuildLanguageModelOptions), options.view_as(SanitizeOptions)
    require(shared, "vocabulary")
    require(options.view_as(OutputOptions), "output")
    if bool(flags.arpa) == bool(shared.input):
        raise ConfigurationError(
            "a language model is made of --input, public text, or of --arpa, a published model; "
            "give one of them"
        )
    if table_kind(shared.input or ""):
        raise ConfigurationError(
            f"--input {shared.input}: a language model names the files that it was made of by "
            "their digests, and a table has none; export it to Parquet first"
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


def counts_place(options: PipelineOptions) -> str:
    """The folder of what the workers count; deleted once the model is complete."""
    return storage.join(options.view_as(OutputOptions).output, _COUNTS)


def store_counted(options: PipelineOptions, vocabulary: Vocabulary) -> LanguageModelHandle:
    """Smooths what was counted, and writes the model."""
    flags, shared = options.view_as(BuildLanguageModelOptions), options.view_as(SanitizeOptions)
    place, words = counts_place(options), len(vocabulary)
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


def described(handle: LanguageModelHandle, output: str, seconds: float) -> str:
    """What was written, as a person reads it."""
    facts: dict[str, Any] = LANGUAGE_MODEL.read_manifest(output)
    counted, held_out = facts["counted"], facts.get("held_out", {}).get("perplexity")
    said = f"Wrote a language model of order {handle.order} to {output} in {seconds:.0f} seconds: "
    said += ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in counted.items())
    return said + (f"; perplexity {held_out:,.0f} of documents held out" if held_out else "")
