"""What attackers release themselves: public text under the settings of a finished release."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dxbeam.analysis.attackers.channel import Channel, is_known, known_channel
from dxbeam.analysis.attackers.models.pairs import Pairs
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.analysis.attackers.resampled_channel import MOST_RANKS, ranks_needed, resampled_channel
from dxbeam.errors import ConfigurationError
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.language.model import LanguageModel
from dxbeam.mechanisms import ReadsReleased
from dxbeam.release.text_release import TextRelease
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.configuration import Configuration
from dxbeam.text.public.public_model import with_model
from dxbeam.text.recorded_configuration import rebuilt
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.transforms.reading.paired_release import words_in_place


def settings_of(release: TextRelease, language_model: LanguageModelHandle | None) -> Configuration:
    """The settings of a release, as attackers release by them: with the largest of its epsilons.

    Capitals are left out, as words are compared without them.

    Raises:
      ConfigurationError: its words are in no order, were read again after the release, or its
        settings need a file or another language model.
    """
    settings = _recorded(release, "attackers with a model")
    if reads(settings):
        try:
            return with_model(settings, language_model and language_model.digest, casings=True)
        except ConfigurationError:
            raise ConfigurationError(
                f"`released` {release.prefix} was read with a language model, and attackers with a "
                "model need it too; name it with `language_model`"
            ) from None
    return settings


def _recorded(release: TextRelease, who: str) -> Configuration:
    """The settings that a release records; ``who`` needs them, for messages."""
    recorded = rebuilt(release.manifest["configuration"])
    why = None
    if not release.in_order:
        why = "its words are in no order that attackers could read"
    elif release.manifest.get("post_processing"):
        why = "its words were changed after they were drawn"
    elif recorded is None:
        why = "its settings name a file of weights, or are of another version of dxbeam"
    if why or recorded is None:
        raise ConfigurationError(
            f"`released` {release.prefix}: no other text can be released by its settings, as "
            f"{why}; leave this release or {who} out"
        )
    return replace(recorded.at_largest, truecase=None)


def reads(settings: Configuration) -> bool:
    """Whether words are read with a public language model."""
    mechanism = settings.mechanism
    return settings.decoder is not None or (
        isinstance(mechanism, ReadsReleased) and mechanism.model is not None
    )


def settings_of_words(
    releases: Sequence[TextRelease], vocabulary: VocabularyHandle | None
) -> list[Configuration]:
    """The settings of releases, as canaries are planted under: each word is drawn by itself.

    Raises:
      ConfigurationError: there is no vocabulary; as ``settings_of``; words were read in their
        order; or an attacker cannot follow the ranks of a release.
    """
    if vocabulary is None:
        raise ConfigurationError(
            "`canaries` are words of a vocabulary; name the one of the releases, with `vocabulary`"
        )
    settings = []
    for release in releases:
        each = _recorded(release, "canaries")
        epsilon, resampling = each.mechanism.epsilon, each.resampling
        why = None
        if each.decoder is not None or isinstance(each.mechanism, ReadsReleased):
            why = "its words are read in their order"
        elif resampling and ranks_needed(resampling.c, epsilon, vocabulary.words) > MOST_RANKS:
            why = f"rank resampling spreads words over more than {MOST_RANKS:,} ranks"
        if why:
            raise ConfigurationError(
                f"`released` {release.prefix}: how probable a canary is cannot be said, as {why}; "
                "leave this release or `canaries` out"
            )
        settings.append(each)
    return settings


def channel_of(settings: Configuration, prior: Prior, search: NeighborSearch) -> Channel | None:
    """The channel of single words, where it is a formula; else None."""
    mechanism, resampling = settings.mechanism, settings.resampling
    if reads(settings) or not is_known(mechanism):
        return None
    channel: Channel = known_channel(mechanism, prior, search)
    if resampling is None:
        return channel
    if ranks_needed(resampling.c, mechanism.epsilon, len(search.vocabulary)) > MOST_RANKS:
        return None
    return resampled_channel(channel, resampling.c, mechanism.epsilon, search)


def release_pieces(
    settings: Configuration,
    pieces: Sequence[Ids],
    search: NeighborSearch,
    language_model: LanguageModel | None,
    seed: int,
) -> Pairs:
    """Releases pieces of public text, each as a document, by the code that releases corpora.

    Args:
      settings: of the release, from ``settings_of``.
      pieces: int64 arrays of ids, none empty.
      search: the vocabulary.
      language_model: what these settings read with, or None.
      seed: of the noise; nothing of it is released.
    """
    vocabulary = search.vocabulary
    key = hashlib.sha256(f"attackers of a release: {seed}".encode()).digest()
    model = language_model if reads(settings) else None
    sanitizer = Sanitizer(search, settings, key, model)
    texts = [" ".join(vocabulary.words_of(piece)) for piece in pieces]
    originals, released = [], []
    for piece, text in zip(pieces, texts, strict=True):
        words = words_in_place(_gaps(len(piece)), sanitizer.sanitize_text(text, text))
        ids = vocabulary.ids_of(words) if words else np.zeros(0, np.int64)
        known = ids != UNKNOWN
        if known.any():
            originals.append(piece[known])
            released.append(ids[known])
    return Pairs(originals, np.concatenate(released))


def _gaps(words: int) -> list[str]:
    """What is around words that are separated by spaces."""
    return ["", *[" "] * (words - 1), ""]
