"""Tests of sanitized texts: what repeats, what is drawn anew, and what becomes of unknown words.

The probe is a fine line of words, so that the released word tells the noise to a fraction of its
size. Two runs that must be independent are compared word by word.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import stats

from dxbeam.audit import evidence
from dxbeam.audit.evidence import Evidence, Floats
from dxbeam.audit.subject import Finding, Subject, words_at
from dxbeam.documents import Document
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary

HALF = 200
"""Words on each side of the middle one, a twentieth of the noise's deviation apart."""

APART = "\n"
"""Between words of a text. Each is a sentence, so that no mechanism reads one after another."""

_STRANGERS = ("strange", "quaint")
_BINS = 8
_SHORTEST = 500
"""Pairs of words from which a correlation is computed, at least."""


def fine_line(subject: Subject) -> Vocabulary:
    """Words w0 to w400 on a line, and unknown words in its middle."""
    places = (np.arange(2 * HALF + 1) - HALF)[:, None] * (subject.spread(1) / 20)
    return words_at(places, [0.0])


def _middle(subject: Subject) -> str:
    """The word in the middle; where a weight may keep it from ever changing, an unknown word."""
    return _STRANGERS[0] if subject.weighs_words else f"w{HALF}"


class NotReleasedError(Exception):
    """A text came back without the words that it should have."""


class _Probe:
    """Sanitizes texts over one vocabulary."""

    def __init__(self, subject: Subject):
        self.vocabulary = fine_line(subject)
        self._subject = subject

    def places(self, text: str, document_id: str, key: bytes) -> Floats:
        """Where each released word is, in steps from the middle."""
        sanitizer = self._subject.sanitizer(self.vocabulary, key)
        [result] = sanitizer.sanitize([Document(document_id, text)])
        if result.document is None:
            raise NotReleasedError
        ids = self.vocabulary.ids_of(result.document.text.split())
        if len(ids) != len(text.split()) or (ids < 0).any():
            raise NotReleasedError
        return (ids - HALF).astype(np.float64)


def audit_texts(subject: Subject, _n: int) -> Iterator[Finding]:
    """Retries, edits, other documents, other keys, successive words, unknown words."""
    setting = f"a text of {subject.size.words:,} words on a fine line"
    try:
        yield from _audit_repetition(subject, setting)
        yield from _audit_unknown_words(subject, setting)
    except NotReleasedError:
        yield Finding.of("text: a word passed through or was lost", setting, evidence.never(1))


def _audit_repetition(subject: Subject, setting: str) -> Iterator[Finding]:
    probe, key = _Probe(subject), subject.key()
    words = [_middle(subject)] * subject.size.words
    text, edited = APART.join(words), APART.join([*words[:-1], f"w{HALF + 1}"])
    noise = probe.places(text, "a", key)
    retried = evidence.never(int((probe.places(text, "a", key) != noise).sum()))
    yield Finding.of("text: words that differ after a retry", setting, retried)
    for name, first, second in (
        ("before and after an edit", noise, probe.places(edited, "a", key)),
        ("of two documents", noise, probe.places(text, "b", key)),
        ("under two keys", noise, probe.places(text, "a", subject.key())),
        ("of successive words", noise[1:], noise[:-1]),
    ):
        outcome = evidence.rank_correlation(first, second)
        yield Finding.of(f"text: noise {name}", setting, outcome)
        outcome = evidence.rank_correlation(np.abs(first), np.abs(second))
        yield Finding.of(f"text: size of noise {name}", setting, outcome)
    yield Finding.of("text: noise any number of words apart", setting, any_lag(noise))


def any_lag(noise: Floats) -> Evidence:
    """Correlations of ranks at every distance but the longest; a text may be worked on in pieces.

    A distance's sum of products of centred ranks is normal, as they are bounded.
    """
    if np.ptp(noise) == 0:
        return Evidence(np.nan, 0.0)
    count = len(noise)
    ranks = stats.rankdata(noise)
    ranks = (ranks - ranks.mean()) / ranks.std()
    spectrum = np.fft.rfft(ranks, 2 * count)
    sums = np.fft.irfft(np.abs(spectrum) ** 2)[1 : count - _SHORTEST]
    return evidence.standard_normal(sums / np.sqrt(count - np.arange(1, len(sums) + 1)))


def _audit_unknown_words(subject: Subject, setting: str) -> Iterator[Finding]:
    """Whatever the string, an unknown word is noised, from one place.

    The word at that place has the same distribution, unless public weights tell it apart.
    """
    probe = _Probe(subject)
    count = subject.size.words
    drawn = [probe.places(APART.join([word] * count), "a", subject.key()) for word in _STRANGERS]
    drawn.append(probe.places(APART.join([_middle(subject)] * count), "a", subject.key()))
    for noise in drawn[:2]:
        constant = evidence.never(int(np.ptp(noise) == 0))
        yield Finding.of("text: unknown words without noise", setting, constant)
    borders = np.quantile(drawn[2], np.arange(1, _BINS) / _BINS)
    counts = [np.bincount(np.searchsorted(borders, noise), minlength=_BINS) for noise in drawn]
    alike = evidence.same_distribution(counts[0], counts[1])
    pairs = [("two unknown words", alike)]
    if not subject.weighs_words:
        alike = evidence.same_distribution(counts[0], counts[2])
        pairs.append(("an unknown word and the word at its place", alike))
    elif (expected := subject.expected(probe.vocabulary, np.array([UNKNOWN]))) is not None:
        bins = np.searchsorted(borders, np.arange(2 * HALF + 1) - HALF)
        exact = np.asarray(np.bincount(bins, expected.distributions[0], _BINS), np.float64)
        exactly = evidence.counts_of_distribution(counts[0], exact, expected.error(len(bins)))
        pairs.append(("distribution for an unknown word", exactly))
    for name, outcome in pairs:
        yield Finding.of(f"text: {name}", setting, outcome)._replace(part_of_claim=subject.sound)
