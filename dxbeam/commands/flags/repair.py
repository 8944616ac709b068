"""The language model that rewrites sanitized text."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag
from dxbeam.commands.flags.arguments import count
from dxbeam.commands.flags.flag import Flag, one_of, topic
from dxbeam.text.repair import FAILURES


@topic(
    flag.REPAIR,
    Flag(
        "repair_model",
        "NAME",
        "language model that rewrites sanitized text fluently before it is written. It is "
        "given nothing else, and must not know the private corpus (default: none)",
    ),
    Flag(
        "repair_endpoint",
        "URL",
        "OpenAI-compatible endpoint of that model, e.g. http://localhost:8000/v1; needed with "
        "--repair_model",
    ),
    Flag(
        "repair_prompt",
        "FILE",
        "what the model is to do (default: to correct grammar and add nothing)",
    ),
    Flag(
        "repair_api_key_env",
        "NAME",
        "environment variable that holds the endpoint's key on every worker; never the key "
        "itself (default: the endpoint needs none)",
    ),
    Flag(
        "repair_candidates",
        "K",
        "with --decode prior or context: the model is also given up to K candidates of each "
        "word, with the probabilities that the decoder computed (default: none)",
        type=count,
    ),
    one_of(
        "repair_failures",
        "HOW",
        "what becomes of documents that the model fails on",
        FAILURES,
        "keep",
    ),
)
class RepairOptions(PipelineOptions):
    """Repair by a language model."""
