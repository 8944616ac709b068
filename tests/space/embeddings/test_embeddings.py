"""Readers of embedding files: every format, every wrapping, every error."""

import gzip
import io
import logging
import struct
import unicodedata
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxbeam.errors import ConfigurationError, EmbeddingFileError
from dxbeam.space.embeddings.reader import FORMATS, ReadingReport, read_embeddings

WORDS = ["the", "naïve", "'tis", "name@domain.com", "½", "5", "日本"]
VECTORS = np.arange(1, len(WORDS) * 3 + 1, dtype=np.float32).reshape(-1, 3) / 7 - 1

GLOVE = b"the 1 2 3\nsecretword 4 5 6\nof 7 8 9\n"


def encoded(words, vectors, file_format, newline=b"\n"):
    """The bytes of a file, as the tools that write such files would."""
    header = f"{len(words)} {vectors.shape[1]}".encode() + newline
    if file_format == "word2vec_binary":
        rows = (
            word.encode() + b" " + struct.pack(f"<{len(row)}f", *row) + newline
            for word, row in zip(words, vectors, strict=True)
        )
    else:
        rows = (
            " ".join([word, *map(repr, map(float, row))]).encode() + newline
            for word, row in zip(words, vectors, strict=True)
        )
    return (b"" if file_format == "glove" else header) + b"".join(rows)


def write(directory, content, wrapping="plain", name="vectors.txt"):
    path = directory / name
    if wrapping == "gz":
        path = directory / f"{name}.gz"
        path.write_bytes(gzip.compress(content, mtime=0))
    elif wrapping == "zip":
        path = directory / "vectors.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, content)
    else:
        path.write_bytes(content)
    return str(path)


def read(path, **options):
    chunks = list(read_embeddings(path, **options))
    assert all(chunk.words and len(chunk.words) == len(chunk.vectors) for chunk in chunks)
    assert all(chunk.vectors.dtype == np.float32 for chunk in chunks)
    assert all(chunk.vectors.flags.c_contiguous for chunk in chunks)
    words = [word for chunk in chunks for word in chunk.words]
    return words, np.concatenate([chunk.vectors for chunk in chunks])


def usable(words, vectors):
    """The words that are kept: neither white space nor control characters in them."""
    keep = [not any(c.isspace() or unicodedata.category(c) == "Cc" for c in w) for w in words]
    return [word for word, kept in zip(words, keep, strict=True) if kept], vectors[keep]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("wrapping", ["plain", "gz", "zip"])
@pytest.mark.parametrize("file_format", FORMATS)
def test_every_format_in_every_wrapping(tmp_path, file_format, wrapping, named):
    words, vectors = WORDS, VECTORS
    content = encoded(words, vectors, file_format)
    path = write(tmp_path, content, wrapping)
    report = ReadingReport()
    got_words, got = read(path, file_format=file_format if named else "auto", report=report)
    assert got_words == words
    np.testing.assert_array_equal(got, vectors)
    source = {"plain": "vectors.txt", "gz": "vectors.txt.gz", "zip": "vectors.zip!vectors.txt"}
    assert report == ReadingReport(
        source[wrapping], file_format, words=len(words), bytes_read=len(content)
    )


float32 = st.floats(-(2.0**53), 2.0**53, width=32)  # 9e15


@st.composite
def tables(draw, in_word):
    n = draw(st.integers(1, 6))
    # A text word with a number after its last space would be one value too many.
    word = st.text(in_word, min_size=1, max_size=12).filter(
        lambda w: (
            not w.isspace() and w == w.strip(" ") and not w.rsplit(" ", 1)[-1].isascii()
            if " " in w
            else not w.isspace()
        )
    )
    words = ["usable", *draw(st.lists(word, max_size=20, unique=True))]
    row = st.lists(float32, min_size=n, max_size=n)
    rows = draw(st.lists(row, min_size=len(words), max_size=len(words)))
    return words, np.array(rows, np.float32)


