"""What commands that only read share: their arguments, and ending with a sentence. Without Beam."""

from __future__ import annotations

import argparse
import logging
import re
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from dxbeam import stopping
from dxbeam.commands import console
from dxbeam.errors import ConfigurationError, DxbeamError

_PARAMETER = re.compile(r"`([a-z][a-z_]*)`")

FAILURE, MISTAKE = 1, 2
"""Exit codes: what was looked at is not as it should be; what was asked for cannot be done."""

Command = Callable[[Sequence[str]], int]
"""Does what arguments ask for and returns the exit code."""


class Arguments(argparse.ArgumentParser):
    """A parser that refuses in one sentence."""

    def __init__(self, command: str, manual: str):
        super().__init__(
            prog=f"dxbeam {command}",
            description=manual,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def error(self, message: str) -> NoReturn:
        """Refuses; an argument too many is not shown, as it may be anything."""
        if message.startswith("unrecognized arguments"):
            message = "there is an argument too many, or a flag that is not known"
        raise ConfigurationError(f"{message.removeprefix('argument ')}; --help explains them")


def main(command: Command, argv: Sequence[str] | None = None) -> NoReturn:
    """Runs a command as a program: exits with its code, or with one clear sentence and 2."""
    stopping.watch()
    console.print_anything()
    for chatty in ("apache_beam", "google"):  # they warn where Cloud Storage needs no account
        logging.getLogger(chatty).setLevel(logging.ERROR)
    code, sentence = MISTAKE, ""
    try:
        code = command(sys.argv[1:] if argv is None else argv)
    except DxbeamError as error:
        # The library names parameters; a path may hold a line break.
        sentence = _PARAMETER.sub(r"--\1", " ".join(str(error).split("\n")))
    except SystemExit:  # after --help
        code = 0
    except BrokenPipeError:  # whoever read the output has seen enough
        code = FAILURE
    except Exception as error:
        code, sentence = FAILURE, f"the command failed ({type(error).__name__})"
    stopping.ended()
    if sentence:
        print(f"dxbeam: {sentence}", file=sys.stderr)  # noqa: T201
    stopping.leave(code)
