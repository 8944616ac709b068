"""Which attackers with a model are asked for, checked; and opened where they run."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from dxbeam.analysis.attackers.models import learned, word_model
from dxbeam.analysis.attackers.models.endpoint import EXAMPLES, Asking, AttackerEndpoint
from dxbeam.analysis.attackers.models.learned import PIECE, TRAINING_WORDS
from dxbeam.analysis.attackers.models.released_texts import Attackers
from dxbeam.analysis.attackers.models.with_model import PUBLIC_WORDS
from dxbeam.analysis.attackers.models.word_model import WordModel
from dxbeam.analysis.attackers.prior import Prior
from dxbeam.errors import ConfigurationError
from dxbeam.space.vocabulary.words import Vocabulary

_READINGS = 3
"""Of a document by the model: its release, the same by masks, and its noisy vectors."""


class Flags(Protocol):
    """The flags of attackers, as ``commands/flags/attackers.py`` declares them."""

    context_documents: int | None
    attackers: str | None
    attacker_model: str | None
    attacker_endpoint: str | None
    attacker_endpoint_model: str | None
    attacker_endpoint_key_env: str | None
    attacker_requests: int
    attacker_public_words: int


class AskedFor(NamedTuple):
    """Attackers with a model.

    Attributes:
      learned: whether one trains a network.
      model: the directory of the model that another brings; "" for none.
      endpoint: which model a third asks, or None.
      requests: how many questions it may ask in all.
      public_words: how many words of public text they release to learn from.
    """

    learned: bool = False
    model: str = ""
    endpoint: AttackerEndpoint | None = None
    requests: int = 0
    public_words: int = TRAINING_WORDS

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return self.learned or bool(self.model) or self.endpoint is not None

    def divided(self, parts: int) -> AskedFor:
        """With an equal share of the requests for each of some parts.

        Raises:
          ConfigurationError: there are fewer requests than parts.
        """
        if self.endpoint is not None and self.requests < parts:
            raise ConfigurationError(
                f"`attacker_requests` {self.requests}: there are {parts} settings or releases to "
                "attack, and each takes one request at least; allow more"
            )
        return self._replace(requests=self.requests // max(1, parts))

    def words_read(self, documents: int, words: int, parts: int) -> int:
        """How many words the model reads, at most; arguments as ``cost``."""
        return parts * (_READINGS * documents * words + 2 * PUBLIC_WORDS)

    def cost(self, documents: int, words: int, parts: int) -> list[str]:
        """What it costs, in sentences.

        Args:
          documents: how many are read under each setting.
          words: how many words each has, at most.
          parts: how many settings or releases there are.
        """
        sentences = []
        if self.model:
            read = self.words_read(documents, words, parts)
            sentences.append(f"The model of --attacker_model reads up to {read:,} words.")
        if self.endpoint is not None:
            most = min(self.requests, 2 * documents * parts)
            each = words + 2 * EXAMPLES * PIECE
            sentences.append(
                f"Up to {most:,} requests go to {self.endpoint.host}, of up to {each:,} words: "
                "released text, and public text with releases of it."
            )
        return sentences


def attackers_of(flags: Flags) -> AskedFor:
    """The attackers that flags ask for.

    Raises:
      ConfigurationError: a flag that is needed and missing, an invalid endpoint or key, or what a
        model needs is not installed.
    """
    for name in ("attackers", "attacker_model", "attacker_endpoint"):
        if getattr(flags, name) and not flags.context_documents:
            value = "" if name == "attacker_endpoint" else f" {getattr(flags, name)}"
            raise ConfigurationError(
                f"`{name}`{value} reads documents; say how many, with `context_documents`"
            )
    if flags.attackers:
        learned.check_installed()
    if flags.attacker_model:
        word_model.check_model(flags.attacker_model)
    endpoint = None
    if flags.attacker_endpoint:
        if not flags.attacker_endpoint_model:
            raise ConfigurationError(
                "`attacker_endpoint_model` is needed with `attacker_endpoint`: the model's name"
            )
        endpoint = AttackerEndpoint(
            flags.attacker_endpoint_model,
            flags.attacker_endpoint,
            api_key_variable=flags.attacker_endpoint_key_env,
        )
        endpoint.api_key()
    elif flags.attacker_endpoint_model or flags.attacker_endpoint_key_env:
        raise ConfigurationError(
            "`attacker_endpoint` is needed with the other flags of it: the URL of the model"
        )
    return AskedFor(
        bool(flags.attackers),
        flags.attacker_model or "",
        endpoint,
        flags.attacker_requests,
        flags.attacker_public_words,
    )


class Opener:
    """Opens what attackers need, the model once.

    Args:
      asked: which attackers.
    """

    def __init__(self, asked: AskedFor):
        self._asked = asked
        self._model: WordModel | None = None

    def attackers(self, vocabulary: Vocabulary, prior: Prior) -> Attackers:
        """The attackers of one setting."""
        asked = self._asked
        if self._model is None and asked.model:
            self._model = word_model.open_model(asked.model, vocabulary.words, prior.shares)
        asking = Asking(asked.endpoint, asked.requests) if asked.endpoint else None
        return Attackers(asked.learned, self._model, asking, asked.public_words)
