"""The manifest of a language-model artifact: which files there are, and what it must say of them.

manifest.json     format, version, vocabulary, order, rules, counts, held-out perplexity and
                  source; bytes and SHA-256 of each file
prior.npy, continuation.npy, backoff.npy      float64, of all words
pair_*.npy        corrections of pairs: starts, columns, values, filter, slots (sparse_rows.py)
backoff2.npy, triple_*.npy                    of triples, in order 3
casings.arrow     how words are written (casings.py); only for vocabularies in lower case
"""

from __future__ import annotations

import importlib.resources
import json
from typing import Any

from dxbeam import storage
from dxbeam.errors import ArtifactError
from dxbeam.language.counts import ORDERS
from dxbeam.language.model import TABLE_PARTS
from dxbeam.space.artifact.manifest import digest_of

DEMO = "demo"
"""The place of the small model that goes with the bundled vocabulary."""

FORMAT, VERSION = "dxbeam-language-model", 1
MANIFEST, CASINGS = "manifest.json", "casings.arrow"

REBUILD = "build it again with dxbeam build-language-model"


def resolve(uri: str) -> str:
    """Where the artifact is stored: the package's own for DEMO, else ``uri`` itself."""
    if uri == DEMO:
        return str(importlib.resources.files("dxbeam") / "demo" / "language_model")
    return storage.without_file_scheme(uri)


def read_manifest(uri: str) -> dict[str, Any]:
    """The manifest, checked against its own digest, and field by field.

    Raises:
      ArtifactError: no artifact there, a damaged manifest, or one of a newer format; or it does not
        say what it must.
    """
    path = storage.join(resolve(uri), MANIFEST)
    try:
        manifest = json.loads(storage.read(path))
    except OSError as error:
        raise ArtifactError(
            f"`language_model` {uri}: no language model here ({MANIFEST} cannot be read: "
            f"{type(error).__name__}); build one with dxbeam build-language-model"
        ) from None
    except (ValueError, RecursionError):
        raise ArtifactError(f"{path} is damaged (not JSON); {REBUILD}") from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ArtifactError(f"{path} does not describe a dxbeam language model; {REBUILD}")
    if manifest.get("version") != VERSION:
        raise ArtifactError(
            f"{path} has a format version that this dxbeam does not read (it reads {VERSION}); "
            f"install the dxbeam that wrote it, or {REBUILD}"
        )
    digest = manifest.pop("digest", None)
    if digest != digest_of(manifest):
        raise ArtifactError(f"{path} is damaged (its digest does not match); {REBUILD}")
    if wrong := _wrong_field(manifest):
        raise ArtifactError(f"{path} is not what dxbeam writes ({wrong}); {REBUILD}")
    return {**manifest, "digest": digest}


def _wrong_field(manifest: dict[str, Any]) -> str:
    """What is wrong with the fields that readers rely on; "" where nothing is."""
    if type(manifest.get("words")) is not int or manifest["words"] < 1:
        return "'words' is no positive number"
    if manifest.get("order") not in ORDERS:
        return "'order' is neither 2 nor 3"
    if not isinstance(manifest.get("vocabulary"), str):
        return "'vocabulary' is no digest"
    needed, files = _file_names(manifest["order"]), manifest.get("files")
    if not isinstance(files, dict) or not needed <= set(files) <= {*needed, CASINGS}:
        return f"'files' must name {', '.join(sorted(needed))}, perhaps {CASINGS}"
    for name, facts in files.items():
        if not isinstance(facts, dict) or not (
            type(facts.get("bytes")) is int and isinstance(facts.get("sha256"), str)
        ):
            return f"'files' lacks the size or the SHA-256 of {name}"
    return ""


def _file_names(order: int) -> set[str]:
    tables = ["pair"] + ["triple"] * (order == 3)
    names = ["prior", "continuation", "backoff"] + ["backoff2"] * (order == 3)
    names += [f"{table}_{part}" for table in tables for part in TABLE_PARTS]
    return {f"{name}.npy" for name in names}
