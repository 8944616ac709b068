"""Whether Cloud Storage lets this process in, asked once and without long waits.

Without credentials Beam tries to find some for 20 seconds, and Google's client repeats each refused
or unanswered request for two minutes, before an error that names neither.
"""

from __future__ import annotations

import functools
import os
import urllib.error
import urllib.request

from dxbeam.errors import ConfigurationError

_CLOUD = "gs://"
_LISTING = "https://storage.googleapis.com/storage/v1/b/{}/o?maxResults=1"
_SECONDS = 5.0


def check(path: str) -> None:
    """Refuses a gs:// path where there are no credentials and its bucket is not public.

    Args:
      path: of any kind; other kinds pass.

    Raises:
      ConfigurationError: says how to get credentials.
    """
    if path.startswith(_CLOUD) and not os.environ.get("STORAGE_EMULATOR_HOST"):
        _check_bucket(path[len(_CLOUD) :].partition("/")[0])


@functools.lru_cache(maxsize=64)  # what is refused is not remembered
def _check_bucket(bucket: str) -> None:
    if _has_credentials():
        return
    try:
        with urllib.request.urlopen(_LISTING.format(bucket), timeout=_SECONDS):
            return  # it is public
    except urllib.error.HTTPError as error:
        if error.code not in (401, 403):
            return  # such as 404, which the access itself tells
        reason = "the bucket is not public"
    except (OSError, ValueError) as error:
        reason = f"Cloud Storage cannot be reached either ({type(error).__name__})"
    raise ConfigurationError(
        f"{_CLOUD}{bucket}: there are no Google credentials here, and {reason}; log in with gcloud "
        "auth application-default login, or name a key file in GOOGLE_APPLICATION_CREDENTIALS"
    )


def _has_credentials() -> bool:
    import google.auth
    from google.auth.exceptions import GoogleAuthError

    try:
        google.auth.default()
    except GoogleAuthError:
        return False
    return True
