"""What is built of public data: vocabularies and language models."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag
from dxbeam.commands.flags.arguments import count, count_or_none
from dxbeam.commands.flags.flag import Flag, topic
from dxbeam.space.embeddings import reader as embeddings


@topic(
    flag.EMBEDDINGS,
    Flag(
        "embeddings",
        "FILE",
        "GloVe, word2vec or fastText file, local or gs://; plain, .gz, FILE.zip or FILE.zip!MEMBER",
    ),
    Flag(
        "embeddings_format",
        "FORMAT",
        f"{', '.join(embeddings.FORMATS)}, or auto to find out (default auto)",
        default="auto",
    ),
    Flag(
        "max_words",
        "N",
        "keep the first N words of the file (default: all)",
        type=count,
    ),
    Flag(
        "lowercase",
        None,
        "lower-case the words, and later all text; of words that become equal the first "
        "is kept (default: words and text stay as they are)",
    ),
)
@topic(
    flag.INDEX,
    Flag(
        "index_factory",
        "FACTORY",
        "FAISS factory string of the search index. Flat (default) searches exactly; an "
        "approximate index keeps the privacy but changes which words are released, and its "
        "recall goes into the manifest",
        default="Flat",
    ),
    Flag(
        "index_parameters",
        "NAME=VALUE,…",
        "FAISS search parameters of the index, such as nprobe=32 (default: FAISS's own, "
        "which are fast and miss many nearest words)",
        default="",
    ),
    Flag(
        "neighbors",
        "K",
        "neighbours stored per word, for rank resampling (default 256); deeper ranks are "
        "searched when they are drawn. 0 stores none and no close radii: quick to build, "
        "and searched for when needed",
        default=256,
        type=count_or_none,
    ),
    Flag(
        "clusters",
        "K",
        "store the public clusters of K words that custext and cluster_response with "
        "cluster_size=K draw from (default: each process that needs them makes them)",
        type=count,
    ),
    Flag(
        "orders",
        "K",
        "store the K public orders of the words that diffractor and diffractor_tem with "
        "orders=K draw from; not the order of a language model, which is --order of "
        "build-language-model (default: each process that needs them makes them)",
        type=count,
    ),
)
@topic(
    flag.OUTPUT,
    Flag(
        "table_pieces",
        "DIR",
        "keep finished parts of the neighbour table below this directory or gs:// prefix, "
        "so that a build that was stopped goes on from them when it is started again; they "
        "are deleted once the vocabulary is complete (default: a stopped build starts anew)",
    ),
    Flag(
        "vector_dtype",
        "",
        "how vectors are stored: float32 (default); or float16, which halves the files "
        "and is read into memory instead of mapped",
        default="float32",
        choices=["float32", "float16"],
    ),
)
class BuildVocabularyOptions(PipelineOptions):
    """Embeddings, the search index, and how vectors are stored."""


@topic(
    flag.LANGUAGE_MODEL,
    Flag(
        "order",
        "2|3",
        "how many words the model looks at, the next one included: pairs (2, default) or "
        "triples (3). This is the order of an n-gram model; --orders of build-vocabulary is "
        "about something else, rankings of the words for diffractor",
        default=2,
        type=count,
    ),
    Flag(
        "prune",
        "N",
        "leave out pairs and triples that occur N times or less (default 0: keep all)",
        default=0,
        type=count_or_none,
    ),
    Flag(
        "exponent",
        "TAU",
        "take every probability to this power, for fluent: above 1 probable words become more so, "
        "and more epsilon leaves rare words as they are (default 1.0: as counted)",
        default=1.0,
        type=float,
    ),
    Flag(
        "held_out",
        "SHARE",
        "share of the documents that are left out of the model, to measure its perplexity "
        "on them (default 0.05)",
        default=0.05,
        type=float,
    ),
    Flag(
        "arpa",
        "FILE",
        "instead of --input: a published model, as KenLM and SRILM write it; local or "
        "gs://, plain or .gz. Words outside the vocabulary become the unknown word (default: none)",
    ),
    Flag(
        "unseen_mass",
        "SHARE",
        "with --arpa, the probability that is shared by all words of the vocabulary that "
        "the file lacks (default 0.001)",
        default=0.001,
        type=float,
    ),
)
class BuildLanguageModelOptions(PipelineOptions):
    """The order of a language model, and what it is made of."""
