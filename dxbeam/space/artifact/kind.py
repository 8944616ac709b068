"""What vocabularies and language models have in common: a place, and a manifest that is checked."""

from __future__ import annotations

import hashlib
import importlib.resources
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dxbeam import storage
from dxbeam.errors import ArtifactError

MANIFEST = "manifest.json"
DEMO = "demo"
"""The place of the small artifacts that come with dxbeam."""


class Kind(NamedTuple):
    """A kind of artifact.

    Attributes:
      parameter: names where one is stored.
      name: what it is called.
      format: what its manifest calls it.
      versions: of the format, those that are read.
      rebuild: what to do about a damaged one.
      bundled: the folder of dxbeam with the one of DEMO.
      wrong_field: what is wrong with the fields of a manifest; "" where nothing is.
    """

    parameter: str
    name: str
    format: str
    versions: tuple[int, ...]
    rebuild: str
    bundled: str
    wrong_field: Callable[[dict[str, Any]], str]

    def resolve(self, uri: str) -> str:
        """Where an artifact is stored: the package's own for DEMO, else ``uri`` itself."""
        if uri == DEMO:
            return str(importlib.resources.files("dxbeam").joinpath(*self.bundled.split("/")))
        return storage.without_file_scheme(uri)

    def read_manifest(self, uri: str) -> dict[str, Any]:
        """The manifest, checked against its own digest, and field by field.

        An ArtifactError where there is no artifact, or the manifest is damaged or of another
        format.
        """
        path = storage.join(self.resolve(uri), MANIFEST)
        try:
            manifest = json.loads(storage.read(path))
        except OSError as error:
            raise ArtifactError(
                f"`{self.parameter}` {uri}: no {self.name} here ({MANIFEST} cannot be read: "
                f"{type(error).__name__}); {self.rebuild}"
            ) from None
        except (ValueError, RecursionError):
            raise ArtifactError(f"{path} is damaged (not JSON); {self.rebuild}") from None
        if not isinstance(manifest, dict) or manifest.get("format") != self.format:
            raise ArtifactError(f"{path} does not describe a dxbeam {self.name}; {self.rebuild}")
        version = manifest.get("version")
        if type(version) is not int or version not in self.versions:
            raise ArtifactError(
                f"{path} has format version {version}, and this dxbeam reads versions "
                f"{' and '.join(map(str, self.versions))}; install the dxbeam that wrote it, or "
                f"{self.rebuild}"
            )
        digest = manifest.pop("digest", None)
        if digest != digest_of(manifest):
            raise ArtifactError(f"{path} is damaged (its digest does not match); {self.rebuild}")
        if wrong := self.wrong_field(manifest):
            raise ArtifactError(f"{path} is not what dxbeam writes ({wrong}); {self.rebuild}")
        return {**manifest, "digest": digest}

    def checked_uri(self, uri: str) -> str:
        """The URI; an ArtifactError where it is no text."""
        if not isinstance(uri, str):
            raise ArtifactError(
                f"a {self.name} is named by the text of its URI, or 'demo', and this is a "
                f"{type(uri).__name__}"
            )
        return uri


def digest_of(content: Mapping[str, Any]) -> str:
    """The SHA-256 of a manifest without its own digest."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def write_manifest(uri: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Writes a manifest with its digest, the last file of an artifact, and returns it."""
    manifest = {**content, "digest": digest_of(content)}
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    storage.create_once(storage.join(uri, MANIFEST), text.encode())
    return manifest
