"""Published n-gram models in the ARPA format, as KenLM, SRILM and others write them.

A file lists log10 p(w | context) of some n-grams, and for each context a back-off weight of all
others. Its words become those of a vocabulary: a word outside it becomes the unknown word, words
that differ in case become one where the vocabulary is in lower case, and punctuation and the end of
a sentence, which are no words here, are left out. Where several contexts f become one context x,
they are averaged with the weight w_f, their share of the probability of x:

    weight(x)        = Σ_f w_f·bow(f)
    correction(x, y) = Σ_f w_f Σ_g (p(g | f) - bow(f)·p(g))   over listed (f, g), g becoming y

and both are divided by their sum over y, as what was left out is missing there. So p(y | x) is the
file's wherever words are not merged. The same holds for triples, with the pair's weight in the
place of the word's; where contexts are merged, p(z | y) is that of the merged y. A correction may
be below 0 here, as models of other kinds than Kneser-Ney back off to more than they list.

A file says how probable a word is after others, not how frequent it is. ``prior`` is what follows
from the pairs: the distribution that stays the same when the next word is drawn again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dxbeam.errors import ArtifactError
from dxbeam.language.arpa_file import Level, read_levels
from dxbeam.language.counts import summed
from dxbeam.language.kneser_ney import Smoothed
from dxbeam.language.model import LanguageModel
from dxbeam.language.sparse_rows import Floats, Ids, SparseRows, sparse_rows
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary

_START, _END, _UNKNOWN_WORDS = "<s>", "</s>", ("<unk>", "<UNK>")

_LEAST = 1e-9
"""Of a weight, and of what is left of a probability: none is 0."""

_STEPS = 50
"""Of the iteration for ``prior``, which nearly forgets in each where it began."""


class ReadArpa(NamedTuple):
    """A model, and what the file held.

    Attributes:
      model: for the vocabulary.
      facts: how many words the file has, and how many words of the vocabulary it lacks.
    """

    model: LanguageModel
    facts: dict[str, int]


class _FileWords(NamedTuple):
    """The words of a file, by number.

    Attributes:
      ids: int64 [F], N for the unknown word, N + 1 for the start, -1 for none.
      single: float64 [F], their probabilities.
      weights: float64 [F], their back-off weights.
      shares: float64 [F], how probable each is as a context.
    """

    ids: Ids
    single: Floats
    weights: Floats
    shares: Floats


class _Contexts(NamedTuple):
    """The contexts of a file, and what becomes of them.

    Attributes:
      rows: int64 [C], the row of each; -1 for those that are left out.
      shares: float64 [C], how probable each is, up to a factor.
      weights: float64 [C], of the level below.
    """

    rows: Ids
    shares: Floats
    weights: Floats


class _Listed(NamedTuple):
    """The n-grams of a file that are listed.

    Attributes:
      contexts: int64 [E], the number of each one's context.
      columns: int64 [E], of its last word; -1 for those that are left out.
      differences: float64 [E], its probability without what the level below gives it.
    """

    contexts: Ids
    columns: Ids
    differences: Floats


def read_arpa(
    path: str,
    vocabulary: Vocabulary,
    order: int,
    unseen_mass: float,
    is_word: Callable[[str], bool],
) -> ReadArpa:
    """Reads a published model, .arpa or .gz, for a vocabulary; longer n-grams are not used.

    ``unseen_mass`` is the probability that words share which the file lacks; ``is_word`` says
    whether a text is a word by the rule of tokenization. An ArtifactError where the file cannot be
    read, is damaged, or has too short n-grams.
    """
    numbers, levels = read_levels(path, order)
    ids, words = _mapped(list(numbers), vocabulary, is_word), len(vocabulary)
    single, weights = np.zeros(len(numbers)), np.ones(len(numbers))
    single[levels[0].words[:, 0]] = levels[0].probabilities
    weights[levels[0].words[:, 0]] = levels[0].weights
    events = (ids >= 0) & (ids <= words)
    listed = np.bincount(ids[events], single[events], words + 1)
    if not listed[:words].any():
        raise ArtifactError(f"`arpa` {path} has no word of this vocabulary; choose another model")
    missing = np.flatnonzero(listed <= 0)
    rest = 1 - unseen_mass if len(missing) else 1.0
    continuation = listed * (rest / listed.sum())
    continuation[missing] = max(unseen_mass, _LEAST) / max(1, len(missing))
    continuation /= continuation.sum()

    # The start is no event, so what the file says of its probability means nothing.
    shares = np.where(ids == words + 1, 1.0, np.maximum(single, 1e-99))
    first, second = levels[1].words.T
    backoff, pairs, sums = _level(
        _Contexts(ids, shares, weights * (listed.sum() / rest)),
        _Listed(
            first,
            np.where(events[second], ids[second], -1),
            levels[1].probabilities - weights[first] * single[second],
        ),
        words + 2,
        words + 1,
        lambda _, columns: continuation[columns],
    )
    prior = _stationary(backoff, continuation, pairs)
    model = Smoothed(prior, continuation, backoff, pairs)
    if order == 3:
        model = _with_triples(model, levels, _FileWords(ids, single, weights, shares), sums)
    facts = {"file_words": len(numbers), "words_it_lacks": int((missing < words).sum())}
    return ReadArpa(LanguageModel(words, vocabulary.content_digest, model), facts)


def _mapped(names: list[str], vocabulary: Vocabulary, is_word: Callable[[str], bool]) -> Ids:
    """Ids of a file's words, int64 [F]: N for the unknown word, N + 1 for the start, else -1."""
    words = len(vocabulary)
    ids = vocabulary.ids_of(names)
    ids[ids == UNKNOWN] = words
    for number, name in enumerate(names):
        if name == _START:
            ids[number] = words + 1
        elif name in _UNKNOWN_WORDS:
            ids[number] = words
        elif name == _END or not is_word(name):
            ids[number] = -1
    return ids


