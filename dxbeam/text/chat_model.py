"""A language model behind an OpenAI-compatible endpoint: asked, with patience, for a text."""

from __future__ import annotations

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
from typing import Any, ClassVar
from urllib.parse import urlsplit

from dxbeam.documents import text_problem
from dxbeam.errors import ConfigurationError

_LOG = logging.getLogger(__name__)

_SECONDS_AN_ANSWER = 120
_LARGEST_ANSWER = 64 << 20
_PASSING = (408, 409, 425, 429)
_CLOSED = (401, 403, 404)
_WAITS = (1.0, 2.0, 4.0, 8.0)  # seconds before a request is repeated
_DEAD_AFTER = 4
"""Texts in a row on which an endpoint failed, with all repetitions, until it is asked no more: a
minute, or eight where it never answers."""


_LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class ChatEndpoint:
    """Which model is asked, where, and what it is told to do.

    Attributes:
      model: the model's name, as its endpoint knows it.
      endpoint: the base URL, such as https://host/v1; ``/chat/completions`` is added to it.
      prompt: the system message; public, and not made from the private corpus.
      api_key_variable: the environment variable that holds the key on every worker, or None.
      flags: the flags of the model, the endpoint, the prompt and the key, as errors name them.

    Raises:
      ConfigurationError: an endpoint that is no plain http(s) URL or would send a key in the clear,
        or an invalid name.
    """

    flags: ClassVar[tuple[str, str, str, str]]

    model: str
    endpoint: str
    prompt: str = ""
    api_key_variable: str | None = None

    def __post_init__(self) -> None:
        model, endpoint, prompt, key = self.flags
        if not self.model.strip() or not self.prompt.strip():
            raise ConfigurationError(f"`{model}` and the text of `{prompt}`: not empty")
        try:
            url = urlsplit(self.endpoint)
            hidden = url.username or url.password or url.query or url.fragment or url.port == 0
        except ValueError:
            hidden = True
        if hidden or url.scheme not in ("http", "https") or not url.hostname:
            raise ConfigurationError(  # not quoted, as there may be a password in it
                f"`{endpoint}` is a URL such as https://host/v1, without user, password or "
                f"query; a key goes into an environment variable, see `{key}`"
            )
        if self.api_key_variable is not None:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.api_key_variable):
                raise ConfigurationError(  # not quoted, as it may be the key itself
                    f"`{key}` is the name of an environment variable that holds the key, never the "
                    "key"
                )
            if url.scheme == "http" and url.hostname not in _LOCAL:
                raise ConfigurationError(
                    f"`{endpoint}`: a key is sent only over https, or to this machine"
                )

    @property
    def host(self) -> str:
        """The endpoint's host and port, which may be published."""
        return urlsplit(self.endpoint).netloc

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
                f"`{self.flags[3]}` {self.api_key_variable}: this environment variable is not "
                "set, or what it holds is no key"
            )
        return key


class ChatError(Exception):
    """The model gave no answer that can be used; says why, and holds no text.

    Attributes:
      passing: whether trying again may help.
      endpoint: whether the endpoint failed, whatever the text was.
    """

    def __init__(self, reason: str, passing: bool = False, endpoint: bool = False):  # it is pickled
        super().__init__(reason, passing, endpoint)
        self.reason = reason
        self.passing = passing
        self.endpoint = endpoint or passing

    def __str__(self) -> str:
        return self.reason


class ChatModel:
    """A model that answers chat completions.

    Args:
      settings: which one. The key is read from the environment here and shown nowhere.
      seconds: that an answer is waited for.
    """

    def __init__(self, settings: ChatEndpoint, *, seconds: float = _SECONDS_AN_ANSWER):
        self._settings, self._seconds = settings, seconds
        self._key = settings.api_key()
        # A redirection would carry text, and the key, to a place that nobody named.
        self._opener = urllib.request.build_opener(_NoRedirection)

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a ChatModel holds a key and is not pickled; make it where it runs")

    def answer(self, text: str) -> str:
        """The model's answer to a text.

        Raises:
          ChatError: no answer, or none that can be used.
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
            with self._opener.open(request, timeout=self._seconds) as response:
                content = response.read(_LARGEST_ANSWER)
        except urllib.error.HTTPError as error:
            passing = error.code in _PASSING or error.code >= 500
            raise ChatError(
                f"the endpoint answered HTTP {error.code}",
                passing=passing,
                endpoint=error.code in _CLOSED,
            ) from None
        except (OSError, http.client.HTTPException) as error:
            cause = error.reason if isinstance(error, urllib.error.URLError) else error
            slow = isinstance(cause, TimeoutError)  # it was waited for long enough
            raise ChatError(
                f"no answer ({type(cause).__name__})", passing=not slow, endpoint=True
            ) from None
        return _answer(content)


class PatientModel:
    """A chat model that is asked again where that may help, and no more where it seems dead."""

    def __init__(self, settings: ChatEndpoint, *, seconds: float = _SECONDS_AN_ANSWER):
        self._model = ChatModel(settings, seconds=seconds)
        self._failed_in_a_row, self._warned = 0, False
        self._counting = threading.Lock()

    def answer(self, text: str) -> str:
        """The model's answer to a text.

        Raises:
          ChatError: no answer, or none that can be used; or the endpoint is asked no more.
        """
        for wait in (*_WAITS, None):
            if self._failed_in_a_row >= _DEAD_AFTER:
                raise ChatError(
                    f"the endpoint had failed on {_DEAD_AFTER} texts in a row and was asked no more"
                )
            try:
                answered = self._model.answer(text)
            except ChatError as error:
                if not error.passing or wait is None:
                    self._failed(error)
                    raise
            else:
                self._failed_in_a_row = 0
                return answered
            time.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    def _failed(self, error: ChatError) -> None:
        with self._counting:
            first, self._warned = not self._warned, True
            self._failed_in_a_row = self._failed_in_a_row + 1 if error.endpoint else 0
            dead = self._failed_in_a_row == _DEAD_AFTER
        if first:
            _LOG.warning("a text got no answer, the first for this worker: %s", error.reason)
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
        raise ChatError("the answer is not a chat completion") from None
    if finished not in (None, "stop"):
        raise ChatError("the answer was cut off")
    return usable(text)


def usable(text: object) -> str:
    """A text that may be released in place of the sanitized one; a ChatError for any other."""
    reason = text_problem(text)
    if reason is not None:
        raise ChatError(f"the answer cannot be used: {reason}")
    if not str(text).strip():
        raise ChatError("the answer is empty")
    return str(text).strip()


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None
