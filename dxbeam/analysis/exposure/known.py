"""What attackers of finished releases know of public text, read once for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import apache_beam as beam
from apache_beam import pvalue

from dxbeam.analysis.frontier.following import LearnFollowing
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.transforms.reading.count_words import CountWords
from dxbeam.transforms.reading.labelled_documents import KnownRuns
from dxbeam.transforms.reading.sources import ReadDocuments


class Known(NamedTuple):
    """What attackers know of public text.

    Attributes:
      counts: PCollection of one array, as ``CountWords`` counts.
      following: PCollection[WordPairs] of one.
      texts: PCollection[int64 arrays].
    """

    counts: pvalue.PCollection
    following: pvalue.PCollection
    texts: pvalue.PCollection


def learn_known(
    pipeline: beam.Pipeline, read: Callable[[], ReadDocuments], vocabulary: VocabularyHandle
) -> Known:
    """Reads public text.

    Args:
      pipeline: that reads it.
      read: makes a transform that does.
      vocabulary: the handle of the artifact.
    """
    texts = pipeline | "PublicTexts" >> KnownRuns(read(), vocabulary)
    counts = (pipeline | "CountPublicWords" >> CountWords(read(), vocabulary)).counts
    following = texts | "LearnFollowing" >> LearnFollowing(vocabulary.words)
    return Known(counts, following, texts)
