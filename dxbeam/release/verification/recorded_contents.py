"""What release.json says of the documents, compared with what the shards hold."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dxbeam import storage
from dxbeam.errors import ConfigurationError, DamagedReleaseError, OutputError
from dxbeam.release import manifest
from dxbeam.release.verification.contents import Contents, contents
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.tokenization import Splitter
from dxbeam.text.word_rule import FIRST_RULE, WordRule


def damaged(path: str, what: str) -> DamagedReleaseError:
    """The error for a release.json of which ``what`` is wrong."""
    return DamagedReleaseError(f"{path} is damaged ({what}); restore it from a copy")


def check_contents(
    prefix: str, release: Mapping[str, Any], vocabulary: Vocabulary | None
) -> tuple[str, ...]:
    """Counts documents, fields and words again; returns what was not checked, a sentence each.

    DamagedReleaseError: something is recorded otherwise.
    """
    path = storage.join(prefix, manifest.RELEASE)
    for name in ("documents_in", "documents_out", "dead_letters"):
        if not is_count(release.get(name)):
            raise damaged(path, f"{name!r} must be a whole number")
    splitter = _rule(release).splitter
    shards = [_checked_shard(prefix, path, shard, splitter) for shard in release["shards"]]
    written = sum(shard.documents for shard in shards)
    if release["documents_out"] != written:
        raise damaged(
            path, f"'documents_out' is {release['documents_out']:,}, and the files hold {written:,}"
        )
    if release["documents_in"] != written + release["dead_letters"]:
        raise damaged(path, "'documents_in' is not the sum of 'documents_out' and 'dead_letters'")
    return (
        *_check_documents(path, release, shards),
        *_check_fields(path, release, shards),
        *_check_tokens(path, release, shards, vocabulary),
    )


def is_count(value: object) -> bool:
    """Whether this is a whole number from 0."""
    return type(value) is int and value >= 0


def _checked_shard(
    prefix: str, path: str, shard: Mapping[str, Any], splitter: Splitter
) -> Contents:
    if not (is_count(shard.get("documents")) and is_count(shard.get("bytes"))):
        raise damaged(path, f"{shard['name']}: 'documents' and 'bytes' must be whole numbers")
    try:
        counted = contents(storage.join(prefix, shard["name"]), splitter)
    except OutputError as error:
        raise DamagedReleaseError(str(error)) from None
    if (counted.documents, counted.bytes) != (shard["documents"], shard["bytes"]):
        raise damaged(
            path,
            f"it counts {shard['documents']:,} documents and {shard['bytes']:,} bytes in "
            f"{shard['name']}, which holds {counted.documents:,} and {counted.bytes:,}",
        )
    return counted


def _check_documents(
    path: str, release: Mapping[str, Any], shards: Sequence[Contents]
) -> tuple[str, ...]:
    """No document is there twice."""
    if release.get("output_format") == "text":
        return ("Whether a text is there twice: plain text has no ids.",) if len(shards) > 1 else ()
    ids = np.concatenate([np.zeros(0, np.uint64), *(shard.ids for shard in shards)])
    if len(np.unique(ids)) < len(ids):
        raise damaged(path, "a document is there twice")
    return ()


def _check_fields(
    path: str, release: Mapping[str, Any], shards: Sequence[Contents]
) -> tuple[str, ...]:
    """The shards have the fields that are recorded, and no others."""
    if not are_strings(release.get("kept_fields")):
        raise damaged(path, "'kept_fields' must be a list of names")
    kept: set[str] = {*release["kept_fields"]}
    kind = release.get("output_format")
    if any(shard.format != kind for shard in shards):
        raise damaged(path, "'output_format' is not the format of the files")
    if kind == "text":
        if kept:
            raise damaged(path, "plain text has no kept fields")
        return ()
    always = {"id", "vector" if is_of_vectors(release) else "text"}
    for shard in shards:
        if extra := sorted(shard.fields - always - kept):
            raise damaged(
                path,
                f"the documents have a field {extra[0]!r}, which 'kept_fields' does not name",
            )
        if shard.documents and not always <= shard.always:
            raise damaged(path, "a document has no id, or no text or vector")
    if absent := sorted(kept.difference(*(shard.fields for shard in shards))):
        if kind == "parquet":
            raise damaged(path, f"the files have no field {absent[0]!r}, which is recorded")
        return (f"Why 'kept_fields' names {absent[0]!r}: no document has this field.",)
    return ()


def _check_tokens(
    path: str, release: Mapping[str, Any], shards: Sequence[Contents], vocabulary: Vocabulary | None
) -> tuple[str, ...]:
    """As many words were released as are recorded, as far as the texts show it."""
    tokens, question = release.get("tokens"), "How many words were released ('tokens'): "
    if is_of_vectors(release):
        if tokens is not None:
            raise damaged(path, "'tokens' is not recorded of vectors")
        return ()
    if tokens is None or not is_count(tokens):
        raise damaged(path, "'tokens' must be a whole number")
    if is_rewritten(release):
        return (f"{question}a language model rewrote the texts.",)
    counted = sum(shard.tokens for shard in shards)
    if counted == tokens:
        return ()
    here = f"'tokens' is {tokens:,}, and the files hold {counted:,} words"
    left_out = counted < tokens and _leaves_words_out(release.get("configuration"))
    if left_out:
        return (f"{question}{here}; words outside the vocabulary were left out.",)
    rule = _rule(release)
    if counted < tokens and rule.segmenter != "none":
        return (f"{question}{here}; words of scripts without spaces stand side by side.",)
    if vocabulary is None:
        return (
            f"{question}{here}; words that hold punctuation are counted otherwise, and "
            "--vocabulary says whether there are any.",
        )
    pieces = [1, *(len(rule.splitter.words(word)) for word in vocabulary.words)]
    if not min(pieces) * tokens <= counted <= max(pieces) * tokens:
        raise damaged(path, here)
    return (f"{question}{here}; some words of the vocabulary hold punctuation.",)


def _rule(release: Mapping[str, Any]) -> WordRule:
    """What the words of the release are, as far as this version of dxbeam knows its rule."""
    configuration = release.get("configuration")
    try:
        return WordRule.from_dict(configuration) if isinstance(configuration, dict) else FIRST_RULE
    except ConfigurationError:
        return FIRST_RULE


def _leaves_words_out(configuration: object) -> bool:
    """Whether words outside the vocabulary are counted and not written; bags are filled up."""
    return (
        isinstance(configuration, dict)
        and configuration.get("unknown_words") == "drop"
        and not configuration.get("bag_of_words")
    )


def is_rewritten(release: Mapping[str, Any]) -> bool:
    """Whether a language model rewrote the texts, so that they have other words."""
    processed = release.get("post_processing")
    return bool(processed) and not (isinstance(processed, dict) and manifest.DECODING in processed)


def is_of_vectors(release: Mapping[str, Any]) -> bool:
    """Whether vectors were released, and no text."""
    configuration = release.get("configuration")
    return isinstance(configuration, dict) and configuration.get("release") == "vectors"


def are_strings(value: object) -> bool:
    """Whether this is a list of strings."""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def checked_projection(prefix: str, release: Mapping[str, Any]) -> npt.NDArray[np.float32] | None:
    """The public projection of released vectors, float32 [m, n]; None where there is none.

    DamagedReleaseError: it is not the one whose digest is recorded, or sensitivity.json is not.
    """
    configuration = release.get("configuration")
    recorded = configuration.get("projection") if isinstance(configuration, dict) else None
    recorded = recorded if isinstance(recorded, dict) else {"kind": "none"}
    name = release.get("projection_file")
    if not name and recorded.get("kind") == "none":
        return None
    path = storage.join(prefix, manifest.PROJECTION)
    try:
        matrix = np.load(io.BytesIO(storage.read(path)), allow_pickle=False)
        digest = hashlib.sha256(
            f"{recorded['kind']} {recorded['dimensions']} {recorded['of']} ".encode()
            + matrix.astype("<f4").tobytes()
        )
        whole = digest.hexdigest() == recorded["sha256"]
    except (OSError, ValueError, KeyError):
        whole = False
    if name != manifest.PROJECTION or not whole:
        raise DamagedReleaseError(f"{path} is missing or not the projection that was released")
    _check_sensitivity(prefix, release["configuration"].get("sensitivity"))
    return np.asarray(matrix, np.float32)


def _check_sensitivity(prefix: str, recorded: Any) -> None:
    """sensitivity.json, which a scan has left, says what the configuration says."""
    if not (isinstance(recorded, dict) and recorded.get("method") == "exact"):
        return
    path = storage.join(prefix, manifest.SENSITIVITY)
    try:
        same = json.loads(storage.read(path)) == recorded
    except (OSError, ValueError, RecursionError):
        same = False
    if not same:
        raise DamagedReleaseError(f"{path} is missing or not the sensitivity that was found")
