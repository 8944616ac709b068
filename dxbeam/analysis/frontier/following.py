"""Which words follow which in public text, and the documents that are read with it."""

from __future__ import annotations

from typing import NamedTuple

import apache_beam as beam
from apache_beam import pvalue

from dxbeam.analysis.attackers.models.asked_for import AskedFor
from dxbeam.analysis.attackers.word_pairs import learn_pairs

NOBODY = AskedFor()


class Context(NamedTuple):
    """What the attacker that reads on needs.

    Attributes:
      documents: PCollection of one list of documents, each with its ``ids``, none empty.
      following: PCollection[WordPairs] of one, which words follow which in public text.
      texts: PCollection[int64 arrays], the public text itself, where an attacker releases it to
        learn from; None where none does.
      asked: which attackers with a model there are, with the requests of one setting.
    """

    documents: pvalue.PCollection
    following: pvalue.PCollection
    texts: pvalue.PCollection | None = None
    asked: AskedFor = NOBODY


class LearnFollowing(beam.PTransform):
    """Which words follow which: PCollection[int64 arrays] -> PCollection[WordPairs] of one.

    Args:
      words: N, of the vocabulary.
    """

    def __init__(self, words: int):
        super().__init__()
        self._words = words

    def expand(self, texts: pvalue.PCollection) -> pvalue.PCollection:
        """Counts in one place."""
        one = texts.pipeline | "One" >> beam.Create([self._words])
        return one | "Learn" >> beam.Map(
            lambda words, texts: learn_pairs(texts, words), pvalue.AsIter(texts)
        )
