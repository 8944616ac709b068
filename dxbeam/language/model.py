"""A public n-gram language model: the distribution of the next word given the one or two before.

With N words, the unknown word and the start of a sentence as a context:

    p(y)        = continuation(y)
    p(y | x)    = backoff(x) · continuation(y) + correction(x, y)
    p(z | x, y) = backoff2(x, y) · p(z | y) + correction3(x, y, z)      (order 3)

Each is a distribution over N + 1 events, the N words and the unknown one: it is above 0 everywhere
and sums to 1 up to rounding (1e-12). ``prior`` is another distribution, by how frequent words are,
for words read by themselves. The end of a sentence is no event: where sentences end is read from
the public punctuation. kneser_ney.py says how the numbers follow from counts.

What is returned was stored, or is made of stored float64 numbers by additions and multiplications
in a fixed order, so it has the same bits on every processor.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dxbeam.language.counts import count_sentences
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.language.kneser_ney import Smoothed, smooth
from dxbeam.language.sparse_rows import Floats, Ids
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary

if TYPE_CHECKING:  # it imports pyarrow, which mechanisms do not need
    from dxbeam.language.casings import Casings


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A public language model over the words of a vocabulary.

    Words are ids of the vocabulary, 0 to N - 1, and UNKNOWN (-1). A context is a word or ``start``.
    The model must not be made from the private corpus: that voids the guarantee, as such a
    vocabulary would.

    Attributes:
      words: N.
      vocabulary: ``content_digest`` of the vocabulary it is made for.
      numbers: what is stored.
      casings: how words are written in the text that it was made of, or None.
    """

    words: int
    vocabulary: str
    numbers: Smoothed
    casings: Casings | None = None

    def __reduce__(self) -> Any:
        raise TypeError("a language model is opened where it is used; pickle its handle")

    @property
    def order(self) -> int:
        """2, or 3 where triples are stored."""
        return 2 if self.numbers.triples is None else 3

    @property
    def start(self) -> int:
        """The context "start of a sentence": N + 1. It is never an event."""
        return self.words + 1

    @property
    def prior(self) -> Floats:
        """float64 [N + 1], sums to 1: by how frequent words are; the unknown word's mass last."""
        return self.numbers.prior

    @property
    def continuation(self) -> Floats:
        """float64 [N + 1], sums to 1: by how many words they follow; the unknown word's last."""
        return self.numbers.continuation

    @cached_property
    def digest(self) -> str:
        """SHA-256 that names the content, and keys the noise of what reads it.

        An artifact's is that of its manifest, which its opener puts here. Any other model, also an
        opened one of which a field was replaced, is read.
        """
        digest = hashlib.sha256(f"{self.vocabulary} {self.words}".encode())
        for array in arrays(self.numbers).values():
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    @cached_property
    def handle(self) -> LanguageModelHandle | None:
        """By which other processes open the same model; None for one that is in no file."""
        return None

    def opened_by(self, handle: LanguageModelHandle) -> LanguageModel:
        """The same model, with the digest and handle that it has already: for opened artifacts."""
        self.__dict__.update(digest=handle.digest, handle=handle)
        return self

    def backoff(self, contexts: npt.ArrayLike) -> Floats:
        """The weight of ``continuation`` after contexts: int64 [...] -> float64 [...]."""
        weights: Floats = self.numbers.backoff[self._numbered(contexts)]
        return weights

    def corrections(self, before: npt.ArrayLike, after: npt.ArrayLike) -> Floats:
        """What pairs add to the lower level: int64 [B, K], [B, J] -> float64 [B, K, J].

        It is 0 for pairs that are not stored.
        """
        contexts, words = self._numbered(before), self._numbered(after)
        return self.numbers.pairs.values_at(contexts[..., :, None], words[..., None, :])

    def successors(self, context: int) -> tuple[Ids, Floats]:
        """The words stored after a context, int64 [S] ascending, and corrections, float64 [S].

        UNKNOWN comes last if it is one of them.
        """
        return self._words_of(*self.numbers.pairs.row(int(self._numbered(context))))

    def probabilities(self, context: int) -> Floats:
        """p(y | context) for all words and last the unknown one: float64 [N + 1]."""
        words, corrections = self.successors(context)
        result: Floats = self.backoff(context) * self.continuation
        result[words] += corrections
        return result

    def backoff2(self, first: npt.ArrayLike, second: npt.ArrayLike) -> Floats:
        """The weight of p(z | second) after two words, float64; 1 where the pair is not stored."""
        pairs = self._pairs(first, second)
        if self.numbers.backoff2 is None or not len(self.numbers.backoff2):
            return np.ones(pairs.shape)
        return np.where(pairs < 0, 1.0, self.numbers.backoff2[np.maximum(pairs, 0)])

    def successors2(self, first: int, second: int) -> tuple[Ids, Floats]:
        """The words stored after two words, as ``successors``."""
        pair = int(self._pairs(first, second))
        if self.numbers.triples is None or pair < 0:
            return np.zeros(0, np.int64), np.zeros(0)
        return self._words_of(*self.numbers.triples.row(pair))

    def corrections3(
        self, first: npt.ArrayLike, second: npt.ArrayLike, after: npt.ArrayLike
    ) -> Floats:
        """What triples add to p(z | second); 0 for those that are not stored.

        Ids are int64 of shapes that broadcast, and the result is float64 of their shape. The pairs
        are looked up first, so this is fast where ``first`` and ``second`` have length 1 along the
        last axis.
        """
        after = self._numbered(after)
        pairs = self._pairs(first, second)
        shape = np.broadcast_shapes(pairs.shape, after.shape)
        if self.numbers.triples is None:
            return np.zeros(shape)
        if len(shape) < 2 or pairs.shape[-1:] != (1,):
            pairs, after = np.atleast_1d(pairs)[..., None], np.atleast_1d(after)[..., None]
        full = np.broadcast_shapes(pairs.shape, after.shape)
        pairs = np.broadcast_to(pairs, (*full[:-1], 1))[..., 0]
        stored = np.nonzero(pairs >= 0)
        result = np.zeros(full)
        result[stored] = self.numbers.triples.values_at(
            pairs[stored][:, None], np.broadcast_to(after, full)[stored]
        )
        return result.reshape(shape)

    def _pairs(self, first: npt.ArrayLike, second: npt.ArrayLike) -> Ids:
        """The numbers of stored pairs; -1 for others."""
        return self.numbers.pairs.find(self._numbered(first), self._numbered(second))

    def _numbered(self, words: npt.ArrayLike) -> Ids:
        """Ids with N in place of UNKNOWN."""
        ids = np.asarray(words, np.int64)
        return np.where(ids == UNKNOWN, self.words, ids)

    def _words_of(self, numbers: Ids, corrections: Floats) -> tuple[Ids, Floats]:
        numbers[numbers == self.words] = UNKNOWN  # the last one, if it is there
        return numbers, corrections


