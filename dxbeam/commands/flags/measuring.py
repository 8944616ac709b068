"""What is measured of settings before a release, and what is wanted."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag
from dxbeam.commands.flags.arguments import count
from dxbeam.commands.flags.flag import Flag, topic


@topic(
    flag.MEASURE,
    Flag(
        "mechanisms",
        "NAMES",
        "mechanisms to measure, such as laplace,santext, or all (for frontier, all that "
        "need no consent); with parameters, such as gaussian:delta=1e-6:distance=5; "
        "of santext and tem these include base, base_exponent and constant_scan, and of all that "
        "can be decoded decode and decode_loss, which dxbeam sanitize takes as flags (default "
        "laplace)",
        default="laplace",
    ),
    Flag(
        "epsilons",
        "GRID",
        "1:70 or 0.5:6:0.1 (first, last, step) or 1,2,5, the same for all mechanisms; "
        "auto finds for each the range in which words begin to come out as themselves "
        "(default auto)",
        default="auto",
    ),
    Flag(
        "rank_cs",
        "NUMBERS",
        "values of c of rank resampling, such as 0.02,0.04, each tried besides none, or "
        "'none' (default: none for measure, 19 values from 0.001 to 1 for calibrate)",
        default="",
    ),
    Flag(
        "words",
        "N",
        "how many words are tried (default 5000): different words of the vocabulary, or "
        "with --input words drawn from the corpus, each as often as it occurs there. calibrate "
        "chooses on one half of them and verifies on the other",
        default=5000,
        type=count,
    ),
    Flag(
        "repeats",
        "R",
        "how often each of 100 words of the vocabulary is released for N_w and S_w; not "
        "done with --input, as it names the words (default 20)",
        default=20,
        type=count,
    ),
    Flag(
        "seed",
        "N",
        "of the sample of words and of their noise; nothing is released (default 0)",
        default=0,
        type=int,
    ),
)
class MeasureOptions(PipelineOptions):
    """Mechanisms, their settings, and a sample of words."""


@topic(
    flag.TARGET,
    Flag(
        "at_most",
        "SHARE=NUMBER,…",
        "shares of words that must not be larger, such as distant=0.2,original=0.5; "
        "shares are original (the word itself), close (one of its 100 nearest neighbours) and "
        "distant (any other). One target at least is needed (default: none)",
        default="",
    ),
    Flag(
        "at_least",
        "SHARE=NUMBER,…",
        "shares of words that must not be smaller, such as close=0.3 (default: none)",
        default="",
    ),
)
class CalibrateOptions(PipelineOptions):
    """What settings must meet."""


@topic(
    flag.ATTACK,
    Flag(
        "attacked_words",
        "N",
        "how many words are released and attacked at each point (default 1000)",
        default=1000,
        type=count,
    ),
    Flag(
        "points",
        "N",
        "at how many values of epsilon a mechanism is measured where --epsilons is auto; "
        "they lie closer together where few words stay (default 10)",
        default=10,
        type=count,
    ),
    Flag(
        "pairs",
        "M",
        "how many words an attacker releases itself to learn a mechanism that is no "
        "formula (default 20000)",
        default=20_000,
        type=count,
    ),
    Flag(
        "most_risk",
        "SHARE",
        "the share of words that may be recovered, for which settings are recommended "
        "(default 0.2)",
        default=0.2,
        type=float,
    ),
)
@topic(
    flag.EVALUATION,
    Flag(
        "task_documents",
        "N",
        "how many documents of the corpus are released at each point for --task, the "
        "first 200 known words of each (default 1000)",
        default=1000,
        type=count,
    ),
)
class FrontierOptions(PipelineOptions):
    """What attackers know, and how much is tried."""
