"""Sanitized text -> fluent text, by a language model behind an OpenAI-compatible endpoint.

The optional last step of the design: a model rewrites what the mechanism released so
that it reads like language again. It is post-processing: the model is given sanitized text and
nothing else, so the guarantee stays what it was, as long as the model itself knows nothing of the
private corpus.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from dxbeam import storage
from dxbeam.errors import ConfigurationError

_LOG = logging.getLogger(__name__)

PROMPT = (
    "The user's message is a text in which words were replaced by similar ones at random. Rewrite "
    "it as correct, fluent text in the same language. Change as little as possible, add nothing, "
    "and do not guess what the replaced words were. Answer with the rewritten text alone."
)

FAILURES = {
    "keep": "released as the mechanism left it",
    "reject": "sent to the dead letters and not released",
}
"""What can be done with a document that the model did not repair."""

_LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Repair:
    """Which model repairs grammar, and how it is asked.

    Attributes:
      model: the model's name, as its endpoint knows it.
      endpoint: the base URL, such as https://host/v1; ``/chat/completions`` is added to it.
      prompt: the system message; public, and not made from the private corpus.
      api_key_variable: the environment variable that holds the key on every worker, or None.
      failures: a key of FAILURES.
      candidates: how many candidates of each word the model is given with their probabilities.

    Raises:
      ConfigurationError: an endpoint that is no plain http(s) URL or would send a key in the clear,
        an invalid name, or an unknown rule for failures.
    """

    model: str
    endpoint: str
    prompt: str = PROMPT
    api_key_variable: str | None = None
    failures: str = "keep"
    candidates: int = 0

    def __post_init__(self) -> None:
        if not self.model.strip() or not self.prompt.strip():
            raise ConfigurationError("`repair_model` and the text of `repair_prompt`: not empty")
        try:
            url = urlsplit(self.endpoint)
            hidden = url.username or url.password or url.query or url.fragment or url.port == 0
        except ValueError:
            hidden = True
        if hidden or url.scheme not in ("http", "https") or not url.hostname:
            raise ConfigurationError(  # not quoted, as there may be a password in it
                "`repair_endpoint` is a URL such as https://host/v1, without user, password or "
                "query; a key goes into an environment variable, see `repair_api_key_env`"
            )
        if self.api_key_variable is not None:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.api_key_variable):
                raise ConfigurationError(  # not quoted, as it may be the key itself
                    "`repair_api_key_env` is the name of an environment variable that holds the "
                    "key, never the key"
                )
            if url.scheme == "http" and url.hostname not in _LOCAL:
                raise ConfigurationError(
                    "`repair_endpoint`: a key is sent only over https, or to this machine"
                )
        if self.failures not in FAILURES:
            raise ConfigurationError(
                f"`repair_failures` is one of {', '.join(FAILURES)}, not {self.failures!r}"
            )

    @property
    def host(self) -> str:
        """The endpoint's host and port, which may be published."""
        return urlsplit(self.endpoint).netloc

    def as_dict(self) -> dict[str, Any]:
        """What the manifest says of it."""
        return {
            "model": self.model,
            "endpoint": self.host,
            "prompt_sha256": hashlib.sha256(self.prompt.encode()).hexdigest(),
            "failures": self.failures,
            **({"candidates": self.candidates} if self.candidates else {}),
        }

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the guarantee takes for granted, and what a reader must know."""
        shown = "sanitized text alone"
        if self.candidates:
            shown = (
                f"decoded text and, of each word, up to {self.candidates} candidates with the "
                "probabilities that the decoder computed from what was drawn, and nothing else"
            )
        return (
            f"Texts were rewritten afterwards by the language model {self.model}, which was given "
            f"{shown}. This costs no privacy as long as neither the model nor its "
            "prompt was made from the private corpus: a model that has seen it may add from "
            "memory what the mechanism had hidden.",
        )

    def api_key(self) -> str | None:
        """The key, from the environment of this process.

        Raises:
          ConfigurationError: the variable is not set, or cannot be a key.
        """
        if self.api_key_variable is None:
            return None
        key = os.environ.get(self.api_key_variable, "").strip()
        if not key or not key.isascii() or not key.isprintable():
            raise ConfigurationError(
                f"`repair_api_key_env` {self.api_key_variable}: this environment variable is not "
                "set, or what it holds is no key"
            )
        return key


def read_prompt(source: str) -> str:
    """The prompt in a file.

    Raises:
      ConfigurationError: it cannot be read, or is not UTF-8.
    """
    try:
        return storage.read(source).decode().strip()
    except OSError as error:
        raise ConfigurationError(
            f"`repair_prompt` {source}: cannot be read ({type(error).__name__})"
        ) from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"`repair_prompt` {source}: not a text in UTF-8") from None
