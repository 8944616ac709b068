"""A secret key and a document -> that document's random numbers.

The numbers of a document are a pure function of (secret key, configuration digest, document id,
text, position of the word), so a retried or duplicated bundle draws the same ones, and neither two
texts nor two ways of drawing words ever share any. They are the AES-256-CTR keystream under a key
derived with keyed BLAKE2b. Each word owns a fixed stretch of the keystream, found by seeking,
so neither batches nor slices of a long document matter.

The digest is of what decides how a document's words are drawn. So two releases that draw them alike
write one text, such as a release at epsilon 10 and one where the document's level has epsilon 10:
the same function of the same numbers. Who has both has one text twice and learns nothing more. Were
the list of levels in the digest, a level more would draw all documents anew, and cost them their
epsilon once more.

Mechanisms take these uint64 numbers as an argument and hold no generator: there is nothing to
seed, to pickle or to share by mistake.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

NO_TAGS = bytes(32)
"""The sum of no document tags."""

_DERIVED_KEY_BYTES = 32
_AES_BLOCK_BYTES = 16

Random = npt.NDArray[np.uint64]
"""uint64 [B, draws]: uniform, independent numbers, one row a word."""


def document_key(
    secret_key: bytes, configuration_digest: str, document_id: str, text: str
) -> bytes:
    """The key of one document under one configuration: keyed BLAKE2b, 32 bytes.

    Args:
      secret_key: 32 bytes.
      configuration_digest: of all else that determines the noise.
      document_id: the document's id.
      text: the document's text, of which a digest enters.
    """
    mac = hashlib.blake2b(key=secret_key, digest_size=_DERIVED_KEY_BYTES, person=b"dxbeam noise")
    for part in (
        configuration_digest.encode(),
        document_id.encode("utf-8", "surrogatepass"),
        hashlib.sha256(text.encode()).digest(),
    ):
        mac.update(len(part).to_bytes(8, "little"))  # no two lists of parts look alike
        mac.update(part)
    return mac.digest()


def document_tag(document_key: bytes) -> bytes:
    """32 bytes that name a document under a key and configuration, and reveal nothing of it.

    Nobody without the secret key can compute the tag.
    """
    return hashlib.blake2b(key=document_key, digest_size=32, person=b"dxbeam corpus").digest()


def add_tags(a: bytes, b: bytes) -> bytes:
    """The sum modulo 2^256: names a collection of documents, in whatever order they are added."""
    total = int.from_bytes(a, "little") + int.from_bytes(b, "little")
    return (total % (1 << 256)).to_bytes(32, "little")


def sampling_key(document_key: bytes) -> bytes:
    """The key by which a document's words are drawn, from that of its noise: BLAKE2b, 32 bytes."""
    mac = hashlib.blake2b(
        key=document_key, digest_size=_DERIVED_KEY_BYTES, person=b"dxbeam sampling"
    )
    return mac.digest()


def layout_key(secret_key: bytes) -> bytes:
    """The key by which documents are dealt into files, from the secret key: BLAKE2b, 32 bytes."""
    mac = hashlib.blake2b(key=secret_key, digest_size=_DERIVED_KEY_BYTES, person=b"dxbeam layout")
    return mac.digest()


def layout_order(layout_key: bytes, document_id: str) -> bytes:
    """16 bytes by which documents are ordered; random to whoever does not hold the layout key."""
    name = document_id.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(name, key=layout_key, digest_size=16, person=b"dxbeam order").digest()


def draws_a_word(needed: int) -> int:
    """``needed`` uint64 numbers rounded up to whole AES blocks, so that words can be sought."""
    return needed + needed % 2


def fill(document_key: bytes, first_word: int, out: Random) -> None:
    """Fills ``out`` with the random numbers of words first_word, first_word + 1, … of a document.

    Args:
      document_key: from ``document_key``; from ``sampling_key`` for the draw of a bag's words.
      first_word: position of the first word within the document.
      out: uint64 [B, draws], C order, with an even number of draws.
    """
    assert out.flags.c_contiguous
    assert out.shape[1] % 2 == 0
    first_block = first_word * out.shape[1] * 8 // _AES_BLOCK_BYTES
    counter = first_block.to_bytes(_AES_BLOCK_BYTES, "big")
    stream = Cipher(algorithms.AES(document_key), modes.CTR(counter)).encryptor()
    stream.update_into(bytes(out.nbytes), out.data.cast("B"))
    if not np.little_endian:  # pragma: no cover
        out.byteswap(inplace=True)
