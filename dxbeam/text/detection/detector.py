"""Which parts of texts are replaced by typed public placeholders before the words are noised.

Of what is recognised, such as an e-mail address, the release holds its kind, <EMAIL>, and nothing
else. Where placeholders are follows from the raw text. So between two texts the mechanism's bound
holds where they have the same placeholders in the same places: given these, the words that are left
are released as ever. A text of which one word is changed may have other placeholders, and then no
bound holds. That is why this needs consent, as other settings do that leave words uncovered.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from dxbeam.errors import ConfigurationError, RunError
from dxbeam.text.detection import presidio, spacy_model
from dxbeam.text.detection.spans import Span, divided, windows, without_overlaps

NONE, PRESIDIO = "none", "presidio"
RULE = "detect-1"
"""The name of the rule; it changes whenever other parts of a text would be replaced."""

_opening = threading.Lock()


class DetectModel(NamedTuple):
    """A spaCy model that recognises more than patterns.

    Attributes:
      name: an installed package or a folder, on every worker.
      digest: SHA-256 of its files.
    """

    name: str
    digest: str


@dataclass(frozen=True)
class Detector:
    """What replaces parts of texts by placeholders, from ``detector_of``.

    It holds names and versions only, and is pickled as such. What recognises is opened once in a
    process.

    Attributes:
      versions: the packages that decide what is recognised, with their versions.
      model: a user's spaCy model, or None.
    """

    versions: tuple[tuple[str, str], ...]
    model: DetectModel | None = None

    def as_dict(self) -> dict[str, Any]:
        """What decides which parts are replaced, ready for JSON."""
        return {
            "by": PRESIDIO,
            "rule": RULE,
            "versions": dict(self.versions),
            "model": self.model.digest if self.model else None,
        }

    @classmethod
    def from_dict(cls, recorded: Mapping[str, Any]) -> Detector:
        """The detector that a configuration's record names; its model by its digest only."""
        model = recorded["model"]
        return cls(tuple(recorded["versions"].items()), DetectModel("", model) if model else None)

    def divide(self, text: str) -> Iterator[tuple[str, str]]:
        """The parts of a text that are left, and the placeholder that follows each; "" at last.

        Raises:
          ConfigurationError: it cannot be opened here, or is here in another version.
          RunError: a recogniser failed; of the text nothing is said.
        """
        recognize = _opened(self)
        try:
            spans = [
                span._replace(start=start + span.start, end=start + span.end)
                for start, piece in windows(text)
                for span in without_overlaps(recognize(piece), len(piece))
            ]
        except Exception as error:
            # The error's own text and its traceback may quote the document.
            reason = type(error).__name__
        else:
            return divided(text, spans)
        raise RunError(f"`detect`: a recogniser failed on a document ({reason})")

    @property
    def replaced(self) -> str:
        """What has no promise, in words, as in "nothing is promised for …"."""
        kinds = [words for _, words in presidio.KINDS.values()]
        if self.model:
            kinds.append("whatever the model of `detect_model` marks")
        listed = ", ".join(kinds[:-1])
        return (
            f"{listed} and {kinds[-1]}: `detect` replaces what it recognises of them by its kind, "
            "so a reader sees where it is"
        )

    @staticmethod
    def covered(covered: str) -> str:
        """Between which words the guarantee holds, of those that it would hold for without."""
        return f"{covered} that `detect` leaves in place"

    @property
    def caveats(self) -> tuple[str, ...]:
        """For which documents the guarantee holds."""
        model = (
            ("The model of `detect_model` must find the same on every worker.",)
            if self.model
            else ()
        )
        return (
            "Where placeholders are, and of which kind, follows from the raw text and is not "
            "hidden. The bound holds between documents that have the same placeholders in the same "
            "places; one word changed may change them, and between documents with other "
            "placeholders there is no finite bound.",
            "What `detect` does not recognise is noised like any other words.",
            *model,
        )


def detector_of(detect: str = NONE, detect_model: str | None = None) -> Detector | None:
    """The detector that ``"presidio"`` and perhaps a spaCy model ask for; None for ``"none"``.

    Refused where there is no such detector or model, or it is not installed.
    """
    if detect not in (NONE, PRESIDIO):
        raise ConfigurationError(f"`detect` is {NONE} or {PRESIDIO}, not {detect!r}")
    if detect == NONE:
        if detect_model:
            raise ConfigurationError("`detect_model` is only of use with `detect` presidio")
        return None
    if not presidio.is_installed():
        raise ConfigurationError(
            "`detect` presidio needs presidio-analyzer: pip install 'dxbeam[detect]'"
        )
    if detect_model is None:
        return Detector(presidio.versions())
    model = DetectModel(detect_model, spacy_model.model_digest(detect_model))
    return Detector((*presidio.versions(), *spacy_model.versions()), model)


def _opened(detector: Detector) -> Callable[[str], Iterator[Span]]:
    """What recognises, opened once in this process."""
    with _opening:
        return _open(detector)


@cache
def _open(detector: Detector) -> Callable[[str], Iterator[Span]]:
    here = detector_of(PRESIDIO, detector.model.name if detector.model else None)
    if here != detector:
        raise ConfigurationError(
            "`detect`: what recognises patterns here is not what the release names; install the "
            "same versions of "
            + ", ".join(f"{name} {version}" for name, version in detector.versions)
            + (", and the same model" if detector.model else "")
        )
    recognizers = presidio.open_recognizers()
    entities = spacy_model.open_model(detector.model.name) if detector.model else None

    def recognize(text: str) -> Iterator[Span]:
        yield from presidio.recognized(recognizers, text)
        if entities is not None:
            yield from entities(text)

    return recognize
