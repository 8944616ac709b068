"""How nearest words are searched is a setting of every transform that searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import apache_beam as beam
import numpy as np
import pytest
from apache_beam.testing.util import assert_that, equal_to

from dxbeam.analysis.measure.transform import SharedSearch
from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.space.artifact import artifact
from dxbeam.space.artifact.artifact import WordsAndVectors
from dxbeam.space.search.backends import choose_backend
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.configuration import Configuration
from dxbeam.transforms.neighbor_table import NeighborTable, WriteNeighborTable
from dxbeam.transforms.sanitize import SanitizeDocuments
from dxbeam.transforms.yaml import BuildVocabulary, SanitizeRows
from tests.support import tiny

SETTINGS = Configuration(Laplace(5000.0))  # so little noise that words stay

CALLERS: dict[str, Callable[[str, str], Any]] = {
    "SanitizeDocuments": lambda uri, name: SanitizeDocuments(SETTINGS, uri, backend=name),
    "SanitizeRows": lambda uri, name: SanitizeRows(uri, 10.0, search=name),
    "BuildVocabulary": lambda uri, name: BuildVocabulary("file", "place", search=name),
    "WriteNeighborTable": lambda uri, name: WriteNeighborTable(
        NeighborTable(uri, WordsAndVectors(300, 8, "", 1.0), 20, "pieces", backend=name)
    ),
    "SharedSearch": lambda uri, name: SharedSearch(artifact.handle(uri), name),
    "NeighborSearch": lambda uri, name: NeighborSearch(tiny.vocabulary(), backend=name),
}


@pytest.mark.parametrize("caller", CALLERS)
def test_a_search_that_does_not_exist_is_refused_at_once(caller: str, uri: str) -> None:
    CALLERS[caller](uri, "faiss")
    with pytest.raises(ConfigurationError, match="`search` int4: choose from auto, int8"):
        CALLERS[caller](uri, "int4")


@pytest.mark.parametrize("name", ["float32", "faiss"])
def test_workers_search_as_they_are_told(
    name: str, uri: str, caplog: pytest.LogCaptureFixture
) -> None:
    choose_backend._log_once.cache_clear()
    with caplog.at_level("INFO", logger="dxbeam"), tiny.pipeline() as pipeline:
        documents = pipeline | beam.Create([Document("d", "w1 w2")])
        results = documents | SanitizeDocuments(SETTINGS, uri, backend=name)
        texts = results.documents | beam.Map(lambda row: row.text)
        assert_that(texts, equal_to(["w1 w2"]))
    assert f"by the backend {name}" in caplog.text


@pytest.mark.parametrize("name", ["float32", "faiss"])
def test_measurements_search_as_they_are_told(name: str, uri: str) -> None:
    search = SharedSearch(artifact.handle(uri), name).acquire()
    assert search.backend.name == name
    assert search.nearest(np.zeros((1, 8))).shape == (1,)
