"""Tests of decoded documents: how much the whole output tells, and what a decoder may look at.

A decoder reads all that was drawn for a document, so a released word depends on every word of its
document, and what is promised is about the whole output: between two documents its probabilities
differ by the sum of the words' losses at most.

Enumerated. A mechanism is replaced by a copy that draws what a test says, so the release path is
run on every small corpus with everything that can be drawn for it (in one dimension, everything up
to a cell of the line). The probabilities with which a corpus draws each of that are known, and with
them the exact distribution of the whole output. A decoder that looks at anything but what was drawn
makes outputs of one drawing differ from corpus to corpus, and the ratio is infinite.

decoded_samples.py does the same for larger vocabularies by sampling.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from dxbeam.audit import evidence
from dxbeam.audit.batteries.compared import every_word, texts_of, word_losses
from dxbeam.audit.evidence import Floats
from dxbeam.audit.references.distributions import Reference
from dxbeam.audit.references.table import after_resampling
from dxbeam.audit.subject import Finding, Subject
from dxbeam.documents import Document
from dxbeam.language.model import LanguageModel, language_model_of
from dxbeam.mechanisms import AddsNoise, Mechanism
from dxbeam.randomness import Random
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.sanitizer import Sanitizer

WORDS = ("a", "few", "lettered")
"""The words of the small vocabulary, of unequal length."""

STRANGERS = ("odd", "peculiar")
"""Words outside of it, released as from the place of its second word."""

PLACES = (-0.8, 0.1, 1.2)
"""Where its words are on a line, in deviations of the noise along it."""

SHAPES = {True: ((2,), (1, 1)), False: ((3,), (2, 1), (1,))}
"""How many words the documents of a corpus have, for mechanisms with noise and others."""

CELLS = 9
"""Of the line, for noise."""

LONGEST, LONGEST_NAMES, LONGEST_CELLS = (4,), (0, 3), 3
"""Documents of four words: of a word and a stranger only, and for noise with wider cells."""

_ROUNDING = 1e-9
_NAMES = (*WORDS, *STRANGERS)


class Corpora(NamedTuple):
    """All corpora of some documents.

    Attributes:
      shape: how many words each document has.
      names: which of WORDS and STRANGERS, by number.
    """

    shape: tuple[int, ...]
    names: tuple[int, ...]

    def all(self) -> list[tuple[int, ...]]:
        """Each corpus as the numbers of its words."""
        return list(itertools.product(self.names, repeat=sum(self.shape)))


class Drawings(NamedTuple):
    """All that can be drawn for a word.

    Attributes:
      values: released words, int64 [D], or noisy vectors, float64 [D, n].
      shares: the probability of each, for each word of the vocabulary and last the unknown one:
        float64 [N + 1, D].
    """

    values: Any
    shares: Floats


def small_vocabulary(subject: Subject, n: int = 1) -> Vocabulary:
    """WORDS at PLACES; unknown words are at the place of the second one."""
    places = np.zeros((len(PLACES), n), np.float32)
    places[:, 0] = np.array(PLACES) * subject.spread(n)
    return Vocabulary(list(WORDS), places, unknown_vector=places[1])


def made_up_model(vocabulary: Vocabulary, order: int = 2) -> LanguageModel:
    """A model of made-up sentences, in which what follows depends on what was before."""
    words = len(vocabulary)
    sentences = [
        [(start * step + place * place * step) % (words + 1) - 1 for place in range(5)]
        for start in range(words + 1)
        for step in (1, 2, 5)
    ]
    return language_model_of([np.array(ids, np.int64) for ids in sentences], vocabulary, order)


def decoding_sanitizer(
    subject: Subject, vocabulary: Vocabulary, model: LanguageModel, **changes: Any
) -> Sanitizer:
    """The release path with the subject's decoder, reading with this model, under a new key."""
    decoder = subject.configuration.decoder
    assert decoder is not None
    settings = dataclasses.replace(
        subject.configuration,
        decoder=dataclasses.replace(decoder, model=model.digest),
        allow_unsound=True,  # what is audited is not released
        **changes,
    )
    return subject.make(subject.search(vocabulary), settings, subject.key(), model)


