"""What is measured of finished releases and of mechanisms."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag
from dxbeam.commands.flags.arguments import count
from dxbeam.commands.flags.flag import Flag, topic


@topic(
    flag.EVALUATION,
    Flag(
        "original",
        "GLOB",
        "files of the corpus as it was, what --input of dxbeam sanitize named",
    ),
    Flag(
        "released",
        "DIR",
        "the release, what --output of dxbeam sanitize named; or several releases of the "
        "corpus, separated by commas or as a glob of their directories, which are compared "
        "side by side",
    ),
    Flag(
        "task",
        "FIELD",
        "a field of the corpus with a class label: how well do classifiers learn it from "
        "the released text (default: none)",
    ),
    Flag(
        "attack",
        "FIELD",
        "a field of the corpus with what the release should hide, such as the author: how "
        "well do classifiers tell it from the released text (default: none)",
    ),
    Flag(
        "reidentify",
        "N",
        "look up each of N released documents among the N originals, and among the texts "
        "of the release before it in the list; all documents where there are fewer. One worker "
        "holds some 20 kilobytes a document and takes time in the square of N (default: do "
        "not)",
        type=count,
    ),
    Flag(
        "entities",
        "FIELD",
        "a field of the corpus, a string with the JSON of a list of [start, end, class] "
        "in characters of the text, such as names that a tagger marked: how many stay as they "
        "were (default: none)",
    ),
    Flag(
        "word_statistics",
        None,
        "compare what is counted of a release with what is counted of the originals: words, pairs "
        "of words near each other, topics, different n-grams and lengths. One worker holds eight "
        "bytes a word",
    ),
    Flag(
        "learning_curve",
        None,
        "train the classifiers of --task on 1/32, 1/16, ... of the documents, too",
    ),
    Flag(
        "encoder",
        "DIR",
        "a sentence encoder that tells how alike originals and releases are, MAUVE, with --task "
        "and --attack classifies documents, too, and with --reidentify finds them again: a "
        "directory on every worker, as sentence-transformers or save_pretrained of Hugging "
        "Face's transformers writes it; safetensors only, nothing is downloaded (needs "
        "dxbeam[neural]; default: none)",
    ),
    Flag(
        "perplexity_model",
        "DIR",
        "a causal language model, for the perplexity of originals and releases; a directory "
        "on every worker, as save_pretrained of Hugging Face's transformers writes it, with the "
        "tokenizer; safetensors only, nothing is downloaded (needs dxbeam[neural]; default: none)",
    ),
    Flag(
        "canaries",
        "N",
        "plant N secrets of each class of words under the settings of each release, in 1 to 10 "
        "documents each, and tell how exposed they are; needs --vocabulary, and releases whose "
        "words are drawn one by one (default: none)",
        type=count,
    ),
)
class EvaluateOptions(PipelineOptions):
    """Originals and releases, and what is looked for in them."""


@topic(
    flag.AUDIT,
    Flag(
        "runs",
        "N",
        "how many whole audits (default 1)",
        default=1,
        type=count,
    ),
    Flag(
        "samples",
        "SIZE",
        "standard (default), or small for many runs; the false-alarm rate is the same",
        default="standard",
    ),
    Flag(
        "report",
        "FILE",
        "where to write the report, local or gs:// (default audit.json, or where that is "
        "there already audit-2.json, and so on)",
    ),
)
class AuditOptions(PipelineOptions):
    """How long an audit is, and where its report goes."""
