"""Lines of plain and compressed files: each exactly once, however the work is divided."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dxbeam.corpus import reading
from dxbeam.corpus.files import matching_files
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.parsing import lines
from dxbeam.corpus.settings import Division
from dxbeam.documents import Document, Rejected
from dxbeam.errors import CorpusError
from tests.support import corpora

TEXT = CorpusFormat("text")


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    content_lines=st.lists(st.text(alphabet="ab é\r", max_size=30), min_size=1, max_size=40),
    size=st.integers(1, 50),
    ended=st.booleans(),
    packed=st.sampled_from(["", ".gz", ".zst"]),
)
def test_any_division_reads_each_line_once(
    tmp_path: Path,
    content_lines: list[str],
    size: int,
    ended: bool,
    packed: str,
) -> None:
    content = "\n".join(content_lines).encode() + (b"\n" if ended else b"")
    if not content:
        return
    path = tmp_path / f"lines.txt{packed}"
    pack = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[packed]
    path.write_bytes(pack(content))
    read_as = CorpusFormat("text", division=Division(size, records_per_run=1 + size % 3))
    expected = [
        (f"lines.txt{packed}:{number}", line.rstrip(b"\r\n").decode())
        for number, line in enumerate(_lines(content), 1)
    ]
    read = [(result.id, result.text) for result in corpora.read(path, read_as)]  # type: ignore[union-attr]
    assert sorted(read) == sorted(expected)


def _lines(content: bytes) -> list[bytes]:
    parts = content.split(b"\n")
    lines = [part + b"\n" for part in parts[:-1]]
    return lines + ([parts[-1]] if parts[-1] else [])


def test_a_byte_order_mark_is_one_only_at_the_start_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_bytes("\ufeffa\n\ufeffb\n".encode())
    read_as = CorpusFormat("text", division=Division(5))
    assert corpora.read(tmp_path / "c.txt", read_as) == [
        Document("c.txt:1", "a"),
        Document("c.txt:2", "\ufeffb"),
    ]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_record_that_is_too_long_is_passed_over_whole(tmp_path: Path, size: int) -> None:
    (tmp_path / "c.txt").write_bytes(b"a\n" + b"x" * 11 + b"\n" + b"y" * 10 + b"\nb")
    read_as = CorpusFormat("text", largest_document=10, division=Division(size))
    results = corpora.read(tmp_path / "c.txt", read_as)
    assert results == [
        Document("c.txt:1", "a"),
        Rejected("c.txt:2", "the record is longer than 10 bytes"),
        Document("c.txt:3", "y" * 10),
        Document("c.txt:4", "b"),
    ]


@pytest.mark.parametrize("packed", [".gz", ".zst"])
def test_packed_files_may_be_joined(tmp_path: Path, packed: str) -> None:
    pack = {".gz": gzip.compress, ".zst": zstandard.compress}[packed]
    (tmp_path / f"c.txt{packed}").write_bytes(pack(b"a\nb") + pack(b"c\nd\n"))
    found = corpora.read(tmp_path / f"c.txt{packed}", TEXT)
    assert [result[1] for result in found] == ["a", "bc", "d"]


@pytest.mark.parametrize("packed", [".gz", ".zst"])
@pytest.mark.parametrize("size", [1000, 1 << 20])
def test_a_truncated_file_is_known_before_anything_is_read(
    tmp_path: Path, packed: str, size: int
) -> None:
    pack = {".gz": gzip.compress, ".zst": zstandard.compress}[packed]
    whole = pack("\n".join(f"{i}{'é' * (i % 50)}" for i in range(20_000)).encode())
    (tmp_path / f"c.txt{packed}").write_bytes(whole[: len(whole) // 2])
    read_as = CorpusFormat("text", division=Division(size))
    [file] = matching_files(str(tmp_path / "*"))
    failed = []
    for split in lines.splits(file, read_as):
        try:
            reading.count_records(split, read_as)
        except CorpusError as error:
            failed.append(str(error))
    [said] = failed
    assert "cannot be read to its end" in said


def test_zeros_after_a_packed_file_are_passed_over(tmp_path: Path) -> None:
    """As tape archives and copies in blocks leave them; gzip itself ignores them."""
    lines = "".join(f"line {i}\n" for i in range(24)).encode()
    padded = gzip.compress(lines) + bytes(700)
    (tmp_path / "c.txt.gz").write_bytes(padded)
    assert len(corpora.read(tmp_path / "c.txt.gz", TEXT)) == 24
    (tmp_path / "c.txt.gz").write_bytes(padded + gzip.compress(b"more"))
    assert len(corpora.read(tmp_path / "c.txt.gz", TEXT)) == 25


@pytest.mark.parametrize("damage", ["byte", "tail", "no gzip"])
def test_a_damaged_packed_file_is_no_whole_one(tmp_path: Path, damage: str) -> None:
    packed = bytearray(gzip.compress("".join(f"{i * i}\n" for i in range(5000)).encode()))
    if damage == "byte":
        packed[len(packed) // 2] ^= 255
    content = {"byte": packed, "tail": packed + b"junk", "no gzip": b"plain"}[damage]
    (tmp_path / "c.txt.gz").write_bytes(content)
    with pytest.raises(CorpusError, match="cannot be read to its end"):
        corpora.read(tmp_path / "c.txt.gz", TEXT)
