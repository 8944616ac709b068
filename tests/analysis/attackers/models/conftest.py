"""The vocabulary that models of attackers are tried on."""

from __future__ import annotations

import pytest

from dxbeam.space.search.neighbors import NeighborSearch
from tests.support.attacked import tabled


@pytest.fixture(scope="module")
def search() -> NeighborSearch:
    return tabled(24, 4)
