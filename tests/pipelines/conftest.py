"""A corpus with authors and labels, and its release: what is evaluated."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import releases


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return releases.write_corpus(tmp_path_factory.mktemp("corpus") / "texts.jsonl")


@pytest.fixture(scope="module")
def release(uri: str, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return releases.release(uri, corpus, tmp_path_factory.mktemp("release") / "out")
