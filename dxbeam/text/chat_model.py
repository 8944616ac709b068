"""A language model behind an OpenAI-compatible endpoint: asked, with patience, for a text."""

from __future__ import annotations

import http.client
import json
import logging
import threading
import time
import urllib.error
import urllib.request
from typing import Any

from dxbeam.documents import text_problem
from dxbeam.text.repair import Repair

_LOG = logging.getLogger(__name__)

_SECONDS_AN_ANSWER = 120
_LARGEST_ANSWER = 64 << 20
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
