"""A user's spaCy model that recognises names and the like; it is on every worker.

Nothing is downloaded. Opening a model runs code that it brings, so it must be trusted.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from dxbeam.errors import ConfigurationError
from dxbeam.text.detection.spans import Span, kind_of

_SCORE = 0.85  # as Presidio gives to what a model finds: below a pattern with a check digit


def is_installed() -> bool:
    """Whether spaCy is installed."""
    return importlib.util.find_spec("spacy") is not None


def versions() -> tuple[tuple[str, str], ...]:
    """The version of spaCy."""
    return (("spacy", importlib.metadata.version("spacy")),)


def model_digest(name: str) -> str:
    """SHA-256 of the names and contents of a model's files; refused where there is no model."""
    folder, digest = _folder(name), hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()


def open_model(name: str) -> Callable[[str], Iterator[Span]]:
    """What finds the entities of a text, one text at a time.

    Raises:
      ConfigurationError: there is no such model, or it cannot be opened.
    """
    _folder(name)
    import spacy

    try:
        model = spacy.load(name)
    except Exception as error:
        raise ConfigurationError(
            f"`detect_model` {name} cannot be opened by spaCy ({type(error).__name__})"
        ) from None
    lock = threading.Lock()

    def entities(text: str) -> Iterator[Span]:
        with lock:
            marked: Iterable[Any] = model(text).ents
        for entity in marked:
            yield Span(entity.start_char, entity.end_char, kind_of(entity.label_), _SCORE)

    return entities


def _folder(name: str) -> Path:
    if not is_installed():
        raise ConfigurationError("`detect_model` needs spaCy: pip install 'dxbeam[detect]'")
    if Path(name).is_dir():
        return Path(name)
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    if spec is None or spec.origin is None:
        raise ConfigurationError(
            f"`detect_model` {name} is neither a folder nor an installed package; nothing is "
            "downloaded, so install the spaCy model on this machine and on every worker"
        )
    return Path(spec.origin).parent
