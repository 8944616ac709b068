r"""Makes a base measure for dxbeam sanitize --base: of a language model, or the optimal one.

    dxbeam build-base --vocabulary V --language_model M --output q.parquet
    dxbeam build-base --vocabulary V --language_model M --optimal --epsilon 2.5 --output q.parquet
    dxbeam sanitize … --mechanism santext --epsilon 2.5 --base q.parquet

The first form takes how frequent words are by a public language model. --optimal finds the base
measure that loses least for such words at a nominal epsilon (Blahut and Arimoto's algorithm),
within --max_seconds. Without --language_model the r-th word of the vocabulary counts 1 / r.

Nothing private is read, and nothing private may have been used to make the model or the vocabulary.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dxbeam import storage
from dxbeam.commands import program
from dxbeam.commands.flags.arguments import count, number
from dxbeam.errors import ConfigurationError, OutputError
from dxbeam.language.artifact import open_language_model
from dxbeam.mechanisms.constants.optimal_base import optimal_base
from dxbeam.mechanisms.constants.solve import exponents_of
from dxbeam.space.artifact import artifact
from dxbeam.text.plain_settings import mechanism_of


def _arguments() -> program.Arguments:
    parser = program.Arguments("build-base", __doc__ or "")
    parser.add_argument(
        "--vocabulary", required=True, metavar="DIR", help="what dxbeam build-vocabulary wrote"
    )
    parser.add_argument(
        "--language_model", metavar="DIR", help="what dxbeam build-language-model wrote"
    )
    parser.add_argument(
        "--optimal", action="store_true", help="the measure of least loss for such words"
    )
    parser.add_argument(
        "--mechanism", default="santext", metavar="NAME", help="with --optimal: santext or tem"
    )
    parser.add_argument("--epsilon", type=number, metavar="NUMBER", help="with --optimal: nominal")
    parser.add_argument(
        "--parameters", default="", metavar="…", help="with --optimal: of the mechanism"
    )
    parser.add_argument(
        "--iterations", type=count, default=20, metavar="N", help="at most (default 20)"
    )
    parser.add_argument(
        "--max_seconds", type=count, default=600, metavar="N", help="at most (default 600)"
    )
    parser.add_argument("--output", required=True, metavar="FILE", help="a .parquet file")
    return parser


def build_base(argv: Sequence[str]) -> int:
    """Computes, writes and says what was written; returns the exit code."""
    flags = _arguments().parse_args(argv)
    if not flags.output.endswith(".parquet"):
        raise ConfigurationError("--output must end in .parquet")
    if storage.exists(flags.output):
        raise OutputError(f"--output {flags.output} is there already; choose another, or delete it")
    if (reason := storage.why_no_file(flags.output)) is not None:
        raise OutputError(f"--output {flags.output} cannot be written: {reason}")
    if flags.optimal and flags.epsilon is None:
        raise ConfigurationError("--epsilon is needed with --optimal")
    vocabulary = artifact.open_vocabulary(artifact.handle(flags.vocabulary))
    shares, how = 1 / np.arange(1.0, len(vocabulary) + 1), "1 / rank"
    if flags.language_model:
        model = open_language_model(flags.language_model, vocabulary)
        shares, how = np.array(model.prior[: len(vocabulary)]), f"language model {model.digest}"
    if flags.optimal:
        mechanism = mechanism_of(flags.mechanism, flags.epsilon, flags.parameters)
        optimum = optimal_base(
            exponents_of(mechanism, vocabulary),
            shares,
            flags.iterations,
            flags.max_seconds,
            say=lambda said: print(f"  {said}", flush=True),
        )
        shares = optimum.shares
        how = (
            f"optimal for {how} and {mechanism.name} at {flags.epsilon:g}: {optimum.iterations} "
            f"iterations, {optimum.gap:.4f} nats above the least at most"
        )
    words = vocabulary.words_of(np.flatnonzero(shares))
    table = pa.table({"word": words, "weight": shares[shares > 0]})
    table = table.replace_schema_metadata(
        {"dxbeam": "base measure", "vocabulary": vocabulary.content_digest, "how": how}
    )
    with storage.open_write(flags.output) as file:
        pq.write_table(table, file)
    digest = hashlib.sha256(storage.read(flags.output)).hexdigest()
    print(f"Wrote {len(words):,} words to {flags.output}, SHA-256 {digest}: {how}")
    return 0


if __name__ == "__main__":
    program.main(build_base)
