"""The configuration of released vectors, made again from what release.json records of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dxbeam.errors import DxbeamError
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.vectors.configuration import VectorConfiguration
from dxbeam.vectors.projections import Projection
from dxbeam.vectors.sensitivity import Sensitivity, exact, identity, published, spectral

MOST_WORDS_SCANNED = 50_000
"""The exact sensitivity takes a scan of all pairs of words: of this many, about a minute."""

_RELATIVE = 1e-5


def rebuilt(
    record: Mapping[str, Any],
    matrix: npt.NDArray[np.float32] | None,
    vocabulary: Vocabulary | None = None,
) -> VectorConfiguration | None:
    """The configuration whose ``as_dict`` is this record; None where it cannot be made.

    The sensitivity is computed again, but for an exact one where the vocabulary is not given or too
    large: ``is_taken_from_record`` says so. ``matrix`` is the public projection of the release,
    float32 [m, n], or None.
    """
    try:
        named, bound = record["projection"], record["sensitivity"]
        projection = Projection(
            named["kind"], named["of"], named["dimensions"], named["seed"] or "", matrix
        )
        settings = VectorConfiguration(
            record["unit"],
            record["epsilon"],
            projection,
            _sensitivity(bound, projection, vocabulary),
        )
    except (KeyError, TypeError, ValueError, AttributeError, DxbeamError, np.linalg.LinAlgError):
        return None
    return settings if settings.as_dict() == dict(record) else None


def is_taken_from_record(record: Mapping[str, Any], vocabulary: Vocabulary | None) -> bool:
    """Whether the sensitivity is one that ``rebuilt`` does not compute again."""
    projected = record["projection"]["kind"] != "none"
    scanned = vocabulary is not None and len(vocabulary) <= MOST_WORDS_SCANNED
    return projected and record["sensitivity"]["method"] == "exact" and not scanned


def _sensitivity(
    bound: Mapping[str, Any], projection: Projection, vocabulary: Vocabulary | None
) -> Sensitivity:
    recorded = Sensitivity(
        bound["method"], bound["value"], bound["delta"], bound["pair"] and tuple(bound["pair"])
    )
    if projection.matrix is None:
        return identity(bound["method"])
    if bound["method"] == "published":
        return published(projection, bound["delta"])
    if bound["method"] == "spectral":
        computed = spectral(projection)
    elif vocabulary is None or len(vocabulary) > MOST_WORDS_SCANNED:
        return recorded
    else:
        computed = exact(vocabulary, projection)
    # Another machine may round the last digit otherwise.
    alike = math.isclose(computed.value, recorded.value, rel_tol=_RELATIVE)
    return replace(computed, value=recorded.value, pair=recorded.pair) if alike else computed
