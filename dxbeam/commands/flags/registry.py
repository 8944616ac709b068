"""Which flags there are, by topic, and which of them each command takes.

Beam parses every class right below PipelineOptions for every pipeline, and a flag declared twice
breaks every pipeline of the process. So each flag is declared once, in the class of its topic, and
a command names the topics that it takes, or single flags of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field

from apache_beam.options.pipeline_options import PipelineOptions, _BeamArgumentParser

from dxbeam.commands.flags.attackers import AttackerOptions
from dxbeam.commands.flags.building import BuildLanguageModelOptions, BuildVocabularyOptions
from dxbeam.commands.flags.corpus import CorpusOptions, RecordOptions
from dxbeam.commands.flags.decoding import DecodeOptions, DecoderOptions
from dxbeam.commands.flags.evaluating import AuditOptions, EvaluateOptions
from dxbeam.commands.flags.measuring import CalibrateOptions, FrontierOptions, MeasureOptions
from dxbeam.commands.flags.mechanism import MechanismOptions
from dxbeam.commands.flags.output import (
    KeyOptions,
    LedgerOptions,
    OutputOptions,
    ShardOptions,
    TableOptions,
)
from dxbeam.commands.flags.repair import RepairOptions
from dxbeam.commands.flags.run import ProcessOptions, SearchOptions
from dxbeam.commands.flags.stream import StreamOptions
from dxbeam.commands.flags.vectors import ReleaseVectorsOptions
from dxbeam.commands.flags.vocabulary import VocabularyOptions, WordOptions

Topic = type[PipelineOptions]

TOPICS: tuple[Topic, ...] = (
    CorpusOptions, RecordOptions, DecodeOptions, StreamOptions, BuildVocabularyOptions,
    VocabularyOptions, WordOptions, BuildLanguageModelOptions, ReleaseVectorsOptions,
    CalibrateOptions, MechanismOptions, AuditOptions, MeasureOptions, FrontierOptions,
    AttackerOptions, EvaluateOptions, DecoderOptions, KeyOptions, OutputOptions, ShardOptions,
    TableOptions, LedgerOptions, RepairOptions, ProcessOptions, SearchOptions,
)  # fmt: skip
"""All classes of flags. Those under one heading of --help come in this order."""


class SanitizeOptions(
    CorpusOptions,
    RecordOptions,
    VocabularyOptions,
    WordOptions,
    MechanismOptions,
    DecoderOptions,
    KeyOptions,
    RepairOptions,
    ShardOptions,
    TableOptions,
):
    """The topics of a release of text in one view."""


class AttackedOptions(FrontierOptions, AttackerOptions):
    """The topics of a frontier's attackers in one view."""


@dataclass(frozen=True)
class Command:
    """What a command takes.

    Attributes:
      name: as it is typed after ``dxbeam``.
      needed: flags, without dashes, that must be given.
      takes: topics, and names of single flags of other topics.
      without: flags of these topics that it does not take.
      meanings: what some flags mean here, where that is not what they mean elsewhere.
    """

    name: str
    needed: tuple[str, ...]
    takes: tuple[Topic | str, ...]
    without: tuple[str, ...] = ()
    meanings: Mapping[str, str] = field(default_factory=dict)

    def flags(self) -> list[argparse.Action]:
        """The flags of dxbeam's that it takes, as they are declared."""
        flags = [
            flag
            for topic in TOPICS
            for flag in declared(topic)
            if flag.dest not in self.without and {topic, flag.dest} & set(self.takes)
        ]
        for flag in flags:
            flag.help = self.meanings.get(flag.dest, flag.help)
        return flags


def declared(*topics: Topic) -> list[argparse.Action]:
    """All flags of topics, as they are declared."""
    parser = _BeamArgumentParser(allow_abbrev=False, add_help=False)
    for topic in topics:
        topic._add_argparse_args(parser)
    actions: list[argparse.Action] = parser._actions
    return actions


