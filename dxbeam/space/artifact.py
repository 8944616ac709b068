"""The vocabulary artifact: a directory or gs:// prefix that holds a vocabulary, and its handle.

    manifest.json        format, version, shape, casing, source; bytes and SHA-256 of each file
    words.parquet        column ``word``, in order of id
    vectors.npy          float32 (or float16) [N, n], C order, memory-mapped when opened
    unknown_vector.npy   float32 [n]
    close_radius.npy     float64 [N]; these two only where a neighbour table was asked for
    neighbors.npy        int32 [N, K]
    index.faiss          only where a FAISS factory string asked for one

The manifest is written last; a directory without one is not an artifact. Pipelines carry only the
``VocabularyHandle``; each process opens the artifact once and shares the memory-mapped pages.
"""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

import hashlib
import importlib.resources
import json
import os
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from dxbeam import storage
from dxbeam.errors import ArtifactError, DxbeamError
from dxbeam.space.vocabulary import UNWRITABLE, Vocabulary

FORMAT = "dxbeam-vocabulary"
VERSION = 1
DEMO = "demo"
"""The URI of the small vocabulary that comes with the package."""

MANIFEST, WORDS, VECTORS = "manifest.json", "words.parquet", "vectors.npy"
UNKNOWN_VECTOR, CLOSE_RADIUS = "unknown_vector.npy", "close_radius.npy"
NEIGHBORS, INDEX = "neighbors.npy", "index.faiss"
PIECES = "table-pieces"
"""Folder of the neighbour table's pieces while it is built."""

_EXACT = {"exact": True}
_REQUIRED = (WORDS, VECTORS, UNKNOWN_VECTOR)
_TABLE = (CLOSE_RADIUS, NEIGHBORS)


class VocabularyHandle(NamedTuple):
    """All that a pipeline carries of a vocabulary.

    Attributes:
      uri: where the artifact lies, as every worker sees it; DEMO for the packaged one.
      digest: SHA-256 of the manifest's content, which holds that of every file.
      words: N.
      dimensions: n.
      search: how nearest words are found, as ``release.json`` says it: "exact", whichever backend
        does it, or "approximate: " and the index's factory string and parameters.
    """

    uri: str
    digest: str
    words: int
    dimensions: int
    search: str = "exact"


class WordsAndVectors(NamedTuple):
    """What ``write_words_and_vectors`` has written: N, n, and the SHA-256 of vectors.npy."""

    words: int
    dimensions: int
    digest: str


def write_words_and_vectors(
    chunks: Iterable[tuple[list[str], npt.NDArray[np.float32]]],
    directory: Path,
    dtype: type[np.floating[Any]] = np.float32,
) -> WordsAndVectors:
    """Writes the words, the vectors and the unknown word's vector, one chunk at a time.

    Args:
      chunks: words and their float32 [B, n] vectors.
      directory: a local directory.
      dtype: np.float32, or np.float16 for a vocabulary half the size.

    Raises:
      ArtifactError: there is no chunk.
    """
    directory.mkdir(parents=True, exist_ok=True)
    rows, total = 0, np.zeros(0)
    schema = pa.schema([("word", pa.string())])
    with (
        (directory / VECTORS).open("wb") as vectors,
        pq.ParquetWriter(directory / WORDS, schema) as words,
    ):
        for chunk_words, chunk in chunks:
            stored = chunk.astype(dtype)
            if not rows:
                total = np.zeros(chunk.shape[1])
                write_header(vectors, stored.dtype, (0, len(total)))
            words.write_table(pa.table([chunk_words], schema=schema))
            vectors.write(stored.tobytes())
            total += stored.sum(axis=0, dtype=np.float64)
            rows += len(chunk)
        if not rows:
            raise ArtifactError(f"{directory}: there are no words to write")
        vectors.seek(0)  # numpy leaves room in the header for any number of rows
        write_header(vectors, stored.dtype, (rows, len(total)))
    np.save(directory / UNKNOWN_VECTOR, (total / rows).astype(np.float32))
    return WordsAndVectors(rows, len(total), storage.sha256(str(directory / VECTORS))[0])


