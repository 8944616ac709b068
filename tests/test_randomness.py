"""Keys and keystreams."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dxbeam.errors import ConfigurationError
from dxbeam.randomness import document_key, draw_key, fill, fingerprint, read_key
from tests.tiny import KEY


@given(st.integers(0, 500), st.integers(1, 50), st.sampled_from([2, 4, 454]))
def test_any_stretch_of_the_stream_can_be_sought(first: int, words: int, draws: int) -> None:
    whole = np.empty((first + words, draws), np.uint64)
    fill(KEY, 0, whole)
    stretch = np.empty((words, draws), np.uint64)
    fill(KEY, first, stretch)
    assert (stretch == whole[first:]).all()


def test_parts_of_a_key_do_not_run_into_each_other() -> None:
    keys = [
        document_key(KEY, "ab", "c", "d"),
        document_key(KEY, "a", "bc", "d"),
        document_key(KEY, "a", "b", "cd"),
        document_key(KEY, "ab", "cd", ""),
        document_key(bytes(32), "ab", "c", "d"),
    ]
    assert len(set(keys)) == 5


@pytest.mark.parametrize(
    "content",
    [KEY, KEY.hex().encode(), KEY.hex().upper().encode() + b"\n", base64.b64encode(KEY) + b"\n"],
    ids=["raw", "hex", "hex with a line end", "base64"],
)
def test_a_key_is_read_from_a_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)
    assert read_key(str(tmp_path / "key")) == KEY
    assert read_key(f"file://{tmp_path / 'key'}") == KEY


def test_a_key_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DXBEAM_TEST_KEY", KEY.hex())
    assert read_key("env:DXBEAM_TEST_KEY") == KEY


def test_what_is_no_key_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DXBEAM_TEST_KEY", "topsecret")
    with pytest.raises(ConfigurationError, match="not a key") as refusal:
        read_key("env:DXBEAM_TEST_KEY")
    assert "topsecret" not in str(refusal.value)


def test_a_fingerprint_names_a_key_and_is_not_part_of_it() -> None:
    key = draw_key()
    assert len(key) == 32
    assert fingerprint(key) == fingerprint(key) != fingerprint(draw_key())
    assert fingerprint(key) not in key.hex()
