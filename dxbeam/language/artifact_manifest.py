"""The manifest of a language-model artifact: which files there are, and what it must say of them.

manifest.json     format, version, vocabulary, order, rules, counts, held-out perplexity and
                  source; bytes and SHA-256 of each file
prior.npy, continuation.npy, backoff.npy      float64, of all words
pair_*.npy        corrections of pairs: starts, columns, values, filter, slots (sparse_rows.py)
backoff2.npy, triple_*.npy                    of triples, in order 3
casings.arrow     how words are written (casings.py); only for vocabularies in lower case
"""

from __future__ import annotations

from typing import Any

from dxbeam.language.counts import ORDERS
from dxbeam.language.model import TABLE_PARTS
from dxbeam.space.artifact.kind import Kind

CASINGS = "casings.arrow"


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


LANGUAGE_MODEL = Kind(
    parameter="language_model",
    name="language model",
    format="dxbeam-language-model",
    versions=(1,),
    rebuild="build it again with dxbeam build-language-model",
    bundled="demo/language_model",
    wrong_field=_wrong_field,
)
