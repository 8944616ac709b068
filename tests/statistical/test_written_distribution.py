"""The distribution of what a Sanitizer writes, from text to text.

Six kinds of words (five on a line and an unknown one) in random order are sanitized, and the words
written are compared with the exact distribution: of each word, and of each two neighbours together,
which are independent. Unlike tests of a mechanism, this one sees which random numbers go where.
False-alarm rate 1e-6 a test. Broken copies of the Sanitizer's parts show that it can fail.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dxbeam.documents import Document
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.sampling.noise import laplace
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text import sanitizer as module
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitizer
from tests.support.distributions import (
    Floats,
    chi_square_p,
    judge,
    line_distribution,
    rank_distribution,
)
from tests.support.vocabularies import line_vocabulary

pytestmark = pytest.mark.exhaustive

KEY = bytes(range(32))
EPSILON, C, WORDS = 0.7, 1.5, 90_000
LINE = dataclasses.replace(line_vocabulary(), unknown_vector=np.array([2.0], np.float32))
POSITIONS = LINE.vectors[:, 0].astype(np.float64)
STRANGER = 5
"""The kind of the unknown word; the others are their ids."""

KINDS = np.random.default_rng(4).integers(0, 6, WORDS)
TEXT = [f"w{kind}" if kind != STRANGER else "stranger" for kind in KINDS]


def exact_distributions(resampled: bool) -> Floats:
    """Probability of each released word (column) for each kind (row)."""
    assert LINE.unknown_vector is not None
    starts = [*POSITIONS, float(LINE.unknown_vector[0])]
    distributions = np.stack([line_distribution(POSITIONS, start, 1, EPSILON) for start in starts])
    if not resampled:
        return distributions
    around = np.zeros((5, 5))
    for word in range(5):
        ranked = np.argsort(np.abs(POSITIONS - POSITIONS[word]), kind="stable")
        around[word, ranked] = rank_distribution(5, EPSILON * C)
    return distributions @ around


def check_written(
    documents: int = 30, resampled: bool = True, unknown_words: str = "noise"
) -> None:
    resampling = RankResampling(C) if resampled else None
    settings = Configuration(Laplace(EPSILON), resampling, unknown_words, allow_unsound=True)
    maker = Sanitizer(LINE, settings, KEY)
    pieces = np.array_split(np.array(TEXT), documents)
    results = maker.sanitize(Document(str(i), " ".join(piece)) for i, piece in enumerate(pieces))
    texts = [result.document.text for result in results if result.document]
    written = " ".join(texts).split()
    kinds = KINDS
    if unknown_words == "drop":
        kinds = KINDS[KINDS != STRANGER]
    elif unknown_words != "noise":
        shown = {"mask": "<unk>", "keep": "stranger"}[unknown_words]
        assert [word == shown for word in written] == (KINDS == STRANGER).tolist()
        written = [word for word in written if word != shown]
        kinds = KINDS[KINDS != STRANGER]
    assert len(written) == len(kinds)
    released = np.array([int(word[1:]) for word in written])
    distributions = exact_distributions(resampled)
    p_values = {}
    for one in np.unique(kinds):
        counts = np.bincount(released[kinds == one], minlength=5)
        p_values[f"{one}"] = chi_square_p(counts, distributions[one])
        for other in np.unique(kinds):
            here = np.flatnonzero((kinds[:-1] == one) & (kinds[1:] == other))
            both = np.bincount(released[here] * 5 + released[here + 1], minlength=25)
            p_values[f"{one}, {other}"] = chi_square_p(
                both, np.outer(distributions[one], distributions[other]).ravel()
            )
    judge(p_values)


@pytest.mark.parametrize("documents", [1, 30, 3000])
def test_written_words_have_the_exact_distribution(documents: int) -> None:
    check_written(documents)


@pytest.mark.parametrize("resampled", [True, False])
@pytest.mark.parametrize("unknown_words", ["noise", "mask", "drop", "keep"])
def test_rules_for_unknown_words_leave_the_distribution_of_the_others(
    unknown_words: str, resampled: bool
) -> None:
    check_written(unknown_words=unknown_words, resampled=resampled)


right_release, right_resample = Sanitizer.release, RankResampling.resample
right_mechanism, right_fill, right_ids_of = Laplace.release, module.fill, Vocabulary.ids_of
_seen: dict[str, np.ndarray] = {}


def _remember(self: Laplace, ids: Any, random: Any, search: NeighborSearch) -> Any:
    _seen["ids"], _seen["random"] = ids, random
    return right_mechanism(self, ids, random, search)


def _resample_by_noise_numbers(self: Any, released: Any, random: Any, *rest: Any) -> Any:
    return right_resample(self, released, _seen["random"][:, :1], *rest)


def _resample_by_one_number(self: Any, released: Any, random: Any, *rest: Any) -> Any:
    return right_resample(self, released, np.repeat(random[:1], len(random), axis=0), *rest)


def _resample_by_the_word_before(self: Any, released: Any, random: Any, *rest: Any) -> Any:
    return right_resample(self, released, np.roll(random, 1, axis=0) & random, *rest)


def _resample_the_original(self: Any, released: Any, random: Any, *rest: Any) -> Any:
    return right_resample(self, np.maximum(_seen["ids"], 0), random, *rest)


def _resample_twice(self: Any, released: Any, random: Any, *rest: Any) -> Any:
    once = right_resample(self, released, random, *rest)
    return right_resample(self, once, random ^ np.uint64(0x9E3779B97F4A7C15), *rest)


def _one_noise_for_two_words(self: Laplace, ids: Any, random: Any, search: NeighborSearch) -> Any:
    return right_mechanism(self, ids, random[np.arange(len(ids)) // 2 * 2], search)


def _mirrored_noise_for_two_words(
    self: Laplace, ids: Any, random: Any, search: NeighborSearch
) -> Any:
    noise = laplace(random[np.arange(len(ids)) // 2 * 2], 1, self.epsilon)
    noise[1::2] *= -1
    return search.nearest(search.vocabulary.vectors_of(ids) + noise)


def _same_numbers_in_each_search(key: bytes, first_word: int, out: np.ndarray) -> None:
    right_fill(KEY, 0, out)


def _overlapping_numbers(key: bytes, first_word: int, out: np.ndarray) -> None:
    right_fill(key, 0, out)
    out[1:, 0] = out[:-1, 1]


BROKEN: dict[str, list[tuple[type | Any, str, Callable[..., Any]]]] = {
    "resampled by the numbers of the noise": [
        (Laplace, "release", _remember),
        (RankResampling, "resample", _resample_by_noise_numbers),
    ],
    "resampled by one number for all": [(RankResampling, "resample", _resample_by_one_number)],
    "resampled by numbers that are not uniform": [
        (RankResampling, "resample", _resample_by_the_word_before)
    ],
    "ranks from the original": [
        (Laplace, "release", _remember),
        (RankResampling, "resample", _resample_the_original),
    ],
    "resampled twice": [(RankResampling, "resample", _resample_twice)],
    "not resampled": [(RankResampling, "resample", lambda self, released, *rest: released)],
    "one noise for two words": [(Laplace, "release", _one_noise_for_two_words)],
    "mirrored noise for two words": [(Laplace, "release", _mirrored_noise_for_two_words)],
    "a word's numbers overlap the next one's": [(module, "fill", _overlapping_numbers)],
    "the same few numbers for every document": [(module, "fill", _same_numbers_in_each_search)],
    "words released in the wrong places": [
        (Sanitizer, "release", lambda self, keys, ids: np.roll(right_release(self, keys, ids), 1))
    ],
    "the unknown word is the first word": [
        (Vocabulary, "ids_of", lambda self, words: np.maximum(right_ids_of(self, words), 0))
    ],
    "the unknown word is at the origin": [
        (
            Vocabulary,
            "vectors_of",
            lambda self, ids: np.where(
                (ids == UNKNOWN)[:, None], 0.0, self.vectors[np.maximum(ids, 0)].astype(np.float64)
            ),
        )
    ],
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_sanitizer_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, attribute, broken in BROKEN[name]:
        monkeypatch.setattr(owner, attribute, broken)
    with pytest.raises(AssertionError):  # noqa: PT012 — either may be the one to see it
        # Many short documents: numbers that each of them draws again are seen to be the same.
        check_written(documents=3000)
        check_written(documents=3000, resampled=False)
