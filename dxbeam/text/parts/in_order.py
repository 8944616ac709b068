"""Documents, sanitized in their order, each with the epsilon of its level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from dxbeam.documents import Document, document_problem, printable_id
from dxbeam.text.batch import Batch, Sanitized, rejected
from dxbeam.text.parts.batch_sizes import SIZES, BatchSizes
from dxbeam.text.parts.draft import ReleasesWords


class HasLevels(ReleasesWords, Protocol):
    """A ``Sanitizer``, which has one for each epsilon."""

    def at_level(self, level: str) -> ReleasesWords | None: ...  # noqa: D102


def sanitize_in_order(
    sanitizer: HasLevels, documents: Iterable[Document], sizes: BatchSizes = SIZES
) -> Iterator[Sanitized]:
    """Sanitizes documents; of one that cannot be used, the result is why."""
    levels = sanitizer.configuration.epsilon_by
    batch = Batch(sanitizer, sizes)
    for document in documents:
        reason = document_problem(document)
        by_level = sanitizer.at_level(document.level) if reason is None else None
        if by_level is None:
            yield from batch.finish()
            yield rejected(printable_id(document.id), reason or (levels.problem if levels else ""))
            continue
        if not batch.is_of(by_level):
            yield from batch.finish()
            batch = Batch(by_level, sizes)
        batch.add(document)
        yield from batch.take()
    yield from batch.finish()
