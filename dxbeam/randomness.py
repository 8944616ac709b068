"""A secret key and a document -> that document's random numbers.

The numbers of a document are a pure function of (secret key, configuration digest, document id,
text, position of the word), so a retried or duplicated bundle draws the same ones, and two
configurations or two texts never share any. They are the AES-256-CTR keystream under a key
derived with keyed BLAKE2b. Each word owns a fixed stretch of the keystream, found by seeking,
so neither batches nor slices of a long document matter.

Mechanisms take these uint64 numbers as an argument and hold no generator: there is nothing to
seed, to pickle or to share by mistake.
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

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from dxbeam import storage
from dxbeam.errors import ConfigurationError

KEY_BYTES = 32
NO_TAGS = bytes(32)
"""The sum of no document tags."""
_AES_BLOCK_BYTES = 16
_ENVIRONMENT = "env:"
_OTHERS_MAY = 0o066  # read or write: group and everybody
_URL_SAFE = str.maketrans("-_", "+/")  # base64 has two alphabets
_LIKE_A_KEY = re.compile(
    r"(?=[^/:]*[0-9])[A-Za-z0-9+=]{16}"
    r"|(?=[^/:]*[0-9])(?=[^/:]*[a-z])(?=[^/:]*[A-Z])[A-Za-z0-9+=_-]{16}"
)
_LOG = logging.getLogger(__name__)

Random = npt.NDArray[np.uint64]
"""uint64 [B, draws]: uniform, independent numbers, one row a word."""


def draw_key() -> bytes:
    """A new secret key from the operating system."""
    return os.urandom(KEY_BYTES)


def check_key_uri(uri: str) -> None:
    """Refuses a key that was given in place of where it lies; looks at nothing but the name.

    Raises:
      ConfigurationError: ``uri`` is a key. It is not shown.
    """
    names = {uri.removeprefix(scheme) for scheme in ("", _ENVIRONMENT, "file://", "file:///", "/")}
    names |= {name + "=" * (-len(name) % 4) for name in names}
    names |= {name.translate(_URL_SAFE) for name in names}
    if any(map(_from_text, names)) and not _names_a_file(uri):
        raise ConfigurationError(
            "--key_uri was given what looks like the key itself, which must not stand on a command "
            "line: keep it in a file, and name the file; if this key was ever used, it is no "
            "secret any more"
        )


def read_key(uri: str) -> bytes:
    """The secret key that ``uri`` names.

    Args:
      uri: ``env:NAME`` for an environment variable, else a local path, file:// or gs://. The
        content is 32 raw bytes, or 64 hexadecimal digits, or base64 of 32 bytes.

    Raises:
      ConfigurationError: nothing there, or not a key. The content is never shown, nor a name that
        may be a key itself.
    """
    check_key_uri(uri)
    flag = f"--key_uri {uri}" if _may_be_shown(uri) else "--key_uri (not shown: it may be a key)"
    if uri.startswith(_ENVIRONMENT):
        value = os.environ.get(uri[len(_ENVIRONMENT) :])
        if value is None:
            raise ConfigurationError(f"{flag}: this environment variable is not set")
        content = os.fsencode(value)  # which never fails, nor quotes the key in an error
    else:
        try:
            content = storage.read(uri)
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"{flag}: cannot be read ({type(error).__name__}); name a file, a gs:// object or "
                "env:NAME, and make a key with: openssl rand -hex 32"
            ) from None
        _warn_of_readers(uri)
    key = _decode_key(content)
    if key is None:
        raise ConfigurationError(
            f"{flag}: not a key; it must hold 32 random bytes, as they are, as 64 hexadecimal "
            "digits or in base64; make one with: openssl rand -hex 32"
        )
    if len(set(key)) < 8:  # 32 random bytes have so few distinct values once in 10^47
        raise ConfigurationError(f"{flag}: this is not a random key; make another one")
    return key


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
        if mode & _OTHERS_MAY:
            _LOG.warning(
                "--key_uri %s: others on this machine may read or replace this key (mode %03o); "
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


def fingerprint(key: bytes) -> str:
    """16 hexadecimal digits that name a key and reveal nothing of it."""
    return hashlib.blake2b(key=key, digest_size=8, person=b"dxbeam print").hexdigest()


def document_key(key: bytes, configuration: str, document_id: str, text: str) -> bytes:
    """The key of one document under one configuration: keyed BLAKE2b, 32 bytes.

    Args:
      key: the secret key.
      configuration: the configuration digest.
      document_id: the document's id.
      text: the document's text, of which a digest enters.
    """
    mac = hashlib.blake2b(key=key, digest_size=KEY_BYTES, person=b"dxbeam noise")
    for part in (
        configuration.encode(),
        document_id.encode("utf-8", "surrogatepass"),
        hashlib.sha256(text.encode()).digest(),
    ):
        mac.update(len(part).to_bytes(8, "little"))  # no two lists of parts look alike
        mac.update(part)
    return mac.digest()


def document_tag(document: bytes) -> bytes:
    """32 bytes that name a document under a key and configuration, and reveal nothing of it.

    Args:
      document: from ``document_key``; nobody without the secret key can compute the tag.
    """
    return hashlib.blake2b(key=document, digest_size=32, person=b"dxbeam corpus").digest()


def add_tags(a: bytes, b: bytes) -> bytes:
    """The sum modulo 2^256: names a collection of documents, in whatever order they are added."""
    total = int.from_bytes(a, "little") + int.from_bytes(b, "little")
    return (total % (1 << 256)).to_bytes(32, "little")


def sampling_key(key: bytes) -> bytes:
    """The key by which a document's words are drawn, from the key of its noise: BLAKE2b, 32 bytes.

    Args:
      key: the document's key.
    """
    return hashlib.blake2b(key=key, digest_size=KEY_BYTES, person=b"dxbeam sampling").digest()


def layout_key(key: bytes) -> bytes:
    """The key by which documents are dealt into files, from the secret key: BLAKE2b, 32 bytes.

    Args:
      key: the secret key.
    """
    return hashlib.blake2b(key=key, digest_size=KEY_BYTES, person=b"dxbeam layout").digest()


def layout_order(key: bytes, document_id: str) -> bytes:
    """16 bytes by which documents are ordered; random to whoever does not hold the key.

    Args:
      key: from ``layout_key``.
      document_id: the document's id.
    """
    name = document_id.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(name, key=key, digest_size=16, person=b"dxbeam order").digest()


def draws_a_word(needed: int) -> int:
    """``needed`` uint64 numbers rounded up to whole AES blocks, so that words can be sought."""
    return needed + needed % 2


def fill(key: bytes, first_word: int, out: Random) -> None:
    """Fills ``out`` with the random numbers of words first_word, first_word + 1, … of a document.

    Args:
      key: the document's key.
      first_word: position of the first word within the document.
      out: uint64 [B, draws], C order, with an even number of draws.
    """
    assert out.flags.c_contiguous
    assert out.shape[1] % 2 == 0
    first_block = first_word * out.shape[1] * 8 // _AES_BLOCK_BYTES
    counter = first_block.to_bytes(_AES_BLOCK_BYTES, "big")
    stream = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
    stream.update_into(bytes(out.nbytes), out.data.cast("B"))
    if not np.little_endian:  # pragma: no cover
        out.byteswap(inplace=True)
