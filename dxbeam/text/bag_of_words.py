"""A document as a bag of a fixed number of words, which are noised and released without order.

Fernandes, Dras, McIver: Generalised differential privacy for text document processing (2019),
which hides authorship by noising every word of a bag; its theorem is about bags of equal length.
What is added here is how documents of any length become such bags, and what is guaranteed then.

Stop words are removed, by a public list. A document of fewer than n other words is filled up with
the unknown word, whose vector is public. Then n of its words are drawn *without* replacement, each
is released by the mechanism, and the words are written in the alphabet's order, which is a function
of the bag only. So every document, an empty one too, is released as n words: neither its length
nor its order nor its punctuation can be seen. (Length can where the mechanism publishes something
of every word, as those over clusters do: what is left to the fillers' cluster is counted.)

Notation: X is a document's list of words after removal and filling, |X| >= n; d is the mechanism's
distance of words, infinite where it promises nothing; D the largest distance between two words, the
unknown word included. A matching pairs words of X with words of X', as many as the shorter one has.
Its cost is the sum of the n largest numbers among the distances of its pairs and a D for each word
without a partner.

    d_n(X, X') = the least cost of a matching.

Theorem. Let the mechanism of a word be (epsilon d, delta) private. The released bag B has, for
every set S of bags, P(B in S | X) <= exp(epsilon d_n(X, X')) P(B in S | X') + n delta.

Proof. Let |X| <= |X'| and take the best matching. Draw n of the words of X'; take the partners of
those that have one, and for each of the k others one more of the words of X, uniformly among those
not yet taken. That is a uniform draw of n words of X: given k it takes the partners of a uniform
n - k, and uniformly k of the rest. The two draws are paired word by word, at different words of the
matching, and each of the k further pairs costs at most D, so together they cost at most the n
largest. The rest holds for any such pair of draws, and mixing over them keeps both bounds, as the
cost of every pair of draws is at most d_n.

Words are noised independently. Let P and Q be the distributions of the words released so far for
the two draws, with P(S) <= e^a Q(S) + b for every S, and P', Q' those of the next word, with a' and
b'. For a set S of both, and y the words released so far, let h(y) = min(1, e^a' Q'(S_y)): the joint
probability is at most E_P[h] + b', and E_P[h] <= e^a E_Q[h] + b as h is between 0 and 1
(integrate over its levels), which is at most e^(a + a') times that under Q and Q', plus b. So
exponents add up, and so do the deltas, one for each of the n words.

So one word changed for another costs epsilon d(w, w'), one word more or less at most epsilon D,
and any two documents at most epsilon n D. Between lists of exactly n words d_n is n times their
Word Mover's Distance, which is the theorem of the paper. That is about the lists *after* filling:
"a" and "a a" have a Word Mover's Distance of 0 and, as bags of two, are told apart. For longer
lists d_n <= |X| WMD(X, X') at equal lengths; epsilon n WMD would be false, as it is for a draw with
replacement. The paper prescribes that draw (section 5.2). Why it is not taken: the same word could
be drawn n times and its change would cost epsilon n d(w, w'). docs/guides/bag-of-words.md compares
the two; tests/text/test_bag_of_words.py enumerates both exactly, and bag_of_words_published.py
draws as published.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dxbeam import storage
from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import SEVERAL, Guarantee, Metric, nothing
from dxbeam.randomness import fill, sampling_key
from dxbeam.space.search.neighbors import Ids
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.public.function_words import ENGLISH
from dxbeam.text.tokenization import words

LARGEST_LENGTH = 1 << 20


@dataclass(frozen=True)
class BagOfWords:
    """How a document becomes a bag of words.

    Attributes:
      length: n, the number of words released for every document.
      stop_words: lower-case words that are removed first, in whatever case they are written; the
        list must be public.
      flaw: why nothing is guaranteed, as the end of a sentence; "" where the theorem holds.
    """

    length: int
    stop_words: frozenset[str] = ENGLISH
    flaw: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if type(self.length) is not int or not 1 <= self.length <= LARGEST_LENGTH:
            raise ConfigurationError(
                f"`bag_of_words` must be a number of words from 1 to {LARGEST_LENGTH}, not "
                f"{self.length!r}"
            )
        if not isinstance(self.stop_words, (frozenset, set)):
            raise ConfigurationError(
                "`stop_words` is a set of words, such as the one that read_stop_words gives, and "
                f"this is a {type(self.stop_words).__name__}"
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

    def draw(self, key: bytes, ids: Iterable[int], at_once: int = 1 << 16) -> tuple[Ids, int]:
        """Draws the words of a document that its bag holds.

        Each word gets 128 random bits of its own and the n smallest are taken: a uniform draw
        without replacement, but for ties of a probability below 2^-88 in a million words. Memory is
        bounded, however long the document is.

        Args:
          key: the document's key; the random bits come from a key derived from it for this purpose
            only, so they share nothing with the noise.
          ids: ids of the words that are no stop words, in order.
          at_once: how many of them are held at once.

        Returns:
          int64 [n], filled up with UNKNOWN where the document has fewer words; and how many words
          it has.
        """
        key = sampling_key(key)
        kept = np.empty(0, np.int64)
        bits = np.empty((0, 2), np.uint64)
        seen = 0
        for chunk in _chunks(ids, at_once):
            new = np.empty((len(chunk), 2), np.uint64)
            fill(key, seen, new)
            seen += len(chunk)
            kept, bits = np.concatenate([kept, chunk]), np.concatenate([bits, new])
            smallest = np.lexsort((bits[:, 1], bits[:, 0]))[: self.length]
            kept, bits = kept[smallest], bits[smallest]
        fillers = np.full(self.length - len(kept), UNKNOWN, np.int64)
        return np.concatenate([kept, fillers]), seen

    def fillers(self, words: int) -> int:
        """How many unknown words fill up the bag of a document that has this many words."""
        return max(0, self.length - words)

    def guarantee(self, word: Guarantee, removed: str = "stop words") -> Guarantee:
        """The guarantee for a document, from the mechanism's guarantee for a word.

        Args:
          word: the mechanism's; nothing is guaranteed for documents unless it covers every word.
          removed: the words that are removed before the draw, as the sentence names them.
        """
        n, delta = self.length, self.length * word.delta
        if not word.sound or word.unprotected or delta >= 1:
            return dataclasses.replace(
                nothing(word.evidence, word.citation, word.caveats),
                unit="document",
                unprotected=word.unprotected,
                bag_length=n,
            )
        shows = word.metric.shows
        counted = (
            f"What is drawn for a bag shows how many of its words, fillers among them, are of each "
            f"{shows}: so of a document with fewer than {n} words, nearly, how many it has. "
            f"Nothing is promised between documents that differ in how many words of a {shows} "
            "they have.",
        )
        return dataclasses.replace(
            word,
            metric=Metric(
                "matching",
                f"sum of the {n} largest distances between words in the cheapest one-to-one "
                f"matching of x and x', their {removed} removed and each filled up to {n} words "
                "with the unknown word; a word without a partner counts D, the largest distance "
                "between two words of the vocabulary, the unknown word included. The distance "
                f"between words is the {word.metric.sentence}",
                word.metric.euclidean,
                shows,
            ),
            delta=delta,
            cap=None if word.cap is None else n * word.cap,
            unit="document",
            bag_length=n,
            composition=(
                "One word changed for another costs epsilon times their distance, one word more or "
                f"less at most epsilon * D, any two documents at most epsilon * {n} * D; words "
                f"that are removed count for nothing. {SEVERAL}"
            ),
            citation=(
                f"{word.citation}; Fernandes et al. 2019 for bags of equal length; for the draw of "
                "words the theorem in dxbeam/text/bag_of_words.py"
            ),
        ).with_caveats(
            f"epsilon * {n} * the Word Mover's Distance bounds the exponent only between documents "
            f"of exactly {n} words, after {removed} are removed and short documents filled up; "
            "between the documents as they were, or longer ones, it may be exceeded, and the "
            "metric above is what holds.",
            "The list of stop words must be public.",
            *(counted if shows else ()),
        )


def _chunks(ids: Iterable[int], size: int) -> Iterator[Ids]:
    chunk: list[int] = []
    for number in ids:
        chunk.append(number)
        if len(chunk) == size:
            yield np.array(chunk, np.int64)
            chunk = []
    if chunk:
        yield np.array(chunk, np.int64)


def read_stop_words(source: str) -> frozenset[str]:
    """The stop words that ``source`` names.

    Args:
      source: "english", "none", or a path or gs:// object in UTF-8. Its text is split into words as
        documents are, so "don't" makes "don" and "t" stop words.

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
            f"`stop_words` {source}: cannot be read ({type(error).__name__}); give a file, "
            "'english' or 'none'"
        ) from None
    except UnicodeDecodeError:
        raise ConfigurationError(
            f"`stop_words` {source}: this is not a text in UTF-8; save it as one"
        ) from None
    if not listed:
        raise ConfigurationError(
            f"`stop_words` {source}: holds no word; give 'none' to remove none"
        )
    return listed
