"""Sanitized text -> fluent text, by a language model behind an OpenAI-compatible endpoint.

The optional last step of the design: a model rewrites what the mechanism released so
that it reads like language again. It is post-processing: the model is given sanitized text and
nothing else, so the guarantee stays what it was, as long as the model itself knows nothing of the
private corpus.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import logging
import os
import re
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from dxbeam import storage
from dxbeam.documents import text_problem
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

_SECONDS_AN_ANSWER = 120
_LARGEST_ANSWER = 64 << 20
_LOCAL = ("localhost", "127.0.0.1", "::1")
_PASSING = (408, 409, 425, 429)
_CLOSED = (401, 403, 404)
_WAITS = (1.0, 2.0, 4.0, 8.0)  # seconds before a request is repeated
_DEAD_AFTER = 4
"""Texts in a row on which an endpoint failed, with all repetitions, until it is asked no more: a
minute, or eight where it never answers."""


class RepairError(Exception):
    """The model gave no answer that can be used; says why, and holds no text.

    Attributes:
      passing: whether trying again may help.
      endpoint: whether the endpoint failed, whatever the text was.
    """

    def __init__(self, reason: str, passing: bool = False, endpoint: bool = False):
        super().__init__(reason, passing, endpoint)
        self.reason = reason
        self.passing = passing
        self.endpoint = endpoint or passing

    def __str__(self) -> str:
        return self.reason


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


class ChatModel:
    """A model that answers chat completions.

    Args:
      settings: which one. The key is read from the environment here and shown nowhere.
    """

    def __init__(self, settings: Repair):
        self._settings = settings
        self._key = settings.api_key()
        # A redirection would carry text, and the key, to a place that nobody named.
        self._opener = urllib.request.build_opener(_NoRedirection)

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a ChatModel holds a key and is not pickled; make it where it runs")

    def rewrite(self, text: str) -> str:
        """The model's answer to a text.

        Raises:
          RepairError: no answer, or none that can be used.
        """
        settings = self._settings
        messages = [
            {"role": "system", "content": settings.prompt},
            {"role": "user", "content": text},
        ]
        headers = {"Content-Type": "application/json"}
        if self._key is not None:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(
            f"{settings.endpoint.rstrip('/')}/chat/completions",
            json.dumps({"model": settings.model, "messages": messages}).encode(),
            headers,
        )
        try:
            with self._opener.open(request, timeout=_SECONDS_AN_ANSWER) as response:
                content = response.read(_LARGEST_ANSWER)
        except urllib.error.HTTPError as error:
            passing = error.code in _PASSING or error.code >= 500
            raise RepairError(
                f"the endpoint answered HTTP {error.code}", passing, error.code in _CLOSED
            ) from None
        except (OSError, http.client.HTTPException) as error:
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            slow = isinstance(cause, TimeoutError)  # it was waited for long enough
            raise RepairError(
                f"no answer ({type(cause).__name__})", passing=not slow, endpoint=True
            ) from None
        return _answer(content)


class PatientModel:
    """A chat model that is asked again where that may help, and no more where it seems dead.

    Args:
      settings: which one.
    """

    def __init__(self, settings: Repair):
        self._model = ChatModel(settings)
        self._failed_in_a_row, self._told = 0, False
        self._counting = threading.Lock()

    def rewrite(self, text: str) -> str:
        """The model's answer to a text.

        Raises:
          RepairError: no answer, or none that can be used; or the endpoint is asked no more.
        """
        for wait in (*_WAITS, None):
            if self._failed_in_a_row >= _DEAD_AFTER:
                raise RepairError(
                    f"the endpoint had failed on {_DEAD_AFTER} texts in a row and was asked no more"
                )
            try:
                answer = self._model.rewrite(text)
            except RepairError as error:
                if not error.passing or wait is None:
                    self._failed(error)
                    raise
            else:
                self._failed_in_a_row = 0
                return answer
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _failed(self, error: RepairError) -> None:
        with self._counting:
            first, self._told = not self._told, True
            self._failed_in_a_row = self._failed_in_a_row + 1 if error.endpoint else 0
            dead = self._failed_in_a_row == _DEAD_AFTER
        if first:
            _LOG.warning("a text was not repaired, the first for this worker: %s", error.reason)
        if dead:
            _LOG.warning(
                "the endpoint failed on %d texts in a row (%s); this worker asks it no more",
                _DEAD_AFTER,
                error.reason,
            )


def _answer(content: bytes) -> str:
    try:
        choice = json.loads(content)["choices"][0]
        text, finished = choice["message"]["content"], choice.get("finish_reason")
    except (ValueError, LookupError, TypeError, AttributeError):
        raise RepairError("the answer is not a chat completion") from None
    if finished not in (None, "stop"):
        raise RepairError("the answer was cut off")
    return usable(text)


def usable(text: object) -> str:
    """A text that may be released in place of the sanitized one.

    Raises:
      RepairError: it is no text, is empty, or cannot be written.
    """
    reason = text_problem(text)
    if reason is not None:
        raise RepairError(f"the answer cannot be used: {reason}")
    if not str(text).strip():
        raise RepairError("the answer is empty")
    return str(text).strip()


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None
