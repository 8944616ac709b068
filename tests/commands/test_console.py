"""What is printed to people reads as they would say it."""

from __future__ import annotations

import pytest

from dxbeam.commands.console import counted


@pytest.mark.parametrize(("number", "said"), [(0, "0 files"), (1, "1 file"), (1200, "1,200 files")])
def test_one_thing_is_not_several(number: int, said: str) -> None:
    assert counted(number, "file") == said
