"""Which text a language model was made of, so that one of the private corpus can be refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dxbeam import storage
from dxbeam.errors import ConfigurationError


def described_files(files: Iterable[tuple[str, str, int]]) -> list[dict[str, Any]]:
    """What a manifest says of the files that a model was made of: path, name, bytes of each."""
    return [
        {"name": name, "bytes": size, "sha256": storage.sha256(path)[0]}
        for path, name, size in files
    ]


def refuse_the_corpus(manifest: Mapping[str, Any], files: Iterable[tuple[str, str, int]]) -> None:
    """Refuses a language model that was made of a file of the corpus that is to be released.

    Only files of the same size are read. The same texts in another file are not recognised: that
    the model is public is for its user to know. ``files`` are path, name and size in bytes of each.
    """
    source = manifest.get("source")
    known = source.get("files", []) if isinstance(source, dict) else []
    made_of = {(facts["bytes"], facts["sha256"]) for facts in known}
    sizes = {size for size, _ in made_of}
    for path, _, size in files:
        if size and size in sizes and (size, storage.sha256(path)[0]) in made_of:
            raise ConfigurationError(
                f"`language_model` was made of {path}, a file of the corpus itself, which voids "
                "the guarantee; use a model of public text"
            )
