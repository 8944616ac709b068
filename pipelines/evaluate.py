r"""Compares releases with their originals: what text is still good for, and what it still tells.

    dxbeam evaluate --original 'corpus/*.jsonl' --released release \
        --vocabulary vocabularies/glove --output evaluated

writes report.html and scores.parquet (a row per metric, with interval and number of documents) to
evaluated/: words unchanged, BLEU, chrF, ROUGE, similarity of word vectors, Word Mover's Distance;
and attackers.parquet: which names and numbers stayed.

    --task label          how well classifiers learn this field from the released text
    --learning_curve      the same for few documents and many
    --attack author       how well they tell this field from it, as an attacker would
    --reidentify 2000     how well this many documents are found again by their releases
    --entities spans      which spans of text, named by this field, stayed as they were
    --context_documents N attackers with a model read this many documents and know --public_input:
                          --attackers learned, --attacker_model DIR, --attacker_endpoint URL
    --word_statistics     whether words, pairs and topics are as frequent as in the originals
    --encoder DIR         how alike texts are by a sentence encoder, MAUVE, and classifiers by it
    --canaries 200        how exposed secrets are that 1 to 10 documents hold
    --group_by label      all scores for each value of this field, too
    --language_model DIR  rare words apart, and perplexity under this public model
    --key_uri file:///k   with the kept key of the release: refuse any other corpus
    --released 'eps-*'    several releases of the corpus side by side, and against epsilon

Everything is computed from raw text, and no guarantee covers it: keep it with the corpus, not with
the release. Documents are found by their ids, and ids, labels and groups are the corpus's. Runs
locally by default, and on any Beam runner with --runner; classifiers on one of its workers, for up
to some hundred thousand documents.
"""

from __future__ import annotations

from collections.abc import Sequence

import apache_beam as beam

from dxbeam import storage
from dxbeam.commands import launch
from dxbeam.commands.flags.output import OutputOptions
from dxbeam.commands.flags.registry import EVALUATE, SanitizeOptions
from dxbeam.commands.options import parse
from dxbeam.commands.request import read_corpus
from dxbeam.release import claim
from dxbeam.transforms.reading.corpus_digest import CompareCorpus
from dxbeam.transforms.reading.paired_release import PairWithReleases

with launch.needing(
    "evaluating needs sacrebleu, rouge-score, scikit-learn and what measuring needs; install them",
    "evaluate",
):
    from dxbeam.analysis.evaluate.job import (
        EvaluateJob,
        cost_of_attackers,
        counted,
        described,
        read_options,
        recorded_digests,
        refuse_another_corpus,
        text_bytes,
    )
    from dxbeam.analysis.evaluate.page import FROM_RAW_TEXT, WriteEvaluation
    from dxbeam.analysis.evaluate.steps import measured_in
    from dxbeam.analysis.evaluate.transform import ScoreDocuments
    from dxbeam.analysis.pages.page import REPORT


def build(job: EvaluateJob) -> beam.Pipeline:
    """Assembles the job; nothing runs yet."""
    shared = job.options.view_as(SanitizeOptions)
    pipeline = launch.new_pipeline(job.options)
    pairs = pipeline | "Pair" >> PairWithReleases(
        read_corpus(shared, job.heading.corpus, job.fields, shared.group_by),
        job.releases,
    )
    documents = pairs.documents
    sums = documents | "ScoreDocuments" >> ScoreDocuments(
        job.vocabulary,
        bool(shared.group_by),
        max(release.manifest["documents_out"] for release in job.releases),
        job.language_model,
    )
    measured = measured_in(job, pipeline, documents)
    recorded = recorded_digests(job.releases)
    same_corpus = (
        pairs.originals | "CompareCorpus" >> CompareCorpus(shared.key_uri, recorded)
        if shared.key_uri and recorded
        else pipeline | "NoCorpusCompared" >> beam.Create([])
    )
    output = job.options.view_as(OutputOptions).output
    _ = pairs.unpaired | "WriteEvaluation" >> WriteEvaluation(
        output, job.heading, sums, measured, same_corpus
    )
    return pipeline


@launch.naming_flags
def evaluate_release(argv: Sequence[str]) -> None:
    """Checks the flags, compares, and says where the report is."""
    options = parse(argv, EVALUATE, __doc__ or "")
    job, output = read_options(options, argv), options.view_as(OutputOptions).output
    claim.check_empty(output)
    launch.spread(options, text_bytes(job) * (1 + len(job.releases)))
    cost = cost_of_attackers(job)
    seconds = launch.run_unless_dry(build(job), options, lambda: described(job), cost)
    if seconds is None:
        return
    refuse_another_corpus(output)
    print(
        f"Compared {counted(job)} with the originals in {seconds:.0f} "
        f"seconds. Report: {storage.join(output, REPORT)}\n{FROM_RAW_TEXT}"
    )


if __name__ == "__main__":
    launch.main(evaluate_release)
