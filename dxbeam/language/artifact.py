"""The language-model artifact: a directory or gs:// prefix that holds a model, and its handle.

The manifest is written last; a directory without one is not an artifact. Pipelines carry only the
``LanguageModelHandle``. Each process opens the artifact once, memory-mapped: nothing is computed
and nothing is copied, and only the first process of a host reads all of it, to check it.
"""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

import os
import tempfile
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa

from dxbeam import storage
from dxbeam.errors import ArtifactError
from dxbeam.language.artifact_manifest import CASINGS, LANGUAGE_MODEL
from dxbeam.language.casings import open_casings, write_casings
from dxbeam.language.handle import LanguageModelHandle
from dxbeam.language.kneser_ney import Smoothed
from dxbeam.language.model import TABLE_PARTS, LanguageModel, arrays
from dxbeam.language.sparse_rows import SparseRows
from dxbeam.space.artifact.kind import write_manifest
from dxbeam.space.artifact.this_host import check_file, checked_once, opened_here
from dxbeam.space.vocabulary.words import Vocabulary


def write_language_model(
    uri: str, model: LanguageModel, casings: pa.Table | None, **facts: Any
) -> LanguageModelHandle:
    """Writes an artifact to an empty prefix, the manifest last; an OutputError where one is there.

    ``casings`` are as ``kept_casings`` returns them, or None; ``facts`` are more JSON values that a
    reader of the manifest should know.
    """
    files = {}
    with tempfile.TemporaryDirectory() as scratch:
        local = Path(storage.without_file_scheme(uri) if storage.is_local(uri) else scratch)
        local.mkdir(parents=True, exist_ok=True)
        for name, array in arrays(model.numbers).items():
            np.save(local / f"{name}.npy", array)
            files[f"{name}.npy"] = local / f"{name}.npy"
        if casings is not None:
            write_casings(casings, local / CASINGS)
            files[CASINGS] = local / CASINGS
        described = {}
        for name, path in files.items():
            digest, size = storage.sha256(str(path))
            described[name] = {"bytes": size, "sha256": digest}
            if not storage.is_local(uri):
                storage.copy(str(path), storage.join(uri, name))
    content = {
        "format": LANGUAGE_MODEL.format,
        "version": LANGUAGE_MODEL.versions[-1],
        "words": model.words,
        "order": model.order,
        "vocabulary": model.vocabulary,
        **facts,
        "files": described,
    }
    return _handle(uri, write_manifest(uri, content))


def language_model_handle(uri: str) -> LanguageModelHandle:
    """The handle of the artifact at ``uri``; reads and checks the manifest only."""
    return _handle(uri, LANGUAGE_MODEL.read_manifest(LANGUAGE_MODEL.checked_uri(uri)))


def _handle(uri: str, manifest: dict[str, Any]) -> LanguageModelHandle:
    names = ("digest", "words", "order", "vocabulary")
    return LanguageModelHandle(uri, *(manifest[name] for name in names))


def knows_capitals(handle: LanguageModelHandle) -> bool:
    """Whether the model holds how words are written."""
    return CASINGS in LANGUAGE_MODEL.read_manifest(handle.uri)["files"]


def check_vocabulary(handle: LanguageModelHandle, vocabulary: str) -> None:
    """Refuses a model of another vocabulary than that of this ``content_digest``."""
    if handle.vocabulary != vocabulary:
        raise ArtifactError(
            f"`language_model` {handle.uri} was made for another vocabulary than `vocabulary`; "
            "build one for this vocabulary with dxbeam build-language-model"
        )


def open_language_model(
    place: "str | os.PathLike[str] | LanguageModelHandle", vocabulary: Vocabulary
) -> LanguageModel:
    """Opens a language model, memory-mapped.

    The first process of a host checks every file against its SHA-256; later ones do so where a file
    was touched since, or the host was started anew. A model in Cloud Storage is first copied to
    this host's temporary directory, once for all its processes.

    Args:
      place: "demo" for the one that comes with the package; else the directory or gs:// prefix that
        ``dxbeam build-language-model`` wrote, or the handle of one.
      vocabulary: the one that the model is made for.

    Raises:
      ArtifactError: missing, damaged, made for another vocabulary, or no longer the one that the
        handle was made of.
    """
    if isinstance(place, os.PathLike):
        place = os.fspath(place)
    # In a separate process, a worker gets the handle as a tuple of a class that Beam made.
    if getattr(place, "_fields", None) == LanguageModelHandle._fields:
        handle = LanguageModelHandle(*cast(LanguageModelHandle, place))
    else:
        handle = language_model_handle(cast(str, place))
    check_vocabulary(handle, vocabulary.content_digest)
    return open_for_any_vocabulary(handle)


def open_for_any_vocabulary(handle: LanguageModelHandle) -> LanguageModel:
    """Opens a language model as ``open_language_model`` does, whatever its vocabulary."""
    manifest = LANGUAGE_MODEL.read_manifest(handle.uri)
    if manifest["digest"] != handle.digest:
        raise ArtifactError(
            f"`language_model` {handle.uri}: this is not the language model that the job was "
            "started with; it was replaced in between, start the job again"
        )
    directory = files_here(handle.uri, manifest)
    return _opened(directory, manifest, handle.uri)


def files_here(uri: str, manifest: dict[str, Any]) -> Path:
    """The local directory of an artifact's files, all checked; a copy if they are elsewhere."""

    def checked(folder: Path) -> Path:
        files = [folder / name for name in manifest["files"]]
        with checked_once(manifest["digest"], files) as unchecked:
            for path in files if unchecked else ():
                check_file(path, manifest["files"][path.name], LANGUAGE_MODEL.rebuild)
        return folder

    return opened_here(LANGUAGE_MODEL.resolve(uri), manifest, checked)


def _opened(directory: Path, manifest: dict[str, Any], uri: str) -> LanguageModel:
    def mapped(name: str) -> Any:
        return np.load(directory / f"{name}.npy", mmap_mode="r", allow_pickle=False)

    def table(name: str) -> SparseRows:
        return SparseRows(*(mapped(f"{name}_{part}") for part in TABLE_PARTS))

    try:
        lower = (mapped("prior"), mapped("continuation"), mapped("backoff"), table("pair"))
        higher = (mapped("backoff2"), table("triple")) if manifest["order"] == 3 else ()
        numbers = Smoothed(*lower, *higher)
        if not _fits(numbers, manifest["words"]):
            raise ValueError("arrays of other shapes")
        casings = open_casings(directory / CASINGS) if CASINGS in manifest["files"] else None
    except (OSError, ValueError, pa.ArrowException) as error:
        raise ArtifactError(
            f"`language_model` {uri}: the files are whole but do not fit together "
            f"({type(error).__name__}); {LANGUAGE_MODEL.rebuild}"
        ) from None
    model = LanguageModel(manifest["words"], manifest["vocabulary"], numbers, casings)
    return model.opened_by(_handle(uri, manifest))


def _fits(numbers: Smoothed, words: int) -> bool:
    shapes = [
        (len(numbers.prior), words + 1),
        (len(numbers.continuation), words + 1),
        (len(numbers.backoff), words + 2),
        (numbers.pairs.rows, words + 2),
        (len(numbers.pairs.values), len(numbers.pairs)),
    ]
    if numbers.triples is not None and numbers.backoff2 is not None:
        shapes.append((numbers.triples.rows, len(numbers.pairs)))
        shapes.append((len(numbers.backoff2), len(numbers.pairs)))
    return all(shape == expected for shape, expected in shapes)
