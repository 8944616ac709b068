"""Public weights of words by name and by file."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.public.importance import FrequencyWeights, WordWeights
from dxbeam.mechanisms.santext import SanText
from dxbeam.text.configuration import Configuration
from dxbeam.text.public.function_words import CLASSES, ENGLISH
from dxbeam.text.public.importance_file import LISTS, read_importance
from dxbeam.text.recorded_configuration import rebuilt
from dxbeam.text.sanitizer import Sanitizer
from tests.support.vocabularies import with_neighbors

WORDS = {"the": 10.0, "of": 2.5, 'a "quoted", word': 1.0, "#": 3.0}


def written(folder: Path, suffix: str) -> str:
    path = folder / f"weights.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.table({"word": list(WORDS), "weight": list(WORDS.values())}), path)
    elif suffix == "csv":
        quoted = [f'"{word.replace(chr(34), chr(34) * 2)}",{w}' for word, w in WORDS.items()]
        path.write_text("\n".join(["word,weight", *quoted]))
    else:
        path.write_text("\n".join(f"{word}\t{weight}" for word, weight in WORDS.items()) + "\n\n")
    return str(path)


@pytest.mark.parametrize("suffix", ["tsv", "csv", "parquet"])
def test_every_format_gives_the_same_weights(tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path, suffix)
    weights = read_importance(path)
    assert isinstance(weights, WordWeights)
    assert weights.listed == WORDS
    assert weights == WordWeights(WORDS, "file")
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    assert weights.file == (f"weights.{suffix}", digest)


def test_names_give_public_lists() -> None:
    assert read_importance("frequency") == FrequencyWeights(10.0)
    assert read_importance("frequency=2.5") == FrequencyWeights(2.5)
    stop_words = read_importance("stop_words=4")
    assert isinstance(stop_words, WordWeights)
    assert stop_words.listed == dict.fromkeys(sorted(ENGLISH), 4.0)
    for name, words in LISTS.items():
        assert read_importance(name) == WordWeights(dict.fromkeys(words, 10.0), name)


def test_closed_classes_hold_lower_case_words() -> None:
    for words in CLASSES.values():
        assert all(word.isalpha() and word.islower() for word in words)
    assert "she" in CLASSES["pronouns"]
    assert "between" in CLASSES["prepositions"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("the 10\n", "line 1: write a word, a tab and its weight"),
        ("the\t1\nsecret\tmuch\n", "line 2: the weight is no number"),
        ("the\t1\nsecret\t-1\n", "line 2: a weight of importance is a number from 0 to 100"),
        ("secret\t1\nof\t1\nsecret\t1\n", "line 3: this word has a weight already"),
        ("the\t0\n", "holds no word with a weight above 0"),
        ("", "holds no word"),
    ],
)
def test_a_bad_file_is_refused_by_its_lines_and_never_by_its_words(
    tmp_path: Path, content: str, said: str
) -> None:
    path = tmp_path / "weights.tsv"
    path.write_text(content)
    with pytest.raises(ConfigurationError, match=said) as refused:
        read_importance(str(path))
    assert "secret" not in str(refused.value)


def test_what_is_no_file_of_weights_is_refused(tmp_path: Path) -> None:
    for name, content, said in (
        ("latin.tsv", b"caf\xe9\t1\n", "no.* text in UTF-8"),
        ("other.csv", b"term,value\nthe,1\n", "columns word and weight"),
        ("short.csv", b"weight,word\n1,the\n1\n", "line 3: there is no word"),
        (
            "long.csv",
            b"word,weight\n" + b"a" * 200_000 + b",1\n",
            "after line 1: invalid CSV",
        ),
        ("other.parquet", b"PAR1", "not a Parquet file"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ConfigurationError, match=said):
            read_importance(str(tmp_path / name))
    null = pa.table({"word": ["the", None], "weight": [1.0, 1.0]})
    pq.write_table(null, tmp_path / "null.parquet")
    with pytest.raises(ConfigurationError, match="row 2: there is no word"):
        read_importance(str(tmp_path / "null.parquet"))
    with pytest.raises(ConfigurationError, match=r"cannot be read.*frequency, stop_words"):
        read_importance(str(tmp_path / "none"))
    with pytest.raises(ConfigurationError, match="the weight is no number"):
        read_importance("stop_words=many")


def test_a_configuration_is_made_again_of_named_weights_alone() -> None:
    for name in ("frequency=3.5", "pronouns"):
        named = Configuration(SanText(2.0, importance=read_importance(name)))
        assert rebuilt(named.as_dict()) == named
        assert named.digest("") != Configuration(SanText(2.0)).digest("")
    listed = Configuration(SanText(2.0, importance=WordWeights({"the": 1.0})))
    assert rebuilt(listed.as_dict()) is None


def test_the_sanitizer_keeps_words_with_a_weight() -> None:
    weights = WordWeights({f"w{i}": 15.0 for i in range(50)})
    sanitizer = Sanitizer(with_neighbors(), SanText(1.0, importance=weights), bytes(range(32)))
    # A new id each time would give fewer than 48 in 13 % of all runs; a kept key and id draw alike.
    [result] = sanitizer.sanitize([Document("a", " ".join(f"w{i}" for i in range(100)))])
    assert result.document
    same = [word == f"w{i}" for i, word in enumerate(result.document.text.split())]
    assert sum(same[:50]) >= 48
    assert sum(same[50:]) <= 10
