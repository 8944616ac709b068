"""The vocabulary, and what its words are in a text."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag
from dxbeam.commands.flags.flag import Flag, one_of, topic
from dxbeam.text.configuration import UNKNOWN_WORDS
from dxbeam.text.detection.detector import NONE
from dxbeam.text.word_rule import SEGMENTERS


@topic(
    flag.VOCABULARY,
    Flag(
        "vocabulary",
        "DIR",
        "what dxbeam build-vocabulary wrote, local or gs://, or 'demo' for the small "
        "vocabulary that comes with dxbeam",
    ),
)
class VocabularyOptions(PipelineOptions):
    """The vocabulary."""


@topic(
    flag.VOCABULARY,
    one_of(
        "unknown_words",
        "HOW",
        "what becomes of words outside the vocabulary",
        UNKNOWN_WORDS,
        "noise",
    ),
    Flag(
        "tokenization",
        "1|2",
        "which punctuation divides words: 1, that of Latin script, or 2, that of all scripts. "
        "A kept key draws other noise with the other (default 1; 2 with --segmenter)",
        choices=("1", "2"),
    ),
    one_of(
        "segmenter",
        "HOW",
        "how words are found in scripts without spaces, such as Chinese, Japanese and Thai, "
        "and in emoji",
        SEGMENTERS,
        "none",
    ),
    Flag(
        "detect",
        "HOW",
        "what is replaced by typed placeholders, such as <EMAIL>, before words are noised "
        "(default none). presidio: e-mail addresses, telephone, card and account numbers, IP and "
        "web addresses, by Presidio's patterns. Where placeholders are is visible, so it needs "
        "--allow_unsound",
        default=NONE,
    ),
    Flag(
        "detect_model",
        "NAME",
        "with --detect presidio, a spaCy model that recognises more, such as names: a package "
        "or a folder that is on every worker. Nothing is downloaded, and opening it runs its code "
        "(default: patterns only)",
    ),
)
class WordOptions(PipelineOptions):
    """What the words of a text are, and what becomes of unknown ones."""
