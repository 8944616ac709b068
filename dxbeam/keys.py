"""The secret key: drawn here or read from where it is kept; shown nowhere.

A key is 32 random bytes. It is kept in a file, a gs:// object or an environment variable, and named
by a URI; a key in place of its name is refused, since command lines are seen by others.
"""

from __future__ import annotations

import base64
import binascii
import functools
import hashlib
import logging
import os
import re
from pathlib import Path

from dxbeam import storage
from dxbeam.errors import ConfigurationError, described

KEY_BYTES = 32
_ENVIRONMENT = "env:"
_READ_OR_WRITE_BY_OTHERS = 0o066  # group and everybody
_URL_SAFE = str.maketrans("-_", "+/")  # base64 has two alphabets
_LIKE_A_KEY = re.compile(
    r"(?=[^/:]*[0-9])[A-Za-z0-9+=]{16}"
    r"|(?=[^/:]*[0-9])(?=[^/:]*[a-z])(?=[^/:]*[A-Z])[A-Za-z0-9+=_-]{16}"
)
_LOG = logging.getLogger(__name__)


def draw_key() -> bytes:
    """A new secret key, 32 bytes from the operating system."""
    return os.urandom(KEY_BYTES)


def given_or_new_key(secret_key: bytes | None) -> bytes:
    """The secret key of 32 bytes that a caller gave, or a new one; an error never shows it."""
    if secret_key is None:
        return draw_key()
    if not isinstance(secret_key, bytes):
        raise ConfigurationError(
            f"secret_key is {KEY_BYTES} bytes, such as secrets.token_bytes({KEY_BYTES}), and this "
            f"is {described(secret_key)}; leave it out for a new one, and give settings such as "
            "rank resampling in a Configuration"
        )
    if len(secret_key) != KEY_BYTES:
        raise ConfigurationError(
            f"a secret key is {KEY_BYTES} bytes from a cryptographic source, such as "
            f"secrets.token_bytes({KEY_BYTES}); leave it out for a new one"
        )
    return secret_key


def check_key_uri(key_uri: str) -> None:
    """Refuses a key that was given in place of where it is; looks at nothing but the name."""
    names = {
        key_uri.removeprefix(scheme) for scheme in ("", _ENVIRONMENT, "file://", "file:///", "/")
    }
    names |= {name + "=" * (-len(name) % 4) for name in names}
    names |= {name.translate(_URL_SAFE) for name in names}
    if any(map(_from_text, names)) and not _names_a_file(key_uri):
        raise ConfigurationError(
            "`key_uri` was given what looks like the key itself, which others can see in command "
            "lines and code: keep it in a file, and name the file; if this key was ever used, it "
            "is no secret any more"
        )


def read_key(key_uri: str) -> bytes:
    """The secret key that ``key_uri`` names.

    Args:
      key_uri: ``env:NAME`` for an environment variable, else a local path, file:// or gs://. The
        content is 32 raw bytes, or 64 hexadecimal digits, or base64 of 32 bytes.

    Raises:
      ConfigurationError: nothing there, or not a key. The content is never shown, nor a name that
        may be a key itself.
    """
    check_key_uri(key_uri)
    named = (
        f"`key_uri` {key_uri}"
        if _may_be_shown(key_uri)
        else "`key_uri` (not shown: it may be a key)"
    )
    if key_uri.startswith(_ENVIRONMENT):
        value = os.environ.get(key_uri[len(_ENVIRONMENT) :])
        if value is None:
            raise ConfigurationError(f"{named}: this environment variable is not set")
        content = os.fsencode(value)  # which never fails, nor quotes the key in an error
    else:
        try:
            content = storage.read(key_uri)
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"{named}: cannot be read ({type(error).__name__}); name a file, a gs:// object or "
                "env:NAME, and make a key with: openssl rand -hex 32"
            ) from None
        _warn_of_readers(key_uri)
    secret_key = _decode_key(content)
    if secret_key is None:
        raise ConfigurationError(
            f"{named}: not a key; it must hold 32 random bytes, as they are, as 64 hexadecimal "
            "digits or in base64; make one with: openssl rand -hex 32"
        )
    if len(set(secret_key)) < 8:  # 32 random bytes have so few distinct values once in 10^47
        raise ConfigurationError(f"{named}: this is not a random key; make another one")
    return secret_key


def _names_a_file(uri: str) -> bool:
    try:
        return storage.is_local(uri) and storage.exists(uri)
    except (OSError, ValueError):  # too long for a path, or with a null byte
        return False


def _may_be_shown(uri: str) -> bool:
    """Whether this is clearly the name of a place, and not a key, mistyped or cut short."""
    if _LIKE_A_KEY.search(uri):
        return False
    if uri.startswith(_ENVIRONMENT):
        return uri[len(_ENVIRONMENT) :].isidentifier()
    if not storage.is_local(uri):
        return True
    path = storage.without_file_scheme(uri)
    return _names_a_file(path) or (path.startswith("/") and Path(path).parent.is_dir())


@functools.cache  # a process reads its key several times
def _warn_of_readers(uri: str) -> None:
    """Warns of a key file that others may read.

    It is not refused: containers mount secrets readable for all, and no other user is in there.
    """
    if storage.is_local(uri):
        mode = Path(storage.without_file_scheme(uri)).stat().st_mode & 0o777
        if mode & _READ_OR_WRITE_BY_OTHERS:
            _LOG.warning(
                "the key file %s: others on this machine may read or replace this key (mode %03o); "
                "chmod 600 keeps it yours",
                uri,
                mode,
            )


def _decode_key(content: bytes) -> bytes | None:
    if len(content) == KEY_BYTES:
        # A random key is printable once in 10^13; a passphrase always is, and is no key.
        return None if content.isascii() and content.decode().isprintable() else content
    return _from_text(content.decode("ascii", "replace"))


def _from_text(text: str) -> bytes | None:
    """The key in hexadecimal digits or base64, or None."""
    decoders = (binascii.unhexlify, lambda text: base64.b64decode(text, validate=True))
    for decode in decoders:
        try:
            key = decode(text.strip())
        except (binascii.Error, ValueError):
            continue
        if len(key) == KEY_BYTES:
            return key
    return None


def fingerprint(secret_key: bytes) -> str:
    """16 hexadecimal digits that name a key and reveal nothing of it."""
    return hashlib.blake2b(key=secret_key, digest_size=8, person=b"dxbeam print").hexdigest()
