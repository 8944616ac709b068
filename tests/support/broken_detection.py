"""Sanitizers with one mistake each in documents of which something is replaced."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import Any

from dxbeam.documents import Document
from dxbeam.text.sanitizer import Sanitizer

_REPLACED = re.compile(r"[\w.]+@\w+\.\w+|\+\d[\d ]+\d")


class _Edits(Sanitizer):
    """Releases texts that something was done to, line by line."""

    def sanitize(self, documents: Iterable[Any]) -> Iterator[Any]:
        originals = list(documents)
        for original, result in zip(originals, super().sanitize(originals), strict=True):
            lines = zip(original.text.split("\n"), result.document.text.split("\n"), strict=True)
            pairs = list(lines)
            edited = "\n".join(self.edit(number, pairs) for number in range(len(pairs)))
            yield result._replace(document=result.document._replace(text=edited))

    def edit(self, number: int, lines: list[tuple[str, str]]) -> str:
        raise NotImplementedError


class LengthShows(_Edits):
    """A placeholder says how long what it replaces was."""

    def edit(self, number: int, lines: list[tuple[str, str]]) -> str:
        original, released = lines[number]
        return f"{released[:-1]} {len(original)}>" if released.startswith("<") else released


class WordsBesideStay(_Edits):
    """The word behind an address is released as it is."""

    def edit(self, number: int, lines: list[tuple[str, str]]) -> str:
        original, released = lines[number]
        stays = number and lines[number - 1][1] == "<EMAIL>" and original.startswith("w")
        return original if stays else released


class NothingIsReplaced(Sanitizer):
    """An address is noised word by word."""

    def __init__(self, search: Any, settings: Any, *others: Any):
        super().__init__(search, dataclasses.replace(settings, detector=None), *others)


class NoiseOfWhatIsLeft(Sanitizer):
    """The noise depends on the text with its placeholders: two texts may share it."""

    def document_key(self, document: Document) -> bytes:
        return super().document_key(document._replace(text=_REPLACED.sub("", document.text)))


class MoreNoiseForSome(Sanitizer):
    """Documents of which a certain address is replaced are released with more noise."""

    def sanitize(self, documents: Iterable[Any]) -> Iterator[Any]:
        halved = self.configuration.with_epsilon(self.configuration.mechanism.epsilon / 2)
        other = Sanitizer(self.search, halved, bytes(range(32)))
        for document in documents:
            sanitize = other.sanitize if "jane" in document.text else super().sanitize
            yield from sanitize([document])


SANITIZERS: dict[str, type[Sanitizer]] = {
    one.__name__: one
    for one in (
        LengthShows, WordsBesideStay, NothingIsReplaced, NoiseOfWhatIsLeft, MoreNoiseForSome,
    )
}  # fmt: skip
