"""Base measures: distributions enumerated, bounds over all pairs, and copies that break them."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dxbeam.analysis.attackers.channel import known_channel
from dxbeam.analysis.attackers.prior import uniform_prior
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import MECHANISMS, make_mechanism
from dxbeam.mechanisms.constants.exact_constant import ExactConstant
from dxbeam.mechanisms.constants.optimal_base import optimal_base
from dxbeam.mechanisms.constants.solve import exponents_of
from dxbeam.mechanisms.parameters import recorded_settings
from dxbeam.mechanisms.public.base_measure import FrequencyBase, ListedBase
from dxbeam.mechanisms.public.importance import FrequencyWeights
from dxbeam.mechanisms.public.word_distribution import Favoured
from dxbeam.mechanisms.sampling.exponential_choice import DRAWS, ChoiceSizes
from dxbeam.mechanisms.santext import SanText
from dxbeam.mechanisms.tem import TEM
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.configuration import Configuration
from dxbeam.text.public.base_file import read_base
from tests.support.choice_sizes import WithSizes
from tests.support.distributions import Floats, Ids, chi_square_p, judge, random_numbers

ROWS = 10_000


def vocabulary(words: int, n: int = 3) -> Vocabulary:
    vectors = np.random.default_rng(words).normal(size=(words, n))
    return Vocabulary([f"w{i}" for i in range(words)], vectors.astype(np.float32))


def listed(words: int, exponent: float = 1.0) -> ListedBase:
    """Ten orders of magnitude; every fourth word is never released."""
    shares = {f"w{i}": 10.0 ** (-10 * ((i * 7) % words) / words) for i in range(words) if i % 4}
    return ListedBase({**shares, "w4": 0.0, "elsewhere": 3.0}, exponent)


def law(made: Any, words: Vocabulary, original: int, rate: float | None = None) -> Floats:
    """q^tau exp(-d' / 2), written down anew; ``rate`` in place of epsilon / 2."""
    vector = words.unknown_vector if original == UNKNOWN else words.vectors[original]
    apart = np.linalg.norm(words.vectors.astype(np.float64) - np.float64(vector), axis=1)
    if isinstance(made, TEM):
        apart = np.minimum(apart, made.gamma(len(words)))
    rate = made.epsilon / 2 if rate is None else rate
    exponents = rate * apart
    if made.importance is not None:
        rho = made.importance.of(words) * rate / made.epsilon
        others = np.arange(len(words)) != original
        exponents += others * (rho + (0.0 if original == UNKNOWN else rho[original]))
    q = np.zeros(len(words))
    for i, word in enumerate(words.words):
        if isinstance(made.base, ListedBase):
            q[i] = made.base.listed.get(word, 0.0) ** made.base.exponent
        else:
            q[i] = (1 / (i + 1)) ** (made.base.exponent if made.base else 0.0)
        q[i] = 0.0 if isinstance(made.base, ListedBase) and word not in made.base.listed else q[i]
    weights = q * np.exp(-exponents)
    return np.asarray(weights / weights.sum())


def check(made: Any, words: Vocabulary, rate: float | None = None) -> None:
    search, p_values = NeighborSearch(words), {}
    for original in (0, len(words) // 2, UNKNOWN):
        random = random_numbers(ROWS, made.draws(words.dimensions), seed=original + 9)
        released = made.release(np.full(ROWS, original), random, search)
        counts = np.bincount(released, minlength=len(words))
        expected = law(made, words, original, rate)
        assert not counts[expected == 0].any()
        p_values[str(original)] = chi_square_p(counts[expected > 0], expected[expected > 0])
    judge(p_values)


@pytest.mark.parametrize("words", [5, 300, 3000])
@pytest.mark.parametrize(
    "made",
    [
        SanText(2.0, base=FrequencyBase()),
        SanText(0.5, base=listed(5, 0.5)),
        SanText(2.0, base=listed(5), importance=FrequencyWeights(4.0)),
        TEM(3.0, 0.4, base=FrequencyBase(0.5)),
    ],
    ids=["frequency", "listed", "importance", "tem"],
)
def test_released_words_have_the_enumerated_distribution(made: Any, words: int) -> None:
    if isinstance(made.base, ListedBase):
        made = dataclasses.replace(made, base=listed(words, made.base.exponent))
    check(made, vocabulary(words))


@pytest.mark.parametrize("words", [5, 300, 3000])
@pytest.mark.parametrize("plain", [SanText(2.0), TEM(3.0, 0.4)], ids=["santext", "tem"])
def test_the_measure_of_least_loss_has_the_enumerated_distribution(plain: Any, words: int) -> None:
    place = vocabulary(words)
    prior = 1 / np.arange(1.0, words + 1)
    shares = optimal_base(exponents_of(plain, place), prior, iterations=2, threads=1).shares
    base = ListedBase(dict(zip(place.words, shares.tolist(), strict=True)), kind="optimal")
    check(dataclasses.replace(plain, base=base), place)


@pytest.mark.parametrize(("around", "rounds"), [(1, 64), (5, 1), (1, 0)])
def test_rejection_has_no_influence_on_the_distribution(around: int, rounds: int) -> None:
    made = SanText(2.0, base=listed(120))
    check(WithSizes(made, ChoiceSizes(around, rounds)), vocabulary(120))


@pytest.mark.parametrize("words", [5, 300])
def test_words_are_drawn_with_the_nominal_epsilon(words: int) -> None:
    place = vocabulary(words)
    for plain in (SanText(1.0, importance=FrequencyWeights(3.0)), TEM(1.0, base=FrequencyBase())):
        settings = recorded_settings(plain)
        constant = ExactConstant(place.content_digest, ((1.0, 1.75),), settings)
        made: Any = dataclasses.replace(plain, constant=constant)
        check(made, place, rate=1.75 / 2)


@pytest.mark.parametrize("importance", [None, FrequencyWeights(3.0)])
def test_decoders_and_attackers_know_the_law(importance: FrequencyWeights | None) -> None:
    place = vocabulary(40)
    search, every = NeighborSearch(place), np.arange(40)
    for base in (listed(40), FrequencyBase(0.5)):
        made = SanText(2.0, base=base, importance=importance)
        originals = np.tile(np.append(every, UNKNOWN), (40, 1))
        with np.errstate(divide="ignore"):
            expected = np.log([law(made, place, int(x)) for x in originals[0]]).T
        logs = made.channel(search).logs(every, originals)
        assert np.allclose(logs, expected, rtol=1e-9)
        known = known_channel(made, uniform_prior(40), search)
        joint = np.concatenate([rows for _, rows in known.joint(every)])
        assert np.allclose(joint * 40, np.exp(expected[:, :40]), rtol=2e-4, atol=1e-30)


def test_the_bound_holds_whatever_the_base_measure() -> None:
    """Over all pairs and outputs of toy vocabularies, with zeros in q; attained somewhere."""
    random, closest = np.random.default_rng(3), math.inf
    for _ in range(60):
        words = int(random.integers(2, 8))
        place = vocabulary(words, 2)
        shares = random.random(words) ** 8 * (random.random(words) < 0.8)
        shares[0] += 0.1
        base = ListedBase({f"w{i}": float(share) for i, share in enumerate(shares)})
        made = SanText(float(random.choice([0.5, 3.0])), base=base)
        laws = {word: law(made, place, word) for word in range(-1, words)}
        for x, y in itertools.permutations(laws, 2):
            support = laws[x] > 0
            assert (support == (laws[y] > 0)).all()
            loss = np.log(laws[x][support] / laws[y][support]).max()
            apart = np.linalg.norm(np.diff(place.vectors_of(np.array([x, y])), axis=0))
            assert loss <= made.epsilon * apart + 1e-9
            closest = min(closest, 1 - loss / (made.epsilon * apart))
    assert closest < 0.2


# --- What breaks the law. -------------------------------------------------------------------------


def forgets_q_of_the_original(self: Favoured, weights: Floats, words: Ids, others: Ids) -> Floats:
    factors = self.factors[others] * self.leaving[words][:, None]
    return np.where(others == words[:, None], weights, weights * factors)


def q_of_both(self: Favoured, weights: Floats, words: Ids, others: Ids) -> Floats:
    return weights * self.factors[others] * self.factors[words][:, None]


def proposes_alike(self: Favoured, random: Any, tail: Any) -> Ids:
    return (random % np.uint64(len(self.order))).astype(np.int64)


@pytest.mark.parametrize(
    ("method", "mistake"),
    [
        ("times_factors", forgets_q_of_the_original),
        ("times_factors", q_of_both),
        ("draw", proposes_alike),
    ],
)
def test_the_check_finds_a_broken_copy(
    monkeypatch: pytest.MonkeyPatch, method: str, mistake: Callable[..., Any]
) -> None:
    monkeypatch.setattr(Favoured, method, mistake)
    made = WithSizes(SanText(1.0, base=FrequencyBase(0.5)), ChoiceSizes(around=5))
    with pytest.raises(AssertionError):
        check(made, vocabulary(120))


def test_the_check_finds_a_forgotten_exponent() -> None:
    place = vocabulary(300)
    made = SanText(1.0, base=FrequencyBase(0.5))
    with pytest.raises(AssertionError, match="p ="):
        check(_Otherwise(made, SanText(1.0, base=FrequencyBase())), place)


class _Otherwise:
    """Releases by one mechanism, and says that it is another."""

    def __init__(self, said: Any, does: Any):
        self._does, self.epsilon = does, said.epsilon
        self.base, self.importance = said.base, said.importance
        self.draws, self.release = does.draws, does.release


def test_a_base_changes_no_number_of_the_guarantee_and_is_named() -> None:
    plain, based = SanText(2.0).guarantee(), SanText(2.0, base=FrequencyBase(0.5)).guarantee()
    assert based.sentence == plain.sentence
    assert "to the power of 0.5" in " ".join(based.caveats)
    assert any("must be public" in caveat for caveat in based.caveats)
    recorded = Configuration(SanText(2.0, base=FrequencyBase(0.5))).as_dict()["mechanism"]
    assert recorded["base"] == {"kind": "frequency", "exponent": 0.5}
    digests = {Configuration(SanText(2.0, base=FrequencyBase(tau))).digest("") for tau in (0.5, 1)}
    assert len(digests) == 2


def test_only_mechanisms_that_weigh_words_take_a_base() -> None:
    for name in MECHANISMS:
        if name in ("santext", "tem"):
            assert make_mechanism(name, epsilon=2.0, base=FrequencyBase()).epsilon == 2.0
            assert make_mechanism(name, epsilon=2.0).draws(3) == DRAWS
        else:
            with pytest.raises(ConfigurationError, match="`base` goes with `mechanism` santext or"):
                make_mechanism(name, epsilon=2.0, base=FrequencyBase())


def test_files_are_read_and_mistakes_named(tmp_path: Path) -> None:
    (tmp_path / "q.tsv").write_text("w0\t5\nw1\t0\nw2\t2.5\n")
    base = read_base(str(tmp_path / "q.tsv"), 0.5)
    assert np.exp(base.logs(vocabulary(3))).tolist() == [1.0, 0.0, pytest.approx(math.sqrt(0.5))]
    for content, message in (
        ("w0\t-1\n", "line 1: a finite number of 0 or more"),
        ("w0\t1\nw0\t2\n", "line 2: this word has a number already"),
        ("w0\t0\n", "no word with a number above 0"),
        ("w0 5\n", "line 1: write a word, a tab"),
    ):
        (tmp_path / "bad.tsv").write_text(content)
        with pytest.raises(ConfigurationError, match=message):
            read_base(str(tmp_path / "bad.tsv"))
    for name in ("model", "optimal"):
        with pytest.raises(ConfigurationError, match="made once, by dxbeam build-base"):
            read_base(name)
    with pytest.raises(ConfigurationError, match="give a file, or one of frequency"):
        read_base(str(tmp_path / "none"))
    for exponent in (0.0, -1.0, math.nan, 5.0):
        with pytest.raises(ConfigurationError, match="base_exponent is a number above 0"):
            FrequencyBase(exponent)
    with pytest.raises(ConfigurationError, match="none of the 1 words"):
        ListedBase({"other": 1.0}).logs(vocabulary(3))
    with pytest.raises(ConfigurationError, match="span a factor"):
        ListedBase({"w0": 1.0, "w1": 1e-300}).logs(vocabulary(3))
