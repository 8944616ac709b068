"""Vocabulary artifacts of every version, and which files they consist of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.manifest import (
    CLOSE_RADIUS,
    LAYOUTS,
    NEIGHBORS,
    UNKNOWN_VECTOR,
    VECTORS,
)
from dxbeam.space.artifact.word_files import WORD_INDEX, WORDS
from dxbeam.space.search.backends.rounded_vectors import BOUNDS, INTEGERS, SCALES
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support import tiny

FILES = (
    *(WORDS, WORD_INDEX, VECTORS, UNKNOWN_VECTOR),
    *(CLOSE_RADIUS, NEIGHBORS),
    *(INTEGERS, SCALES, BOUNDS),
)
WRITE = {1: tiny.write_version_1, 2: tiny.write_artifact}

every_version = pytest.mark.parametrize("version", LAYOUTS)


def open_artifact(folder: Path) -> Vocabulary:
    """Opens what is in a folder, as a job does."""
    return artifact.open_vocabulary(artifact.handle(str(folder)))


def is_mapped(array: object) -> bool:
    """Whether an array's numbers are those of a mapped file."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None
