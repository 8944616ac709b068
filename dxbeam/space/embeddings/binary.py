"""word2vec's binary files: a header line, then per word its bytes, a space and n float32."""

from __future__ import annotations

import numpy as np

from dxbeam.space.embeddings.file import LONGEST_WORD, EmbeddingFile, Entries, read_header
from dxbeam.space.vocabulary.words import LARGEST_VALUE


class BinaryReader:
    """Reads words, each with a space and n little-endian float32 after it; see ``Reader``."""

    def __init__(self, file: EmbeddingFile) -> None:
        self.n, self._words_in_header = read_header(file)
        self._file, self.words_read = file, 0
        file.unit, file.number = "word", 0
        self._buffer, self._at = b"", 0

    def read(self, count: int) -> Entries:
        """The next ``count`` words, fewer only at the end, and their vectors, float32 [B, n]."""
        file, words_in_header = self._file, self._words_in_header
        words: list[bytes] = []
        vectors: list[bytes] = []
        at_the_end = self.words_read == words_in_header
        if at_the_end and (self._buffer[self._at :] + file.content.read(2)).strip():
            file.fail(f"more bytes after it, the last of the {words_in_header} words in the header")
        last = min(self.words_read + count, words_in_header)
        for number in range(self.words_read + 1, last + 1):
            file.number = number
            space, end = self._find_entry()
            word = self._buffer[self._at : space].lstrip(b"\r\n")
            if not word or b"\n" in word:
                file.fail(f"no word where one must begin, if vectors have {self.n} values")
            words.append(word)
            vectors.append(self._buffer[space + 1 : end])
            self._at = end
        matrix = np.frombuffer(b"".join(vectors), "<f4").reshape(-1, self.n)
        usable = (np.abs(matrix) <= LARGEST_VALUE).all(axis=1)
        if not usable.all():
            number = self.words_read + 1 + int(usable.argmin())
            file.fail("a NaN, infinite or too large value", number)
        self.words_read += len(words)
        return words, matrix.astype(np.float32, copy=False)

    def _find_entry(self) -> tuple[int, int]:
        """Where in the buffer, filled as far as needed, the next word and its vector end."""
        while True:
            space = self._buffer.find(b" ", self._at)
            end = space + 1 + 4 * self.n
            if space >= 0 and end <= len(self._buffer):
                return space, end
            if space < 0 and len(self._buffer) - self._at > LONGEST_WORD:
                self._file.fail(f"a word of more than {LONGEST_WORD} bytes")
            block = self._file.content.read(self._file.block)
            if not block:
                self._file.fail(
                    "the file ends in the middle of it; the header promises "
                    f"{self._words_in_header} words"
                )
            self._buffer, self._at = self._buffer[self._at :] + block, 0
