"""Sanitized text -> fluent text, by a language model behind an OpenAI-compatible endpoint.

The optional last step of the design: a model rewrites what the mechanism released so
that it reads like language again. It is post-processing: the model is given sanitized text and
nothing else, so the guarantee stays what it was, as long as the model itself knows nothing of the
private corpus.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

from dxbeam import storage
from dxbeam.errors import ConfigurationError
from dxbeam.text.chat_model import ChatEndpoint

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


@dataclass(frozen=True)
class Repair(ChatEndpoint):
    """Which model repairs grammar, and how it is asked, besides what ``ChatEndpoint`` says.

    Attributes:
      failures: a key of FAILURES.
      candidates: how many candidates of each word the model is given with their probabilities.

    Raises:
      ConfigurationError: what ``ChatEndpoint`` refuses, or an unknown rule for failures.
    """

    flags: ClassVar[tuple[str, str, str, str]] = (
        "repair_model",
        "repair_endpoint",
        "repair_prompt",
        "repair_api_key_env",
    )

    prompt: str = PROMPT
    failures: str = "keep"
    candidates: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.failures not in FAILURES:
            raise ConfigurationError(
                f"`repair_failures` is one of {', '.join(FAILURES)}, not {self.failures!r}"
            )

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


def read_prompt(source: str) -> str:
    """The prompt in a file; refused where it cannot be read, or is not UTF-8."""
    try:
        return storage.read(source).decode().strip()
    except OSError as error:
        raise ConfigurationError(
            f"`repair_prompt` {source}: cannot be read ({type(error).__name__})"
        ) from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"`repair_prompt` {source}: not a text in UTF-8") from None
