"""The level of a row, by which its epsilon is found, and the digest of the settings it has then."""

from __future__ import annotations

from typing import Any

from dxbeam.text.configuration import Configuration


def level_of(row: Any, name: str | None) -> str:
    """The value of the attribute that decides the epsilon; "" for none."""
    value = getattr(row, name) if name else ""
    return "" if value is None else str(value)


class DigestByLevel:
    """The digest of the configuration with a row's epsilon; None for a row that has none."""

    def __init__(self, configuration: Configuration, vocabulary: str, level: str):
        levels = configuration.epsilon_by
        assert levels is not None
        self._level, self._levels = level, levels
        self._digests = {
            epsilon: configuration.with_epsilon(epsilon).digest(vocabulary)
            for epsilon in levels.every
        }

    def __call__(self, row: Any) -> str | None:
        """The digest for a row."""
        epsilon = self._levels.epsilon_of(level_of(row, self._level))
        return None if epsilon is None else self._digests[epsilon]
