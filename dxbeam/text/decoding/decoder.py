"""Decoding: which words are released, given all that was drawn for a document and public knowledge.

Without a decoder (``nearest``) a noise mechanism releases the word nearest to a noisy vector, and a
choice mechanism the word that it drew. A decoder takes noisy vectors, or drawn words z, as
observations of hidden words, computes the posterior of these under a public language model
(reading.py) and releases the words that lose least (losses.py):

    prior     each word by itself, by how frequent words are
    context   the words of a sentence together, by which follow which

Proof. Let y_1 ... y_T be what the mechanism drew for a document, independently for each place, with
p(y_t | x_t) <= exp(epsilon d(x_t, x'_t)) p(y_t | x'_t) up to delta. For two documents of T words,

    p(y_1 ... y_T | x)  <=  exp(sum_t epsilon d(x_t, x'_t)) p(y_1 ... y_T | x'),

up to the sum of the deltas over places where they differ. What is released is a function of y, of
what is public (vocabulary, language model, settings, the gaps between words, the number of words)
and, with rank resampling, of fresh random numbers: post-processing, so the same holds for the whole
released document. A single released word depends on y of its whole window, so what is said of words
is said of the document: two documents that differ in one word, x in place of x', differ in the
whole of what is released by a factor of at most exp(epsilon d(x, x')). Candidates, their number and
windows are settings of the post-processing: they cost readability at most, never privacy.

What is public input. Gaps are released as they are, and sentences are taken to end where they say
so. A long document is read in windows, cut by the number of words only: window i releases the words
from i * WINDOW on, and reads OVERLAP more on each
side; so are sentences of more than PIECE words. Words outside the vocabulary are noised
like any other: the unknown word is a state of the posterior, with the model's mass, and is never
released. Where they are masked, dropped or kept they are not noised, so every place that was drawn
for had a word of the vocabulary, and the unknown word is no state; the gap between two words is
then read as it is released, with what the policy leaves there.

vickrey is decoded as the noise that it adds: the coin between the two nearest words is left out.

Floating point. The argument of mechanisms/sampling/noise.py is about one snap to the nearest word.
Here all noisy vectors of a document are read, so they are rounded to a public grid first, as
released vectors are (vectors/release.py), whose step is a sixteenth to a thirty-second of the
smallest deviation of a coordinate. A coordinate of the noise errs by a share of 2^-47 at most. It
comes out on another grid point than exact noise would where the exact sum is as near as that error
to a border between grid points: with probability at most 2 * 2^-47 * 9.42 (32 + 0.4) < 2^-36. What
is read of T words in n dimensions is therefore within T n 2^-36 in total variation of what exact
noise gives, and so is what is released. Stretched noise (mahalanobis) is a product with a matrix,
whose n products and their sum add (n + 1) 2^-53 of the sum of the n sizes: for n = 300 and
coordinates whose deviations are at most four times the smallest, 2^-32 in place of 2^-36. Densities
are those of the noise, taken at the grid point; the rounding adds 0.02 % to the noise.

Bits. Grid points, distances, exponentials (exact_arithmetic.py) and sums in a fixed order are
the same on every processor, backend and number of processes. Not so, in the last bits: the noise
before it is rounded, so a coordinate may come out on another grid point with the probability above
(2^-36; 2^-32); whitened vectors (mahalanobis) and sums over all words (santext, tem), of relative
error 2^-40, which change a word only where two posteriors are as near: less than once in 10^10
words.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import Guarantee, at_most
from dxbeam.mechanisms.parameters import checked_choice, checked_positive, checked_whole
from dxbeam.text.decoding.losses import LOSSES, WORD
from dxbeam.text.decoding.pieces import OVERLAP, PIECE
from dxbeam.text.decoding.triples import READ_BY_TRIPLES

NEAREST, PRIOR, CONTEXT = CHOICES = ("nearest", "prior", "context")
KINDS = (PRIOR, CONTEXT)

CANDIDATES, KEPT, WIDTH = 64, 24, 14.0
WINDOW = 512
RULE = "decoding-3"
"""The name of the rule in manifests; it changes whenever decoding would release other words."""

_LARGEST_CANDIDATES = 4096

MUST_BE_PUBLIC = (
    "The language model must be public; one made from the private corpus voids the guarantee."
)
ROUNDED = (
    "The proof is for exact arithmetic. In 64-bit floating point noisy vectors are rounded to a "
    "public grid before they are read, and a coordinate comes out on another grid point than exact "
    "noise would with a probability of at most 2^-36 (2^-32 for mahalanobis, where no coordinate "
    "of the noise deviates more than four times as much as it does in any direction): what is "
    "released of T words in n dimensions is within T n times that, in total variation."
)


@dataclass(frozen=True)
class Decoder:
    """How drawn noise is read with a public language model.

    Attributes:
      kind: prior or context.
      loss: word, which releases the most probable word; or distance, the candidate nearest to the
        posterior mean of the vectors.
      candidates: K, the words considered at a place.
      kept: how many of these are read together with those of neighbouring places.
      width: words are no candidates whose prior times likelihood is lower than that of the best by
        more than this, in natural logarithms.
      model: the language model's digest; "" until it is known. ``Sanitizer`` fills it in.

    Raises:
      ConfigurationError: one of them is none of these, or out of range.
    """

    kind: str = CONTEXT
    loss: str = WORD
    candidates: int = CANDIDATES
    kept: int = KEPT
    width: float = WIDTH
    model: str = ""

    def __post_init__(self) -> None:
        checked_choice("`decode`", self.kind, KINDS, "how noise is read; nearest is no decoder")
        checked_choice("`decode_loss`", self.loss, LOSSES, "which word is released")
        meaning = "how many words are considered at a place"
        count = checked_whole("candidates", self.candidates, 2, _LARGEST_CANDIDATES, meaning)
        object.__setattr__(self, "candidates", count)
        meaning = "how many candidates are read together with those of neighbouring places"
        kept = checked_whole("kept", self.kept, 2, _LARGEST_CANDIDATES, meaning)
        object.__setattr__(self, "kept", kept)
        meaning = "how far below the best a candidate may be, in natural logarithms"
        object.__setattr__(self, "width", checked_positive("width", self.width, meaning))
        if not isinstance(self.model, str):
            raise ConfigurationError("a decoder's model is the digest of a language model, a text")

    def as_dict(self) -> dict[str, Any]:
        """Everything that decides which words are released, ready for JSON."""
        together = {"kept": self.kept, "read_by_triples": READ_BY_TRIPLES}
        windows = {"window": WINDOW, "piece": PIECE, "overlap": OVERLAP}
        return {
            "decode": self.kind,
            "loss": self.loss,
            "candidates": self.candidates,
            "width": self.width,
            **(windows | together if self.kind == CONTEXT else {}),
            "language_model": self.model,
            "rule": RULE,
        }

    @classmethod
    def from_dict(cls, recorded: dict[str, Any]) -> Decoder:
        """The decoder of which ``as_dict`` wrote this.

        Raises:
          KeyError, TypeError, ConfigurationError: it wrote no such thing.
        """
        every = recorded["candidates"] if recorded["decode"] == CONTEXT else KEPT  # decoding-2
        kept = recorded.get("kept", every)
        names = ("decode", "loss", "candidates", "width", "language_model")
        kind, loss, candidates, width, model = (recorded[name] for name in names)
        return cls(kind, loss, candidates, kept, width, model)

    def with_model(self, model: str) -> Decoder:
        """The same, naming its language model by its digest."""
        return dataclasses.replace(self, model=model)

    def of_word(self, promise: Guarantee, adds_noise: bool) -> Guarantee:
        """The guarantee of what is drawn for a word, as it is read: noisy vectors are rounded."""
        return dataclasses.replace(promise, arithmetic=ROUNDED) if adds_noise else promise

    def of_release(self, promise: Guarantee) -> Guarantee:
        """The guarantee of what is released, from that of what is drawn for a word."""
        if not promise.sound or self.kind == PRIOR:
            return promise
        return promise.of_documents()

    def caveats(self, delta: float) -> tuple[str, ...]:
        """What a reader of the guarantee should know besides; ``delta`` is that of a word."""
        if self.kind == PRIOR:
            return (
                "Each word is decoded by itself, with a public language model: post-processing of "
                "what the mechanism drew for it.",
                MUST_BE_PUBLIC,
            )
        return (
            "Words are decoded together, with a public language model, so a released word depends "
            "on what the mechanism drew for all words around it. The promise is therefore about "
            "the whole document: two documents that differ in one word, x in place of x', differ "
            "in the whole of what is released by a factor of at most exp(epsilon * d(x, x'))"
            + (f", up to a probability of {at_most(delta)}." if delta else "."),
            MUST_BE_PUBLIC,
        )


def decoder_of(decode: str | None, loss: str | None = None) -> Decoder | None:
    """The decoder that flags and plain values ask for; None for nearest.

    They are one of CHOICES or None, and one of LOSSES or None; refused where they do not go
    together.
    """
    decode = checked_choice("`decode`", decode or NEAREST, CHOICES, "how drawn noise is read")
    if decode == NEAREST:
        if loss is not None:
            raise ConfigurationError(
                "`decode_loss` is of use with `decode` prior or context only; leave it out"
            )
        return None
    if loss is not None:
        checked_choice("`decode_loss`", loss, LOSSES, "which word is released")
    return Decoder(decode, loss or WORD)
