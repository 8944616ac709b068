"""The record of a scan, a JSON file: what dxbeam scan-constant writes and a release reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from dxbeam import storage
from dxbeam.constants.solve import Level
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.exact_constant import ExactConstant
from dxbeam.mechanisms.parameters import recorded_settings
from dxbeam.space.vocabulary import UNKNOWN, Vocabulary

FORMAT, VERSION = "dxbeam-constant", 1


def record_of(mechanism: Any, vocabulary: Vocabulary, levels: Sequence[Level]) -> dict[str, Any]:
    """What is kept of scans, ready for JSON.

    Args:
      mechanism: that was scanned, with any epsilon and without a constant.
      vocabulary: the words.
      levels: what was solved.
    """
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


def constant_of(record: Mapping[str, Any]) -> ExactConstant:
    """The constant that a record holds.

    Raises:
      ConfigurationError: it is no record, or one in which a guaranteed epsilon is not kept.
    """
    try:
        if (record["format"], record["version"]) != (FORMAT, VERSION):
            raise ValueError
        levels = tuple(
            sorted(
                (float(each["epsilon"]), float(each["nominal_epsilon"]))
                for each in record["levels"]
            )
        )
        kept = all(
            float(each["nominal_epsilon"]) * float(each["constant"])
            <= float(each["epsilon"]) * (1 + 1e-12)
            for each in record["levels"]
        )
        if not (kept and levels):
            raise ValueError
        content = json.dumps(record, sort_keys=True, separators=(",", ":")).encode()
        return ExactConstant(
            str(record["vocabulary"]),
            levels,
            dict(record["mechanism"]),
            hashlib.sha256(content).hexdigest(),
        )
    except (KeyError, TypeError, ValueError):
        raise ConfigurationError(
            "this is no record of dxbeam scan-constant, or one whose numbers do not fit together"
        ) from None


def read_record(path: str) -> dict[str, Any]:
    """The record in a file.

    Raises:
      ConfigurationError: it cannot be read, or is no record.
    """
    try:
        record = json.loads(storage.read(path))
        constant_of(record)
    except OSError as error:
        raise ConfigurationError(
            f"`constant_scan` {path}: cannot be read ({type(error).__name__}); dxbeam "
            "scan-constant writes it"
        ) from None
    except (ValueError, ConfigurationError):
        raise ConfigurationError(
            f"`constant_scan` {path}: this is no record of dxbeam scan-constant"
        ) from None
    return dict(record)


def read_constant(path: str) -> ExactConstant:
    """The constant that a scan found, from the file that dxbeam scan-constant wrote.

    Raises:
      ConfigurationError: it cannot be read, or is no record of a scan.
    """
    return constant_of(read_record(path))
