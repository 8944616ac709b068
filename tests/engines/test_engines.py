"""One job, one key, every engine: the same documents, metrics, dead letters and counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engines.same_release import SameRelease
from tests.support import tiny

pytestmark = pytest.mark.engines

LOCAL = ["one process", "two processes"]
REMOTE = ["prism", "flink", "spark"]


@pytest.mark.parametrize("flags", LOCAL + REMOTE, indirect=True, scope="module")
class TestEveryEngine(SameRelease):
    pass


@pytest.mark.parametrize("flags", REMOTE, indirect=True, scope="module")
def test_what_a_worker_refuses_arrives_as_one_sentence(
    flags: tuple[str, ...], tmp_path: Path
) -> None:
    corpus = tiny.write_jsonl(
        tmp_path / "bad.jsonl", [b'{"id": "a", "text": "\\u0000"}', b"nor JSON"]
    )
    done = tiny.program("demo", corpus, tmp_path / "out", *flags)
    assert done.returncode == 2, done.stderr[-2000:]
    [sentence] = [line for line in done.stderr.splitlines() if line.startswith("dxbeam: ")]
    assert sentence.startswith("dxbeam: no document could be released: 2 records were rejected")
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").iterdir())
