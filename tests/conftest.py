"""What all tests share: fixtures of vocabularies, keys and real data, and options."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator
from pathlib import Path
from typing import TextIO

import pytest
from hypothesis import HealthCheck, settings

from dxbeam.space.search.backends.choose_backend import BACKENDS

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"

# However slow the machine is, and whatever else it does: no test fails by the clock.
settings.register_profile(
    "any_machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any_machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--search", choices=BACKENDS, help="the backend of every exact search of every test"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--search"):
        os.environ["DXBEAM_SEARCH"] = config.getoption("--search")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Imports and collects without the garbage collector, which then ignores it all."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_report_header() -> str:
    return f"exact searches: {os.environ.get('DXBEAM_SEARCH', 'the fastest that is exact here')}"


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real embeddings and corpora; skips where it is absent."""
    if not DATA.is_dir():
        pytest.skip(f"the real data is not there ({DATA})")
    return DATA


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where a tiny vocabulary is, see tests/support/tiny.py."""
    from tests.support import tiny  # not above, as it needs Beam and most tests do not

    return tiny.write_artifact(tmp_path_factory.mktemp("vocabulary"))


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages have their figures with nothing in them: drawing takes most of a small job's time."""
    from matplotlib.figure import Figure

    def save(_: Figure, file: TextIO, **options: object) -> None:
        file.write("<svg></svg>")

    monkeypatch.setattr(Figure, "savefig", save)


@pytest.fixture
def key(tmp_path: Path) -> str:
    """The flag that names a kept key, which is at ``tmp_path / "key"``."""
    from tests.support import tiny

    (tmp_path / "key").write_text(tiny.KEY.hex())
    return f"--key_uri={tmp_path}/key"