_RUN = (OutputOptions, ProcessOptions, SearchOptions)
_CORPUS_AND_WORDS = (CorpusOptions, VocabularyOptions, *_RUN)
_FILES = (
    "corpus files, local or gs://; quote a pattern such as 'corpus/*.jsonl'; .gz and .zst files "
    "are decompressed"
)
_ANY_CORPUS = {"input": f"{_FILES} (default: none; words of the vocabulary are tried)"}
_DECODER = ("decode", "decode_loss", "language_model")
_MODEL = (
    "what dxbeam build-language-model wrote for this vocabulary, local or gs://, or 'demo' with "
    "the demo vocabulary"
)
_LOSS = "with --decode prior or context: 'word' (default) or 'distance', as in dxbeam sanitize"
_SHARES_OF_DECODED = {
    "decode": "measure words as they are after decoding. prior: each by itself, by a public "
    "language model's frequencies. context: in the texts of --input, which it needs (default "
    "nearest: what is drawn)",
    "decode_loss": _LOSS,
    "language_model": f"{_MODEL}; needed with a decoder, and with fluent in texts",
}

AUDIT = Command(
    "audit",
    needed=(),
    takes=(
        AuditOptions, "mechanism", "epsilon", "parameters", "importance", "base", "base_exponent",
        "constant", "rank_c", "decode", "decode_loss", "language_model", "detect", ProcessOptions,
    ),
    meanings={
        "base": "audit santext or tem under a public base measure: frequency; optimal, the one "
        "that loses least in each vocabulary that the audit makes up; or a file, whose numbers are "
        "spread over its words (default: every word counts the same)",
        "language_model": "audit fluent with this public model, cut to the words that the audit "
        "makes up: what dxbeam build-language-model wrote, or demo (default: none)",
        "detect": "audit documents with placeholders, too: presidio, as in dxbeam sanitize "
        "(default none)",
        "decode": "audit whole documents that are read by a language model, which the audit "
        "makes up: prior or context, as in dxbeam sanitize (default nearest: what is drawn)",
        "decode_loss": _LOSS,
    },
)  # fmt: skip

BUILD_LANGUAGE_MODEL = Command(
    "build-language-model",
    needed=("vocabulary", "output"),
    takes=(BuildLanguageModelOptions, *_CORPUS_AND_WORDS),
    meanings={"input": f"{_FILES}; needed without --arpa"},
)

BUILD_VOCABULARY = Command(
    "build-vocabulary",
    needed=("embeddings", "output"),
    takes=(BuildVocabularyOptions, *_RUN),
)

CALIBRATE = Command(
    "calibrate",
    needed=("vocabulary", "output"),
    takes=(
        CalibrateOptions, "mechanism", "parameters", "allow_unsound", "epsilons", "rank_cs",
        "words", "seed", *_DECODER, *_CORPUS_AND_WORDS,
    ),
    meanings={**_ANY_CORPUS, **_SHARES_OF_DECODED},
)  # fmt: skip

DECODE = Command(
    "decode",
    needed=("release", "vocabulary", "language_model", "output"),
    takes=(
        DecodeOptions, VocabularyOptions, DecoderOptions, "importance", "compression",
        "num_shards", *_RUN,
    ),
    meanings={
        "vocabulary": "the vocabulary that the release was made with, local or gs://, or 'demo'",
        "importance": "the file of word weights that the release was made with, if there was one "
        "(default: none)",
        "decode": "context: the words of a sentence are read together (default). prior: each by "
        "itself, by the language model's frequencies",
        "language_model": f"{_MODEL}. It must be public: one made from the private corpus voids "
        "the guarantee",
        "decode_loss": "which candidate is written: the most probable 'word' (default), or by "
        "'distance' the one nearest to the mean of all, weighted by their probability",
        "truecase": "put capitals into the decoded text as public text has them, by "
        "--language_model and the decoded words only",
        "num_shards": "number of output files (default: as the workers happen to write)",
    },
)  # fmt: skip

