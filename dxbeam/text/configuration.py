"""Frozen settings of a release, their canonical form and its digest."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from dxbeam.errors import ConfigurationError, check_type, described
from dxbeam.guarantees import LEFT_OUT, Guarantee
from dxbeam.mechanisms import DescribesNoise, Mechanism, ReadsReleased
from dxbeam.mechanisms.parameters import recorded
from dxbeam.mechanisms.sampling.noise import NOISE_RULE
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.decoding.decoder import CONTEXT, Decoder
from dxbeam.text.decoding.reader import why_not_decoded
from dxbeam.text.detection.detector import Detector
from dxbeam.text.epsilon_by_field import EpsilonByField
from dxbeam.text.truecase import Truecase
from dxbeam.text.word_rule import FIRST_RULE, WordRule

UNKNOWN_WORDS = {
    "noise": "noised like any other, from one public vector that stands for all of them",
    "mask": "replaced by <unk>, so a reader sees which words are not in the vocabulary",
    "drop": "left out, so a reader may see where words are not in the vocabulary",
    "keep": "released as they are, without any protection",
}
"""What can be done with a word outside the vocabulary."""

_EXAMPLES = {
    "resampling": (RankResampling, "RankResampling(0.02)"),
    "bag": (BagOfWords, "BagOfWords(50)"),
    "epsilon_by": (EpsilonByField, "EpsilonByField('consent', {'low': 5.0})"),
    "decoder": (Decoder, 'Decoder("context")'),
    "truecase": (Truecase, "Truecase()"),
}
"""Of settings that may be None."""

DECODER, TRUECASE, DETECT = "decoder", "truecase", "detect"
"""The entries of ``as_dict`` that say how drawn noise is read, how words are written, and what is
replaced before words are noised."""

OF_THE_MECHANISM = (
    "Probabilities that are named here are those of the word that the mechanism draws. Rank "
    "resampling then puts one of that word's neighbours in its place, or leaves it, so of the word "
    "that is released they do not hold. The bounds do."
)
"""A caveat of what mechanisms say of themselves, where their words are resampled."""


@dataclass(frozen=True)
class Configuration:
    """Everything that determines the distribution of a release but the vocabulary and the key.

    Attributes:
      mechanism: draws the word that is released in place of a word.
      resampling: rank resampling of the words that the mechanism releases, or None.
      unknown_words: what becomes of words outside the vocabulary, a key of UNKNOWN_WORDS; all but
        "noise" change the guarantee.
      bag: releases each document as a bag of words, without order; None keeps the order.
      allow_unsound: consent to settings that guarantee nothing, or that leave words unprotected. It
        has no influence on what is released, so it is no part of the digest.
      epsilon_by: an epsilon for each document by a public field, or None for one epsilon. The
        mechanism is then given with the largest.
      decoder: how what the mechanism draws is read with a public language model, or None, where the
        nearest or drawn words are released. What is drawn does not depend on it, so it is no part
        of the digest: releases of one corpus under one kept key, read in two ways, share their
        noise and cost what one of them costs.
      words: what the words of a text are; see word_rule.py.
      detector: what replaces parts of texts, such as e-mail addresses, by typed placeholders before
        words are noised, or None.
      truecase: puts capitals into released texts as public text has them, or None. It reads what is
        released and nothing else, so it is no part of the digest either.

    Raises:
      ConfigurationError: settings that do not exist or cannot be combined; and without
        ``allow_unsound``, settings that do not protect every word.
    """

    mechanism: Mechanism
    resampling: RankResampling | None = None
    unknown_words: str = "noise"
    bag: BagOfWords | None = None
    _: KW_ONLY
    allow_unsound: bool = field(default=False, compare=False)
    epsilon_by: EpsilonByField | None = None
    decoder: Decoder | None = None
    truecase: Truecase | None = None
    words: WordRule = FIRST_RULE
    detector: Detector | None = None

    def __post_init__(self) -> None:
        if isinstance(self.mechanism, type) or not hasattr(self.mechanism, "guarantee"):
            raise ConfigurationError(
                "`mechanism` is an object such as Laplace(10.0), and this is "
                f"{described(self.mechanism)}; make_mechanism makes one from a name"
            )
        for name, (kind, example) in _EXAMPLES.items():
            meaning = f"{name} is an object such as {example}, or None"
            check_type(getattr(self, name), (kind, type(None)), meaning)
        check_type(self.words, WordRule, "words is an object such as WordRule(2, 'longest_match')")
        check_type(self.detector, Detector | None, "detector is what detector_of returns")
        if self.unknown_words not in tuple(UNKNOWN_WORDS):
            raise ConfigurationError(
                f"`unknown_words` is one of {', '.join(UNKNOWN_WORDS)}, not {self.unknown_words!r}"
            )
        if type(self.allow_unsound) is not bool:
            raise ConfigurationError(
                f"`allow_unsound` must be true or false, not {self.allow_unsound!r}"
            )
        if self.epsilon_by:
            self._check_epsilon_by(self.epsilon_by)
        if self.decoder and (reason := why_not_decoded(self.mechanism)):
            raise ConfigurationError(reason)
        if self.bag:
            self._check_bag()
        if not self.allow_unsound and (reason := self._unsound_because()):
            raise ConfigurationError(
                f"{reason}; add `allow_unsound` to run it anyway (in Python "
                "allow_unsound=True, in YAML allow_unsound: true)"
            )

    def _check_epsilon_by(self, levels: EpsilonByField) -> None:
        if self.mechanism.epsilon != levels.largest:
            raise ConfigurationError(
                f"`epsilon_by` has epsilons up to {levels.largest:g}, so the mechanism is given "
                f"with epsilon = {levels.largest:g}, not {self.mechanism.epsilon:g}"
            )
        for epsilon in levels.every:
            self.with_epsilon(epsilon)  # refuses one that the mechanism does not take

    def _check_bag(self) -> None:
        """Refuses what does not go with words that have no order and no places."""
        for applies, why in (
            (
                self.unknown_words in ("mask", "keep"),
                f"`unknown_words` {self.unknown_words} leaves words unprotected, and a bag of "
                "words protects every word in it; choose noise or drop",
            ),
            (
                isinstance(self.mechanism, ReadsReleased),
                f"`mechanism` {self.mechanism.name} reads words in their order, which "
                "`bag_of_words` removes; choose another mechanism",
            ),
            (
                self.decoder and self.decoder.kind == CONTEXT,
                "`decode` context reads words in their order, which `bag_of_words` removes; choose "
                "`decode` prior",
            ),
            (
                self.truecase,
                "`truecase` writes sentences, and `bag_of_words` releases none; leave one out",
            ),
            (
                self.detector,
                "`detect` puts placeholders in the places of what it recognises, and "
                "`bag_of_words` releases no places; leave one out",
            ),
        ):
            if applies:
                raise ConfigurationError(why)

    def with_epsilon(self, epsilon: float) -> Configuration:
        """The configuration of all documents that have this epsilon: the same with it only."""
        mechanism: Any = dataclasses.replace(self.mechanism, epsilon=epsilon)  # type: ignore[type-var]
        return dataclasses.replace(self, mechanism=mechanism, epsilon_by=None)

    @property
    def at_largest(self) -> Configuration:
        """The same with the largest epsilon for all documents."""
        return dataclasses.replace(self, epsilon_by=None)

    @property
    def every_level(self) -> tuple[Configuration, ...]:
        """One configuration for each epsilon that a document may have."""
        every = self.epsilon_by.every if self.epsilon_by else ()
        return tuple(map(self.with_epsilon, every)) or (self,)

    def _unsound_because(self) -> str | None:
        """Why these settings need consent, as a sentence without an end; None if they do not."""
        word, whole = self.mechanism.guarantee(), self.guarantee()
        if not word.sound:
            return f"`mechanism` {self.mechanism.name} guarantees nothing ({word.citation})"
        if self.bag and self.bag.flaw:
            return f"`bag_of_words` {self.bag.length} {self.bag.flaw}"
        if self.bag and not whole.sound and not word.unprotected:
            return (
                f"`bag_of_words` {self.bag.length} guarantees nothing with a delta of "
                f"{word.delta:g} for each word"
            )
        if not whole.unprotected:
            return None
        which = "`detect`"
        if word.unprotected:
            which = f"`mechanism` {self.mechanism.name}"
        elif self.unknown_words != "noise":
            which = f"`unknown_words` {self.unknown_words}"
        return f"{which}: nothing is promised for {whole.unprotected[0]}"

    def as_dict(self) -> dict[str, Any]:
        """Every parameter, ready for JSON."""
        return {
            "mechanism": recorded(self.mechanism),
            "rank_resampling": dataclasses.asdict(self.resampling) if self.resampling else None,
            "unknown_words": self.unknown_words,
            **self.words.as_dict(),
            "noise_rule": NOISE_RULE,
            # Only where there is one, so that releases without keep their digests, and their noise.
            **({"bag_of_words": self.bag.as_dict()} if self.bag else {}),
            **({"epsilon_by": self.epsilon_by.as_dict()} if self.epsilon_by else {}),
            **({DECODER: self.decoder.as_dict()} if self.decoder else {}),
            **({TRUECASE: self.truecase.as_dict()} if self.truecase else {}),
            **({DETECT: self.detector.as_dict()} if self.detector else {}),
        }

    def digest(self, vocabulary: str) -> str:
        """SHA-256 of the canonical form; two configurations with one digest draw equal noise.

        Decoder and truecase are left out, as they read what was drawn. Noise is keyed by
        the digest of a document's own level (``with_epsilon``), not by that of all levels:
        what draws a document's words alike releases one text.
        """
        canonical = json.dumps(
            {"vocabulary": vocabulary, **of_draws(self.as_dict())},
            sort_keys=True,
            separators=(",", ":"),
        )
        return hashlib.sha256(canonical.encode()).hexdigest()

    def guarantee(self) -> Guarantee:
        """The mechanism's guarantee, with all that this configuration leaves visible."""
        promise = self._guarantee_of_draws()
        if isinstance(self.mechanism, ReadsReleased):
            return promise.of_documents()
        return self.decoder.of_release(promise) if self.decoder else promise

    def _guarantee_of_draws(self) -> Guarantee:
        """What holds of all that the mechanism draws, and so of what is made of it."""
        visible: tuple[str, ...] = (
            "Document ids and kept fields are released as they are.",
            LEFT_OUT,
            "The vocabulary must be public; one built from the private corpus voids the guarantee.",
        )
        promise = self.mechanism.guarantee()
        if self.decoder:
            promise = self.decoder.of_word(promise, isinstance(self.mechanism, DescribesNoise))
        if self.bag:
            drops = self.unknown_words == "drop"
            removed = "stop words and words outside the vocabulary" if drops else "stop words"
            promise = self.bag.guarantee(promise, removed)
        else:
            visible = (
                "The number and order of words, white space and punctuation are not hidden; "
                "between documents of unequal length there is no finite bound.",
                "The division into files follows the sizes of the original files.",
                *self.words.caveats,
                *visible,
            )
            if self.unknown_words != "noise":
                promise = promise.narrowed(
                    f"{promise.covered} of the vocabulary",
                    f"words outside the vocabulary, {UNKNOWN_WORDS[self.unknown_words]}",
                )
        if self.detector:
            covered = self.detector.covered(promise.covered)
            promise = promise.narrowed(covered, self.detector.replaced)
            visible = (*self.detector.caveats, *visible)
        if self.resampling:
            visible = (OF_THE_MECHANISM, *visible)
        if self.epsilon_by and promise.sound:
            visible = (self.epsilon_by.caveat, *visible)
        if self.decoder and promise.sound:
            visible = (*visible, *self.decoder.caveats(promise.delta))
        if self.truecase and promise.sound:
            visible = (*visible, *self.truecase.caveats(public=self.decoder is None))
        return promise.with_caveats(*promise.limits, *visible)

    @property
    def unprotected(self) -> tuple[str, ...]:
        """What is released without protection, for the manifest."""
        words = self.guarantee().unprotected
        if self.bag:
            return ("document ids", *words)
        placeholders = ("placeholders and their places",) if self.detector else ()
        between = ("white space", "punctuation", *self.words.visible, *placeholders)
        return ("document ids", "number and order of words", *between, *words)


def of_draws(record: Mapping[str, Any]) -> dict[str, Any]:
    """What of ``as_dict`` decides what is drawn: all but how it is read and written."""
    return {name: value for name, value in record.items() if name not in (DECODER, TRUECASE)}


def as_configuration(settings: Configuration | Mechanism) -> Configuration:
    """A configuration as it is; a mechanism by itself as the one without other settings."""
    return settings if isinstance(settings, Configuration) else Configuration(settings)
