"""Tables of what is refused, a line for each case, with two spaces or more between columns."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import pytest


def rows(table: str) -> Iterator[list[str]]:
    """The columns of each line."""
    for line in table.strip().splitlines():
        yield re.split(r" {2,}", line.strip())


def refused(table: str) -> pytest.MarkDecorator:
    """Parametrizes a test by ``flags``, a list, and by what is ``said`` of them.

    Args:
      table: flags, as in a shell, and the sentence or a part of it.
    """
    cases = [(shlex.split(flags), said) for flags, said in rows(table)]
    return pytest.mark.parametrize(("flags", "said"), cases, ids=[said for _, said in cases])


def changed(table: str) -> dict[str, tuple[dict[str, str], str]]:
    """Values by flag, and what is said of them, by the name of the case.

    Args:
      table: the case, flags, and the sentence or a part of it.
    """
    cases = [(name, (_values(flags), said)) for name, flags, said in rows(table)]
    assert len(dict(cases)) == len(cases), "two cases of one name"
    return dict(cases)


def _values(flags: str) -> dict[str, str]:
    pairs = (flag.removeprefix("--").partition("=") for flag in shlex.split(flags))
    return {name: value for name, _, value in pairs}
