"""A document as a bag of a fixed number of words: drawn, noised, and released without their order.

Fernandes, Dras, McIver: Generalised differential privacy for text document processing (2019),
which obfuscates authors by noising every word of a bag; its theorem is about bags of equal length.
What is added here is how documents of any length come to such bags, and what holds for them then.

Stop words are removed, by a public list. A document of fewer than n other words is filled up with
the unknown word, whose vector is public. Then n of its words are drawn *without* replacement, each
is released by the mechanism, and the words are written in the alphabet's order, which is a function
of the bag alone. So every document, an empty one too, is released as n words: neither its length
nor its order nor its punctuation can be seen.

Notation: X is a document's list of words after removal and filling, |X| >= n; d is the mechanism's
distance of words; D the largest distance between two words, the unknown word included. A matching
pairs words of X with words of X', as many as the shorter one has. Its cost is the sum of the n
largest numbers among the distances of its pairs and a D for each word without a partner.

    d_n(X, X') = the least cost of a matching.

Theorem. The released bag B has P(B | X) <= exp(epsilon d_n(X, X')) P(B | X').

Proof. Let |X| <= |X'| and take the best matching. Draw n of the words of X'; take the partners of
those that have one, and for each of the k others one more of the words of X, uniformly among those
not yet taken. That is a uniform draw of n words of X: given k it takes the partners of a uniform
n - k, and uniformly k of the rest. The two draws are paired word by word, at different words of the
matching, and each of the k further pairs costs at most D, so together they cost at most the n
largest. Words are noised independently, so given any such pair of draws the two laws of the bag
differ by at most exp(epsilon cost), and mixing over draws keeps the bound.

So one changed word costs epsilon d(w, w') as it does without a bag, one word more or less at most
epsilon D, any two documents at most epsilon n D, and documents of n words or fewer
epsilon n WMD(X, X'), the theorem of the paper, WMD being the Word Mover's Distance. For longer
ones d_n <= |X| WMD(X, X') at equal lengths; epsilon n WMD would be false, as it is for a draw with
replacement. Why no draw with replacement: the same word could be drawn n times and its change would
cost epsilon n d(w, w'). docs/bag-of-words.md compares the two; tests/test_bag_of_words.py
enumerates both exactly.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dxbeam import storage
from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import Guarantee
from dxbeam.neighbors import Ids
from dxbeam.randomness import fill, sampling_key
from dxbeam.tokenization import words
from dxbeam.vocabulary import UNKNOWN

LARGEST_LENGTH = 1 << 20

ENGLISH = frozenset(
    """
    a about above after again against all also although am among an and any are around as at be
    because been before being below between both but by can cannot could d did do does doing don
    down during each either else ever every few for from further get gets got had has have having he
    her here hers herself him himself his how i if in into is it its itself just ll m may me might
    more most much must my myself neither no nor not now of off often on once one only onto or other
    ought our ours ourselves out over own per quite rather re s same shall she should since so some
    such t than that the their theirs them themselves then there these they this those though
    through to too toward towards under until up upon us ve very was we were what when where whether
    which while who whom whose why will with within without would yet you your yours yourself
    yourselves
    """.split()
)
"""English function words, and what the tokenization leaves of contractions; our own list."""

_WORDS_A_DRAW = 1 << 16


@dataclass(frozen=True)
class BagOfWords:
    """How a document becomes a bag.

    Attributes:
      length: n, words released for every document.
      stop_words: lower-case words that are removed before, whatever their case; a public list.
    """

    length: int
    stop_words: frozenset[str] = ENGLISH

    def __post_init__(self) -> None:
        if type(self.length) is not int or not 1 <= self.length <= LARGEST_LENGTH:
            raise ConfigurationError(
                f"bag_of_words must be a number of words from 1 to {LARGEST_LENGTH}, not "
                f"{self.length!r}"
            )

    def as_dict(self) -> dict[str, Any]:
        """Every parameter, ready for JSON; the stop words by their number and SHA-256."""
        listed = "\n".join(sorted(self.stop_words)).encode()
        return {
            "length": self.length,
            "sampling": "without replacement, filled up with the unknown word",
            "stop_words": len(self.stop_words),
            "stop_words_sha256": hashlib.sha256(listed).hexdigest(),
        }

    def draw(self, key: bytes, ids: Iterable[int]) -> tuple[Ids, int]:
        """Draws the words of a document that are released.

        Each word gets 128 random bits of its own and the n smallest are taken: a uniform draw
        without replacement, but for ties of a probability below 2^-88 in a million words. Memory is
        bounded, however long the document is.

        Args:
          key: the document's key; the random bits come from a key derived from it for this purpose
            alone, so they share nothing with the noise.
          ids: ids of the words that are no stop words, in order.

        Returns:
          int64 [n], UNKNOWN at the end where the document has fewer words; and how many it has.
        """
        key = sampling_key(key)
        kept = np.empty(0, np.int64)
        bits = np.empty((0, 2), np.uint64)
        seen = 0
        for chunk in _chunks(ids):
            new = np.empty((len(chunk), 2), np.uint64)
            fill(key, seen, new)
            seen += len(chunk)
            kept, bits = np.concatenate([kept, chunk]), np.concatenate([bits, new])
            smallest = np.lexsort((bits[:, 1], bits[:, 0]))[: self.length]
            kept, bits = kept[smallest], bits[smallest]
        padding = np.full(self.length - len(kept), UNKNOWN, np.int64)
        return np.concatenate([kept, padding]), seen

    def guarantee(self, word: Guarantee) -> Guarantee:
        """The guarantee of a document under a mechanism with this one for a word."""
        n = self.length
        return dataclasses.replace(
            word,
            metric=(
                f"sum of the {n} largest distances between words in the best one-to-one matching "
                f"of x and x', their stop words removed and each filled up to {n} words with the "
                "unknown word; a word without a partner counts D, the largest distance between two "
                "words of the vocabulary, the unknown word included. The distance between words is "
                f"the {word.metric}"
            ),
            delta=min(1.0, n * word.delta),
            cap=None if word.cap is None else n * word.cap,
            unit="document",
            composition=(
                "One changed word costs epsilon times its distance, one word more or less at most "
                f"epsilon * D, any two documents at most epsilon * {n} * D. Over several documents "
                "the factors multiply."
            ),
            citation=(
                f"{word.citation}; Fernandes et al. 2019 for bags of equal length; for the draw of "
                "words the theorem in dxbeam/bag_of_words.py"
            ),
        ).with_caveats(
            f"epsilon * {n} * the Word Mover's Distance between two documents is a bound only "
            f"where both have at most {n} words that are no stop words; for longer ones it is "
            "false, and the metric above is what holds.",
            "The list of stop words must be public.",
        )


def _chunks(ids: Iterable[int]) -> Iterator[Ids]:
    chunk: list[int] = []
    for number in ids:
        chunk.append(number)
        if len(chunk) == _WORDS_A_DRAW:
            yield np.array(chunk, np.int64)
            chunk = []
    if chunk:
        yield np.array(chunk, np.int64)


def read_stop_words(source: str) -> frozenset[str]:
    """The stop words that ``source`` names.

    Args:
      source: "english", "none", or a path or gs:// object in UTF-8. What stands in it is split
        as documents are, so "don't" makes "don" and "t" stop words.

    Raises:
      ConfigurationError: the file cannot be read or holds no word.
    """
    if source == "english":
        return ENGLISH
    if source == "none":
        return frozenset()
    try:
        listed = frozenset(words(storage.read(source).decode().lower()))
    except OSError as error:
        raise ConfigurationError(
            f"--stop_words {source}: cannot be read ({type(error).__name__}); give a file, "
            "'english' or 'none'"
        ) from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"--stop_words {source}: not a text in UTF-8") from None
    if not listed:
        raise ConfigurationError(f"--stop_words {source}: holds no word; say 'none' for no list")
    return listed
