"""What is printed to people, on any terminal."""

from __future__ import annotations

import io
import sys


def print_anything() -> None:
    """Lets characters through that the terminal's encoding lacks, as backslash and number.

    Otherwise a command that says such a character, as --help does, ends in an error.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def counted(number: int, noun: str) -> str:
    """A number of things: "1 file", "1,200 files"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
