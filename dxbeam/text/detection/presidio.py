"""Presidio's recognisers of patterns, by themselves: no language model and no words of context.

Presidio's own engine makes a recogniser surer where certain words are near. Then a word would show
in whether its neighbour is replaced, so the engine is not used. Three things of Presidio are turned
off: its log, as it may quote the text; limits of time, as what is recognised must not depend on how
busy a machine is; and requests for the current list of domains, as tldextract brings one.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
from collections.abc import Iterator
from typing import Any

from dxbeam.text.detection.spans import Span

KINDS = {
    "EMAIL_ADDRESS": ("EMAIL", "e-mail addresses"),
    "PHONE_NUMBER": ("PHONE", "telephone numbers"),
    "CREDIT_CARD": ("CARD", "card numbers"),
    "IBAN_CODE": ("ACCOUNT", "account numbers (IBAN)"),
    "IP_ADDRESS": ("IP", "IP addresses"),
    "URL": ("URL", "web addresses"),
}
"""What Presidio calls it -> the kind of its placeholder, and what it is in words."""

PACKAGES = ("presidio-analyzer", "phonenumbers", "tldextract")
"""Whose versions decide what is recognised."""

_LEAST_SCORE = 0.3
"""That of a number which may be a card's and has the right check digit is 1, before it 0.3."""


def is_installed() -> bool:
    """Whether Presidio is installed."""
    return importlib.util.find_spec("presidio_analyzer") is not None


def versions() -> tuple[tuple[str, str], ...]:
    """The packages that decide what is recognised, with their versions."""
    return tuple((name, importlib.metadata.version(name)) for name in PACKAGES)


def open_recognizers() -> list[Any]:
    """Recognisers of all KINDS."""
    from presidio_analyzer import pattern_recognizer
    from presidio_analyzer.predefined_recognizers import (
        CreditCardRecognizer,
        EmailRecognizer,
        IbanRecognizer,
        IpRecognizer,
        PhoneRecognizer,
        UrlRecognizer,
    )
    from presidio_analyzer.predefined_recognizers.generic import iban_recognizer
    from tldextract import TLDExtract

    _silence()
    for module in (pattern_recognizer, iban_recognizer):
        module.REGEX_TIMEOUT_SECONDS = None
    domain_of = TLDExtract(cache_dir=None, suffix_list_urls=(), fallback_to_snapshot=True)
    email = EmailRecognizer()
    email.validate_result = lambda address: domain_of(address).fqdn != ""
    others = (PhoneRecognizer, CreditCardRecognizer, IbanRecognizer, IpRecognizer, UrlRecognizer)
    return [email, *(kind() for kind in others)]


def recognized(recognizers: list[Any], text: str) -> Iterator[Span]:
    """What recognisers of Presidio find in a text; spans may overlap."""
    for recognizer in recognizers:
        for result in recognizer.analyze(text, recognizer.supported_entities):
            if result.score >= _LEAST_SCORE:
                kind, _ = KINDS[result.entity_type]
                yield Span(result.start, result.end, kind, result.score)


def _silence() -> None:
    for name in ("presidio-analyzer", "tldextract"):
        log = logging.getLogger(name)
        log.setLevel(logging.CRITICAL + 1)
        log.propagate = False
