"""Noise is shared by nothing: not by words, documents, texts, configurations, keys or slices.

The probe is a vocabulary of 4,001 words on a line, a tenth of a unit apart, and much noise: the
released word tells the noise to a fraction of its size. Two runs that should be independent are
compared word by word: correlation of the noises and of their sizes, and the number of equal words.
False-alarm rate 1e-6 a test. Broken copies of the randomness, one for each thing that must key it,
show that each comparison can fail.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dxbeam import randomness
from dxbeam.documents import Document
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text import sanitizer
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitizer
from tests.support.distributions import Floats, judge

HALF = 2000
POSITIONS = (np.arange(2 * HALF + 1, dtype=np.float32) - HALF) / 10
LINE = Vocabulary(["o" if i == HALF else f"p{i}" for i in range(2 * HALF + 1)], POSITIONS[:, None])
IDS = {word: i for i, word in enumerate(LINE.words)}
LOWERCASE_LINE = Vocabulary(LINE.words, LINE.vectors, lowercase=True)
OTHER_LINE = Vocabulary(LINE.words, LINE.vectors * np.float32(1.0001))

WORDS = 6000
TEXT = "o " * WORDS
OTHER_TEXT = "o " * (WORDS - 1) + "o"
KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))


def noise(
    text: str = TEXT,
    document_id: str = "a",
    key: bytes = KEY,
    vocabulary: Vocabulary = LINE,
    epsilon: float = 0.05,
    c: float | None = None,
    unknown_words: str = "noise",
) -> Floats:
    """The noise of each word of a document, as the release shows it."""
    resampling = RankResampling(c) if c else None
    settings = Configuration(Laplace(epsilon), resampling, unknown_words, allow_unsound=True)
    maker = Sanitizer(vocabulary, settings, key)
    [result] = maker.sanitize([Document(document_id, text)])
    assert result.document
    return POSITIONS[[IDS[word] for word in result.document.text.split()]].astype(np.float64)


def check_independent(first: Floats, second: Floats) -> None:
    assert np.ptp(first) > 0, "one noise for all words"
    # With noise of size 20 and words 0.1 apart, unrelated words agree about once in 800.
    equal = int((first == second).sum())
    judge(
        {
            "noises": float(stats.spearmanr(first, second).pvalue),
            "sizes": float(stats.spearmanr(np.abs(first), np.abs(second)).pvalue),
            "equal words": float(stats.binom.sf(equal - 1, len(first), 1 / 400)),
        }
    )


OTHERS: dict[str, dict[str, Any]] = {
    "documents": {"document_id": "b"},
    "texts": {"text": OTHER_TEXT},
    "keys": {"key": OTHER_KEY},
    "epsilons": {"epsilon": 0.0500001},
    "resamplings": {"c": 1000.0},  # which resamples nothing, but is another configuration
    "rules for unknown words": {"unknown_words": "mask"},
    "vocabularies": {"vocabulary": OTHER_LINE},
    "casings": {"vocabulary": LOWERCASE_LINE},
}
"""Two releases of one document that differ in this."""


def pair(name: str) -> tuple[Floats, Floats]:
    """What shares no noise: two releases, or two parts of one."""
    drawn = noise()
    if name == "words":
        return drawn[1:], drawn[:-1]
    if name == "slices":  # the first search takes 4,096 words, the second the rest
        return drawn[: WORDS - 4096], drawn[4096:]
    return drawn, noise(**OTHERS[name])


@pytest.mark.parametrize("name", [*OTHERS, "words", "slices"])
def test_what_should_be_independent_is(name: str) -> None:
    check_independent(*pair(name))


def test_the_same_run_draws_the_same_noise() -> None:
    """Retries and duplicated bundles must not draw again; and the checks see what is equal."""
    assert (noise() == noise()).all()
    with pytest.raises(AssertionError):
        check_independent(noise(), noise())


right_key, right_fill = randomness.document_key, randomness.fill


def _one_row_for_all(key: bytes, first_word: int, out: np.ndarray) -> None:
    right_fill(key, 0, out)
    out[:] = out[0]


def _each_search_from_the_start(key: bytes, first_word: int, out: np.ndarray) -> None:
    right_fill(key, 0, out)


BROKEN: dict[str, tuple[str, str, Callable[..., object]]] = {
    "key ignores the document": (
        "documents", "document_key",
        lambda key, config, name, text: right_key(key, config, "", text),
    ),
    "key ignores the text": (
        "texts", "document_key", lambda key, config, name, text: right_key(key, config, name, "")
    ),
    "the secret key is not used": (
        "keys", "document_key", lambda key, config, *rest: right_key(bytes(32), config, *rest)
    ),
    "key ignores epsilon": (
        "epsilons", "document_key", lambda key, config, *rest: right_key(key, "", *rest)
    ),
    "key ignores the resampling": (
        "resamplings", "document_key", lambda key, config, *rest: right_key(key, "", *rest)
    ),
    "key ignores the rule for unknown words": (
        "rules for unknown words", "document_key",
        lambda key, config, *rest: right_key(key, "", *rest),
    ),
    "key ignores the vocabulary": (
        "vocabularies", "document_key", lambda key, config, *rest: right_key(key, "", *rest)
    ),
    "one noise for all words": ("words", "fill", _one_row_for_all),
    "each search starts anew": ("slices", "fill", _each_search_from_the_start),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_randomness_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of, function, broken = BROKEN[name]
    monkeypatch.setattr(sanitizer, function, broken)
    with pytest.raises(AssertionError):
        check_independent(*pair(of))
