"""What a launcher says: the library names parameters, a command line has flags."""

from __future__ import annotations

import pytest

from dxbeam.commands.launch import naming_flags
from dxbeam.errors import ConfigurationError, RunError


def test_a_launcher_names_flags_where_the_library_names_parameters() -> None:
    @naming_flags
    def fails(argv: object) -> None:
        raise RunError(f"`key_uri` {argv}: not `Mine`, use `repair_api_key_env`; `a b` stays")

    with pytest.raises(RunError) as told:
        fails(["x"])
    assert str(told.value) == ("--key_uri ['x']: not `Mine`, use --repair_api_key_env; `a b` stays")


def test_other_errors_and_their_causes_pass_as_they_are() -> None:
    cause = ValueError("`key_uri`")

    @naming_flags
    def fails(argv: object) -> None:
        if argv:
            raise ConfigurationError("`output`") from cause
        raise cause

    with pytest.raises(ValueError, match="`key_uri`"):
        fails([])
    with pytest.raises(ConfigurationError, match="--output") as told:
        fails(["x"])
    assert told.value.__cause__ is cause
