"""Published models: what a file says, what becomes of its words, and what is refused."""

from __future__ import annotations

import gzip
import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from dxbeam.errors import ArtifactError
from dxbeam.language.arpa import ReadArpa, read_arpa
from dxbeam.language.model import LanguageModel
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary

WORDS = ["a", "b", "c", "d"]
VOCABULARY = Vocabulary(WORDS, np.eye(4, dtype=np.float32), lowercase=True)

ARPA = r"""
\data\
ngram 1=6
ngram 2=5
ngram 3=2

\1-grams:
-0.60206	<unk>	0
-99	<s>	-0.30103
-0.90309	</s>
-0.60206	a	-0.1249387
-0.90309	b	-0.2218487
-0.60206	c

\2-grams:
-0.30103	<s> a	-0.09691
-0.60206	a b	-0.1549
-0.90309	a c
-1.2	b <unk>
-0.5	b </s>

\3-grams:
-0.2	<s> a b
-0.9	<s> a a

\end\
"""


def _is_word(text: str) -> bool:
    return text.isalnum()


def _read(
    folder: Path, content: str = ARPA, order: int = 3, vocabulary: Vocabulary = VOCABULARY
) -> ReadArpa:
    path = folder / "model.arpa"
    path.write_text(content)
    return read_arpa(str(path), vocabulary, order, 0.01, _is_word)


def _triple(model: LanguageModel, first: int, second: int) -> np.ndarray:
    words, corrections = model.successors2(first, second)
    result = model.backoff2(first, second) * model.probabilities(second)
    result[words] += corrections
    return result


def _file_probability(*gram: str) -> float:
    """What the file says, by the rule of back-off, over all its events."""
    levels: dict[str, tuple[float, float]] = {}
    for line in ARPA.splitlines():
        fields = line.split("\t")
        if len(fields) > 1:
            levels[fields[1]] = (float(fields[0]), float(fields[2]) if len(fields) > 2 else 0.0)
    if " ".join(gram) in levels:
        return 10 ** levels[" ".join(gram)][0]
    weight = levels.get(" ".join(gram[:-1]), (0.0, 0.0))[1]
    return 10**weight * _file_probability(*gram[1:])


def test_probabilities_are_the_files_without_what_is_no_word(tmp_path: Path) -> None:
    """d, which the file lacks, takes 0.01 at the lowest level; </s> is no event."""
    read = _read(tmp_path)
    model = read.model
    assert read.facts == {"file_words": 6, "words_it_lacks": 1}
    names = {"a": 0, "b": 1, "c": 2, "<unk>": UNKNOWN}
    total = sum(map(_file_probability, names))
    assert model.continuation[3] == pytest.approx(0.01)
    for name, number in names.items():
        expected = 0.99 * _file_probability(name) / total
        assert model.continuation[number] == pytest.approx(expected)
    for context, x in [*names.items(), ("<s>", model.start)]:
        row = model.probabilities(x)
        for one, two in itertools.combinations(names, 2):
            ratio = _file_probability(context, one) / _file_probability(context, two)
            assert row[names[one]] / row[names[two]] == pytest.approx(ratio)
    row = _triple(model, model.start, 0)
    for one, two in itertools.combinations(names, 2):
        ratio = _file_probability("<s>", "a", one) / _file_probability("<s>", "a", two)
        assert row[names[one]] / row[names[two]] == pytest.approx(ratio)


def _check_sums(model: LanguageModel) -> None:
    contexts = [*range(4), UNKNOWN, model.start]
    rows = [model.prior, model.continuation, *map(model.probabilities, contexts)]
    rows += [_triple(model, x, y) for x in contexts for y in contexts[:-1]]
    for row in rows:
        assert (row > 0).all()
        assert row.sum() == pytest.approx(1, abs=1e-12)