EVALUATE = Command(
    "evaluate",
    needed=("original", "released", "output"),
    takes=(
        EvaluateOptions, AttackerOptions, CorpusOptions, VocabularyOptions, "group_by",
        "language_model", "key_uri", OutputOptions, ProcessOptions,
    ),
    without=("input",),
    meanings={
        "public_input": "public text that attackers with a model learn from, in the format of the "
        "corpus; they release it as each release was made (default: none)",
        "context_documents": "how many documents attackers with a model read, those whose ids have "
        "the smallest hashes, the first 200 known words of each (default: none)",
        "attackers": "attackers of these documents. learned: a recurrent network that is trained "
        "for each release on --public_input, in minutes (needs dxbeam[neural]; default: none)",
        "language_model": f"{_MODEL}: by its frequencies rare words are counted separately, and "
        "texts get a perplexity (default: neither). Take another than a decoder read with, as text "
        "is likely under the model that chose it",
    },
)  # fmt: skip

FRONTIER = Command(
    "frontier",
    needed=("vocabulary", "output"),
    takes=(
        FrontierOptions, AttackerOptions, "importance", "mechanisms", "epsilons", "rank_cs", "seed",
        "language_model", "task", *_CORPUS_AND_WORDS,
    ),
    meanings=_ANY_CORPUS,
)  # fmt: skip

MEASURE = Command(
    "measure",
    needed=("vocabulary", "output"),
    takes=(MeasureOptions, "importance", *_DECODER, *_CORPUS_AND_WORDS),
    meanings={**_ANY_CORPUS, **_SHARES_OF_DECODED},
)

RELEASE_VECTORS = Command(
    "release-vectors",
    needed=("input", "epsilon", "output"),
    takes=(
        ReleaseVectorsOptions, CorpusOptions, RecordOptions, VocabularyOptions, "epsilon",
        KeyOptions, "num_shards", "metrics_output", LedgerOptions, OutputOptions, ProcessOptions,
    ),
    without=("group_by",),
)  # fmt: skip

SANITIZE = Command(
    "sanitize",
    needed=("input", "vocabulary", "epsilon", "output"),
    takes=(
        CorpusOptions, RecordOptions, VocabularyOptions, WordOptions, MechanismOptions,
        DecoderOptions, KeyOptions, RepairOptions, ShardOptions, TableOptions, LedgerOptions, *_RUN,
    ),
)  # fmt: skip

SANITIZE_STREAM = Command(
    "sanitize-stream",
    needed=(
        "brokers", "input_topic", "output_topic", "vocabulary", "epsilon", "key_uri", "output",
    ),
    takes=(
        StreamOptions, "text_field", "id_field", "keep_fields", VocabularyOptions, WordOptions,
        MechanismOptions, DecoderOptions, KeyOptions, "metrics_output", LedgerOptions, *_RUN,
    ),
    without=("bag_of_words", "stop_words"),
    meanings={
        "text_field": "field of the message that holds the text (default text)",
        "id_field": "field that holds the message's id (default id). A message without one is "
        "named TOPIC/PARTITION:OFFSET. Ids are released",
        "keep_fields": "further fields to release as they are, unprotected, separated by commas "
        "(default: none)",
        "key_uri": "file, gs:// object or env:NAME that holds a secret key of 32 bytes, and that "
        "every worker can read. It must be kept: an engine that repeats work then publishes equal "
        "bytes",
        "output": "directory or gs:// prefix for stream.json, which says what is promised, and a "
        "record of each window; empty, or that of the same stream",
        "metrics_output": "where counts go that are computed from the raw text, and the "
        "guarantee does not cover them (default: the output's name with -metrics)",
        "corpus_id": "what the ledger calls these messages, the same for every release of them; "
        "needed with --ledger",
    },
)  # fmt: skip

COMMANDS = (
    AUDIT, BUILD_LANGUAGE_MODEL, BUILD_VOCABULARY, CALIBRATE, DECODE, EVALUATE, FRONTIER, MEASURE,
    RELEASE_VECTORS, SANITIZE, SANITIZE_STREAM,
)  # fmt: skip
"""All commands that run pipelines."""
