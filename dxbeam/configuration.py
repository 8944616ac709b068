"""Frozen settings of a release, their canonical form and its digest."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from dxbeam import tokenization
from dxbeam.bag_of_words import BagOfWords
from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms import Mechanism
from dxbeam.noise import NOISE_RULE
from dxbeam.resampling import RankResampling

UNKNOWN_WORDS = {
    "noise": "noised like any other, from one public vector that stands for all of them",
    "mask": "replaced by <unk>, so a reader sees which words are not in the vocabulary",
    "drop": "left out, so a reader may see where words are not in the vocabulary",
    "keep": "released as they are, without any protection",
}
"""What can be done with a word outside the vocabulary."""


@dataclass(frozen=True)
class Configuration:
    """Everything that determines the law of a release, but for the vocabulary and the key.

    Attributes:
      mechanism: what releases a word for a word.
      resampling: post-processing of released words, or None.
      unknown_words: a key of UNKNOWN_WORDS; all but "noise" change the guarantee.
      bag: releases documents as bags of words, or None to keep their order.
    """

    mechanism: Mechanism
    resampling: RankResampling | None = None
    unknown_words: str = "noise"
    bag: BagOfWords | None = None

    def __post_init__(self) -> None:
        if self.unknown_words not in UNKNOWN_WORDS:
            raise ConfigurationError(
                f"unknown_words is one of {', '.join(UNKNOWN_WORDS)}, not {self.unknown_words!r}"
            )
        if self.bag and self.unknown_words in ("mask", "keep"):
            raise ConfigurationError(
                f"unknown_words {self.unknown_words} lets words pass the mechanism by, and a bag "
                "of words protects all of them; choose noise or drop"
            )

    def as_dict(self) -> dict[str, Any]:
        """Every parameter, ready for JSON."""
        return {
            "mechanism": {
                "name": self.mechanism.name,
                **dataclasses.asdict(self.mechanism),  # type: ignore[call-overload]
            },
            "rank_resampling": dataclasses.asdict(self.resampling) if self.resampling else None,
            "unknown_words": self.unknown_words,
            "tokenization": tokenization.RULE,
            "noise_rule": NOISE_RULE,
            # Only where there is one, so that releases without keep their digests, and their noise.
            **({"bag_of_words": self.bag.as_dict()} if self.bag else {}),
        }

    def digest(self, vocabulary: str) -> str:
        """SHA-256 of the canonical form; two configurations with one digest draw equal noise.

        Args:
          vocabulary: the vocabulary's digest.
        """
        canonical = json.dumps(
            {"vocabulary": vocabulary, **self.as_dict()}, sort_keys=True, separators=(",", ":")
        )
        return hashlib.sha256(canonical.encode()).hexdigest()

    def guarantee(self) -> Guarantee:
        """The mechanism's guarantee, with all that this configuration leaves visible."""
        visible: tuple[str, ...] = (
            "Document ids and kept fields are released as they are.",
            "The vocabulary must be public; one built from the private corpus voids the guarantee.",
        )
        if self.bag:
            if self.unknown_words == "drop":
                visible += ("Words outside the vocabulary are removed as stop words are.",)
            return self.bag.guarantee(self.mechanism.guarantee()).with_caveats(*visible)
        visible = (
            "The number and order of words, white space and punctuation are released as they are; "
            "between documents of unequal length there is no finite bound.",
            *visible,
        )
        word = self.mechanism.guarantee()
        if self.unknown_words != "noise":
            visible += (
                f"Words outside the vocabulary are {UNKNOWN_WORDS[self.unknown_words]}; the "
                "guarantee does not cover them.",
            )
            outside = f"words outside the vocabulary ({self.unknown_words})"
            word = dataclasses.replace(word, unprotected=(*word.unprotected, outside))
        return word.with_caveats(*visible)

    @property
    def unprotected(self) -> tuple[str, ...]:
        """What passes the mechanism by, for the manifest."""
        words = self.guarantee().unprotected
        if self.bag:
            return ("document ids", *words)
        return ("document ids", "number and order of words", "white space", "punctuation", *words)
