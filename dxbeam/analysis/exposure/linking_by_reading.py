"""Re-identification by attackers that know the mechanism: which of N texts a release is of.

Those of ``linking`` compare the released words as they are. Those here know the setting.

- The likeliest original: the one under which the release is the most probable, by the channel of
  single words: the largest sum of log Pr[x_t -> z_t] over places t. Where words are drawn one by
  one, the channel is the true one and each of N originals is as probable beforehand, this is Bayes'
  rule: no attacker who sees only the released words is right more often in expectation. Words of
  decoded text are not drawn one by one. Originals with another number of words are impossible.
- One that reads the release first, as ``attackers`` do, and then looks for the nearest original by
  TF-IDF of the words that it read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dxbeam.analysis.attackers.channel import Channel
from dxbeam.analysis.attackers.models.released_texts import Column
from dxbeam.analysis.attackers.models.with_model import GUESSES
from dxbeam.analysis.evaluate.text_features import GAPS, WORDS, Block, Features
from dxbeam.analysis.exposure.attack import Attack
from dxbeam.analysis.exposure.linking import Standing, attacks_of, chances_of, standing
from dxbeam.analysis.exposure.recovered_words import READERS
from dxbeam.space.search.neighbors import Floats, Ids

LIKELIEST = "likeliest original"

_SEVERAL = [f"masked_{count}" for count in GUESSES]

_LEAST = np.finfo(np.float64).tiny


def linked_by_reading(
    originals: Sequence[Ids],
    released: Sequence[Ids],
    columns: Sequence[Column],
    gaps: tuple[Sequence[Features], Sequence[Features]],
    channel: Channel,
) -> Iterator[Attack]:
    """What each attacker gets. Chance is what lengths and gaps give away.

    Args:
      originals: N texts, int64 arrays of ids, none empty.
      released: what became of each, as long as it.
      columns: what attackers read; those that guess several words a place, or did not read all
        texts, are left out.
      gaps: of the originals, and of their releases.
      channel: known or estimated.
    """
    before, after = ([text[GAPS] for text in side] for side in gaps)
    chances = chances_of(standing(before, after, GAPS))
    sees, knows = "released words", f"the {len(originals):,} originals, and the setting"
    first = likeliest(originals, released, channel)
    yield from attacks_of(first, (LIKELIEST, sees, knows), chances)
    for column in columns:
        guesses = [guess for guess in column.guesses if guess is not None]
        if len(guesses) == len(originals) and column.name not in _SEVERAL:
            attacker = f"{READERS[column.name][0]}, then nearest by TF-IDF"
            places = nearest_read(originals, guesses, len(channel.prior.shares))
            yield from attacks_of(places, (attacker, sees, knows), chances)


def likeliest(originals: Sequence[Ids], released: Sequence[Ids], channel: Channel) -> Standing:
    """Where the right candidates stand by how probable each makes the release.

    Args:
      originals: N texts, int64 arrays of ids, none empty.
      released: what became of each, as long as it.
      channel: known or estimated.
    """
    sizes = np.array([len(text) for text in originals])
    ahead, level = np.zeros(len(sizes)), np.ones(len(sizes))
    for size in np.unique(sizes):
        same = np.flatnonzero(sizes == size)
        if len(same) > 1:
            before, after = (
                np.stack([side[text] for text in same.tolist()]) for side in (originals, released)
            )
            scores = log_likelihoods(before, after, channel)
            right = np.diagonal(scores)[:, None]
            ahead[same] = (scores > right).sum(axis=1)
            level[same] = (scores == right).sum(axis=1)
    return Standing(ahead, level)


def log_likelihoods(originals: Ids, released: Ids, channel: Channel) -> Floats:
    """The sum of log Pr[x_t -> z_t], up to what does not depend on x: float64 [B, G].

    Args:
      originals: int64 [G, T]; and
      released: int64 [B, T], of texts with T words each.
      channel: known or estimated.
    """
    scores = np.zeros((len(released), len(originals)))
    outputs, which = np.unique(released, return_inverse=True)
    in_order = np.argsort(which, axis=None, kind="stable")
    places_of = np.split(in_order, np.cumsum(np.bincount(which.ravel()))[:-1])
    for part, joint in channel.joint(outputs):
        for row, places in zip(joint, places_of[part], strict=True):
            for text, place in zip(*np.unravel_index(places, released.shape), strict=True):
                words = originals[:, place]
                likelihood = row[words].astype(np.float64) / channel.prior.shares[words]
                scores[text] += np.log(np.maximum(likelihood, _LEAST))
    return scores


def nearest_read(originals: Sequence[Ids], guesses: Sequence[Ids], words: int) -> Standing:
    """Where the right candidates stand by TF-IDF of the words that an attacker read.

    Args:
      originals: N texts, int64 arrays of ids, none empty.
      guesses: what was read of the release of each.
      words: of the vocabulary.
    """
    return standing(
        [_counted(text, words) for text in originals],
        [_counted(text, words) for text in guesses],
        WORDS,
    )


def _counted(text: Ids, words: int) -> tuple[Block]:
    places, counts = np.unique(text, return_counts=True)
    return (Block(places.astype(np.int32), counts.astype(np.float32), words),)
