r"""Sanitizes the texts of JSON Lines within a Beam pipeline of your own.

    python examples/beam_pipeline.py --input 'notes/*.jsonl' --output sanitized/part \
        --counts counts/part [--vocabulary demo] [--epsilon 10] [--rank_c 0.02] [Beam's flags]

Each line of the input is an object with an "id" and a "text". Sanitized lines go to --output; what
is guaranteed for them is printed. Counts, and the ids of records that could not be used, are
computed from the raw text, so the guarantee does not cover them, and they go to another place.
There is no release.json: for a release that can be verified, and for a ledger, use
``python -m pipelines.sanitize``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from dxbeam import Configuration, Laplace, RankResampling
from dxbeam.beam import SanitizeDocuments, TallyGroups


def to_row(line: str) -> beam.Row:
    """A line of the corpus as a row; a pipeline may make its rows from any source."""
    record = json.loads(line)
    return beam.Row(id=str(record["id"]), text=str(record["text"]))


def to_line(row: beam.Row) -> str:
    """A sanitized row as a line of JSON."""
    return json.dumps({"id": row.id, "text": row.text}, ensure_ascii=False)


def main(argv: Sequence[str]) -> None:
    """Builds the pipeline and runs it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--input", required=True, help="a glob of JSON Lines")
    parser.add_argument("--output", required=True, help="prefix of the sanitized files")
    parser.add_argument("--counts", required=True, help="prefix of counts and rejected records")
    parser.add_argument("--vocabulary", default="demo", help="what build_vocabulary wrote, or demo")
    parser.add_argument("--epsilon", type=float, default=10.0, help="per unit of distance")
    parser.add_argument("--rank_c", type=float, help="decay of rank resampling (default: none)")
    flags, beams = parser.parse_known_args(argv)

    settings = Configuration(
        Laplace(flags.epsilon), RankResampling(flags.rank_c) if flags.rank_c else None
    )
    print(settings.guarantee().sentence)

    with beam.Pipeline(options=PipelineOptions(beams)) as pipeline:
        rows = pipeline | "Read" >> beam.io.ReadFromText(flags.input) | "Parse" >> beam.Map(to_row)
        sanitized = rows | "Sanitize" >> SanitizeDocuments(settings, flags.vocabulary)
        (
            sanitized.documents
            | "ToLine" >> beam.Map(to_line)
            | "Write" >> beam.io.WriteToText(flags.output, ".jsonl")
        )
        (
            sanitized["tallies"]
            | "AddUp" >> TallyGroups()
            | "CountsToLine" >> beam.MapTuple(lambda _, tally: json.dumps(tally.as_dict()))
            | "WriteCounts" >> beam.io.WriteToText(flags.counts, ".counts.jsonl", num_shards=1)
        )
        (
            sanitized.rejected
            | "RejectedToLine" >> beam.Map(lambda rejected: json.dumps(rejected._asdict()))
            | "WriteRejected" >> beam.io.WriteToText(flags.counts, ".rejected.jsonl", num_shards=1)
        )


if __name__ == "__main__":
    main(sys.argv[1:])
