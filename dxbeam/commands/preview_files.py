"""What dxbeam preview reads and where it writes: raw text, which only its owner may see."""

from __future__ import annotations

import os
from pathlib import Path
from secrets import SystemRandom

from dxbeam import storage
from dxbeam.corpus import reading
from dxbeam.corpus.files import (
    CorpusFile,
    matching_files,
    open_decompressed,
    without_compression_suffix,
)
from dxbeam.corpus.formats import FORMATS, CorpusFormat, table_kind
from dxbeam.errors import ConfigurationError, CorpusError, OutputError
from dxbeam.release.claim import is_taken
from dxbeam.release.manifest import RELEASE
from dxbeam.release.run import DEAD_LETTERS, GROUPS, METRICS

_MOST_DOCUMENTS = 2000
"""So many are read of a corpus at most."""

_OWNER_ONLY = 0o600


def read_texts(
    pattern: str, input_format: str | None, text_field: str
) -> tuple[list[str], dict[str, str]]:
    """The texts of plain text files, or of some documents of a corpus.

    Without ``input_format`` the name of the file says it, plain text by default. Returns the texts,
    and the flags of dxbeam sanitize that read them so, but for those at defaults.
    """
    files = matching_files(pattern)
    form = input_format or _by_name(files[0])
    if form is None:
        flags = {"input": pattern, "input_format": "text", "document_per": "file"}
        return [_plain_text(file.path) for file in files], flags
    flags = {"input": pattern, "input_format": form, "text_field": text_field}
    defaults = {"input_format": "jsonl", "text_field": "text"}
    flags = {name: value for name, value in flags.items() if defaults.get(name) != value}
    corpus = CorpusFormat(form, text_field)
    reading.check_readable(files, corpus)
    texts = reading.some_texts(SystemRandom().sample(files, len(files)), corpus, _MOST_DOCUMENTS)
    if not texts:
        raise CorpusError(f"`input` {pattern}: no document of it can be used")
    return texts, flags


def _by_name(file: CorpusFile) -> str | None:
    """The format of files that end so, where it has fields; None for any other file."""
    if kind := table_kind(file.path):
        return kind
    plain = without_compression_suffix(file.path).lower()
    for name, form in FORMATS.items():
        if form.HAS_FIELDS and plain.endswith(form.SUFFIXES):
            return name
    return None


def _plain_text(path: str) -> str:
    """The text of a file in UTF-8."""
    try:
        with open_decompressed(path) as file:
            text = file.read().decode("utf-8-sig")
    except OSError as error:
        raise CorpusError(f"`input` {path} cannot be read ({type(error).__name__})") from None
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise CorpusError(
            f"`input` {path} is not text: it holds bytes that are not UTF-8, or null bytes; name a "
            "text file, or say its `input_format`"
        )
    return text


def check_page_place(place: str) -> None:
    """Refuses a page where it could be handed on, or overwrites something."""
    if not storage.is_local(place):
        raise ConfigurationError(
            f"`output` {place}: the page holds the raw text, so it is written to this machine "
            "only; name a local file"
        )
    check_outside_releases(place, "the page holds the raw text")
    path = Path(storage.without_file_scheme(place))
    if path.exists():
        raise OutputError(f"`output` {place} exists already; choose another name")
    if not path.parent.is_dir():
        raise OutputError(f"`output` {place}: there is no folder {path.parent}; make it first")


def check_outside_releases(place: str, holds: str) -> None:
    """Refuses a local output within a release or what belongs to one.

    ``holds`` says why it must not be there.
    """
    if not storage.is_local(place):
        return
    for folder in Path(storage.without_file_scheme(place)).resolve().parents:
        within = str(folder)
        if any((folder / name).exists() for name in (RELEASE, METRICS, GROUPS, DEAD_LETTERS)) or (
            is_taken(within)
        ):
            raise ConfigurationError(
                f"`output` {place} is within {within}, a release or the metrics of one; {holds} "
                "and must not be handed on with it, so choose another place"
            )


def write_page(place: str, content: str) -> None:
    """Writes a new file that only its owner may read."""
    path = storage.without_file_scheme(place)
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(content)
    except OSError as error:
        raise OutputError(f"`output` {place} cannot be written ({error.strerror})") from None
