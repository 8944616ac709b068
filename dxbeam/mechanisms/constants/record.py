"""The record of a scan: what dxbeam scan-constant writes and a release reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dxbeam.mechanisms.constants.exact_constant import FORMAT, VERSION
from dxbeam.mechanisms.constants.solve import Level
from dxbeam.mechanisms.parameters import recorded_settings
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary


def record_of(mechanism: Any, vocabulary: Vocabulary, levels: Sequence[Level]) -> dict[str, Any]:
    """What is kept of scans, ready for JSON; the mechanism has any epsilon, and no constant."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "vocabulary": vocabulary.content_digest,
        "mechanism": recorded_settings(mechanism),
        "levels": [
            {
                "epsilon": level.epsilon,
                "nominal_epsilon": level.nominal,
                "constant": level.scanned.constant,
                "reached": level.scanned.reached,
                "pair": _words(level.scanned.pair, vocabulary),
            }
            for level in sorted(levels, key=lambda level: level.epsilon)
        ],
    }


def _words(pair: tuple[int, int] | None, vocabulary: Vocabulary) -> list[str] | None:
    return pair and ["<unk>" if i == UNKNOWN else str(vocabulary.words[i]) for i in pair]