def audit_decoded(subject: Subject, _n: int) -> Iterator[Finding]:
    """All small corpora, and all that can be drawn for them, on a line."""
    vocabulary = small_vocabulary(subject)
    reference = subject.reference(vocabulary)
    drawings = drawings_of(subject, vocabulary, reference)
    wide = drawings_of(subject, vocabulary, reference, LONGEST_CELLS)
    if drawings is None or wide is None:
        return
    every = tuple(range(len(_NAMES)))
    shapes = [(Corpora(shape, every), drawings) for shape in SHAPES[drawings.values.ndim == 2]]
    model, losses = made_up_model(vocabulary), word_losses(vocabulary, reference)
    for corpora, drawn in (*shapes, (Corpora(LONGEST, LONGEST_NAMES), wide)):
        setting = f"corpora of {' and '.join(map(str, corpora.shape))} words, three words on a line"
        outputs = _all_outputs(subject, vocabulary, model, drawn, corpora)
        unusual = int((outputs < 0).any(axis=2).sum())
        outcome = evidence.never(unusual)
        yield Finding.of("decoded: not a word of the vocabulary for each word", setting, outcome)
        if not unusual:
            shares = _output_shares(subject, vocabulary, drawn, outputs, corpora.all())
            yield _bounded(subject, shares, corpora.all(), losses, reference.delta, setting)


def drawings_of(
    subject: Subject, vocabulary: Vocabulary, reference: Reference, cells: int = CELLS
) -> Drawings | None:
    """All drawings for words on a line; None where their probabilities are not known."""
    words = every_word(vocabulary)
    places = vocabulary.vectors_of(words)
    if isinstance(subject.configuration.mechanism, AddsNoise):
        if reference.normal is None or reference.centre is None:
            return None
        # Cells between multiples of a number that float32 and float64 hold exactly.
        step = 2.0 ** np.round(np.log2(subject.spread(1) / 2)) * (1 if cells == CELLS else 2)
        edges = (np.arange(cells + 1) - cells / 2 + 0.5) * step
        below = np.array([_below(reference, edges - reference.centre(x)[0]) for x in places])
        below[:, 0], below[:, -1] = 0.0, 1.0
        return Drawings((edges[:-1, None] + step / 2), np.diff(below, axis=1))
    if reference.released is None:
        return None
    shares = [reference.released(int(word), x) for word, x in zip(words, places, strict=True)]
    return Drawings(np.arange(len(vocabulary)), np.array(shares))


def _below(reference: Reference, noise: Floats) -> Floats:
    """The probability that the noise along the line is below each number."""
    assert reference.normal is not None
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(special.ndtr(reference.normal(noise[:, None])[:, 0]))


def drawing(mechanism: Mechanism, values: Any) -> Mechanism:
    """A copy of a mechanism that draws these values in turn, whatever the words are."""
    remaining = iter(values)

    def take(count: int) -> Any:
        return np.array(list(itertools.islice(remaining, count)))

    def release(_mechanism: Any, ids: Ids, *_: Any) -> Any:
        return take(len(ids))

    def noise(_mechanism: Any, random: Random, _search: NeighborSearch) -> Any:
        return take(len(random))

    def noise_starts(_mechanism: Any, ids: Ids, _search: NeighborSearch) -> Floats:
        return np.zeros((len(ids), values.shape[1]))

    changed: dict[str, Any] = {"release": release}
    if isinstance(mechanism, AddsNoise):
        changed = {"noise": noise, "noise_starts": noise_starts}
    kind = type(type(mechanism).__name__, (type(mechanism),), changed)
    fields = dataclasses.fields(mechanism)  # type: ignore[arg-type]
    return kind(**{each.name: getattr(mechanism, each.name) for each in fields})  # type: ignore[no-any-return]


