"""What is odd about a vocabulary is said wherever somebody meets it."""

from __future__ import annotations

import logging
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from dxbeam.mechanisms.laplace import Laplace
from dxbeam.space.vocabulary.clusters import clusters
from dxbeam.space.vocabulary.remarks import remarks
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.sanitizer import Sanitizer
from pipelines.build_vocabulary import build_vocabulary
from tests.support import tiny

APART = np.arange(6, dtype=np.float32).reshape(3, 2)


def _vocabulary(words: str, vectors: object = APART, lowercase: bool = False) -> Vocabulary:
    return Vocabulary(words.split(), np.asarray(vectors, np.float32), lowercase)


@pytest.mark.parametrize(
    ("vocabulary", "said"),
    [
        (_vocabulary("the The a"), None),
        (_vocabulary("the of a"), "all in lower case and it was built without --lowercase"),
        (_vocabulary("the of a", lowercase=True), None),
        (_vocabulary("的 1 №"), None),
        (_vocabulary("The", [[1, 2]]), "has one word"),
        (_vocabulary("The A O", np.ones((3, 2))), "All vectors of the vocabulary are equal"),
        (_vocabulary("The A O", np.zeros((3, 2))), "All vectors of the vocabulary are 0"),
    ],
)
def test_a_vocabulary_that_is_probably_a_mistake(vocabulary: Vocabulary, said: str | None) -> None:
    found = remarks(vocabulary)
    assert len(found) == (said is not None)
    assert said is None or said in found[0]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        Sanitizer(vocabulary, Laplace(5.0))
    assert [str(each.message) for each in warned] == found


@pytest.mark.slow
def test_it_is_said_when_it_is_built_and_when_it_is_used(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "glove.txt").write_text("the 1 2\nof 3 4\nand 5 6\n")
    built = tmp_path / "vocabulary"
    build_vocabulary([f"--embeddings={tmp_path}/glove.txt", f"--output={built}", "--neighbors=0"])
    assert "Warning: The vocabulary's words are all in lower case" in capsys.readouterr().out
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", [{"text": "The of and"}])
    tiny.run(str(built), corpus, tmp_path / "out")
    assert "Warning: The vocabulary's words are all in lower case" in capsys.readouterr().out
    with pytest.raises(FileNotFoundError):
        tiny.run(str(built), corpus, tmp_path / "dry", "--dry_run")
    assert "Warning: The vocabulary's words are all in lower case" in capsys.readouterr().out


def test_clusters_of_more_words_than_there_are(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert clusters(_vocabulary("The A O"), 99).tolist() == [0, 0, 0]
    assert "the vocabulary's 3 words are one cluster" in caplog.text


def test_a_vocabulary_shows_itself_in_a_line() -> None:
    shown = repr(tiny.vocabulary())
    assert shown == "<Vocabulary: 300 words in 8 dimensions, lower case>"
    assert re.fullmatch(
        "<Vocabulary: 1 word in 2 dimensions, cased>", repr(_vocabulary("A", [[1, 2]]))
    )
