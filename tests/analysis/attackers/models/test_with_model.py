"""The attackers that bring a model, with a model that is a table of a chain of words."""

from __future__ import annotations

import numpy as np

from dxbeam.analysis.attackers.context import candidates_for, read_texts
from dxbeam.analysis.attackers.draws import draw
from dxbeam.analysis.attackers.make_channel import make_channel
from dxbeam.analysis.attackers.models.pairs import Pairs, candidates_of_pairs, estimated_from
from dxbeam.analysis.attackers.models.released_texts import (
    Attackers,
    Public,
    guess_released,
)
from dxbeam.analysis.attackers.models.with_model import (
    WEIGHTS,
    Weight,
    among,
    best_weight,
    by_masks,
    judged,
)
from dxbeam.analysis.attackers.noisy_context import candidates_from_vectors
from dxbeam.analysis.attackers.prior import uniform_prior
from dxbeam.analysis.attackers.word_pairs import WordPairs
from dxbeam.analysis.frontier.texts_with_models import noisy_guesses
from dxbeam.analysis.measure.settings import Setting
from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.santext import SanText
from dxbeam.space.search.neighbors import Floats, Ids, NeighborSearch
from tests.support.attacked import numbers

WORDS = 24


class _Skips:
    """Knows which word follows at a distance of two, which pairs of words do not say."""

    def log_chances(self, text: Ids, candidates: Ids) -> Floats:
        logs = np.full(candidates.shape, np.log(1 / WORDS))
        logs[2:] = np.where(candidates[2:] == _next(text[:-2])[:, None], np.log(0.9), np.log(0.004))
        return logs

    def likeliest(self, text: Ids, count: int) -> Ids:
        best = np.tile(np.arange(count), (len(text), 1))
        best[2:, 0] = _next(text[:-2])
        return best


class _Wrong(_Skips):
    """Expects what never follows."""

    def log_chances(self, text: Ids, candidates: Ids) -> Floats:
        return -super().log_chances(text, candidates)


def _next(words: Ids) -> Ids:
    return (words + 1) % WORDS


def _texts(count: int, seed: int) -> list[Ids]:
    """Nine words of ten are the one after the word two places before, else any."""
    generator = np.random.default_rng(seed)
    rows = generator.integers(0, WORDS, (count, 12))
    for place in range(2, 12):
        follows = generator.random(count) < 0.9
        rows[follows, place] = _next(rows[follows, place - 2])
    return list(rows)


def _released(texts: list[Ids], mechanism: SanText, search: NeighborSearch, seed: int) -> Ids:
    ids = np.concatenate(texts)
    return mechanism.release(ids, numbers(len(ids), mechanism.draws(4), seed), search)


def _nothing_known() -> WordPairs:
    """Any word follows any other."""
    return WordPairs(np.zeros(1, np.int64), np.zeros(1), np.ones(WORDS), np.full(WORDS, 1 / WORDS))


def _setting(search: NeighborSearch, epsilon: float = 2.0) -> tuple[SanText, Public]:
    mechanism = make_mechanism("santext", epsilon=epsilon)
    assert isinstance(mechanism, SanText)
    return mechanism, Public(uniform_prior(WORDS), _nothing_known(), ())


def _right(guesses: list[Ids], texts: list[Ids]) -> list[int]:
    return [int((a == b).sum()) for a, b in zip(guesses, texts, strict=True)]


def test_a_model_that_knows_more_gets_more_and_one_that_is_wrong_costs_nothing(
    search: NeighborSearch,
) -> None:
    """By 4.7 standard errors over texts, once in a million by chance."""
    mechanism, public = _setting(search)
    texts, own = _texts(300, 1), _texts(200, 2)
    released = _released(texts, mechanism, search, 3)
    pairs = Pairs(own, _released(own, mechanism, search, 4))
    channel = make_channel(mechanism, None, public.prior, (), search)
    sizes = [len(text) for text in texts]

    def guesses(model: _Skips) -> list[Ids]:
        found = guess_released(
            released, sizes, pairs, channel, public, Attackers(model=model), search
        )
        assert found.model is not None
        return found.model

    without = _candidates_only(channel, released, texts)
    gained = np.subtract(_right(guesses(_Skips()), texts), _right(without, texts))
    assert gained.mean() > 4.7 * gained.std() / np.sqrt(len(gained))
    assert all((a == b).all() for a, b in zip(guesses(_Wrong()), without, strict=True))


