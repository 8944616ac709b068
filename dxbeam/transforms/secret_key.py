"""The secret key inside a job: one element, which transforms take as a side input."""

from __future__ import annotations

from typing import NamedTuple

import apache_beam as beam
from apache_beam import pvalue

from dxbeam.keys import check_key_uri, draw_key, fingerprint, read_key
from dxbeam.randomness import layout_key


class KeptKey(NamedTuple):
    """Where a key is kept, for workers that read it themselves; it is never part of the job."""

    uri: str

    def read(self) -> bytes:
        """The key."""
        return read_key(self.uri)


def kept_key(uri: str) -> KeptKey:
    """Where workers read the key; a key itself must not get into the pipeline."""
    check_key_uri(uri)
    return KeptKey(uri)


def obtain_secret_key(pipeline: beam.Pipeline, key_uri: str | None) -> pvalue.PCollection:
    """One element, the secret key: read where it is, or drawn inside the job."""
    if key_uri:
        check_key_uri(key_uri)
    # The reshuffle makes runners agree on one key before anything uses it.
    return (
        pipeline
        | "NoKeyYet" >> beam.Impulse()
        | "ObtainKey" >> beam.Map(_read_or_draw, key_uri).with_output_types(bytes)
        | "AgreeOnKey" >> beam.Reshuffle()
    )


def _read_or_draw(_: bytes, key_uri: str | None) -> bytes:
    return read_key(key_uri) if key_uri else draw_key()


def key_fingerprint(secret_key: pvalue.PCollection) -> pvalue.PCollection:
    """PCollection[str], one element that names the key."""
    return secret_key | "Fingerprint" >> beam.Map(fingerprint).with_output_types(str)


def layout_key_of(secret_key: pvalue.PCollection) -> pvalue.PCollection:
    """PCollection[bytes], one element by which documents are dealt into files."""
    return secret_key | "LayoutKey" >> beam.Map(layout_key).with_output_types(bytes)