def _level(
    contexts: _Contexts,
    listed: _Listed,
    rows: int,
    width: int,
    lower: Callable[[Ids, Ids], Floats],
) -> tuple[Floats, SparseRows, Floats]:
    """Weights, corrections, and the sums by which both were divided, float64 [rows]."""
    used = contexts.rows >= 0
    totals = np.bincount(contexts.rows[used], contexts.shares[used], rows)
    parts = np.where(used, contexts.shares / totals[contexts.rows], 0.0)
    backoff = np.bincount(contexts.rows[used], (parts * contexts.weights)[used], rows)
    backoff = np.where(totals > 0, np.maximum(backoff, _LEAST), 1.0)
    kept = (contexts.rows[listed.contexts] >= 0) & (listed.columns >= 0)
    whose, columns = listed.contexts[kept], listed.columns[kept]
    codes, corrections = summed(
        contexts.rows[whose] * width + columns, parts[whose] * listed.differences[kept]
    )
    numbers, columns = codes // width, codes % width
    least = (_LEAST - 1) * backoff[numbers] * lower(numbers, columns)
    corrections = np.maximum(corrections, least)
    sums: Floats = np.array(backoff)
    sums += np.bincount(numbers, corrections, rows)
    starts = np.cumsum([0, *np.bincount(numbers, minlength=rows)])
    return backoff / sums, sparse_rows(starts, columns, corrections / sums[numbers], width), sums


def _stationary(backoff: Floats, continuation: Floats, pairs: SparseRows) -> Floats:
    """The distribution of words that stays the same when the next one is drawn by pairs."""
    events = len(continuation)
    entries = int(pairs.starts[events])  # those after the start of a sentence are left out
    rows = np.repeat(np.arange(events), np.diff(pairs.starts[: events + 1]))
    columns, values = pairs.columns[:entries].astype(np.int64), pairs.values[:entries]
    prior = continuation
    for _ in range(_STEPS):
        drawn = np.bincount(columns, prior[rows] * values, events)
        prior = np.maximum(drawn + (prior @ backoff[:events]) * continuation, _LEAST / events)
        prior = prior / prior.sum()
    return prior


def _with_triples(
    lower: Smoothed, levels: list[Level], words: _FileWords, sums: Floats
) -> Smoothed:
    """Adds the triples of a file, whose rows are the stored pairs of the model of pairs.

    ``sums`` are those by which the pairs of each context were divided.
    """
    ids, known = words.ids, len(words.ids)
    first, second = levels[1].words.T
    codes = first * known + second
    in_order = np.argsort(codes)

    def listed(one: Ids, two: Ids) -> Ids:
        """The numbers of pairs of the file; -1 for those it does not list."""
        at = np.searchsorted(codes, one * known + two, sorter=in_order)
        nearest = in_order[np.minimum(at, len(codes) - 1)]
        return np.where(codes[nearest] == one * known + two, nearest, -1)

    before, middle, last = levels[2].words.T
    pair, follows = listed(before, middle), listed(middle, last)
    if (pair < 0).any():
        raise ArtifactError(
            "`arpa`: a 3-gram's first two words are not among the 2-grams; the file is damaged"
        )
    shorter = np.where(
        follows >= 0, levels[1].probabilities[follows], words.weights[middle] * words.single[last]
    )
    stored = (ids[first] >= 0) & (ids[second] >= 0) & (ids[second] != len(lower.backoff) - 1)
    rows = lower.pairs.find(np.maximum(ids[first], 0), np.maximum(ids[second], 0))
    # The file's p(z | second) is the model's times the sum by which that was divided.
    weights = levels[1].weights * sums[np.maximum(ids[second], 0)]
    seconds = lower.pairs.columns.astype(np.int64)

    def after_second(numbers: Ids, columns: Ids) -> Floats:
        corrections = lower.pairs.values_at(seconds[numbers], columns)
        return corrections + lower.backoff[seconds[numbers]] * lower.continuation[columns]

    events = (ids[last] >= 0) & (ids[last] < len(lower.continuation))
    backoff2, triples, _ = _level(
        _Contexts(
            np.where(stored, rows, -1), words.shares[first] * levels[1].probabilities, weights
        ),
        _Listed(
            pair,
            np.where(events, ids[last], -1),
            levels[2].probabilities - levels[1].weights[pair] * shorter,
        ),
        len(lower.pairs),
        len(lower.continuation),
        after_second,
    )
    return lower._replace(backoff2=backoff2, triples=triples)