def characters(excluded):
    return st.characters(exclude_categories=["Cs"], exclude_characters=excluded)


@settings(deadline=None)
@given(tables(characters("\n\ufeff")), st.sampled_from(["plain", "gz", "zip"]), st.integers(1, 5))
def test_text_with_a_header_round_trips(tmp_path_factory, table, wrapping, rows):
    words, vectors = table
    path = write(tmp_path_factory.mktemp("d"), encoded(words, vectors, "word2vec"), wrapping)
    got_words, got = read(path, file_format="word2vec", chunk_words=rows)
    words, vectors = usable(words, vectors)
    assert got_words == words
    np.testing.assert_array_equal(got.view(np.int32), vectors.view(np.int32))


@settings(deadline=None)
@given(tables(characters("\n \ufeff")), st.booleans())
def test_glove_round_trips(tmp_path_factory, table, crlf):
    words, vectors = table
    content = encoded(words, vectors, "glove", b"\r\n" if crlf else b"\n")
    got_words, got = read(write(tmp_path_factory.mktemp("d"), content), file_format="glove")
    words, vectors = usable(words, vectors)
    assert got_words == words
    np.testing.assert_array_equal(got.view(np.int32), vectors.view(np.int32))


@settings(deadline=None)
@given(
    tables(characters("\n\r \ufeff")),
    st.sampled_from([b"\n", b""]),
    st.integers(1, 5),
    st.integers(1, 9),
)
def test_binary_round_trips(tmp_path_factory, table, newline, rows, block):
    words, vectors = table
    header, entries = encoded(words, vectors, "word2vec_binary", newline), b""
    if not newline:
        first = f"{len(words)} {vectors.shape[1]}".encode()
        header, entries = first + b"\n", header[len(first) :]
    path = write(tmp_path_factory.mktemp("d"), header + entries)
    # Entries straddle reads.
    got_words, got = read(path, file_format="word2vec_binary", chunk_words=rows, block=block)
    words, vectors = usable(words, vectors)
    assert got_words == words
    np.testing.assert_array_equal(got.view(np.int32), vectors.view(np.int32))


@settings(deadline=None)
@given(st.binary(max_size=200), st.sampled_from([*FORMATS, "auto"]))
def test_any_bytes_are_read_or_refused_with_the_file_named(tmp_path_factory, content, file_format):
    path = write(tmp_path_factory.mktemp("d"), content)
    try:
        words, vectors = read(path, file_format=file_format)
    except EmbeddingFileError as error:
        assert path in str(error)  # noqa: PT017
    else:
        assert len(words) == len(vectors)
        assert np.isfinite(vectors).all()


@settings(deadline=None)
@given(st.sampled_from(list(FORMATS)), st.data())
def test_a_file_cut_anywhere_is_refused_or_a_prefix(tmp_path_factory, file_format, data):
    words, vectors = WORDS, VECTORS
    content = encoded(words, vectors, file_format)
    # Below the first line only: a GloVe file cut within it is a whole file of shorter vectors.
    cut = content[: data.draw(st.integers(content.index(b"\n") + 1, len(content)))]
    path = write(tmp_path_factory.mktemp("d"), cut)
    try:
        got, got_vectors = read(path, file_format=file_format)
    except EmbeddingFileError:
        return
    # Only in text can the last value lose digits, and only GloVe can lose whole lines, unnoticed.
    assert got == words[: len(got)]
    np.testing.assert_array_equal(got_vectors[:-1], vectors[: len(got) - 1])
    assert file_format == "glove" or len(got) == len(words)


def test_text_is_rounded_once_to_the_nearest_float32(tmp_path):
    # Half-way between two float32 but for a last digit that float64 cannot hold.
    text = b"1.00000005960464477539062500000001"
    _, vectors = read(write(tmp_path, b"a " + text + b" -0.0\nb 1e-50 +2.5E1\n"))
    expected = np.array([[np.nextafter(np.float32(1), np.float32(2)), -0.0], [0, 25]], np.float32)
    np.testing.assert_array_equal(vectors.view(np.int32), expected.view(np.int32))