def arrays(numbers: Smoothed) -> dict[str, npt.NDArray[Any]]:
    """All that a model stores, by the name of its file without ".npy"."""
    named = {
        "prior": numbers.prior,
        "continuation": numbers.continuation,
        "backoff": numbers.backoff,
        "backoff2": numbers.backoff2,
    }
    for level, table in (("pair", numbers.pairs), ("triple", numbers.triples)):
        if table is not None:
            named |= {f"{level}_{part}": getattr(table, part) for part in TABLE_PARTS}
    return {name: array for name, array in named.items() if array is not None}


TABLE_PARTS = ("starts", "columns", "values", "filter", "slots")


def language_model_of(
    token_ids: Iterable[npt.ArrayLike], vocabulary: Vocabulary, order: int = 2, prune: int = 0
) -> LanguageModel:
    """Makes a language model in memory, for tests and notebooks.

    Args:
      token_ids: sentences, each the ids of its words; UNKNOWN for words outside the vocabulary.
      vocabulary: whose ids they are.
      order: 2 or 3.
      prune: pairs and triples that occur so often or less are left out.

    Raises:
      ConfigurationError: no words, ids that are none, or an order that is neither 2 nor 3.
    """
    counts = count_sentences(token_ids, len(vocabulary), order)
    return LanguageModel(len(vocabulary), vocabulary.content_digest, smooth(counts, prune))
