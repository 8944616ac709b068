"""Vectors that come as data, kept as text, the form in which documents are read and keyed.

The text of such a document is the vector's little-endian float64 values in base64, so that equal
vectors have equal texts and whatever holds for texts (keys of noise, conflicting ids, rejected
records) holds for vectors.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

LARGEST = 1e30
"""No number of a vector is larger, so that no sum of squares overflows."""


def encode(values: object, dimensions: int) -> str:
    """A list of ``dimensions`` finite numbers as text; ValueError never quotes them."""
    if not isinstance(values, Sequence) or isinstance(values, (str, bytes)):
        raise ValueError("the vector is not a list of numbers")
    if len(values) != dimensions:
        raise ValueError(f"the vector has {len(values)} numbers where {dimensions} are expected")
    if not all(type(value) in (int, float) for value in values):  # True is an int to isinstance
        raise ValueError("the vector is not a list of numbers")
    if not all(-LARGEST <= value <= LARGEST for value in values):
        raise ValueError(f"the vector holds a NaN, or a number beyond {LARGEST:g}")
    vector = np.array(values, "<f8")
    return base64.b64encode((vector + 0.0).tobytes()).decode()  # -0 and 0 are one vector


def decode(text: str) -> npt.NDArray[np.float64]:
    """The vector of a text that ``encode`` made, float64 [n]."""
    return np.frombuffer(base64.b64decode(text), "<f8").astype(np.float64)


def why_no_vector(text: str, dimensions: int) -> str | None:
    """Why a text is not what ``encode`` makes, or None if it is; never quotes it."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return "the record holds no vector"
    if len(content) != 8 * dimensions:
        return f"the record holds no vector of {dimensions} numbers"
    if not (np.abs(np.frombuffer(content, "<f8")) <= LARGEST).all():
        return f"the vector holds a NaN, or a number beyond {LARGEST:g}"
    return None
