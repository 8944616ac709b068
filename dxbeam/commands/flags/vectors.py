"""What vectors are released, and how they are projected."""

from __future__ import annotations

from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam.commands.flags import flag
from dxbeam.commands.flags.arguments import count, number
from dxbeam.commands.flags.flag import Flag, one_of, topic
from dxbeam.vectors.configuration import UNITS
from dxbeam.vectors.projections import DEFAULT_SEED, KINDS


@topic(
    flag.VECTORS,
    one_of(
        "unit",
        "UNIT",
        "what a released vector stands for",
        UNITS,
        "text",
        ". --vocabulary is needed for word and text",
    ),
    Flag(
        "vector_field",
        "FIELD",
        "with --unit vector, the field or column that holds the vector (default vector)",
        default="vector",
    ),
    Flag(
        "dimensions",
        "N",
        "with --unit vector, how many numbers a vector has (default: as many as the vocabulary's)",
        type=count,
    ),
    one_of(
        "projection",
        "KIND",
        "how dimensions are reduced",
        KINDS,
        "pca",
    ),
    Flag(
        "projected_dimensions",
        "M",
        "dimensions of a released vector (default 50; with --projection none, all)",
        default=50,
        type=count,
    ),
    Flag(
        "projection_seed",
        "TEXT",
        f"public seed of a random projection (default {DEFAULT_SEED}); the same seed "
        "gives the same projection, and it is released",
        default=DEFAULT_SEED,
    ),
    Flag(
        "sensitivity",
        "METHOD",
        "bound on how much the projection stretches distances. exact: over all pairs of "
        "words (default for words); spectral: for all vectors (default for texts and vectors); "
        "published: 1 + beta with probability 1 - delta (PrivEmb)",
    ),
    Flag(
        "projection_delta",
        "DELTA",
        "delta of --sensitivity published (default 1e-6)",
        default=1e-6,
        type=number,
    ),
)
class ReleaseVectorsOptions(PipelineOptions):
    """Vectors and their projection."""
