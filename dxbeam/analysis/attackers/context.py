"""The attacker that reads on: released words of a text in order, and which words follow which.

It knows the channel and prior of the attacker on single words, and a bigram model of public text.
For each released word it keeps the k words of the largest posterior p(x | z). A sequence of these
candidates is, up to a factor, as probable as

    product of p(x_t | z_t) * product of P(x_t | x_(t-1)) / prior(x_t),

the second product from t = 2 on. ``read_each`` asks which word is the most probable at each place,
summed over all sequences (the forward-backward algorithm: Rabiner: A tutorial on hidden Markov
models, 1989, section III). It is answered exactly, and counts in that a word may be none of its
candidates, and then says nothing of its neighbours. Without that, places of which little is known
mislead those next to them. The most probable sequence has no such way, so who counts words does not
ask for it (``benchmarks/context_gain.py``).

What it gets beyond the attacker on single words is what a word-level guarantee does not speak of:
how probable words are after their neighbours. It is no bound: a model of language that knows more
would get more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dxbeam.analysis.attackers.channel import Channel, most_probable
from dxbeam.analysis.attackers.word_pairs import WordPairs
from dxbeam.analysis.theory.intervals import TextSums, share_of_words_interval
from dxbeam.space.search.neighbors import Floats, Ids

CANDIDATES = 50

Flags = npt.NDArray[np.bool_]


class Candidates(NamedTuple):
    """What each released word may have been.

    Attributes:
      ids: int64 [T, k], the most probable first.
      posterior: float64 [T, k], p(x | z); a row adds up to less than 1 where other words remain.
      priors: float64 [T, k], prior(x).
    """

    ids: Ids
    posterior: Floats
    priors: Floats

    def of(self, places: slice) -> Candidates:
        """Those of some places."""
        return Candidates(self.ids[places], self.posterior[places], self.priors[places])


def candidates_for(channel: Channel, released: Ids, count: int = CANDIDATES) -> Candidates:
    """The most probable words given each released word only, and this word itself.

    Args:
      channel: what is known or estimated.
      released: int64 [T].
      count: k; all words of a smaller vocabulary.
    """
    shares = channel.prior.shares
    count = min(count, len(shares))
    outputs, which = np.unique(released, return_inverse=True)
    ids, posterior = np.empty((len(outputs), count), np.int64), np.empty((len(outputs), count))
    for part, joint in channel.joint(outputs):
        best = np.array([most_probable(row, count) for row in joint])
        missing = ~(best == outputs[part, None]).any(axis=1)
        best[missing, -1] = outputs[part][missing]
        ids[part] = best
        posterior[part] = np.take_along_axis(joint, ids[part], axis=1)
        posterior[part] /= joint.sum(axis=1, keepdims=True, dtype=np.float64)
    return Candidates(ids[which], posterior[which], shares[ids][which])


def read_each(candidates: Candidates, pairs: WordPairs) -> Ids:
    """The most probable candidate at each place, int64 [T], the first one among equals."""
    best = posteriors(candidates, pairs).argmax(axis=1) if len(candidates.ids) else []
    return np.asarray(candidates.ids[np.arange(len(candidates.ids)), best], np.int64)


def posteriors(candidates: Candidates, pairs: WordPairs) -> Floats:
    """The probability of each candidate given all of the text, float64 [T, k], T at least 1.

    A row adds up to less than 1 where other words remain.
    """
    left = np.maximum(0.0, 1 - candidates.posterior.sum(axis=1, keepdims=True))
    chances = np.concatenate([candidates.posterior, left], axis=1)
    steps = [
        np.pad(np.exp(log_ties(candidates, place, pairs)), (0, 1), constant_values=1.0)
        for place in range(1, len(candidates.ids))
    ]
    forward = [chances[0]]
    for step, chance in zip(steps, chances[1:], strict=True):
        reached = (forward[-1] @ step) * chance
        forward.append(reached / reached.sum())
    ahead = np.ones(chances.shape[1])
    for place in range(len(forward) - 1, -1, -1):
        forward[place] = forward[place] * ahead
        if place:
            ahead = steps[place - 1] @ (chances[place] * ahead)
            ahead /= ahead.sum()
    sums = np.stack(forward)
    return np.asarray((sums / sums.sum(axis=1, keepdims=True))[:, :-1])


def log_ties(candidates: Candidates, place: int, pairs: WordPairs) -> Floats:
    """Logarithms of P(x_t | x_(t-1)) / prior(x_t): float64 [k, k]."""
    before, after = candidates.ids[place - 1][:, None], candidates.ids[place]
    return np.asarray(pairs.log_following(before, after) - np.log(candidates.priors[place]))


def read_texts(candidates: Candidates, texts: Sequence[Ids], pairs: WordPairs) -> list[Ids]:
    """The most probable candidate at each place of texts, each read by itself.

    Args:
      candidates: for the words of all texts, one after the other.
      texts: of which only the lengths count.
      pairs: which words follow which.
    """
    guesses, start = [], 0
    for text in texts:
        places = slice(start, start + len(text))
        guesses.append(read_each(candidates.of(places), pairs))
        start += len(text)
    return guesses


def share_right(
    originals: Sequence[Ids], guesses: Sequence[Ids], counted: Flags | None = None
) -> tuple[float, float, float]:
    """The share of words that were guessed, and its 95 % interval.

    Words of a text depend on one another, texts are taken as independent: see
    ``intervals.share_of_words_interval``. Of a single text nothing is known, and the interval is
    from 0 to 1.

    Args:
      originals: texts, int64 arrays of ids.
      guesses: for each of their words, in the same order.
      counted: bool [N], which words of the vocabulary count; at least one word of the texts does.
    """
    pairs = [
        (text == guess, np.ones(len(text), bool) if counted is None else counted[text])
        for text, guess in zip(originals, guesses, strict=True)
    ]
    right = np.array([(same & which).sum() for same, which in pairs])
    sizes = np.array([which.sum() for _, which in pairs])
    return share_of_words_interval(TextSums.of(right, sizes))
