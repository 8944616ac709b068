"""Who attacks texts, and what they know."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag
from dxbeam.commands.flags.arguments import count
from dxbeam.commands.flags.flag import Flag, topic


@topic(
    flag.ATTACK,
    Flag(
        "public_input",
        "GLOB",
        "public text from which attackers know how frequent words are, in the format of "
        "the corpus (default: they take all words for equally frequent)",
    ),
    Flag(
        "context_documents",
        "N",
        "how many documents of the corpus are read with context at each point, the first "
        "200 known words of each; which words follow which is learnt from --public_input "
        "(default: none)",
        type=count,
    ),
    Flag(
        "attackers",
        "",
        "further attackers on --context_documents. learned: a recurrent network that is trained at "
        "each point, on --public_input released under the same setting, in minutes (needs "
        "dxbeam[neural]; default: none)",
        choices=["learned"],
    ),
    Flag(
        "attacker_public_words",
        "N",
        "about how many words of --public_input attackers with a model release themselves to learn "
        "from, and a third of it as noisy vectors (default 60000)",
        default=60_000,
        type=count,
    ),
    Flag(
        "attacker_model",
        "DIR",
        "a masked or causal language model that attackers read --context_documents with: a "
        "directory on this machine, as save_pretrained of Hugging Face's transformers writes it, "
        "with the tokenizer; safetensors only (needs dxbeam[neural]; default: none)",
    ),
    Flag(
        "attacker_endpoint",
        "URL",
        "OpenAI-compatible endpoint that attackers ask to guess the original words, e.g. "
        "http://localhost:8000/v1. It is sent released text, and public text with releases of it, "
        "and no original (default: no text is sent anywhere)",
    ),
    Flag(
        "attacker_endpoint_model",
        "NAME",
        "language model of that endpoint; needed with --attacker_endpoint",
    ),
    Flag(
        "attacker_endpoint_key_env",
        "NAME",
        "environment variable that holds the endpoint's key on every worker; never the key itself "
        "(default: the endpoint needs none)",
    ),
    Flag(
        "attacker_requests",
        "N",
        "how many requests the endpoint is sent in all, at most; one that fails for the moment is "
        "repeated up to four times (default 200)",
        default=200,
        type=count,
    ),
)
class AttackerOptions(PipelineOptions):
    """Attackers of texts."""
