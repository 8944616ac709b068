"""Flags that say how files of text are read: their encoding, and the columns of CSV and TSV."""

from __future__ import annotations

import argparse
from typing import Any

from dxbeam.corpus.parsing.column_types import TYPES, parse_columns, parse_types
from dxbeam.corpus.settings import TableSettings
from dxbeam.errors import ConfigurationError

QUOTES = ("double", "none")
_NAMED = {"tab": "\t", "\\t": "\t"}


def add_table(group: argparse._ArgumentGroup) -> None:
    """Declares them."""
    group.add_argument(
        "--encoding",
        default="utf-8",
        metavar="NAME",
        help="encoding of files of text, such as latin-1, cp1252, utf-16 or shift_jis; a record "
        "with bytes that are not valid in it goes to the dead letters. What is released is in "
        "UTF-8 (default utf-8)",
    )
    group.add_argument(
        "--delimiter",
        metavar="CHARACTER",
        help="with --input_format csv or tsv, what divides fields: one ASCII character, or the "
        "word tab (default: a comma for csv, a tab for tsv, which is what is written too)",
    )
    group.add_argument(
        "--quotes",
        default=QUOTES[0],
        metavar="HOW",
        help="with --input_format csv or tsv, whether 'double' quotes enclose fields that hold "
        "delimiters, quotes or line breaks (default), or 'none' do, and each line is a row",
    )
    group.add_argument(
        "--columns",
        default="",
        metavar="A,B",
        help="with --input_format csv or tsv, the names of the columns, where files have no header "
        "(default: the first row of each file names them)",
    )


def add_column_types(group: argparse._ArgumentGroup) -> None:
    """Declares the flag of those who keep columns."""
    group.add_argument(
        "--column_types",
        default="",
        metavar="A=TYPE,…",
        help="with --input_format csv or tsv, types of kept columns, for Parquet and JSON: "
        f"{', '.join(TYPES)}. A row with another value goes to the dead letters (default: kept "
        "columns hold strings, so that the post code 01234 stays what it is)",
    )


def table_settings(flags: Any) -> TableSettings:
    """What the flags say of columns.

    Raises:
      ConfigurationError: they cannot be used.
    """
    if flags.quotes not in QUOTES:
        raise ConfigurationError(f"`quotes` is one of {', '.join(QUOTES)}, not {flags.quotes!r}")
    delimiter = flags.delimiter
    return TableSettings(
        None if delimiter is None else _NAMED.get(delimiter, delimiter),
        flags.quotes == "double",
        parse_columns(flags.columns),
        parse_types(flags.column_types),
    )
