"""What a page of dxbeam preview holds, read in Python as its script reads it."""

from __future__ import annotations

import base64
import html
import json
import re
import zlib
from typing import Any

import numpy as np

from dxbeam.analysis.preview.epsilons import position


def embedded(page: str) -> dict[str, Any]:
    """The data of a page."""
    [text] = re.findall(r'<script type="text/plain" id="data">(.*?)</script>', page, re.S)
    whole = zlib.decompress(base64.b64decode(text), -zlib.MAX_WBITS)
    behind = 4 + int.from_bytes(whole[:4], "little")

    def stored(value: dict[str, Any]) -> Any:
        if set(value) != {"kind", "at", "count"}:
            return value
        return np.frombuffer(whole, f"<{value['kind']}", value["count"], behind + value["at"])

    data: dict[str, Any] = json.loads(whole[4:behind], object_hook=stored)
    return data


def reading(data: dict[str, Any], mechanism: str, decode: str, c: float | None) -> dict[str, Any]:
    [shown] = [each for each in data["mechanisms"] if each["name"] == mechanism]
    [found] = [each for each in shown["readings"] if (each["decode"], each["c"]) == (decode, c)]
    result: dict[str, Any] = found
    return result


def released(data: dict[str, Any], found: dict[str, Any], draw: int, epsilon: float) -> str:
    """The text that a draw releases, gaps and all."""
    places, words = found["places"], found["words"]
    starts = np.concatenate([[0], np.cumsum(found["counts"], dtype=int)])
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
