"""What replaces a word."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag
from dxbeam.commands.flags.arguments import count, number
from dxbeam.commands.flags.flag import Flag, topic
from dxbeam.mechanisms import MECHANISMS
from dxbeam.mechanisms.constants.exact_constant import WORST_CASE
from dxbeam.mechanisms.public.listed_words import FREQUENCY
from dxbeam.text.public.importance_file import NAMED


@topic(
    flag.MECHANISM,
    Flag(
        "mechanism",
        "NAME",
        f"what replaces a word: {', '.join(MECHANISMS)} (default laplace). With --help it "
        "explains this mechanism and its parameters",
        default="laplace",
    ),
    Flag(
        "epsilon",
        "NUMBER",
        "privacy loss per unit of distance between word vectors; smaller is more private, and "
        "5 to 20 is usual for GloVe",
        type=number,
    ),
    Flag(
        "epsilon_by",
        "FIELD:VALUE=NUMBER,…",
        "an epsilon for each document by a public field, e.g. consent:low=5,high=10. A "
        "document with another value, or none, has --epsilon, or goes to the dead letters where "
        "that is not given. The guarantee and the ledger count the largest; the field must not be "
        "computed from the text (default: one epsilon for all)",
    ),
    Flag(
        "parameters",
        "NAME=VALUE,…",
        "further parameters of the mechanism, e.g. delta=1e-6 (default: the mechanism's own, "
        "which --mechanism NAME --help lists)",
        default="",
    ),
    Flag(
        "importance",
        "FILE",
        "with santext or tem, public weights of words: a word with a weight stays unchanged "
        "more often, and costs its weight more. A file of lines 'word<TAB>weight', or .csv or "
        ".parquet with the columns word and weight, weights from 0 to 100; or one of "
        f"{', '.join(NAMED)}, as NAME=LARGEST for another largest weight than 10. Never weights "
        "computed from the private corpus: they void the guarantee. audit, whose words are made "
        f"up, takes only {FREQUENCY} (default: no weights)",
    ),
    Flag(
        "base",
        "FILE",
        "with santext or tem, a public base measure: words are drawn in proportion to it, so "
        "that likely words come back. A file as for --importance, of numbers such as how often "
        "each word occurs in a public text; words that it does not name are never drawn; or "
        f"{FREQUENCY}, 1 / r for the r-th word of the vocabulary. Never computed from the private "
        "corpus (default: all words alike)",
    ),
    Flag(
        "base_exponent",
        "TAU",
        "with --base, the power to which it is raised: 1 counts it fully (default), 0.5 half",
        type=number,
    ),
    Flag(
        "constant",
        "WHICH",
        "with santext or tem, whether --epsilon is the worst case over all vocabularies "
        "(worst_case, default) or what a scan of this one found to be true (exact): then words are "
        "drawn with a larger nominal epsilon, at the same guarantee",
        default=WORST_CASE,
    ),
    Flag(
        "constant_scan",
        "FILE",
        "needed with --constant exact: what dxbeam scan-constant wrote for this vocabulary "
        "and these settings",
    ),
    Flag(
        "rank_c",
        "C",
        "resample each released word among its neighbours, with probability proportional to "
        "exp(-epsilon * C * rank). It costs no privacy, and 0.02 to 0.05 is usual (default: no "
        "resampling)",
        type=number,
    ),
    Flag(
        "bag_of_words",
        "LENGTH",
        "release each document as this many of its words, without their order. Longer "
        "documents are sampled and shorter ones are filled up with the unknown word, so nobody "
        "sees how long a document is (default: all words, in order)",
        type=count,
    ),
    Flag(
        "stop_words",
        "FILE",
        "with --bag_of_words, a public list of words to leave out; also 'english' (default) "
        "or 'none'",
    ),
    Flag(
        "allow_unsound",
        None,
        "run settings that guarantee nothing, or nothing for some words: to compare a "
        "mechanism or reproduce what was published, or for --unknown_words mask, drop or keep, or "
        "for --detect (default: they are refused)",
    ),
)
class MechanismOptions(PipelineOptions):
    """The mechanism, its parameters, and how words are drawn."""
