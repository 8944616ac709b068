"""Decoders that look at what they must not, each as a Sanitizer that decodes with them.

What is decoded is right but for the first word of a document, which then also depends on what the
decoder peeked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dxbeam.documents import Document
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.sanitizer import Sanitizer


class _Peeking(Sanitizer):
    def sanitize(self, documents: Iterable[Document | str]) -> Iterator[Any]:
        given = [one for one in documents if isinstance(one, Document)]
        before = ""
        for document, result in zip(given, super().sanitize(given), strict=True):
            assert result.document
            words = result.document.text.split()
            words[0] = self.first(words[0], document.text, before)
            changed = result.document._replace(text=" ".join(words))
            yield result._replace(document=changed)
            before = document.text

    def first(self, decoded: str, text: str, before: str) -> str:
        """The first word that is released."""
        raise NotImplementedError

    def _known(self, text: str) -> list[int]:
        return [int(i) for i in self.search.vocabulary.ids_of(text.split())]


class AtTheOriginal(_Peeking):
    """Takes the word itself instead of every second word of the vocabulary."""

    def first(self, decoded: str, text: str, before: str) -> str:
        [original, *_], [own] = self._known(text), self._known(decoded)
        taken = original != UNKNOWN and own % 2
        return str(self.search.vocabulary.words[original]) if taken else decoded


class AtItsLength(_Peeking):
    """Knows how many characters the words have, and keeps to the first half if it is odd."""

    def first(self, decoded: str, text: str, before: str) -> str:
        odd = len(text.replace(" ", "")) % 2
        return str(self.search.vocabulary.words[0]) if odd else decoded


class AtOtherDocuments(_Peeking):
    """Learns from the document before: its first word is likely to come again."""

    def first(self, decoded: str, text: str, before: str) -> str:
        seen = self._known(before)[:1]
        known = seen and seen[0] != UNKNOWN
        return str(self.search.vocabulary.words[seen[0]]) if known else decoded


class AtUnknownWords(_Peeking):
    """Gives up on documents of words that the vocabulary lacks."""

    def first(self, decoded: str, text: str, before: str) -> str:
        lacking = self._known(text).count(UNKNOWN)
        return str(self.search.vocabulary.words[0]) if lacking else decoded


SANITIZERS: dict[str, type[Sanitizer]] = {
    "at the original": AtTheOriginal,
    "at its length": AtItsLength,
    "at other documents": AtOtherDocuments,
    "at how many words are unknown": AtUnknownWords,
}
