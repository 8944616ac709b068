"""Documents that are drawn for a task: labelled ones, their known words, the same ones again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.testing.util import assert_that

from dxbeam.corpus.formats import CorpusFormat
from dxbeam.space.artifact import artifact
from dxbeam.transforms.reading.labelled_documents import MOST_WORDS, LabelledDocuments
from dxbeam.transforms.reading.sources import ReadDocuments
from tests.support import tiny


def _draw(uri: str, corpus: Path, documents: int, seed: int) -> beam.PTransform:
    read_as = CorpusFormat("jsonl", keep_fields=("label",))
    handle = artifact.handle(uri)
    read = ReadDocuments(str(corpus), read_as)
    return LabelledDocuments(read, handle, "label", documents, seed)


def test_known_words_of_labelled_documents_are_drawn(uri: str, tmp_path: Path) -> None:
    corpus = tiny.write_jsonl(
        tmp_path / "corpus.jsonl",
        [
            {"id": "a", "text": "W3 unheard-of, w5.", "label": 1},
            {"id": "b", "text": "w7 " * (MOST_WORDS + 1), "label": "x"},
            {"id": "no label", "text": "w1"},
            {"id": "null", "text": "w1", "label": None},
            {"id": "no known word", "text": "unheard of", "label": "x"},
        ],
    )

    def check(lists: list[Any]) -> None:
        [drawn] = lists
        found = sorted((document.label, list(document.ids)) for document in drawn)
        assert found == [("1", [3, 5]), ("x", [7] * MOST_WORDS)], found

    with tiny.pipeline() as pipeline:
        assert_that(pipeline | _draw(uri, corpus, 10, 0), check)


def test_so_many_are_drawn_and_a_seed_draws_the_same_again(uri: str, tmp_path: Path) -> None:
    records = [{"id": str(i), "text": f"w{i}", "label": i % 2} for i in range(100)]
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", records)

    def check(drawn: list[list[frozenset[int]]]) -> None:
        [[first, again, other]] = drawn
        assert len(first) == 30
        assert first == again
        assert first != other

    with tiny.pipeline() as pipeline:
        words = [
            pipeline
            | f"Draw {number}" >> _draw(uri, corpus, 30, seed)
            | f"Words {number}" >> beam.Map(lambda own: frozenset(one.ids[0] for one in own))
            for number, seed in enumerate((0, 0, 1))
        ]
        sides = [beam.pvalue.AsSingleton(own) for own in words]
        together = pipeline | beam.Create([None]) | beam.Map(lambda _, *own: list(own), *sides)
        assert_that(together, check)
