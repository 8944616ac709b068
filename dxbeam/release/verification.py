"""Whether a release is what was released: its files, its counts, and what it promises.

Every file is read again and compared with release.json, and release.json with itself: counts with
counts, the guarantee's sentence with the guarantee's numbers, both with the configuration. This
finds damage and accidents. Whoever can write the files can also write a release.json that fits, so
its own digest is reported, to be noted elsewhere.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dxbeam import storage
from dxbeam.errors import OutputError
from dxbeam.guarantees import Guarantee
from dxbeam.release import manifest
from dxbeam.text import recorded_configuration
from dxbeam.text.configuration import of_draws

_BLOCK = 1 << 20
_COMPRESSIONS = {"gz": "gzip", "zst": "zstd"}
_WORDS = (
    "sentence", "notion", "metric", "metric_name", "unit", "composition", "evidence", "citation",
)  # fmt: skip
"""Fields of a guarantee that say something in words."""


class DamagedReleaseError(OutputError):
    """There is a release.json, and the release is not what it says."""


@dataclass(frozen=True)
class VerifiedRelease:
    """A release in which nothing wrong was found.

    Attributes:
      prefix: where it lies.
      manifest: the content of release.json.
      digest: hex SHA-256 of release.json. Where it was noted elsewhere, nobody can have changed
        the release since.
      unchecked: what could not be checked, and why; a sentence each.
    """

    prefix: str
    manifest: dict[str, Any]
    digest: str
    unchecked: tuple[str, ...]

    @property
    def report(self) -> str:
        """What was found, for a person who decides whether to use the release."""
        return _report(self)


def verify_release(prefix: str) -> VerifiedRelease:
    """Reads a release and checks all that can be checked without its vocabulary, key or corpus.

    Args:
      prefix: the release's directory or gs:// prefix.

    Raises:
      DamagedReleaseError: a file is missing, superfluous or changed, or release.json contradicts
        itself.
      OutputError: there is no release, or it cannot be read.
    """
    path = storage.join(prefix, manifest.RELEASE)
    try:
        if not storage.exists(path):
            raise OutputError(
                f"{prefix}: there is no {manifest.RELEASE}, so there is no whole release here; "
                "check the path"
            )
        try:
            release = manifest.verify(prefix)
        except OutputError as error:
            raise DamagedReleaseError(str(error)) from None
        _check_counts(prefix, release)
        _check_projection(prefix, release)
        unchecked = (*_check_guarantee(path, release), *_check_configuration(path, release))
        digest, _ = storage.sha256(path)
    except OSError as error:
        raise OutputError(f"{prefix} cannot be read ({type(error).__name__})") from None
    return VerifiedRelease(prefix, release, digest, unchecked)


def _damaged(path: str, what: str) -> DamagedReleaseError:
    return DamagedReleaseError(f"{path} is damaged ({what}); restore it from a copy")


def _check_counts(prefix: str, release: Mapping[str, Any]) -> None:
    path = storage.join(prefix, manifest.RELEASE)
    for name in ("documents_in", "documents_out", "dead_letters"):
        if not _is_count(release.get(name)):
            raise _damaged(path, f"{name!r} must be a whole number")
    for shard in release["shards"]:
        if not (_is_count(shard.get("documents")) and _is_count(shard.get("bytes"))):
            raise _damaged(path, f"{shard['name']}: 'documents' and 'bytes' must be whole numbers")
        found = _found(storage.join(prefix, shard["name"]))
        if found != (shard["documents"], shard["bytes"]):
            raise _damaged(
                path,
                f"it counts {shard['documents']:,} documents and {shard['bytes']:,} bytes in "
                f"{shard['name']}, which holds {found[0]:,} and {found[1]:,}",
            )
    written = sum(shard["documents"] for shard in release["shards"])
    if release["documents_out"] != written:
        raise _damaged(
            path, f"'documents_out' is {release['documents_out']:,}, and the files hold {written:,}"
        )
    if release["documents_in"] != written + release["dead_letters"]:
        raise _damaged(path, "'documents_in' is not the sum of 'documents_out' and 'dead_letters'")
    key = release.get("key")
    if not (isinstance(key, dict) and isinstance(key.get("fingerprint"), str) and "kept" in key):
        raise _damaged(path, "'key' must hold a fingerprint and whether the key is kept")


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _found(path: str) -> tuple[int, int]:
    """How many documents and bytes a file holds."""
    _, size = storage.sha256(path)
    with storage.open_read(path) as raw:
        try:
            if path.endswith(".parquet"):
                return pq.read_metadata(raw).num_rows, size
            return _lines(raw, _COMPRESSIONS.get(path.rpartition(".")[2])), size
        except (pa.ArrowException, OSError) as error:
            raise DamagedReleaseError(
                f"{path} cannot be read as what its name says ({type(error).__name__})"
            ) from None


def _lines(raw: BinaryIO, compression: str | None) -> int:
    content: Any = pa.PythonFile(raw, "r")
    if compression:
        content = pa.CompressedInputStream(content, compression)
    lines = 0
    while block := content.read(_BLOCK):
        lines += block.count(b"\n")
    return lines


def _check_projection(prefix: str, release: Mapping[str, Any]) -> None:
    """The public projection of released vectors, whose digest is in the configuration."""
    if not (name := release.get("projection_file")):
        return
    path = storage.join(prefix, manifest.PROJECTION)
    recorded = release.get("configuration", {}).get("projection", {})
    try:
        matrix = np.load(io.BytesIO(storage.read(path)), allow_pickle=False)
        digest = hashlib.sha256(
            f"{recorded['kind']} {recorded['dimensions']} {recorded['of']} ".encode()
            + matrix.astype("<f4").tobytes()
        )
        whole = digest.hexdigest() == recorded["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        whole = False
    if name != manifest.PROJECTION or not whole:
        raise DamagedReleaseError(f"{path} is missing or not the projection that was released")


def _check_guarantee(path: str, release: Mapping[str, Any]) -> tuple[str, ...]:
    """Checks each field, and the sentence against the numbers; says what was not checked."""
    said = release.get("guarantee")
    if not isinstance(said, dict):
        raise _damaged(path, "'guarantee' is missing")
    for name in _WORDS:
        if not (isinstance(said.get(name), str) and said[name].strip()):
            raise _damaged(path, f"the guarantee's {name!r} is missing")
    for name in ("caveats", "unprotected"):
        if not _are_strings(said.get(name)):
            raise _damaged(path, f"the guarantee's {name!r} must be a list of sentences")
    if not _are_strings(release.get("unprotected")):
        raise _damaged(path, "'unprotected' must be a list of what is released as it is")
    if "epsilon" not in said or "delta" not in said:
        raise _damaged(path, "the guarantee lacks its epsilon or its delta")
    if said["epsilon"] is not None and not (_is_finite(said["epsilon"]) and said["epsilon"] > 0):
        raise _damaged(path, "the guarantee's epsilon must be a positive, finite number")
    if not (_is_finite(said["delta"]) and 0 <= said["delta"] <= 1):
        raise _damaged(path, "the guarantee's delta must be a number from 0 to 1")
    if (other := _other_version(release)) is not None:
        return (f"Whether the sentence follows from the numbers: {other}.",)
    try:
        follows = Guarantee.from_dict(said).as_dict() == said
    # A field is missing, or of another type.
    except (KeyError, TypeError, ValueError, ArithmeticError):
        follows = False
    if not follows:
        raise _damaged(path, "the guarantee's sentence does not follow from its other fields")
    return ()


def _check_configuration(path: str, release: Mapping[str, Any]) -> tuple[str, ...]:
    """Checks the digest, and the guarantee against the configuration; says what was not checked."""
    recorded, words = release.get("configuration"), release.get("vocabulary")
    if not isinstance(recorded, dict):
        raise _damaged(path, "'configuration' is missing")
    vocabulary = words.get("digest") if isinstance(words, dict) else ""
    canonical = json.dumps(
        {"vocabulary": vocabulary, **of_draws(recorded)}, sort_keys=True, separators=(",", ":")
    )
    if hashlib.sha256(canonical.encode()).hexdigest() != release.get("configuration_digest"):
        raise _damaged(path, "'configuration' and 'vocabulary' do not fit 'configuration_digest'")
    unchecked = "Whether the guarantee follows from the configuration: "
    if (other := _other_version(release)) is not None:
        return (f"{unchecked}{other}.",)
    made = recorded_configuration.rebuilt(recorded)
    if made is None:
        return (
            f"{unchecked}it cannot be made again from what is recorded of it, as with released "
            "vectors, stop words of your own, and releases under an earlier rule.",
        )
    promised, said = made.guarantee().as_dict(), dict(release["guarantee"])
    # What comes after the release, such as repair by a language model, adds caveats at the end.
    said["caveats"] = said["caveats"][: len(promised["caveats"])]
    if promised != said or list(made.unprotected) != release["unprotected"]:
        raise _damaged(path, "the guarantee does not follow from the configuration")
    return ()


def _other_version(release: Mapping[str, Any]) -> str | None:
    """Why sentences cannot be compared: another version may have worded them otherwise."""
    versions, here = release.get("versions"), manifest.versions()["dxbeam"]
    wrote = versions.get("dxbeam") if isinstance(versions, dict) else None
    return None if wrote == here else f"dxbeam {wrote} wrote the release, and this is dxbeam {here}"


def _are_strings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_finite(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]


def _report(verified: VerifiedRelease) -> str:
    release, shards = verified.manifest, verified.manifest["shards"]
    said, key, words = release["guarantee"], release["key"], release.get("vocabulary")
    tokens = f"; {release['tokens']:,} tokens" if _is_count(release.get("tokens")) else ""
    kept = "kept, so the release can be repeated" if key["kept"] else "drawn for it and forgotten"
    rows = [
        ("promised", said["sentence"]),
        *(("" if number else "limits", limit) for number, limit in enumerate(said["caveats"])),
        ("unprotected", "; ".join(release["unprotected"]) or "nothing"),
        (
            "documents",
            f"{release['documents_out']:,} released of {release['documents_in']:,} read, "
            f"{_number(release['dead_letters'], 'dead letter')}{tokens}",
        ),
        ("vocabulary", f"{words['words']:,} words, digest {words['digest']}" if words else "none"),
        ("key", f"fingerprint {key['fingerprint']}, {kept}"),
        ("files", f"{_number(len(shards), 'file')}, {sum(s['bytes'] for s in shards):,} bytes"),
        (manifest.RELEASE, f"SHA-256 {verified.digest}"),
        ("checked", "SHA-256, bytes and documents of every file; the counts; the guarantee"),
        *(("not checked", sentence) for sentence in verified.unchecked),
    ]
    lines = [f"{verified.prefix}: the release is whole and unchanged"]
    for name, text in rows:
        lines += textwrap.wrap(
            text,
            100,
            initial_indent=f"  {name:<13}",
            subsequent_indent=" " * 15,
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(lines)


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