@pytest.mark.parametrize(
    "content",
    [
        GLOVE.rstrip(b"\n"),
        GLOVE + b"\n",
        GLOVE + b"\r\n \n\n",
        GLOVE.replace(b"\n", b"\r\n"),
        GLOVE.replace(b"\n", b" \n"),  # word2vec's own writer does this
        b"\xef\xbb\xbf" + GLOVE,
        b"\xef\xbb\xbf3 3\n" + GLOVE,
        b"3 3 \r\n" + GLOVE.replace(b"\n", b" \r\n") + b"\r\n",
    ],
)
@pytest.mark.parametrize("wrapping", ["plain", "gz"])
def test_harmless_variations(tmp_path, content, wrapping):
    words, vectors = read(write(tmp_path, content, wrapping))
    assert words == ["the", "secretword", "of"]
    np.testing.assert_array_equal(vectors, np.arange(1, 10).reshape(3, 3))


def test_the_first_words_may_have_spaces(tmp_path):
    words, vectors = read(write(tmp_path, b". . . 1 2\nat a@b.c 3 4\na 5 6\nb 7 8\nc 9 0\n"))
    assert words == ["a", "b", "c"]
    np.testing.assert_array_equal(vectors, [[5, 6], [7, 8], [9, 0]])


def test_a_binary_file_is_recognized_whatever_its_name(tmp_path):
    words, vectors = WORDS, VECTORS
    report = ReadingReport()
    content = encoded(words, vectors, "word2vec_binary")
    read(write(tmp_path, content, name="v.vec"), report=report)
    assert report.file_format == "word2vec_binary"
    read(write(tmp_path, encoded(words, vectors, "word2vec"), name="v.bin"), report=report)
    assert report.file_format == "word2vec"


@pytest.mark.parametrize("file_format", FORMATS)
def test_repeated_words_keep_the_first(tmp_path, file_format):
    words = ["The", "of", "the", "of", "THE", "is"]
    vectors = np.arange(12, dtype=np.float32).reshape(6, 2)
    path = write(tmp_path, encoded(words, vectors, file_format))
    report = ReadingReport()
    got, matrix = read(path, report=report)
    assert got == ["The", "of", "the", "THE", "is"]
    np.testing.assert_array_equal(matrix, vectors[[0, 1, 2, 4, 5]])
    assert (report.words, report.duplicates) == (5, 1)
    report = ReadingReport()
    got, matrix = read(path, lowercase=True, report=report)
    assert got == ["the", "of", "is"]
    np.testing.assert_array_equal(matrix, vectors[[0, 1, 5]])
    assert (report.words, report.duplicates) == (3, 3)


def test_repeated_words_are_found_across_chunks(tmp_path):
    path = write(tmp_path, b"a 1\nb 2\nb 3\na 4\nc 5\n")
    report = ReadingReport()
    chunks = list(read_embeddings(path, report=report, chunk_words=2))
    assert [chunk.words for chunk in chunks] == [["a", "b"], ["c"]]
    assert report.duplicates == 2


def test_words_that_are_no_text_are_left_out_and_counted(tmp_path):
    odd = ["\x85", "\xa0\xa0", "x y", "x\0y", "x\u2028y", "\x1c", "x\x1b", "\x7f", "x\u3000"]
    content = b"a 1 2\n\xff\xfe 3 4\n" + "".join(f"{w} 5 6\n" for w in odd).encode() + b"b 7 8\n"
    report = ReadingReport()
    words, vectors = read(write(tmp_path, content), report=report)
    assert words == ["a", "b"]
    np.testing.assert_array_equal(vectors, [[1, 2], [7, 8]])
    assert (report.words, report.undecodable, report.unusable) == (2, 1, len(odd))


