"""What a page of dxbeam preview holds, read in Python as its script reads it."""

from __future__ import annotations

import base64
import html
import json
import re
from typing import Any

import numpy as np

from dxbeam.analysis.preview.epsilons import position


def embedded(page: str) -> dict[str, Any]:
    """The data of a page."""
    [text] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert not set("<>&") & set(text)
    data: dict[str, Any] = json.loads(text)
    return data


def reading(data: dict[str, Any], mechanism: str, decode: str, c: float | None) -> dict[str, Any]:
    [shown] = [each for each in data["mechanisms"] if each["name"] == mechanism]
    [found] = [each for each in shown["readings"] if (each["decode"], each["c"]) == (decode, c)]
    result: dict[str, Any] = found
    return result


def released(data: dict[str, Any], found: dict[str, Any], draw: int, epsilon: float) -> str:
    """The text that a draw releases, gaps and all."""
    counts = np.frombuffer(base64.b64decode(found["counts"]), "<u2").astype(int)
    places = np.frombuffer(base64.b64decode(found["places"]), "<u2")
    words = np.frombuffer(base64.b64decode(found["words"]), "<u4")
    starts = np.concatenate([[0], np.cumsum(counts)])
    place = position(epsilon)
    if found["grid"]:
        place = int(np.abs(np.log(np.array(found["grid"]) / epsilon)).argmin())
    text = []
    for t, gap in enumerate(data["gaps"][:-1]):
        row = draw * len(data["words"]) + t
        runs = slice(starts[row], starts[row + 1])
        run = int(np.searchsorted(places[runs], place, side="right")) - 1
        text += [gap, data["lexicon"][words[runs][run]]]
    return "".join([*text, data["gaps"][-1]])


def visible(page: str) -> str:
    """What a reader of the page sees without its script."""
    return html.unescape(
        re.sub(r"<script.*?</script>|<style.*?</style>|<[^>]*>", "", page, flags=re.S)
    )
