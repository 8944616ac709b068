r"""Turns an embedding file into a vocabulary artifact.

    dxbeam build-vocabulary --embeddings glove.840B.300d.zip --lowercase \
        --output vocabularies/glove

reads GloVe text, word2vec text or binary, or fastText .vec; plain, .gz or in a .zip; local or
gs://. It stores the vectors, computes for each word its nearest neighbours and the radius within
which a released word counts as close, and writes manifest.json last. Neighbours are computed as a
Beam pipeline, so --runner and its flags spread a large vocabulary over workers; these must then be
able to read and write --output. Their time grows with the square of the number of words. Before it
starts, the command says about how long it will take, and meanwhile how much of that is left.

    --max_words 100000            keep the first words of the file, usually the most frequent;
                                  docs/guides/vocabulary-size.md says how many are enough
    --index_factory IVF256,Flat --index_parameters nprobe=32
                                  search approximately; see the recall in the manifest
    --vector_dtype float16        half the size
    --neighbors 0                 no neighbours: to measure a large vocabulary without waiting
    --clusters 20 --orders 1      what custext and diffractor draw from, so that no process makes it
    --table_pieces DIR            so that a build that was stopped goes on where it was

The embedding file must be public: a vocabulary made from the private corpus voids the guarantee.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions, TestOptions

from dxbeam import stopping, storage
from dxbeam.commands import launch, table_progress
from dxbeam.commands.flags.building import BuildVocabularyOptions
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import BUILD_VOCABULARY
from dxbeam.commands.jobs.build_vocabulary import (
    check,
    delete_pieces,
    estimate,
    store_index,
    store_places,
    store_words,
)
from dxbeam.commands.options import parse
from dxbeam.release import claim
from dxbeam.space.artifact import artifact, table_pieces
from dxbeam.space.artifact import manifest as artifact_manifest
from dxbeam.space.artifact.artifact import WordsAndVectors
from dxbeam.space.embeddings.reader import ReadingReport
from dxbeam.space.vocabulary.remarks import remarks
from dxbeam.transforms.neighbor_table import NeighborTable, WriteNeighborTable


def build(options: PipelineOptions, shape: WordsAndVectors, pieces: str) -> beam.Pipeline:
    """Assembles the computation of the neighbour table; nothing runs yet."""
    pipeline = launch.new_pipeline(options)
    table = NeighborTable(
        options.view_as(OutputOptions).output,
        shape,
        options.view_as(BuildVocabularyOptions).neighbors,
        pieces,
        launch.search_threads(options),
        launch.backend(options),
    )
    pipeline | "WriteNeighborTable" >> WriteNeighborTable(table)
    return pipeline


def store_table(options: PipelineOptions, shape: WordsAndVectors) -> None:
    """Computes the neighbour table, says how long that takes, and writes it to the output."""
    flags, output = options.view_as(BuildVocabularyOptions), options.view_as(OutputOptions).output
    parent = flags.table_pieces or storage.join(output, artifact_manifest.PIECES)
    pieces = table_pieces.folder_of(parent, shape, flags.neighbors)
    print(estimate(options, output, shape, pieces), flush=True)
    with table_progress.reported(pieces, shape.words, flags.neighbors):
        launch.run(build(options, shape, pieces))


def build_vocabulary(argv: Sequence[str]) -> None:
    """Reads, stores, computes, and says what was written."""
    options = parse(argv, BUILD_VOCABULARY, __doc__ or "")
    planned = check(options)
    if options.view_as(TestOptions).dry_run:
        print(planned)
        return
    flags, output = options.view_as(BuildVocabularyOptions), options.view_as(OutputOptions).output
    started, run = time.monotonic(), uuid.uuid4().hex
    report = ReadingReport()

    def abandon(stop_writers: stopping.StopWriters) -> None:
        if claim.holds(output, run):
            stop_writers()
            artifact.abandon(output)
            claim.let_go(output)

    with stopping.undone_on_failure(abandon):
        claim.take_fresh(output, run)
        shape = store_words(flags, output, report)
        print(f"Read {shape.words:,} words in {shape.dimensions} dimensions")
        if flags.neighbors:
            store_table(options, shape)
        store_places(flags, output, shape)
        index = store_index(output, shape, flags.index_factory, flags.index_parameters)
        source = {
            "name": report.source,
            "format": report.file_format,
            "sha256": storage.sha256(flags.embeddings.partition(".zip!")[0] + ".zip")[0]
            if ".zip!" in flags.embeddings
            else storage.sha256(flags.embeddings)[0],
            "duplicates": report.duplicates,
            "undecodable": report.undecodable,
            "unusable": report.unusable,
            "max_words": flags.max_words,
        }
        handle = artifact.write_manifest(
            output, shape, flags.lowercase, source, table=flags.neighbors > 0, **index
        )
        delete_pieces(flags, output, shape)
        claim.let_go(output)
    print(
        f"Wrote a vocabulary of {handle.words:,} words to {output} in "
        f"{time.monotonic() - started:.0f} seconds; left out: {report.duplicates:,} duplicates, "
        f"{report.undecodable:,} words that are not UTF-8, {report.unusable:,} with white space or "
        "control characters"
    )
    if storage.is_local(output):  # elsewhere it would be copied here
        for remark in remarks(artifact.open_vocabulary(output)):
            print(f"Warning: {remark}")


if __name__ == "__main__":
    launch.main(build_vocabulary)
