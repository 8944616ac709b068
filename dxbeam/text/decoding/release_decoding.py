"""What a finished release of words is decoded with, whether it can be, and what is promised then.

Nothing but the release, the public vocabulary and a public language model is read, so decoding a
release is post-processing: it costs nothing, and the promise stays what it was. A word that is
decoded depends on the released words around it, so what is said of words is said of documents, as
in decoding/decoder.py, whose proof holds with released words in place of y.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dxbeam.errors import ConfigurationError
from dxbeam.guarantees import Guarantee
from dxbeam.mechanisms import ReadsReleased
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import Decoder
from dxbeam.text.decoding.released_channel import APPROXIMATE, PAIRS, kind_of
from dxbeam.text.truecase import Truecase


@dataclass(frozen=True)
class ReleaseDecoding:
    """How a finished release of words is decoded.

    Attributes:
      configuration: what the release was made with.
      decoder: how released words are read; names the language model by its digest.
      truecase: puts capitals into the decoded texts, or None.
      release: hex SHA-256 of the release.json that is decoded.

    Raises:
      ConfigurationError: such a release cannot be decoded.
    """

    configuration: Configuration
    decoder: Decoder
    truecase: Truecase | None
    release: str

    def __post_init__(self) -> None:
        if not (isinstance(self.release, str) and re.fullmatch("[0-9a-f]{64}", self.release)):
            raise ConfigurationError("a release is named by the SHA-256 of its release.json")
        if reason := why_not_decoded_again(self.configuration):
            raise ConfigurationError(reason)

    @property
    def channel(self) -> str:
        """EXACT or APPROXIMATE: what is known of released words given original ones."""
        return kind_of(self.configuration.mechanism)

    def as_dict(self) -> dict[str, Any]:
        """What decides which words are written, ready for JSON."""
        return {
            "release_sha256": self.release,
            "channel": self.channel,
            **({"pairs": PAIRS} if self.channel == APPROXIMATE else {}),
            **self.decoder.as_dict(),
            **({"truecase": self.truecase.as_dict()} if self.truecase else {}),
        }

    @classmethod
    def from_dict(
        cls, recorded: Mapping[str, Any], configuration: Configuration
    ) -> ReleaseDecoding:
        """The settings of which ``as_dict`` wrote this.

        Raises:
          KeyError, TypeError, ConfigurationError: it wrote no such thing.
        """
        decoder, truecase = Decoder.from_dict({**recorded}), recorded.get("truecase")
        named = Truecase(truecase["model"]) if truecase else None
        decoding = cls(configuration, decoder, named, recorded["release_sha256"])
        if decoding.as_dict() != dict(recorded):
            raise ConfigurationError("decoding was recorded by another rule")
        return decoding

    def guarantee(self) -> Guarantee:
        """What the release promises, of what is decoded from it."""
        promise = self.decoder.of_release(self.configuration.guarantee())
        if not promise.sound:
            return promise
        known = (
            "Released words were read by an estimate of the mechanism's probabilities, made on "
            "public words; how good it is has no influence on the promise."
            if self.channel == APPROXIMATE
            else "Released words were read by the mechanism's known probabilities."
        )
        capitals = self.truecase.caveats(public=False) if self.truecase else ()
        return promise.with_caveats(
            "The texts were decoded from a finished release, whose release.json is named by its "
            "digest, and from nothing else that is not public. Who has both has learnt no more "
            "than the first reveals.",
            known,
            *self.decoder.caveats(promise.delta),
            *capitals,
        )


def why_not_decoded_again(configuration: Configuration) -> str | None:
    """Why words of a release with these settings are not decoded; None where they can be."""
    if configuration.bag is not None:
        return "the release holds bags of words, which have no order to be read in"
    if configuration.detector is not None:
        return (
            "the release holds placeholders (`detect`), which a decoder would read as words; "
            "decode while sanitizing"
        )
    if configuration.words.segmenter != "none":
        return (
            f"its words were cut by `segmenter` {configuration.words.segmenter}: those that were "
            "cut from one run have no gap between them, so nobody can tell where one ends; decode "
            "while sanitizing"
        )
    if configuration.decoder is not None:
        return (
            f"the release was decoded already (`decode` {configuration.decoder.kind}); a second "
            "reading would take the first one's guesses for draws"
        )
    if configuration.truecase is not None:
        return (
            "the release has capitals (`truecase`), so its words are no longer as they were drawn; "
            "release without it, and add it when decoding"
        )
    if isinstance(configuration.mechanism, ReadsReleased):
        return (
            f"the release is of `mechanism` {configuration.mechanism.name}, which draws each word "
            "by those released before it: what it wrote reads on already, and a decoder knows no "
            "such mechanism"
        )
    return None
