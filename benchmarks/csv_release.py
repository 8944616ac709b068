"""A release of CSV from end to end, compared with an independent reader.

    python -m benchmarks.csv_release [--records 100000]

Makes a CSV of N records by the csv module (quoted line breaks, quotes, empty texts, every
thousandth row damaged), releases it as CSV and as Parquet with typed columns, and reads the CSV
again by pyarrow.csv and the Parquet by pyarrow.parquet. Prints what was compared, and the time.
"""

from __future__ import annotations

import csv
import json
import random
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from benchmarks.rows import command_line
from dxbeam.text.tokenization import split, words
from pipelines.sanitize import sanitize

COLUMNS = ("id", "text", "stars", "day", "zip")
TYPES = {"id": "string", "text": "string", "stars": "int64", "day": "date32[day]", "zip": "string"}
WORDS = "the house, a film was good; she said: hello world and strange42 moved on".split(" ")


def write_corpus(path: Path, records: int) -> dict[str, tuple[str, ...]]:
    """Writes the corpus; its good rows by their ids."""
    draw, good = random.Random(1), {}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for number in range(records):
            if number % 1000 == 999:
                writer.writerow([f"d{number}", "a row with too few fields"])
                continue
            text = " ".join(draw.choices(WORDS, k=number % 7))
            if number % 5 == 0:
                text = f'"{text}"\nand, more'
            row = (f"d{number}", text, str(number % 6), f"2024-01-{1 + number % 28:02}", "01234")
            writer.writerow(row)
            good[row[0]] = row
    return good


def release(corpus: Path, output: Path, kind: str) -> float:
    """Releases the corpus in a format; seconds."""
    started = time.monotonic()
    sanitize(
        [
            f"--input={corpus}", "--input_format=csv", "--vocabulary=demo", "--epsilon=10",
            f"--output={output}", f"--output_format={kind}", "--keep_fields=stars,day,zip",
            "--column_types=stars=int64,day=date",
        ]
    )  # fmt: skip
    return time.monotonic() - started


def read_csv(folder: Path) -> pa.Table:
    """The shards by pyarrow.csv, all columns as strings."""
    tables = [
        pa_csv.read_csv(
            shard,
            parse_options=pa_csv.ParseOptions(newlines_in_values=True),
            convert_options=pa_csv.ConvertOptions(column_types=dict.fromkeys(COLUMNS, pa.string())),
        )
        for shard in sorted(folder.glob("part-*"))
    ]
    return pa.concat_tables(tables)


def compare(table: pa.Table, good: dict[str, tuple[str, ...]]) -> int:
    """Asserts that all but the words is as it was; how many words there are."""
    assert table.num_rows == len(good), (table.num_rows, len(good))
    count = 0
    for row in table.to_pylist():
        original = good.pop(row["id"])
        assert [str(row[name]) for name in COLUMNS[2:]] == list(original[2:])
        assert split(row["text"])[0] == split(original[1])[0]
        count += len(words(row["text"]))
    assert not good
    return count


def main() -> None:
    """Writes, releases, compares."""
    parser = command_line(__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    records = parser.parse_args().records
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus.csv"
        good = write_corpus(corpus, records)
        for kind in ("csv", "parquet"):
            output = Path(folder) / kind
            seconds = release(corpus, output, kind)
            table = (
                read_csv(output)
                if kind == "csv"
                else pa.concat_tables(
                    [pq.read_table(shard) for shard in sorted(output.glob("part-*"))]
                )
            )
            count = compare(table, dict(good))
            if kind == "parquet":
                assert {field.name: str(field.type) for field in table.schema} == TYPES
            recorded = json.loads((output / "release.json").read_text())
            assert recorded["documents_out"] == len(good)
            assert recorded["dead_letters"] == records - len(good)
            print(
                f"{kind}: {records:,} records of {corpus.stat().st_size:,} bytes, {len(good):,} "
                f"released and found again, {recorded['dead_letters']:,} dead letters, {count:,} "
                f"words, {seconds:.0f} s"
            )


if __name__ == "__main__":
    main()
