"""How words are written in public text: "Paris", "NASA", "McDonald".

Only words that are mostly written otherwise than in the vocabulary, which is in lower case, are
kept, with their commonest forms. Words that start a sentence are counted apart, as their capitals
say little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from dxbeam.space.vocabulary.words import Vocabulary

FORMS_KEPT = 4
"""Of a word."""

SCHEMA = pa.schema(
    [("word", pa.int32()), ("form", pa.string()), ("inside", pa.int64()), ("first", pa.int64())]
)

FormCounts = Mapping[str, tuple[int, int]]
"""How often each form of one word occurs inside sentences, and as their first word."""


class Casing(NamedTuple):
    """One form of one word, and how often it occurs inside sentences and as their first word."""

    form: str
    inside: int
    first: int


def kept_casings(counts: Mapping[int, FormCounts], vocabulary: Vocabulary) -> pa.Table:
    """The casings that a model keeps: those of words whose commonest form is not their own.

    ``counts`` are by id, of a vocabulary in lower case. The table has SCHEMA and is ordered by
    word, and a word's forms, at most FORMS_KEPT, by how common they are inside sentences.
    """
    rows = []
    for word in sorted(counts):
        forms = [Casing(form, *numbers) for form, numbers in counts[word].items()]
        forms.sort(key=lambda casing: (-casing.inside, -casing.first, casing.form))
        if forms[0].inside and forms[0].form != vocabulary.words[word]:
            rows += [{"word": word, **casing._asdict()} for casing in forms[:FORMS_KEPT]]
    return pa.Table.from_pylist(rows, SCHEMA)


@dataclass(frozen=True, eq=False)
class Casings:
    """The casings that a model keeps.

    Attributes:
      table: with SCHEMA, as ``kept_casings`` returns it; may be memory-mapped.
    """

    table: pa.Table

    @cached_property
    def forms(self) -> dict[str, str]:
        """How words are mostly written inside sentences, by the word in lower case."""
        by_word: dict[str, str] = {}
        for form in self.table["form"].to_pylist():
            by_word.setdefault(form.lower(), form)  # a word's commonest form comes first
        return by_word


def open_casings(path: Path) -> Casings:
    """Opens a file of casings, memory-mapped; a ValueError where it holds none."""
    with pa.memory_map(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    if table.schema != SCHEMA:
        raise ValueError("no table of casings")
    return Casings(table)


def write_casings(casings: pa.Table, path: Path) -> None:
    """Writes a table with SCHEMA."""
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as to:
        to.write_table(casings)
