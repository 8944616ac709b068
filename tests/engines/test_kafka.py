"""A stream through Kafka and Flink publishes each message as the Sanitizer makes it."""

from __future__ import annotations

import pytest

from benchmarks import stream
from tests.engines import installed

pytestmark = pytest.mark.engines


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What 3,000 messages come to; python -m benchmarks.stream kills processes besides."""
    pytest.importorskip("confluent_kafka", reason="needs a client: pip install confluent-kafka")
    try:
        installed.job_server(installed.KAFKA)
        installed.job_server(installed.FLINK_KAFKA)
    except installed.Unavailable as reason:
        pytest.skip(f"Kafka on Flink is not to be had: {reason}")
    return stream.run(tmp_path_factory.mktemp("stream"), stream.Settings(3_000))


def test_nothing_is_lost_and_what_is_doubled_is_equal(seen: dict[str, object]) -> None:
    assert seen["lost"] == seen["unequal"] == seen["other than without Beam"] == 0
    assert seen["dead letters"] == stream.DEAD_LETTERS


def test_windows_and_ledger_are_right(seen: dict[str, object]) -> None:
    assert int(str(seen["counted in windows"])) >= 3_000
    assert seen["lines of the ledger"] == int(str(seen["windows"])) + 1
    assert seen["epsilon spent"] == 10.0


def test_no_file_holds_a_raw_word(seen: dict[str, object]) -> None:
    """Neither logs nor temporary files, checkpoints, dead letters, records or the ledger."""
    assert int(str(seen["checkpoints searched"])) > 0
    assert seen["files with raw words"] == []
    assert seen["released messages with raw words"] == 0
