"""Texts of several languages from end to end: known words, and gaps that stay as they were.

    python -m benchmarks.languages sentences.jsonl

The corpus is JSON Lines with `text` and, in `label`, the language. For each language `dxbeam` makes
a vocabulary of a file in fastText's format, with the words of every second text and random vectors,
and releases the other texts under the second rule of words, with each segmenter where the script
has no spaces. The words of such a script are all runs of up to four characters that occur three
times. Prints a row of Markdown for each: texts, units, the share that the vocabulary knows, how
many released texts have the gaps of the originals, and a text before and after.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.rows import command_line
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.unicode_lists import UNSPACED
from dxbeam.text.word_rule import WordRule

_DIMENSIONS, _LONGEST, _OFTEN = 50, 4, 3
_SHOWN = 60
_LETTER = re.compile(f"[{UNSPACED}]")


def words_of(texts: list[str], *, spaced: bool) -> list[str]:
    """The words of a language, the most frequent first."""
    rule = WordRule(2).splitter
    counts = Counter(word for text in texts for word in rule.split(text)[1])
    if spaced:
        return [word for word, _ in counts.most_common()]
    runs = Counter(
        word[start : start + length]
        for word in counts.elements()
        for length in range(1, _LONGEST + 1)
        for start in range(len(word) - length + 1)
    )
    return [run for run, count in runs.most_common() if count >= _OFTEN or len(run) == 1]


def is_spaced(texts: list[str]) -> bool:
    """Whether most letters are of scripts with spaces."""
    letters = [letter for text in texts for letter in text if letter.isalpha()]
    return sum(bool(_LETTER.match(letter)) for letter in letters) < len(letters) / 2


def _dxbeam(*flags: str | Path) -> None:
    command = [sys.executable, "-m", "dxbeam", *map(str, flags)]
    subprocess.run(command, check=True, capture_output=True)


def _write_vectors(path: Path, words: list[str]) -> None:
    vectors = np.random.default_rng(0).normal(size=(len(words), _DIMENSIONS))
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{len(words)} {_DIMENSIONS}\n")
        for word, vector in zip(words, vectors, strict=True):
            file.write(f"{word} {' '.join(f'{value:.4f}' for value in vector)}\n")


def show(language: str, texts: list[str], folder: Path) -> None:
    """Prints the rows of a language."""
    spaced = is_spaced(texts)
    corpus, vectors, vocabulary = (folder / name for name in ("c.jsonl", "words.vec", "v"))
    public, private = texts[1::2], texts[::2]
    rows = [json.dumps({"id": str(n), "text": text}) for n, text in enumerate(private)]
    corpus.write_text("\n".join(rows))
    _write_vectors(vectors, words_of(public, spaced=spaced))
    _dxbeam("build-vocabulary", "--embeddings", vectors, "--lowercase", "--output", vocabulary)
    opened = open_vocabulary(str(vocabulary))
    for segmenter in ("none",) if spaced else ("none", "longest_match", "graphemes"):
        release = folder / segmenter
        _dxbeam(
            "sanitize", "--input", corpus, "--vocabulary", vocabulary, "--epsilon", "3",
            "--tokenization", "2", "--segmenter", segmenter, "--output", release,
        )  # fmt: skip
        _dxbeam("verify", release, "--vocabulary", vocabulary)
        lines = (line for part in release.glob("part-*") for line in part.open(encoding="utf-8"))
        released = {row["id"]: row["text"] for row in map(json.loads, lines)}
        rule = WordRule(2, segmenter)
        pairs = [(text, released[str(number)]) for number, text in enumerate(private)]
        equal = sum(_gaps(rule, text) == _gaps(rule, out) for text, out in pairs)
        ids = np.concatenate([opened.ids_of(rule.words(text, opened)) for text in private])
        before, after = (text[:_SHOWN].replace("\n", " ") for text in pairs[0])
        print(
            f"| {language} | {segmenter} | {len(pairs)} | {len(ids)} "
            f"| {(ids != UNKNOWN).mean():.0%} | {equal} | {before} | {after} |",
            flush=True,
        )


def _gaps(rule: WordRule, text: str) -> list[str]:
    return [gap for gap in rule.splitter.split(text)[0] if gap]


def main() -> None:
    """All languages of the corpus."""
    parser = command_line(__doc__)
    parser.add_argument("corpus", type=Path)
    by_language: dict[str, list[str]] = {}
    for line in parser.parse_args().corpus.open(encoding="utf-8"):
        record = json.loads(line)
        by_language.setdefault(record["label"], []).append(record["text"])
    for language, texts in by_language.items():
        with tempfile.TemporaryDirectory() as folder:
            show(language, texts, Path(folder))


if __name__ == "__main__":
    main()
