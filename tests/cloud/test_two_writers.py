"""Of two writers at once one wins, every time, on each store of files."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dxbeam import storage
from dxbeam.errors import OutputError
from dxbeam.release import claim
from tests.cloud import front, s3_server

FIXTURES = {"local": None, "gs": "cloud", "s3": "s3"}


@pytest.fixture(params=FIXTURES)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty place on each store."""
    if fixture := FIXTURES[request.param]:
        request.getfixturevalue(fixture)
    return {
        "local": str(tmp_path),
        "gs": f"gs://{front.BUCKET}/writers",
        "s3": s3_server.path("writers"),
    }[request.param]


def _write(path: str, number: int) -> bool:
    try:
        storage.create_once(path, b"%d" % number)
    except OutputError:
        return False
    return True


def _take(path: str, number: int) -> bool:
    try:
        claim.take_fresh(path, f"run-{number}")
    except OutputError:
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("times", [10, pytest.param(50, marks=pytest.mark.exhaustive)])
def test_of_two_writers_at_once_one_wins_every_time(folder: str, times: int) -> None:
    """Of an object, and of a claim on a place for a release."""
    with ThreadPoolExecutor(2) as pool:
        for attempt in range(times):
            path, place = f"{folder}/once-{attempt}", f"{folder}/place-{attempt}"
            won = list(pool.map(_write, [path] * 2, range(2)))
            assert sum(won) == 1
            assert storage.read(path) == b"%d" % won.index(True)
            taken = list(pool.map(_take, [place] * 2, range(2)))
            assert sum(taken) == 1
            assert claim.holds(place, f"run-{taken.index(True)}")
