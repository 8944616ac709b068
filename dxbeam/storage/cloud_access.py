"""Whether Cloud Storage lets this process in, asked once and without long waits.

Without credentials Beam tries to find some for 20 seconds, and Google's client repeats each refused
or unanswered request for two minutes, before an error that names neither.
"""

from __future__ import annotations

import os
import urllib.error
import urllib.request

_CLOUD = "gs://"
_LISTING = "https://storage.googleapis.com/storage/v1/b/{}/o?maxResults=1"
_SECONDS = 5.0

_let_in: set[str] = set()
"""Buckets that were asked; one that refused is asked again."""


def why_no_access(path: str) -> str | None:
    """Why a gs:// path is out of reach without credentials, and how to get some; None if it is not.

    Args:
      path: of any kind; other kinds pass.
    """
    bucket = path[len(_CLOUD) :].partition("/")[0]
    local = not path.startswith(_CLOUD) or os.environ.get("STORAGE_EMULATOR_HOST")
    if local or bucket in _let_in:
        return None
    reason = None if _has_credentials() else _why_not_as_anybody(bucket)
    if reason is None:
        _let_in.add(bucket)
        return None
    return (
        f"{_CLOUD}{bucket}: there are no Google credentials here, and {reason}; log in with gcloud "
        "auth application-default login, or name a key file in GOOGLE_APPLICATION_CREDENTIALS"
    )


def _why_not_as_anybody(bucket: str) -> str | None:
    try:
        with urllib.request.urlopen(_LISTING.format(bucket), timeout=_SECONDS):
            return None  # it is public
    except urllib.error.HTTPError as error:
        # Others, such as 404, are reported by the access itself.
        return "the bucket is not public" if error.code in (401, 403) else None
    except (OSError, ValueError) as error:
        return f"Cloud Storage cannot be reached either ({type(error).__name__})"


def _has_credentials() -> bool:
    import google.auth
    from google.auth.exceptions import GoogleAuthError

    try:
        google.auth.default()
    except GoogleAuthError:
        return False
    return True
