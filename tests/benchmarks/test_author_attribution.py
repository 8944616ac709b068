"""Chunks of speeches keep what is between words, and lose names and stop words only."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from benchmarks.author_attribution import chunks, without_stop_words


def test_chunks_are_pieces_of_a_speech_without_the_name_of_its_author(tmp_path: Path) -> None:
    speech = {"id": "s", "author": "John Doe", "text": "My house, Doe, good. " * 100}
    with gzip.open(tmp_path / "speeches.jsonl.gz", "wt") as file:
        file.write(json.dumps(speech))
    [chunk] = chunks(str(tmp_path / "speeches.jsonl.gz"))  # 400 words, 100 of them the heading
    assert (chunk.author, chunk.document.id) == ("John Doe", "s 0")
    assert chunk.document.text == ". My house, , good" * 50


def test_stop_words_are_cut_out_and_the_rest_stays() -> None:
    assert without_stop_words("The house, it was good.") == " house,   good."
