"""A forecast from a sample, and the plan as a person reads it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from dxbeam.corpus.files import matching_files
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.settings import Division
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.release import plan
from dxbeam.release.plan import Forecast
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.configuration import Configuration
from tests.support import tiny

PLAIN = Configuration(Laplace(5.0))
TEXTS = [f"w{i % 300} w{i % 7}, strange{i}!" for i in range(5000)]
TOKENS = 3 * len(TEXTS)


def _estimate(
    path: Path, name: str, configuration: Configuration = PLAIN, division: Division | None = None
) -> Forecast:
    files = matching_files(str(path))
    read_as = CorpusFormat(name, division=division or Division())
    return plan.estimate(files, read_as, tiny.vocabulary(), configuration)


def test_words_are_counted_in_a_sample(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_text("\n".join(TEXTS))
    forecast = _estimate(path, "text")
    assert forecast.tokens == pytest.approx(TOKENS, rel=0.15)
    assert forecast.tokens_per_second > 0
    assert forecast.core_seconds == forecast.tokens / forecast.tokens_per_second


@pytest.mark.parametrize("kind", ["jsonl", "jsonl.gz", "jsonl.zst", "parquet"])
def test_words_are_counted_in_every_format_whatever_stands_around_the_texts(
    tmp_path: Path, kind: str
) -> None:
    path, source = tmp_path / f"c.{kind}", [f"https://example.org/{i * i}" for i in range(5000)]
    if kind == "parquet":
        pq.write_table(pa.table({"text": TEXTS, "source": source}), path, row_group_size=500)
    else:
        rows = [{"text": text, "source": url} for text, url in zip(TEXTS, source, strict=True)]
        lines = "\n\n".join(map(json.dumps, rows)).encode()
        packed = {"gz": gzip.compress, "zst": zstandard.compress}.get(path.suffix[1:], bytes)
        path.write_bytes(packed(lines))
    division = Division(bytes_to_judge_by=1 << 17)
    forecast = _estimate(path, kind.split(".")[0], division=division)
    assert forecast.tokens == pytest.approx(TOKENS, rel=0.15)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("c.jsonl", b"not JSON\n", "not valid JSON"),
        ("c.jsonl", '{"text": "caf\xe9"}\n'.encode("latin-1"), "iconv -f LATIN1"),
        ("c.jsonl.gz", b'{"text": "a"}\n', "cannot be read to its end"),
        ("c.jsonl", b"\n \n", "it holds none"),
    ],
)
def test_a_corpus_without_a_readable_document_has_no_words_and_it_is_said_why(
    tmp_path: Path, name: str, content: bytes, why: str
) -> None:
    (tmp_path / name).write_bytes(content)
    files, settings = matching_files(f"{tmp_path}/*"), CorpusFormat("jsonl")
    forecast = plan.estimate(files, settings, tiny.vocabulary(), PLAIN)
    assert forecast.tokens == 0
    said = plan.describe(files, PLAIN, tiny.vocabulary(), [], forecast, "here", "there")
    [warning] = [line for line in said.splitlines() if line.startswith("  Warning: no record")]
    assert why in warning


def test_the_plan_names_what_is_run_on_what_and_what_is_promised(tmp_path: Path) -> None:
    path = tiny.write_jsonl(tmp_path / "c.jsonl", [{"text": "w1"}])
    settings = Configuration(Laplace(7.5), RankResampling(0.02), "mask", allow_unsound=True)
    said = plan.describe(
        matching_files(str(path)),
        settings,
        tiny.vocabulary(),
        [],
        Forecast(12_345, 100.0),
        "here",
        "there",
    )
    assert "1 file(s), 15 bytes, about 12,345 tokens" in said
    assert "300 words in 8 dimensions" in said
    assert "replaced by <unk>, so a reader sees which words are not in the vocabulary" in said
    assert "here (metrics and dead letters: there)" in said
    assert "laplace, epsilon 7.5" in said
    assert "among neighbours, c 0.02" in said
    guarantee = settings.guarantee()
    assert all(part in said for part in (guarantee.sentence, *guarantee.caveats))
    for name, value in settings.guarantee().table:
        assert f"  {name:<11} {value}" in said
    assert "Nothing was written" in said


def test_a_plan_for_bags_counts_the_words_that_are_drawn(tmp_path: Path) -> None:
    path = tiny.write_jsonl(tmp_path / "c.jsonl", [{"text": "w1 " * i} for i in range(40)])
    settings = Configuration(Laplace(5.0), bag=BagOfWords(9))
    forecast = _estimate(path, "jsonl", settings)
    assert forecast.tokens == pytest.approx(40 * 9, rel=0.3)  # the file's size is not all text
    files = matching_files(str(path))
    said = plan.describe(files, settings, tiny.vocabulary(), [], forecast, "here", "there")
    assert f"about {forecast.tokens} words to release" in said
    assert "length 9, sampling without replacement" in said
    assert settings.guarantee().sentence in said


@pytest.mark.parametrize(
    ("seconds", "said"), [(119, "119 seconds"), (600, "10 minutes"), (36_000, "10.0 hours")]
)
def test_durations_are_said_in_a_unit_one_can_picture(
    tmp_path: Path, seconds: int, said: str
) -> None:
    path = tiny.write_jsonl(tmp_path / "c.jsonl", [{"text": "w1"}])
    forecast = Forecast(seconds * 10, 10.0)
    files = matching_files(str(path))
    assert f"about {said} of one core" in plan.describe(
        files, PLAIN, tiny.vocabulary(), [], forecast, "here", "there"
    )