def _random_arpa(seed: int) -> str:
    """A back-off model of random numbers over words that are merged, lacking and left out."""
    generator = np.random.default_rng(seed)
    words = ["<unk>", "<s>", "</s>", "a", "A", "b", "C", "x", "y", "zz", ",", "--"]
    share = generator.dirichlet(np.ones(len(words)))
    one = [
        f"{math.log10(p):.6f}\t{w}\t{-generator.random():.4f}"
        for p, w in zip(share, words, strict=True)
    ]
    before = [w for w in words if w != "</s>"]
    pairs = [(x, y) for x in before for y in words if y != "<s>" and generator.random() < 0.5]
    two = [f"{-3 * generator.random():.5f}\t{x} {y}\t{-generator.random():.4f}" for x, y in pairs]
    triples = [(x, y, z) for x, y in pairs for z in words if y in before and z != "<s>"]
    triples = [gram for gram in triples if generator.random() < 0.5]
    three = [f"{-3 * generator.random():.5f}\t{' '.join(gram)}" for gram in triples]
    levels = (one, two, three)
    parts = ["\\data\\", *(f"ngram {i}={len(level)}" for i, level in enumerate(levels, 1))]
    for i, level in enumerate(levels, 1):
        parts += ["", f"\\{i}-grams:", *level]
    return "\n".join([*parts, "", "\\end\\", ""])


@pytest.mark.parametrize("seed", range(5))
def test_whatever_is_merged_every_distribution_sums_to_one(tmp_path: Path, seed: int) -> None:
    _check_sums(_read(tmp_path, _random_arpa(seed)).model)


def test_merged_words_are_one_word(tmp_path: Path) -> None:
    model = _read(tmp_path, ARPA.replace("c", "A")).model
    names = ["a", "b", "c", "<unk>"]
    total = sum(map(_file_probability, names))
    expected = 0.99 * (_file_probability("a") + _file_probability("c")) / total
    assert model.continuation[0] == pytest.approx(expected)


def test_the_prior_stays_the_same_when_words_are_drawn(tmp_path: Path) -> None:
    model = _read(tmp_path, _random_arpa(0)).model
    rows = np.stack([model.probabilities(x) for x in (0, 1, 2, 3, UNKNOWN)])
    assert model.prior @ rows == pytest.approx(model.prior, abs=1e-6)


def test_a_compressed_file_is_read_and_a_smaller_order_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "model.arpa.gz"
    path.write_bytes(gzip.compress(ARPA.encode()))
    packed = read_arpa(str(path), VOCABULARY, 2, 0.01, _is_word).model
    assert packed.order == 2
    assert packed.digest == _read(tmp_path, order=2).model.digest


DAMAGES = {
    "wrong count": (ARPA.replace("ngram 2=5", "ngram 2=6"), "there are 5 2-grams"),
    "wrong count of the last": (ARPA.replace("ngram 3=2", "ngram 3=1"), "there are 2 3-grams"),
    "too few levels": (ARPA.replace("ngram 3=2", "ngram 3=2\nngram 4=1"), "4-grams follow"),
    "truncated": (ARPA[: ARPA.index("-0.9\t<s> a a")], "cut off"),
    "truncated header": ("\\data\\\nngram 1=5\n", "cut off"),
    "another file": ("a text\n" * 9, "cut off"),
    "no number": (ARPA.replace("-0.2\t<s>", "x\t<s>"), "no number"),
    "not a number": (ARPA.replace("-0.2\t<s>", "nan\t<s>"), "must not be above 0"),
    "too probable": (ARPA.replace("-0.2\t<s>", "0.2\t<s>"), "must not be above 0"),
    "a word too few": (ARPA.replace("<s> a b", "<s>"), "no line of 3-grams"),
    "a strange word": (ARPA.replace("<s> a b", "<s> a q"), "not among the 1-grams"),
    "a strange pair": (ARPA.replace("<s> a b", "c a b"), "not among the 2-grams"),
    "a word twice": (ARPA.replace("\tc\n", "\ta\n", 1), "listed twice"),
    "levels in disorder": (ARPA.replace("\\2-grams:", "\\3-grams:"), "should begin"),
    "too short": (ARPA.replace("ngram 3=2\n", ""), "no 3-grams"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_one_sentence(tmp_path: Path, damage: str) -> None:
    content, sentence = DAMAGES[damage]
    with pytest.raises(ArtifactError, match=sentence) as raised:
        _read(tmp_path, content)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_cut_within_its_compression_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.arpa.gz"
    path.write_bytes(gzip.compress(ARPA.encode())[:-20])
    with pytest.raises(ArtifactError, match=r"cut off|damaged"):
        read_arpa(str(path), VOCABULARY, 2, 0.01, _is_word)


def test_a_model_without_a_word_of_the_vocabulary_is_refused(tmp_path: Path) -> None:
    other = Vocabulary(["q"], np.ones((1, 1), np.float32))
    with pytest.raises(ArtifactError, match="no word of this vocabulary"):
        _read(tmp_path, vocabulary=other)
