"""Splits: what one worker reads of a file, and the numbers of the records in it."""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Split(NamedTuple):
    """What one worker reads of a file.

    Attributes:
      path: the file, or the stream of a table's rows.
      name: its path below the corpus.
      start, stop: bytes [start, stop) of an uncompressed file of lines, for the lines that start
        there, or of whole rows of a file of delimited text; the row group ``start`` of a Parquet
        file; or share ``start`` of ``stop`` shares of a file that can only be read from its start
        (compressed, or not in UTF-8), both counted from 0; or the number of a stream.
      first_record: the number in its file, from 1, of the first record of the range or row group;
        1 for every share of a file that can only be read from its start, as each does so.
      size: about how many bytes of the file that is, for the share of the corpus that is done.
      first_line: the number in its file, from 1, of the line at ``start``, for dead letters, where
        records may span several lines.
    """

    path: str
    name: str
    start: int
    stop: int
    first_record: int = 1
    size: int = 0
    first_line: int = 1


def number_splits(counted: Iterable[tuple[Split, int]]) -> Iterator[Split]:
    """The splits of one file, each with the number of its first record.

    Args:
      counted: all splits of the file, in any order, and the ``reading.count_records`` of each.
    """
    first_record = 1
    for split, records in sorted(counted):
        yield split._replace(first_record=first_record)
        first_record += records
