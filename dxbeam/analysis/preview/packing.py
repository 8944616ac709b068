"""Data for a page's script: JSON and arrays of numbers, compressed and in letters.

What is written holds no sign that could end a script element. Unpacked it is the length of the
JSON in four bytes, little-endian, the JSON, and the numbers of all arrays. An array stands in the
JSON as {"kind": "u1", "u2" or "u4", "at": its first byte among the numbers, "count": how many}.
"""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

_KINDS = {1: "u1", 2: "u2", 4: "u4"}


def packed(data: dict[str, Any]) -> str:
    """Data whose arrays are of unsigned numbers of up to 32 bits."""
    numbers = bytearray()

    def stored(array: npt.NDArray[np.unsignedinteger[Any]]) -> dict[str, Any]:
        kind, start = _KINDS[array.dtype.itemsize], len(numbers)
        numbers.extend(np.ascontiguousarray(array, f"<{kind}").tobytes())
        return {"kind": kind, "at": start, "count": array.size}

    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=stored).encode()
    deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    whole = len(text).to_bytes(4, "little") + text + bytes(numbers)
    return base64.b64encode(deflate.compress(whole) + deflate.flush()).decode()


def smallest(numbers: npt.NDArray[Any]) -> npt.NDArray[np.unsignedinteger[Any]]:
    """The same numbers, none below 0, in as few bytes as the largest of them takes."""
    most = int(numbers.max(initial=0))
    return np.asarray(numbers).astype(np.min_scalar_type(most))