def test_of_noisy_vectors_it_gets_more_too(search: NeighborSearch) -> None:
    """By 4.7 standard errors over texts, once in a million by chance."""
    setting = Setting("laplace", (), (0.8,), ())
    public = Public(uniform_prior(WORDS), _nothing_known(), ())
    texts, own = _texts(300, 14), _texts(200, 15)

    def noisy(some: list[Ids], seed: int) -> Floats:
        ids, mechanism = np.concatenate(some), setting.make()
        return draw(mechanism, None, ids, numbers(len(ids), mechanism.draws(4), seed), search).noisy

    seen = noisy(texts, 16)
    asked = (seen, [12] * 300, Pairs(own, noisy(own, 17)), public)
    read = noisy_guesses(setting, *asked, Attackers(model=_Skips()), search)
    assert read.model is not None
    assert read.learned is read.masked is None
    candidates = candidates_from_vectors(setting.make(), seen, public.prior, search)
    without = read_texts(candidates, texts, _nothing_known())
    gained = np.subtract(_right(read.model, texts), _right(without, texts))
    assert gained.mean() > 4.7 * gained.std() / np.sqrt(len(gained))


def _candidates_only(channel: object, released: Ids, texts: list[Ids]) -> list[Ids]:
    return read_texts(candidates_for(channel, released), texts, _nothing_known())  # type: ignore[arg-type]


def test_what_an_attacker_is_worth_is_posterior_times_model_over_prior(
    search: NeighborSearch,
) -> None:
    mechanism, public = _setting(search)
    [text] = _texts(1, 5)
    released = _released([text], mechanism, search, 6)
    channel = make_channel(mechanism, None, public.prior, (), search)
    candidates = candidates_for(channel, released)
    read = judged(candidates, [len(text)], public.following, _Skips())
    around = candidates.ids[np.arange(12), candidates.posterior.argmax(axis=1)]
    logs = _Skips().log_chances(around, candidates.ids)
    scores = np.log(candidates.posterior) + 0.5 * (logs - np.log(1 / WORDS))
    expected = candidates.ids[np.arange(12), scores.argmax(axis=1)]
    assert (read.guesses(Weight(False, 0.5))[0] == expected).all()


def test_the_weight_is_chosen_on_public_text(search: NeighborSearch) -> None:
    mechanism, public = _setting(search)
    own = _texts(100, 7)
    released = _released(own, mechanism, search, 8)
    channel = make_channel(mechanism, None, public.prior, (), search)
    read = judged(candidates_for(channel, released), [12] * 100, public.following, _Skips())
    best = best_weight(own, read)
    counts = {weight: sum(_right(read.guesses(weight), own)) for weight in WEIGHTS}
    assert counts[best] == max(counts.values()) > counts[WEIGHTS[0]]


def test_guesses_by_masks_are_counted_among_the_first_few() -> None:
    texts = _texts(5, 9)
    ranked = by_masks(texts, _Skips())
    assert [guesses.shape for guesses in ranked] == [(12, 10)] * 5
    counts = [sum(_right(among(texts, ranked, count), texts)) for count in (1, 5, 10)]
    assert counts == sorted(counts)
    assert counts[0] == sum(_right([guesses[:, 0] for guesses in ranked], texts)) > 20


def test_a_setting_without_a_formula_is_known_from_pairs(search: NeighborSearch) -> None:
    mechanism, public = _setting(search, 8.0)
    texts, own = _texts(4, 10), _texts(100, 11)
    pairs = Pairs(own, _released(own, mechanism, search, 12))
    released = _released(texts, mechanism, search, 13)
    found = guess_released(
        released, [12] * 4, pairs, None, public, Attackers(model=_Skips()), search
    )
    assert found.learned is None
    assert [column.name for column in found.columns(texts)] == [
        "model", "masked_1", "masked_5", "masked_10",
    ]  # fmt: skip
    assert found.model is not None
    assert sum(_right(found.model, texts)) > 24
    assert [len(part.originals) for part in pairs.divided(50)] == [5, 95]
    assert [len(part.originals) for part in pairs.divided(10**6)] == [100, 0]


def test_each_half_of_the_pairs_is_read_by_what_the_other_says(search: NeighborSearch) -> None:
    mechanism, public = _setting(search, 1.0)
    own = _texts(40, 20)
    pairs = Pairs(own, _released(own, mechanism, search, 21))
    read = candidates_of_pairs(pairs, None, public.prior, search)
    words = 20 * 12
    halves = Pairs(own[:20], pairs.released[:words]), Pairs(own[20:], pairs.released[words:])
    for half, other, places in zip(
        halves, halves[::-1], (slice(words), slice(words, None)), strict=True
    ):
        unseen = candidates_for(estimated_from(other, public.prior, search), half.released)
        assert (read.of(places).ids == unseen.ids).all()
        assert (read.of(places).posterior == unseen.posterior).all()


def test_where_the_release_is_worth_more_it_is_believed(search: NeighborSearch) -> None:
    """Few pairs, and words that stay: what the pairs say of the mechanism is worth less."""
    _, public = _setting(search)
    own, texts = _texts(6, 22), _texts(50, 23)
    stays = np.random.default_rng(24).random(50 * 12) < 0.9
    released = np.where(stays, np.concatenate(texts), _next(np.concatenate(texts)))
    pairs = Pairs(own, np.concatenate(own))
    found = guess_released(
        released, [12] * 50, pairs, None, public, Attackers(model=_Wrong()), search
    )
    assert found.model is not None
    assert (np.concatenate(found.model) == released).all()