@pytest.mark.parametrize("file_format", FORMATS)
def test_max_words_counts_kept_words_and_reads_no_further(tmp_path, file_format):
    words, vectors = ["a", "a", "b", "c", "d"], np.ones((5, 2), np.float32)
    content = encoded(words, vectors, file_format)
    at = content.index(b"\nc ") if file_format != "word2vec_binary" else content.index(b"c ")
    path = write(tmp_path, content[:at] + b"\nbroken")
    report = ReadingReport()
    got, _ = read(path, max_words=2, report=report, file_format=file_format)
    assert got == ["a", "b"]
    assert report.duplicates == 1
    with pytest.raises(EmbeddingFileError):
        read(path, max_words=3, file_format=file_format)


def test_max_words_must_be_positive(tmp_path):
    with pytest.raises(ConfigurationError, match="max_words is 0"):
        read(write(tmp_path, GLOVE), max_words=0)


def test_chunks_are_bounded_and_only_one_is_read_ahead(tmp_path):
    path = write(tmp_path, b"".join(b"w%d 1 2\n" % i for i in range(10_000)) + b"broken\n")
    chunks = read_embeddings(path)
    assert [len(next(chunks).words), len(next(chunks).words)] == [4096, 4096]
    with pytest.raises(EmbeddingFileError, match=r"line 10001: 0 values where 2 are expected"):
        next(chunks)


def test_long_reads_log_progress_without_words(tmp_path, caplog):
    caplog.set_level(logging.INFO, "dxbeam.space.embeddings.reader")
    read(write(tmp_path, GLOVE, "zip"), chunk_words=1, log_seconds=0.0)
    assert "3 words read, 100 %" in caplog.messages[-1]
    assert "secretword" not in caplog.text


TEXT_FAULTS = {
    "nan": (b"secretword 4 nan 6", "line 2: value 2 is NaN, infinite or too large"),
    "infinite": (b"secretword -inf 5 6", "line 2: value 1 is NaN, infinite or too large"),
    "squares overflow": (b"secretword 4 5 2e16", "line 2: value 3 is NaN, infinite or too large"),
    "overflow": (b"secretword 4 5 1e39", "line 2: value 3 is NaN, infinite or too large"),
    "short": (b"secretword 4 5", "line 2: 2 values where 3 are expected"),
    "long": (b"secretword 4 5 6 7 8", "line 2: 5 values where 3 are expected"),
    "letters": (b"secretword 4 five 6", "line 2: value 2 is not a number"),
    "two points": (b"secretword 4 1.2.3 6", "line 2: value 2 is not a number"),
    "underscore": (b"secretword 4 1_0 6", "line 2: value 2 is not a number"),
    "bytes": (b"secretword 4 \xff 6", "line 2: value 2 is not a number"),
    "no value": (b"secretword  5 6", "line 2: value 1 is not a number"),
    "two spaces": (b"secretword 4  5 6", "line 2: 4 values where 3 are expected"),
    "tabs": (b"secretword\t4\t5\t6", "line 2: 0 values where 3 are expected"),
    "no word": (b" 4 5 6", "line 2: no word before the vector"),
    "blank word": (b"  4 5 6", "line 2: no word before the vector"),
    "blank line": (b"", "line 2: a blank line before the end"),
}


@pytest.mark.parametrize("wrapping", ["plain", "gz", "zip"])
@pytest.mark.parametrize("has_header", [False, True])
@pytest.mark.parametrize(("line", "message"), TEXT_FAULTS.values(), ids=TEXT_FAULTS)
def test_faulty_lines(tmp_path, line, message, has_header, wrapping):
    content = GLOVE.replace(b"secretword 4 5 6", line)
    if has_header:
        content, message = b"3 3\n" + content, message.replace("line 2", "line 3")
    refused(write(tmp_path, content, wrapping), message, "auto")