def write_header(file: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Writes the header of a .npy file, of the same size for any number of rows."""
    header = {"descr": dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


def write_manifest(
    uri: str,
    shape: WordsAndVectors,
    lowercase: bool,
    source: dict[str, Any],
    table: bool = True,
    **facts: Any,
) -> VocabularyHandle:
    """Completes an artifact whose other files are in place.

    Args:
      uri: the artifact's directory or prefix.
      shape: N and n.
      lowercase: whether the words are lower-case.
      source: the embedding file's name and digest.
      table: whether it has a neighbour table and close radii.
      **facts: more that a reader of the manifest should know; JSON values.

    Raises:
      OutputError: another manifest is there.
    """
    names = [*_REQUIRED, *(_TABLE if table else ())]
    names += [INDEX] if storage.exists(storage.join(uri, INDEX)) else []
    files = {}
    for name in names:
        digest, size = storage.sha256(storage.join(uri, name))
        files[name] = {"bytes": size, "sha256": digest}
    content = {
        "format": FORMAT,
        "version": VERSION,
        "words": shape.words,
        "dimensions": shape.dimensions,
        "lowercase": lowercase,
        "source": source,
        **facts,
        "files": files,
    }
    manifest = {**content, "digest": _digest(content)}
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    storage.create_once(storage.join(uri, MANIFEST), text.encode())
    return VocabularyHandle(uri, manifest["digest"], shape.words, shape.dimensions)


def _digest(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def abandon(uri: str) -> None:
    """Deletes the files of an artifact that was not completed, at a prefix that was empty."""
    for name in (*_REQUIRED, *_TABLE, INDEX, PIECES):
        storage.delete(storage.join(uri, name))


def resolve(uri: str) -> str:
    """Where the artifact lies: the package's own for DEMO, else ``uri`` itself."""
    if uri == DEMO:
        return str(importlib.resources.files("dxbeam") / "demo" / "vocabulary")
    return storage.without_file_scheme(uri)


def read_manifest(uri: str) -> dict[str, Any]:
    """The manifest, checked against its own digest, and field by field.

    Raises:
      ArtifactError: no artifact there, a damaged manifest, or one of a newer format; or it does not
        say what it must, or names files that are none of an artifact's.
    """
    path = storage.join(resolve(uri), MANIFEST)
    rebuild = "build it with dxbeam build-vocabulary"
    try:
        manifest = json.loads(storage.read(path))
    except OSError as error:
        raise ArtifactError(
            f"`vocabulary` {uri}: no vocabulary here ({MANIFEST} cannot be read: "
            f"{type(error).__name__}); {rebuild}"
        ) from None
    except (ValueError, RecursionError):
        raise ArtifactError(f"{path} is damaged (not JSON); {rebuild}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ArtifactError(f"{path} does not describe a dxbeam vocabulary; {rebuild}")
    if manifest.get("version") != VERSION:
        raise ArtifactError(
            f"{path} has format version {manifest.get('version')}, and this dxbeam reads version "
            f"{VERSION}; install the dxbeam that wrote it, or {rebuild}"
        )
    digest = manifest.pop("digest", None)
    if digest != _digest(manifest):
        raise ArtifactError(f"{path} is damaged (its digest does not match); {rebuild}")
    wrong = _wrong_field(manifest)
    if wrong:
        raise ArtifactError(f"{path} is not what dxbeam writes ({wrong}); {rebuild}")
    return {**manifest, "digest": digest}


def _wrong_field(manifest: dict[str, Any]) -> str:
    """What is wrong with the fields that readers rely on; "" where nothing is."""
    for name in ("words", "dimensions"):
        if type(manifest.get(name)) is not int or manifest[name] < 1:
            return f"{name!r} is no positive number"
    if type(manifest.get("lowercase")) is not bool:
        return "'lowercase' is neither true nor false"
    index = manifest.get("index", _EXACT)
    if not isinstance(index, dict) or type(index.get("exact")) is not bool:
        return "'index' does not say whether it is exact"
    needed = {*_REQUIRED, *_TABLE, *(() if index["exact"] else (INDEX,))}
    if not index["exact"] and not isinstance(index.get("factory"), str):
        return "'index' names no factory"
    files = manifest.get("files")
    if not isinstance(files, dict) or set(files) not in (needed, needed - {*_TABLE}):
        return "'files' must name " + ", ".join(sorted(needed)) + ", and nothing else"
    for name, facts in files.items():
        if not (
            isinstance(facts, dict)
            and type(facts.get("bytes")) is int
            and isinstance(facts.get("sha256"), str)
        ):
            return f"'files' lacks the size or the SHA-256 of {name}"
    return ""


def handle(uri: str) -> VocabularyHandle:
    """The handle of the artifact at ``uri``; reads and checks the manifest only.

    Raises:
      ArtifactError: as ``read_manifest``, or this is no text.
    """
    if not isinstance(uri, str):
        raise ArtifactError(
            "a vocabulary is named by the text of its URI, or 'demo', and this is a "
            f"{type(uri).__name__}"
        )
    manifest = read_manifest(uri)
    index, search = manifest.get("index", _EXACT), "exact"
    if not index["exact"]:
        search = f"approximate: {index['factory']} {index.get('parameters', '')}".rstrip()
    return VocabularyHandle(
        uri, manifest["digest"], manifest["words"], manifest["dimensions"], search
    )


def open_vocabulary(vocabulary: str | os.PathLike[str] | VocabularyHandle) -> Vocabulary:
    """Opens a vocabulary: every file checked against its SHA-256, arrays memory-mapped.

    A vocabulary in Cloud Storage is first copied to this host's temporary directory, once for all
    its processes.

    Args:
      vocabulary: "demo" for the one that comes with the package; else the directory or gs:// prefix
        that ``build_vocabulary`` wrote, or the handle of one.

    Raises:
      ArtifactError: missing, damaged, or no longer the one that the handle was made of.
    """
    if isinstance(vocabulary, os.PathLike):
        vocabulary = os.fspath(vocabulary)
    # In a process of its own, a worker gets the handle as a tuple of a class that Beam made.
    if getattr(vocabulary, "_fields", None) == VocabularyHandle._fields:
        return _open(VocabularyHandle(*cast(VocabularyHandle, vocabulary)))
    return _open(handle(cast(str, vocabulary)))


def _open(handle: VocabularyHandle) -> Vocabulary:
    manifest = read_manifest(handle.uri)
    if manifest["digest"] != handle.digest:
        raise ArtifactError(
            f"`vocabulary` {handle.uri}: this is not the vocabulary that the job was started "
            "with; it was replaced in between, start the job again"
        )
    directory = resolve(handle.uri)
    if not storage.is_local(directory):
        directory = _checked_copy(directory, manifest)
    else:
        _check_files(directory, manifest["files"])
    try:
        vocabulary = _load(Path(directory), manifest)
    except (OSError, ValueError, KeyError, RuntimeError, pa.ArrowException, DxbeamError) as error:
        raise ArtifactError(
            f"`vocabulary` {handle.uri}: the files are whole but do not fit together "
            f"({type(error).__name__}); build it again with dxbeam build-vocabulary"
        ) from None
    if any(map(UNWRITABLE.search, vocabulary.words)):
        raise ArtifactError(
            f"`vocabulary` {handle.uri}: a word is empty or holds a null byte or the end of a "
            "line, so a release would not be a text; build it again with dxbeam build-vocabulary"
        )
    return vocabulary


def open_draft(uri: str, digest: str) -> Vocabulary:
    """Words and vectors of an artifact that is still being built; the words are left blank."""
    directory = storage.without_file_scheme(uri)
    if not storage.is_local(directory):
        directory = _copy_to_host(directory, digest, [VECTORS])
    vectors = np.load(Path(directory) / VECTORS, mmap_mode="r", allow_pickle=False)
    if vectors.dtype != np.float32:
        vectors = vectors.astype(np.float32)
    return Vocabulary(range(len(vectors)), vectors, unknown_vector=vectors[0])  # type: ignore[arg-type]


def _load(directory: Path, manifest: dict[str, Any]) -> Vocabulary:
    vectors = np.load(directory / VECTORS, mmap_mode="r", allow_pickle=False)
    if vectors.dtype != np.float32:
        vectors = vectors.astype(np.float32)
    words = pq.read_table(directory / WORDS, memory_map=True)["word"].to_pylist()
    if vectors.shape != (manifest["words"], manifest["dimensions"]):
        raise ValueError("the vectors' shape is not the manifest's")
    neighbors, close_radius = None, None
    if NEIGHBORS in manifest["files"]:
        neighbors, close_radius = _load_table(directory, len(vectors))
    index = None
    if INDEX in manifest["files"]:
        import faiss  # a tenth of a second that exact vocabularies do not need

        index = faiss.read_index(str(directory / INDEX), faiss.IO_FLAG_MMAP_IFC)
    return Vocabulary(
        words=words,
        vectors=vectors,
        lowercase=manifest["lowercase"],
        unknown_vector=np.load(directory / UNKNOWN_VECTOR, allow_pickle=False),
        neighbor_ids=neighbors,
        close_radius=close_radius,
        index=index,
        digest=manifest["digest"],
    )


def _load_table(directory: Path, words: int) -> tuple[Any, Any]:
    neighbors = np.load(directory / NEIGHBORS, mmap_mode="r", allow_pickle=False)
    close_radius = np.load(directory / CLOSE_RADIUS, mmap_mode="r", allow_pickle=False)
    if neighbors.ndim != 2 or len(neighbors) != words or len(close_radius) != words:
        raise ValueError("the neighbour table or the close radii do not have one row per word")
    if neighbors.size and not (neighbors.min() >= 0 and neighbors.max() < words):
        raise ValueError("the neighbour table names words that are not there")
    return neighbors, close_radius


def _check_files(directory: str, files: dict[str, Any]) -> None:
    for name, expected in files.items():
        _check_file(Path(directory) / name, expected)


def _check_file(path: Path, expected: dict[str, Any]) -> None:
    rebuild = "build the vocabulary again with dxbeam build-vocabulary"
    try:
        digest, size = storage.sha256(str(path))
    except OSError as error:
        raise ArtifactError(f"{path} cannot be read ({type(error).__name__}); {rebuild}") from None
    if size != expected["bytes"]:
        raise ArtifactError(
            f"{path} has {size:,} bytes where the manifest says {expected['bytes']:,}; {rebuild}"
        )
    if digest != expected["sha256"]:
        raise ArtifactError(f"{path} is damaged (its SHA-256 does not match); {rebuild}")


def _checked_copy(prefix: str, manifest: dict[str, Any]) -> str:
    """The copy of an artifact on this host; one that was damaged since is made once more."""
    for last_try in (False, True):
        directory = _copy_to_host(prefix, manifest["digest"], manifest["files"])
        try:
            _check_files(directory, manifest["files"])
        except ArtifactError:
            if last_try:
                raise
            storage.delete(directory)
        else:
            break
    return directory


def _copy_to_host(prefix: str, name: str, files: Iterable[str]) -> str:
    """Copies an artifact's files to this host, unless they are here; the copy appears at once.

    Raises:
      ArtifactError: they cannot be read, or the folder for copies is not this user's alone.
    """
    home = Path(tempfile.gettempdir()) / f"dxbeam-{os.getuid()}"
    target = home / name
    home.mkdir(mode=0o700, exist_ok=True)
    status = home.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise ArtifactError(
            f"{home}, where this host keeps copies of vocabularies, belongs to somebody else or "
            "can be written by others; delete it, or set TMPDIR to a directory of your own"
        )
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=home) as partial:
            for file in files:
                source = storage.join(prefix, file)
                try:
                    storage.copy(source, str(Path(partial) / "copy" / file))
                except OSError as error:
                    raise ArtifactError(
                        f"{source} cannot be copied to this host ({type(error).__name__}); see "
                        "that it is there, that this worker may read it, and that the disk has room"
                    ) from None
            try:
                (Path(partial) / "copy").rename(target)
            except OSError:
                if not target.exists():  # else another process of this host was faster
                    raise
    return str(target)
