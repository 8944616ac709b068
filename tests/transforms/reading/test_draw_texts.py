"""Texts that are drawn with their sentences: enough words, the same ones again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.testing.util import assert_that

from dxbeam.corpus.formats import CorpusFormat
from dxbeam.space.artifact import artifact
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.decoding.pieces import FOLLOWS, STARTS
from dxbeam.transforms.reading.draw_texts import MOST_WORDS, DrawTexts
from dxbeam.transforms.reading.sources import ReadDocuments
from tests.support import tiny


def _draw(uri: str, corpus: Path, words: int, seed: int) -> DrawTexts:
    handle = artifact.handle(uri)
    return DrawTexts(ReadDocuments(str(corpus), CorpusFormat("jsonl")), handle, words, seed)


def test_words_and_sentences_of_texts(uri: str, tmp_path: Path) -> None:
    corpus = tiny.write_jsonl(
        tmp_path / "corpus.jsonl",
        [
            {"id": "a", "text": "W3 unheard-of. w5 w6"},
            {"id": "b", "text": "w7 " * (MOST_WORDS + 1)},
            {"id": "no known word", "text": "unheard of"},
            {"id": "empty", "text": ""},
            b"no record",
        ],
    )

    def check(found: list[Any]) -> None:
        [drawn] = found
        texts = sorted((list(text.ids), list(text.breaks)) for text in drawn.texts)
        first = [3, UNKNOWN, UNKNOWN, 5, 6], [STARTS, FOLLOWS, FOLLOWS, STARTS, FOLLOWS]
        second = [7] * MOST_WORDS, [STARTS] + [FOLLOWS] * (MOST_WORDS - 1)
        assert texts == [first, second], texts
        assert (drawn.known, drawn.unknown) == (3 + MOST_WORDS + 1, 2 + 2)

    with tiny.pipeline() as pipeline:
        texts = pipeline | _draw(uri, corpus, 1000, 0)
        assert_that(texts.drawn, check)
        assert_that(texts.left_out, lambda left_out: _equal(left_out, [1]), "left out")


def _equal(found: list[Any], expected: list[Any]) -> None:
    assert found == expected


def test_no_more_are_drawn_than_are_needed_and_a_seed_draws_the_same_again(
    uri: str, tmp_path: Path
) -> None:
    records = [{"id": str(i), "text": f"w{i} strange w{i}"} for i in range(100)]
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", records)

    def check(found: list[Any]) -> None:
        [[first, again, other]] = found
        assert len(first) == 15  # of two known words each
        assert first == again
        assert first != other

    with tiny.pipeline() as pipeline:
        words = [
            (pipeline | f"Draw {number}" >> _draw(uri, corpus, 30, seed)).drawn
            | f"Words {number}" >> beam.Map(lambda own: [one.ids[0] for one in own.texts])
            for number, seed in enumerate((0, 0, 1))
        ]
        together = words | beam.Flatten() | beam.combiners.ToList()
        assert_that(together | beam.Map(_in_pairs), check)


def _in_pairs(lists: list[list[int]]) -> list[list[int]]:
    """The list that occurs twice first, as flattening keeps no order."""
    return sorted(lists, key=lambda one: (-lists.count(one), one))
