"""The file that dxbeam scan-constant wrote, and what it keeps of a scan that was stopped."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from dxbeam import storage
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.constants.exact_constant import ExactConstant, constant_of
from dxbeam.mechanisms.constants.exponents import Exponents
from dxbeam.mechanisms.constants.scan import ScannedConstant, scan
from dxbeam.mechanisms.constants.unfinished import Unfinished


def read_record(path: str) -> dict[str, Any]:
    """The record in a file; refused where it cannot be read, or is no record."""
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
            f"`constant_scan` {path}: this is not a record of dxbeam scan-constant"
        ) from None
    return dict(record)


def read_constant(path: str) -> ExactConstant:
    """The constant that a scan found, from the file that dxbeam scan-constant wrote.

    Raises:
      ConfigurationError: it cannot be read, or is no record of a scan.
    """
    return constant_of(read_record(path))


class StoppedScans:
    """The scans that solve for one epsilon, kept in a file until it is solved.

    A file that is damaged, or of other settings, is written anew. Writes during a scan are
    ``seconds`` apart, at least.
    """

    def __init__(self, path: str, settings: Mapping[str, Any], seconds: float = 30.0):
        self._path, self._seconds = path, seconds
        self._settings = json.dumps(settings, sort_keys=True)
        self._finished: dict[str, ScannedConstant] = {}
        self._rate, self._kept = "", dict[str, Any]()
        if storage.exists(path):
            self._read()

    @property
    def goes_on(self) -> bool:
        """Whether anything was kept."""
        return bool(self._finished or self._kept)

    def scanned_by(self, exponents: Exponents) -> ScannedConstant:
        """The scan of exponents: one that was finished, or the rest of one that was stopped."""
        rate = repr(float(exponents.rate))
        if rate not in self._finished:
            kept = self._kept if self._rate == rate else {}
            self._rate = rate
            unfinished = Unfinished(kept, self._write, self._seconds)
            self._finished[rate] = scan(exponents, unfinished=unfinished)
            self._write({})
        return self._finished[rate]

    def delete(self) -> None:
        """Deletes the file: the epsilon is solved."""
        if storage.exists(self._path):
            storage.delete(self._path)

    def _read(self) -> None:
        try:
            with np.load(io.BytesIO(storage.read(self._path)), allow_pickle=False) as file:
                arrays = dict(file)
            head = json.loads(str(arrays.pop("head")))
            if head["settings"] != self._settings:
                return
            self._rate, self._kept = head["rate"], arrays
            for rate, (constant, reached, pair) in head["finished"].items():
                words = None if pair is None else (int(pair[0]), int(pair[1]))
                self._finished[rate] = ScannedConstant(constant, reached, words)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
            self._rate, self._kept, self._finished = "", {}, {}

    def _write(self, arrays: Mapping[str, Any]) -> None:
        head = {"settings": self._settings, "rate": self._rate, "finished": self._finished}
        content = io.BytesIO()
        np.savez(content, head=np.array(json.dumps(head)), **arrays)
        with storage.open_write(self._path) as file:
            file.write(content.getvalue())
