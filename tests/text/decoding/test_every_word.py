"""What decoders hold for probable is what a reading over all words says, for every mechanism."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dxbeam.language.model import LanguageModel, language_model_of
from dxbeam.mechanisms import DescribesNoise, make_mechanism
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.decoding.decoder import Decoder
from dxbeam.text.decoding.pieces import FOLLOWS, STARTS
from dxbeam.text.decoding.reader import Reader, observations, why_not_decoded
from tests.support import every_word
from tests.support.every_word import CHOICES, TEXT, WORDS, N

MECHANISMS: dict[str, tuple[str, dict[str, Any]]] = {
    "laplace": ("laplace", {"epsilon": 2.0}),
    "vickrey": ("vickrey", {"epsilon": 2.0}),
    "mahalanobis": ("mahalanobis", {"epsilon": 2.0, "covariance_weight": 0.5}),
    "gaussian": ("gaussian", {"epsilon": 3.0, "delta": 0.01}),
    "gaussian, clipped": ("gaussian", {"epsilon": 3.0, "delta": 0.01, "clip": 2.5}),
    "coordinate_laplace": ("coordinate_laplace", {"epsilon": 3.0}),
    "coordinate_laplace, clipped": ("coordinate_laplace", {"epsilon": 3.0, "clip": 2.5}),
    "trlaplace": ("trlaplace", {"epsilon": 3.0, "delta": 0.2, "clip": 2.5}),
    **CHOICES,
    "diffractor, one order": ("diffractor", {"epsilon": 1.0}),
    "diffractor_tem, a line": ("diffractor_tem", {"epsilon": 0.6, "gamma": 8, "shape": "line"}),
    "diffractor_tem, all": ("diffractor_tem", {"epsilon": 0.6, "gamma": 40, "orders": 3}),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_posteriors_are_those_over_all_words(
    name: str, vocabulary: Vocabulary, model: LanguageModel
) -> None:
    kind, parameters = MECHANISMS[name]
    mechanism, search = make_mechanism(kind, **parameters), NeighborSearch(vocabulary)
    if reason := why_not_decoded(mechanism):
        pytest.skip(reason)
    generator = np.random.default_rng(2)
    for text in range(5):
        ids = generator.integers(UNKNOWN, WORDS, TEXT)
        random = generator.integers(0, 2**64, (TEXT, mechanism.draws(N)), dtype=np.uint64)
        breaks = np.full(TEXT, FOLLOWS, np.int8)
        breaks[[0, text]] = STARTS
        decoder = Decoder("context", candidates=WORDS, kept=WORDS, width=1e4, model=model.digest)
        observed = observations(mechanism, search, model, decoder)
        drawn, step = observed.observe(ids, random), getattr(observed, "step", 0.0)
        assert (drawn.ndim == 2) == isinstance(mechanism, DescribesNoise)
        emissions = every_word.log_emissions(mechanism, vocabulary, drawn, step)
        for decode, exact in (
            ("prior", every_word.by_prior(emissions, model)),
            ("context", every_word.by_context(emissions, breaks == STARTS, model)),
        ):
            decoder = Decoder(decode, candidates=WORDS, kept=WORDS, width=1e4, model=model.digest)
            found = Reader(decoder, mechanism, search, model).posteriors(ids, random, breaks)
            every = np.zeros((TEXT, WORDS + 1))
            np.add.at(every, (np.arange(TEXT)[:, None], found.words), found.probabilities)
            every[:, WORDS] = found.unknown
            np.testing.assert_allclose(every, exact, rtol=0, atol=1e-9)


def test_the_recursion_over_all_words_is_the_sum_over_all_sequences() -> None:
    small = Vocabulary(list("abc"), np.eye(3, dtype=np.float32))
    generator = np.random.default_rng(3)
    sentences = [generator.integers(UNKNOWN, 3, 5) for _ in range(20)]
    emissions, begins = generator.normal(0, 2, (5, 4)), np.array([True, False, False, True, False])
    model = language_model_of(sentences, small)
    np.testing.assert_allclose(
        every_word.by_context(emissions, begins, model),
        every_word.by_enumeration(emissions, begins, model),
        atol=1e-12,
    )
