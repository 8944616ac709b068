"""Keys and keystreams."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from dxbeam import storage
from dxbeam.errors import ConfigurationError
from dxbeam.keys import check_key_uri, draw_key, fingerprint, read_key
from dxbeam.randomness import document_key, draws_a_word, fill
from tests.support.tiny import KEY


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


def test_raw_bytes_and_passphrases_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environb, b"DXBEAM_TEST_KEY", bytes(range(128, 160)))
    assert read_key("env:DXBEAM_TEST_KEY") == bytes(range(128, 160))
    monkeypatch.setenv("DXBEAM_TEST_KEY", "correct horse battery staple pwd")
    with pytest.raises(ConfigurationError, match="not a key"):
        read_key("env:DXBEAM_TEST_KEY")


def test_a_fingerprint_names_a_key_and_is_not_part_of_it() -> None:
    key = draw_key()
    assert len(key) == 32
    assert fingerprint(key) == fingerprint(key) != fingerprint(draw_key())
    assert fingerprint(key) not in key.hex()


def test_the_stream_is_that_of_aes_in_counter_mode() -> None:
    """Block by block: AES of the block's number under the document's key."""
    random = np.empty((3, 4), np.uint64)
    fill(KEY, 1000, random)
    cipher = Cipher(algorithms.AES(KEY), modes.ECB())
    blocks = b"".join(
        cipher.encryptor().update(number.to_bytes(16, "big")) for number in range(2000, 2006)
    )
    assert random.astype("<u8").tobytes() == blocks


@given(st.integers(1, 1000))
def test_a_words_numbers_fill_whole_blocks(needed: int) -> None:
    assert draws_a_word(needed) - needed in (0, 1)
    assert draws_a_word(needed) % 2 == 0


def test_a_fixed_key_gives_these_numbers_for_ever() -> None:
    """Pins keys and stream: what they key must stay repeatable with a key that was kept."""
    key = document_key(KEY, "configuration", "id \ud800", "text é")
    assert key.hex() == ("2dd79beaaa253f7bdac2284c7c1aa6fe76dc4dd795f49a3e2af3d2ac91006efc")
    random = np.empty((1, 2), np.uint64)
    fill(key, 2**40, random)
    assert random.tolist() == [[11853836587394047227, 9550944107291658472]]
    assert fingerprint(KEY) == "f41dd74e97919f53"


@given(st.tuples(st.text(), st.text(), st.text()), st.tuples(st.text(), st.text(), st.text()))
def test_different_documents_have_different_keys(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    assert (document_key(KEY, *one) == document_key(KEY, *other)) == (one == other)


NO_KEYS = {
    "empty": b"",
    "31 bytes": KEY[:31],
    "33 bytes": KEY + b"x",
    "62 digits": KEY.hex().encode()[:62],
    "no digit": KEY.hex().encode()[:63] + b"g",
    "base64 of 31 bytes": base64.b64encode(KEY[:31]),
    "all zeros": bytes(32),
    "one digit repeated": b"0f" * 32,
}


@pytest.mark.parametrize("name", NO_KEYS)
def test_every_other_content_is_refused_and_not_shown(tmp_path: Path, name: str) -> None:
    (tmp_path / "key").write_bytes(NO_KEYS[name])
    with pytest.raises(ConfigurationError, match=r"openssl rand|not a random key") as refusal:
        read_key(str(tmp_path / "key"))
    assert not NO_KEYS[name] or str(NO_KEYS[name])[2:-1] not in str(refusal.value)
    assert KEY.hex()[:16] not in str(refusal.value)


def test_where_there_is_no_key_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DXBEAM_TEST_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="DXBEAM_TEST_KEY: this environment variable"):
        read_key("env:DXBEAM_TEST_KEY")
    for absent in (tmp_path / "absent", tmp_path):
        with pytest.raises(ConfigurationError, match="cannot be read") as refusal:
            read_key(str(absent))
        assert str(absent) in str(refusal.value)


KEYS_AS_NAMES = [
    bytes(range(0, 256, 8)).hex(),
    bytes(range(0, 256, 8)).hex().upper(),
    base64.b64encode(bytes(range(255, 127, -4))).decode(),
    base64.urlsafe_b64encode(bytes(range(255, 127, -4))).decode(),
    base64.b64encode(bytes(range(255, 127, -4))).decode().rstrip("="),
]


@pytest.mark.parametrize("key", KEYS_AS_NAMES)
@pytest.mark.parametrize("scheme", ["", "env:", "file://", "file:///", "/"])
def test_a_key_in_place_of_its_name_is_refused_and_not_shown(key: str, scheme: str) -> None:
    for act in (check_key_uri, read_key):
        with pytest.raises(ConfigurationError, match="looks like the key itself") as refusal:
            act(scheme + key)
        assert not any(key[i : i + 6] in str(refusal.value) for i in range(len(key) - 6))


@pytest.mark.parametrize("key", KEYS_AS_NAMES)
@pytest.mark.parametrize("scheme", ["", "env:", "file://", "file:///", "/", "gs:/"])
def test_a_part_of_a_key_is_not_shown_either(
    key: str, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut short, doubled, or with a slip of the finger."""
    if scheme == "gs:/":  # with a slash too few or not, no bucket is asked for

        def read(uri: str) -> bytes:
            raise OSError(f"there is no {uri}")

        monkeypatch.setattr(storage, "read", read)
    for slip in (key[:-3], key + key, key[:20] + "?" + key[20:], key[:30]):
        with pytest.raises(ConfigurationError) as refusal:
            read_key(scheme + slip)
        assert not any(slip[i : i + 6] in str(refusal.value) for i in range(len(slip) - 6))


def test_a_word_that_names_nothing_is_not_shown() -> None:
    with pytest.raises(ConfigurationError, match="cannot be read") as refusal:
        read_key("correct horse battery")
    assert "horse" not in str(refusal.value)


def test_a_file_may_be_called_what_looks_like_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / KEYS_AS_NAMES[0]).write_text(KEY.hex())
    assert read_key(KEYS_AS_NAMES[0]) == KEY
    check_key_uri("gs://bucket/" + KEYS_AS_NAMES[0])  # the name of an object may be a digest


@pytest.mark.parametrize(
    ("mode", "warned"),
    [(0o600, False), (0o400, False), (0o644, True), (0o640, True), (0o602, True)],
)
def test_a_key_file_that_others_may_read_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, warned: bool
) -> None:
    (tmp_path / "key").write_text(KEY.hex())
    (tmp_path / "key").chmod(mode)
    for _ in range(3):
        assert read_key(f"file://{tmp_path}/key") == KEY
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == warned, "once a process"
    assert all("others on this machine may read" in sentence for sentence in said)
    assert KEY.hex() not in caplog.text