def refused(path, message, file_format, mentions=None):
    with pytest.raises(EmbeddingFileError) as caught:
        read(path, file_format=file_format)
    text = str(caught.value)
    assert message in text
    assert (mentions or path) in text
    assert "\n" not in text
    for secret in ("secretword", "five", "1.2.3", "1_0", "nan", "1e39"):
        assert secret not in text.replace(path, "")


@pytest.mark.parametrize(
    ("content", "file_format", "message"),
    [
        (b"", "auto", "is empty"),
        (b"\xef\xbb\xbf", "auto", "blank lines"),
        (b"\n \n", "auto", "blank lines"),
        (b"secretword\n", "glove", "line 1: vectors of 0 values"),
        (b"secretword " + b"1 " * 70_000, "glove", "line 1: vectors of 70000 values"),
        (GLOVE, "word2vec", "line 1: no header"),
        (GLOVE, "word2vec_binary", "line 1: no header"),
        (b"3 3\n" + GLOVE, "glove", "line 1: 1 values where 3 are expected"),
        (b"0 3\n", "auto", "line 1: the header promises 0 words"),
        (b"-2 3\n" + GLOVE, "auto", "line 1: the header promises -2 words"),
        (b"3 0\n" + GLOVE, "auto", "line 1: vectors of 0 values"),
        (b"3 -1\n" + GLOVE, "auto", "line 1: vectors of -1 values"),
        (b"3 99999999999\n" + GLOVE, "auto", "line 1: vectors of 99999999999 values"),
        (b"2 3\n" + GLOVE, "auto", "line 4: more words than the 2"),
        (b"4 3\n" + GLOVE, "auto", "line 4: the file ends after 3 of the 4 words"),
        (b"4 3\n", "auto", "line 1: the file ends after 0 of the 4 words"),
        (b"3 2\n" + GLOVE, "auto", "line 2: 3 values where 2 are expected"),
        (b"3 4\n" + GLOVE, "auto", "line 2: 3 values where 4 are expected"),
        (b"the 1 2 3\nsecretword" + b"x" * 70_000, "glove", "line 2: a line of"),
        (b"\xff 1 2\n", "auto", "no word that is valid UTF-8"),
        (GLOVE, "fasttext", "no embedding format 'fasttext'"),
    ],
)
def test_faulty_text_files(tmp_path, content, file_format, message):
    refused(write(tmp_path, content), message, file_format)


def entry(word, *values):
    return word + b" " + struct.pack(f"<{len(values)}f", *values)


FIRST, SECOND = entry(b"the", 1, 2, 3), entry(b"secretword", 4, 5, 6)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"2 3\n" + FIRST, "word 2: the file ends in the middle of it"),
        (b"2 3\n" + FIRST + SECOND[:15], "word 2: the file ends in the middle of it"),
        (b"2 3\n" + FIRST + SECOND[:5], "word 2: the file ends in the middle of it"),
        (b"1 3\n" + FIRST + SECOND, "word 1: more bytes after it"),
        (b"1 3\n" + FIRST + b"\n\n" + SECOND, "word 1: more bytes after it"),
        (
            b"2 3\n" + FIRST + entry(b"secretword", 4, float("nan"), 6),
            "word 2: a NaN, infinite or too large",
        ),
        (
            b"2 3\n" + FIRST + entry(b"secretword", 4, 5, float("inf")),
            "word 2: a NaN, infinite or too large",
        ),
        (b"2 3\n" + FIRST + entry(b"", 4, 5, 6), "word 2: no word where one must begin"),
        (b"2 2\n" + FIRST + b"\n" + SECOND + b"\n", "word 2: no word where one must begin"),
        (b"2 3\n" + FIRST + b"secretword" * 10_000, "word 2: a word of more than"),
        (b"0 3\n" + FIRST, "line 1: the header promises 0 words"),
        (b"2 0\n" + FIRST, "line 1: vectors of 0 values"),
        (b"\xba\x16\x4f\x2f" + FIRST, "line 1: no header"),  # the magic of fastText's .bin
    ],
)
@pytest.mark.parametrize("wrapping", ["plain", "gz", "zip"])
def test_faulty_binary_files(tmp_path, content, message, wrapping):
    path = write(tmp_path, content, wrapping, name="vectors.bin")
    refused(path, message, "word2vec_binary")


