"""What all tests share: where the real data lies, and loud warnings about what was skipped."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real embeddings and corpora; skips where it is absent."""
    if not DATA.is_dir():
        pytest.skip(f"the real data is not there ({DATA})")
    return DATA
