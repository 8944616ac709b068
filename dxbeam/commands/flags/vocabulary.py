"""The vocabulary, and what its words are in a text."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag
from dxbeam.commands.flags.flag import Flag, one_of, topic
from dxbeam.text.configuration import UNKNOWN_WORDS
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
)
class WordOptions(PipelineOptions):
    """What the words of a text are, and what becomes of unknown ones."""
