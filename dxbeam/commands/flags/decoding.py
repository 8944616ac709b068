"""How what was drawn is read, while it is released or after."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag
from dxbeam.commands.flags.flag import Flag, topic


@topic(
    flag.DECODING,
    Flag(
        "decode",
        "HOW",
        "how what was drawn is read. nearest: the nearest or drawn word (default). prior: "
        "each word by a public language model's frequencies. context: the words of a sentence "
        "together. It costs no privacy; docs/guides/decoding.md says what it changes",
    ),
    Flag(
        "decode_loss",
        "WHAT",
        "with --decode prior or context, which candidate is released: the most probable "
        "'word' (default), or by 'distance' the one nearest to the mean of all, weighted by their "
        "probability",
    ),
    Flag(
        "language_model",
        "DIR",
        "what dxbeam build-language-model wrote for this vocabulary, local or gs://, or "
        "'demo' with the demo vocabulary; needed with --decode prior or context, with "
        "--mechanism fluent and with --truecase. It must be public: one made from the private "
        "corpus voids the guarantee",
    ),
    Flag(
        "truecase",
        None,
        "put capitals into the released text as public text has them, by --language_model and "
        "the released words only; the original's capitals have no influence",
    ),
)
class DecoderOptions(PipelineOptions):
    """The decoder, and the public language model that is read."""


@topic(
    flag.CORPUS,
    Flag(
        "release",
        "DIR",
        "the release to decode, what --output of dxbeam sanitize named; the flag's name "
        "may be left out where it is the first argument",
    ),
)
class DecodeOptions(PipelineOptions):
    """The finished release that is decoded."""
