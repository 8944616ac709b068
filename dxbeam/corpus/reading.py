"""Corpus files -> documents and rejected records, a split at a time, whatever the format.

A document without an id is named by the number of its record in its file, never by a place in
bytes, whose differences would be the lengths of texts. So the splits of a file are counted first:
``count_records`` of each, then ``number_splits`` of all. Counting reads every file to its end, so
that one that is cut off or damaged is known before anything is sanitized; it is left out whole, as
any part of it would depend on how it is divided.

Whatever is wrong with a record comes out as ``Rejected``, which says where and why and never quotes
the record.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from dxbeam import storage
from dxbeam.corpus.files import CorpusFile, damage_as_corpus_error, without_compression_suffix
from dxbeam.corpus.formats import FORMATS, TABLES, CorpusFormat, table_kind
from dxbeam.corpus.splits import Split
from dxbeam.documents import REPEATED_ID, Document, Rejected, UnreadableFile, document_problem
from dxbeam.errors import CorpusError, RunError

_FILES_NAMED = 5  # of those that cannot be read, in a sentence


def check_readable(
    files: Sequence[CorpusFile], corpus: CorpusFormat, *, allow_unreadable: bool = False
) -> None:
    """Looks, before work starts, at names, at whether local files open, and at the first records.

    CorpusError: a file cannot be opened, unless it may be, or is of another format, or none of the
    first records of the first file has a field that is named.
    """
    readable = []
    for file in files:
        if (reason := _why_not_read_so(file.path, corpus)) is not None:
            raise CorpusError(f"{file.path}: {reason}")
        if storage.is_local(file.path):
            try:
                storage.open_read(file.path).close()
            except OSError as error:
                if allow_unreadable:
                    continue
                raise CorpusError(
                    f"{file.path} cannot be read ({error.strerror}); fix it or leave it out"
                ) from None
        readable.append(file)
    with_content = [file for file in readable if file.size]
    corpus.format.check_first_records(with_content, corpus, allow_unreadable)


def _why_not_read_so(path: str, corpus: CorpusFormat) -> str | None:
    """What of a name says that it is not of the format that it is to be read as."""
    if table_kind(path) != (corpus.name if corpus.name in TABLES else None):
        kind = table_kind(path)
        what = f"a table: use `input_format` {kind}" if kind else "no table: use another"
        return f"`input_format` is {corpus.name}, and this is {what}"
    if corpus.format.HAS_FIELDS:
        return None
    plain = without_compression_suffix(path).lower()
    for name, form in FORMATS.items():
        suffix = next((end for end in form.SUFFIXES if plain.endswith(end)), None)
        if form.HAS_FIELDS and suffix is not None:
            return (
                f"`input_format` {corpus.name} would sanitize a {suffix} file whole and not only "
                f"the texts in it; use `input_format` {name}, or rename the file if it is plain "
                "text"
            )
    return None


def splits(file: CorpusFile, corpus: CorpusFormat) -> Iterator[Split]:
    """Divides a file among workers; only the first split knows the number of its first record."""
    if (reason := _why_not_read_so(file.path, corpus)) is not None:
        raise CorpusError(reason)
    every_split = list(corpus.format.splits(file, corpus))
    for number, split in enumerate(every_split):
        before, behind = (file.size * n // len(every_split) for n in (number, number + 1))
        yield split._replace(size=behind - before)


def count_records(split: Split, corpus: CorpusFormat) -> int:
    """Reads a split to its end, and counts the records that start in it.

    0 for splits whose records are numbered without: shares of a compressed file, which are all read
    from its start, and a file that is one document.
    """
    with damage_as_corpus_error():
        return corpus.format.count_records(split, corpus)


def ids(split: Split, corpus: CorpusFormat) -> Iterator[str]:
    """The ids of the records of a split, of those too whose text cannot be used.

    So what becomes of other records with the same id says nothing of that text. A record that
    is no JSON object, or too long to be read, has no id. Lines of plain text are left out, as their
    ids never repeat.
    """
    with damage_as_corpus_error():
        yield from corpus.format.ids(split, corpus)


def read(
    split: Split, corpus: CorpusFormat, repeated: Container[str] = ()
) -> Iterator[Document | Rejected]:
    """The documents of a split, and the records that cannot be used.

    All records are rejected whose id is ``repeated``: a rule that kept the first would depend on
    how the corpus is divided, and one that looked at the texts would tell whether they are equal.
    CorpusError: the split cannot be read to its end.
    """
    with damage_as_corpus_error():
        for where, result in corpus.format.records(split, corpus):
            if isinstance(result, Document) and result.id in repeated:
                yield Rejected(where, REPEATED_ID)
            else:
                yield result


def some_texts(files: Iterable[CorpusFile], corpus: CorpusFormat, most: int) -> list[str]:
    """The texts of the first documents of some files that can be used."""
    records = (
        record for file in files for split in splits(file, corpus) for record in read(split, corpus)
    )
    usable = (
        record.text
        for record in records
        if isinstance(record, Document) and document_problem(record) is None
    )
    return list(itertools.islice(usable, most))


def kept_schema(pattern: str, corpus: CorpusFormat) -> pa.Schema:
    """The kept fields and their types, as far as the files of a corpus say them, else strings."""
    types = corpus.format.kept_types(pattern, corpus)
    return pa.schema([(name, types.get(name, pa.string())) for name in corpus.keep_fields])


def refuse_unreadable(files: Sequence[UnreadableFile]) -> None:
    """Fails the run if files could not be read."""
    if files:
        raise RunError(
            f"{name_unreadable(files)}; nothing is released: fix or remove what is wrong, or add "
            "`allow_unreadable_files` to release the rest"
        )


def describe_left_out(files: Iterable[Mapping[str, str]]) -> str:
    """The end of a sentence on a release: the files of ``release.json`` that are not in it."""
    unreadable = [UnreadableFile(**file) for file in files]
    return f"; {name_unreadable(unreadable)} and are left out" if unreadable else ""


def name_unreadable(files: Sequence[UnreadableFile]) -> str:
    """How many files could not be read, and which and why, a few of them."""
    named = [f"{file}: {reason}" for file, reason in sorted(files)[:_FILES_NAMED]]
    more = [f"{len(files) - _FILES_NAMED:,} more"] if len(files) > _FILES_NAMED else []
    many = "1 file" if len(files) == 1 else f"{len(files):,} files"
    return f"{many} could not be read ({'; '.join([*named, *more])})"
