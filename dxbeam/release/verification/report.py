"""What was found of a release, for a person who decides whether to use it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from dxbeam.release import manifest

_CHECKED = "SHA-256, bytes, documents, fields and words of every file; the counts; the guarantee"


def report(
    prefix: str,
    release: Mapping[str, Any],
    digest: str,
    unchanged: bool,
    unchecked: Sequence[str],
) -> str:
    """What was not checked, then what was, and what the release promises."""
    whole = "the release is whole" + (" and unchanged" if unchanged else "")
    if unchecked:
        whole += " as far as it was checked"
    lines = [
        *(_wrapped("not checked" if not number else "", sentence, 0)
          for number, sentence in enumerate(unchecked)),
        f"{prefix}: {whole}",
        *(_wrapped(name, text, 2) for name, text in rows(release, digest)),
    ]  # fmt: skip
    return "\n".join(lines)


def rows(release: Mapping[str, Any], digest: str) -> list[tuple[str, str]]:
    """Names and values of all that is reported but what was not checked."""
    said, key, words = release["guarantee"], release["key"], release.get("vocabulary")
    shards = release["shards"]
    tokens = f"; {release['tokens']:,} tokens" if release.get("tokens") is not None else ""
    kept = "kept, so the release can be repeated" if key["kept"] else "drawn for it and forgotten"
    return [
        ("promised", said["sentence"]),
        *(("" if number else "limits", limit) for number, limit in enumerate(said["caveats"])),
        ("unprotected", "; ".join(unprotected(release)) or "nothing"),
        ("fields", _fields(release)),
        *_decoded(release),
        (
            "documents",
            f"{release['documents_out']:,} released of {release['documents_in']:,} read, "
            f"{_number(release['dead_letters'], 'dead letter')}{tokens}",
        ),
        ("vocabulary", f"{words['words']:,} words, digest {words['digest']}" if words else "none"),
        ("key", f"fingerprint {key['fingerprint']}, {kept}"),
        ("files", f"{_number(len(shards), 'file')}, {sum(s['bytes'] for s in shards):,} bytes"),
        (manifest.RELEASE, f"SHA-256 {digest}"),
        ("checked", _CHECKED),
    ]


def _decoded(release: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a decoded release was made of, if it is one."""
    decoding = (release.get("post_processing") or {}).get(manifest.DECODING)
    if not decoding:
        return []
    return [
        (
            "decoded",
            f"by {decoding['decode']}, {decoding['channel']} channel, language model "
            f"{decoding['language_model']}",
        ),
        (
            "decoded from",
            f"the release whose release.json has SHA-256 {decoding['release_sha256']}",
        ),
    ]


def unprotected(release: Mapping[str, Any]) -> list[str]:
    """All that is released as it is; kept fields too, which version 1 did not list."""
    listed = release["unprotected"]
    fields = manifest.unprotected((), release["kept_fields"])
    return [*listed, *(field for field in fields if field not in listed)]


def _fields(release: Mapping[str, Any]) -> str:
    """Every field of the shards."""
    if release["output_format"] == "text":
        return "none, plain text"
    vectors = release["configuration"].get("release") == "vectors"
    kept = [f"{name} (kept)" for name in release["kept_fields"]]
    return ", ".join(["id", "vector (noisy)" if vectors else "text (sanitized)", *kept])


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _wrapped(name: str, text: str, indent: int) -> str:
    return textwrap.fill(
        text,
        100,
        initial_indent=f"{' ' * indent}{name:<13}",
        subsequent_indent=" " * (13 + indent),
        break_long_words=False,
        break_on_hyphens=False,
    )