def test_a_fasttext_model_is_refused_by_its_suffix(tmp_path):
    path = write(tmp_path, b"\xba\x16\x4f\x2f" + FIRST, "gz", name="model.bin")
    refused(path, "take the .vec file", "auto")


def test_a_missing_file_a_directory_and_an_unknown_scheme(tmp_path):
    refused(str(tmp_path / "absent.txt"), "is not there", "auto")
    refused(str(tmp_path / "absent.zip") + "!x", "is not there", "auto", "absent.zip")
    refused(str(tmp_path), "is a directory", "auto")
    refused("nowhere://x/y.txt", "cannot be opened", "auto")


@pytest.mark.parametrize("file_format", FORMATS)
def test_truncated_and_damaged_gzip(tmp_path, file_format):
    random = np.random.default_rng(0).normal(size=(2000, 20)).astype(np.float32)
    words = [f"w{i}" for i in range(2000)]
    whole = gzip.compress(encoded(words, random, file_format))
    path = tmp_path / "vectors.txt.gz"
    for kept in (5, 40, len(whole) // 2, len(whole) - 4):
        path.write_bytes(whole[:kept])
        refused(str(path), "is cut off in the middle of its compressed data", "auto")
    path.write_bytes(whole[:-8] + bytes(8))
    refused(str(path), "cannot be read beyond", "auto")
    path.write_bytes(whole[:100] + bytes(200) + whole[300:])
    refused(str(path), "cannot be read beyond", "auto")
    path.write_bytes(GLOVE)
    refused(str(path), "cannot be read beyond line 0", "auto")


def test_members_of_a_zip(tmp_path):
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.mkdir("d") if hasattr(archive, "mkdir") else archive.writestr("d/", b"")
        archive.writestr("d/a.txt", GLOVE)
        archive.writestr("b.txt", b"b 1 2\n")
    report = ReadingReport()
    words, _ = read(f"{path}!d/a.txt", report=report)
    assert words == ["the", "secretword", "of"]
    assert report.source == "many.zip!d/a.txt"
    refused(str(path), "has 2 files in it where one is needed", "auto")
    refused(str(path), "it holds d/a.txt, b.txt", "auto")
    refused(f"{path}!c.txt", "has 0 files named c.txt where one is needed", "auto", str(path))


def test_damaged_zips(tmp_path):
    path = tmp_path / "v.zip"
    path.write_bytes(GLOVE)
    refused(str(path), "is not a whole zip archive", "auto")
    with zipfile.ZipFile(path, "w"):
        pass
    refused(str(path), "has 0 files in it", "auto")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.txt", GLOVE)
    path.write_bytes(buffer.getvalue().replace(b"of 7", b"of 8", 1))
    refused(str(path), "cannot be read beyond", "auto")
    content = bytearray(buffer.getvalue())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1  # the flag of an encrypted member
    path.write_bytes(content)
    refused(str(path), "is encrypted", "auto")


@pytest.mark.slow
def test_a_real_file(real_data):
    path = real_data / "embeddings" / "glove.840B.300d.33k.w2v.txt.gz"
    if not path.exists():
        pytest.skip(f"the real embedding file is not there ({path})")
    report = ReadingReport()
    words, vectors = read(str(path), report=report)
    assert vectors.shape == (33_849, 300)
    assert len(set(words)) == report.words == 33_849
    assert (report.file_format, report.duplicates, report.undecodable) == ("word2vec", 0, 0)
    assert report.unusable == 11, "such as at\u00a0name@domain.com, with a no-break space"
    assert words[:2] == ["the", "and"]
    np.testing.assert_array_equal(vectors[0, :3], np.float32([0.27204, -0.06203, -0.1884]))
