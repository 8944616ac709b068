"""What went wrong, where, and what to do about it: one sentence a person can act on.

No message ever holds text of a document; see ``Rejected`` in documents.py for records. Messages
name parameters in backticks, such as `key_uri`; launchers show them as flags, such as --key_uri.
"""

from __future__ import annotations

from types import UnionType


class DxbeamError(Exception):
    """A mistake the user can correct. ``str(error)`` says what, where and what to do."""


class ConfigurationError(DxbeamError):
    """An option, parameter or combination of them that cannot be used."""


class EmbeddingFileError(DxbeamError):
    """An embedding file that is missing, malformed or of the wrong format."""


class ArtifactError(DxbeamError):
    """A vocabulary or language model that is missing, damaged, of a newer version or unfit."""


class CorpusError(DxbeamError):
    """A corpus of which no document can be read."""


class OutputError(DxbeamError):
    """An output prefix that is not empty, or cannot be written."""


class DamagedReleaseError(OutputError):
    """There is a release.json, and the release is not what it says."""


class RunError(DxbeamError):
    """A run that failed though nothing was wrong with what the user asked for: exit code 1."""


def described(value: object) -> str:
    """What a value is, for messages about wrong types, which never show the value itself."""
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"of type {type(value).__name__}"


def check_type(value: object, kind: type | tuple[type, ...] | UnionType, meaning: str) -> None:
    """Refuses a value of another type.

    ``meaning`` is how it is written, such as "bag is an object such as BagOfWords(50), or None".
    """
    if not isinstance(value, kind):
        raise ConfigurationError(f"{meaning}, and this is {described(value)}")