def _all_outputs(
    subject: Subject,
    vocabulary: Vocabulary,
    model: LanguageModel,
    drawings: Drawings,
    corpora: Corpora,
) -> Ids:
    """What is released for every corpus and all that can be drawn for it.

    int64 [corpora, drawings, words], -1 where no word of the vocabulary was released.
    """
    words, choices = sum(corpora.shape), len(drawings.values)
    drawn = np.array(list(itertools.product(range(choices), repeat=words)))
    named = [[_NAMES[number] for number in corpus] for corpus in corpora.all()]
    values = drawings.values[np.tile(drawn, (len(named), 1)).ravel()]
    sanitizer = decoding_sanitizer(
        subject,
        vocabulary,
        model,
        mechanism=drawing(subject.configuration.mechanism, values),
        resampling=None,
    )
    ends = list(itertools.accumulate(corpora.shape))
    texts = [
        [
            " ".join(corpus[end - length : end])
            for length, end in zip(corpora.shape, ends, strict=True)
        ]
        for corpus in named
    ]
    documents = (
        Document(f"{i} {j} {k}", text)
        for i, parts in enumerate(texts)
        for j in range(len(drawn))
        for k, text in enumerate(parts)
    )
    released = _words_released(sanitizer, documents, len(named) * len(drawn) * words)
    return released.reshape(len(named), len(drawn), words)


def _words_released(sanitizer: Sanitizer, documents: Iterable[Document], count: int) -> Ids:
    """The ids of all released words, int64 [count]; -1 where they are fewer or not in order."""
    released: list[int] = []
    for text in texts_of(sanitizer, documents):
        released += sanitizer.search.vocabulary.ids_of(text.split()).tolist()
    return np.array(released if len(released) == count else [-1] * count, np.int64)


def _output_shares(
    subject: Subject,
    vocabulary: Vocabulary,
    drawings: Drawings,
    outputs: Ids,
    corpora: list[tuple[int, ...]],
) -> Floats:
    """The distribution of the whole output: float64 [corpora, N ** words]."""
    size, words = len(vocabulary), outputs.shape[2]
    cells = outputs @ size ** np.arange(words)[::-1]
    shares = np.empty((len(corpora), size**words))
    for row, corpus in enumerate(corpora):
        likely = np.ones(1)
        for name in corpus:
            likely = np.multiply.outer(likely, drawings.shares[min(name, size)]).ravel()
        shares[row] = np.bincount(cells[row], likely, size**words)
    resampled, _ = after_resampling(subject.configuration, vocabulary, np.eye(size))
    if subject.configuration.resampling is not None:
        shares = shares.reshape(len(corpora), *[size] * words)
        for axis in range(1, words + 1):
            shares = np.moveaxis(np.tensordot(shares, resampled, (axis, 0)), -1, axis)
    return shares.reshape(len(corpora), -1)


def _bounded(
    subject: Subject,
    shares: Floats,
    corpora: list[tuple[int, ...]],
    losses: Floats,
    delta: float,
    setting: str,
) -> Finding:
    """Every pair of corpora against the sum of the losses and slacks of their words."""
    stands_for = np.minimum(np.array(corpora), len(losses) - 1)
    broken, says = 0, ""
    for row, represented in enumerate(stands_for):
        claimed = losses[represented, stands_for].sum(axis=1)
        slacks = delta * (represented != stands_for).sum(axis=1)
        factor = np.exp(np.minimum(claimed, 700.0))[:, None]
        needed = np.maximum(shares[row] - factor * shares, 0.0).sum(axis=1)
        beyond = np.flatnonzero(np.isfinite(claimed) & (needed > slacks * (1 + 1e-6) + _ROUNDING))
        broken += len(beyond)
        if len(beyond) and not says:
            other = beyond[0]
            first, second = (
                " ".join(_NAMES[name] for name in corpora[each]) for each in (row, other)
            )
            says = f"{first} and {second}: needs delta {needed[other]:.3g}"
    outcome = evidence.never(broken)
    test = "decoded: pairs of corpora whose outputs differ by more than the claim"
    return Finding.of(test, setting, outcome, says)._replace(part_of_claim=subject.sound)
