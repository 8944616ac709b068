"""Modules that need the extra ``neural``: PyTorch and transformers."""

from __future__ import annotations

import importlib
from types import ModuleType

from dxbeam.errors import ConfigurationError


def neural(module: str, what: str) -> ModuleType:
    """Imports a module.

    Args:
      module: its whole name.
      what: needs it, for the message.

    Raises:
      ConfigurationError: what it imports is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ConfigurationError(
            f"{what} needs the extra neural (PyTorch, transformers); install it with: "
            "pip install 'dxbeam[neural]'"
        ) from None
