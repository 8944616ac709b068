"""Files of text in other encodings than UTF-8, read as if they were in UTF-8.

A file in another encoding is converted while it is read, from its start, so workers share it as
they share a compressed file. A byte that is not valid becomes a mark that is not valid UTF-8
either, so its record is rejected and no other.
"""

from __future__ import annotations

import codecs
import contextlib
import io
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from dxbeam.corpus.files import decompressed, is_compressed
from dxbeam.errors import ConfigurationError, CorpusError
from dxbeam.storage import open_read

UTF_8 = "utf-8"

_NO_ENCODINGS = frozenset(
    ("idna", "punycode", "raw-unicode-escape", "unicode-escape", "undefined", "utf-7")
)
"""What Python calls encodings and no file of text is in, or in which a byte has no one meaning."""

_INVALID = "dxbeam.invalid"
_MARK = "\udcff"  # half of a surrogate pair, which UTF-8 does not have
_BUFFER = 1 << 18


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return _MARK, error.end


codecs.register_error(_INVALID, _mark)


def check_encoding(name: str) -> None:
    """Refuses what is not the name of an encoding of text."""
    try:
        info = codecs.lookup(name)
        is_text = getattr(info, "_is_text_encoding", True) and info.name not in _NO_ENCODINGS
    except (LookupError, TypeError, ValueError):
        is_text = False
    if not is_text:
        raise ConfigurationError(
            f"`encoding` {name!r} is not known here; give one that Python knows, such as utf-8, "
            "latin-1, cp1252, utf-16 or shift_jis"
        )


def is_utf_8(encoding: str) -> bool:
    """Whether this is another name of UTF-8."""
    return codecs.lookup(encoding).name in (UTF_8, "utf-8-sig")


def starts_only(path: str, encoding: str) -> bool:
    """Whether a file can only be read from its start."""
    return is_compressed(path) or not is_utf_8(encoding)


@contextlib.contextmanager
def open_as_utf_8(path: str, encoding: str) -> Iterator[BinaryIO]:
    """The content of a file in UTF-8, decompressed; raises one of ``files.DAMAGE``."""
    with open_read(path) as raw:
        yield as_utf_8(raw, path, encoding)


def as_utf_8(raw: BinaryIO, path: str, encoding: str, *, block: int = 1 << 16) -> BinaryIO:
    """The content of an open file in UTF-8, decompressed as the suffix of its path says.

    ``block`` bytes are converted at once.
    """
    content = decompressed(raw, path)
    if is_utf_8(encoding):
        return content
    return cast(BinaryIO, io.BufferedReader(_Converted(content, encoding, block), _BUFFER))


def why_invalid(error: UnicodeDecodeError, encoding: str) -> str:
    """Why a record has no text, and what to do; never quotes it."""
    if is_utf_8(encoding):
        return f"not valid UTF-8 at byte {error.start} of the record; {what_to_do(encoding)}"
    return f"not valid in the encoding {encoding}; {what_to_do(encoding)}"


def what_to_do(encoding: str) -> str:
    """What to do about bytes that are not valid in the encoding of their file."""
    if is_utf_8(encoding):
        return (
            "if the file is in Latin-1, give `encoding` latin-1, or convert it: iconv -f LATIN1 -t "
            "UTF-8 FILE > NEW"
        )
    return (
        "give the `encoding` that the file is in, or leave out what is not valid: iconv -c -f "
        f"{encoding} -t UTF-8 FILE > NEW"
    )


class _Converted(io.RawIOBase):
    """A stream of bytes in some encoding, as UTF-8."""

    def __init__(self, content: BinaryIO, encoding: str, block: int):
        super().__init__()
        self._content, self._block = content, block
        self._decoder = codecs.getincrementaldecoder(encoding)(_INVALID)
        self._left = memoryview(b"")
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._left and not self._ended:
            block = self._content.read(self._block)
            self._ended = not block
            try:
                text = self._decoder.decode(block, final=self._ended)
            except UnicodeError:
                raise CorpusError(
                    "it does not start with a byte order mark, which says how its encoding is "
                    "ordered; give `encoding` utf-16-le or utf-16-be, or for 32 bits utf-32-le or "
                    "utf-32-be"
                ) from None
            self._left = memoryview(text.encode("utf-8", "surrogatepass"))
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size
