"""The answer is the smallest epsilon that meets the target, and its figures hold."""

from __future__ import annotations

import html
import itertools
import re
from typing import Any

import numpy as np
import pytest

from dxbeam.analysis.calibrate.compute import (
    CHOICE,
    RANK_CS,
    SHARES,
    TIE,
    VERIFICATION,
    Answer,
    Row,
    answers,
    best_at_each_epsilon,
    compared,
    parse_targets,
)
from dxbeam.analysis.calibrate.page import Calibrated, page
from dxbeam.analysis.calibrate.transform import Grid, Halves, Sampled, check_halves, curve
from dxbeam.analysis.measure import proportions
from dxbeam.analysis.measure.settings import Setting
from dxbeam.analysis.measure.word_sample import BY_FREQUENCY, UNIFORM, WordSample, uniform_sample
from dxbeam.analysis.pages.page import Heading
from dxbeam.audit.references.choice import santext
from dxbeam.errors import ConfigurationError, CorpusError
from dxbeam.mechanisms import make_mechanism
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support.distributions import rank_distribution
from tests.support.refusals import refused
from tests.support.vocabularies import random_vocabulary


def _row(
    epsilon: float,
    rank_c: float | None,
    original: float,
    close: float,
    half: str = CHOICE,
    wide: float = 0.01,
    weighting: str = UNIFORM,
) -> Row:
    shares = {"original": original, "close": close, "distant": 1 - original - close}
    row: Row = {"weighting": weighting, "half": half, "epsilon": epsilon, "rank_c": rank_c}
    row |= {"mechanism": "laplace", "parameters": "", "words": 100, **shares}
    for name, share in shares.items():
        row |= {f"{name}_low": share - wide, f"{name}_high": share + wide}
    return row


def _both(rows: list[Row]) -> list[Row]:
    return rows + [{**row, "half": VERIFICATION} for row in rows]


def _search(words: int, n: int, depth: int = 120) -> NeighborSearch:
    made = random_vocabulary(words, n)
    table, radii = NeighborSearch(made).neighbor_table(np.arange(words), depth)
    return NeighborSearch(
        Vocabulary(made.words, made.vectors, False, neighbor_ids=table, close_radius=radii)
    )


def _measured(setting: Setting, samples: list[WordSample], search: NeighborSearch) -> list[Row]:
    generator = np.random.default_rng(samples[0].ids[:2])
    sums = {}
    for number, half in enumerate(half for sample in samples for half in sample.halves()):
        draws = setting.make().draws(search.vocabulary.dimensions)
        random = generator.integers(0, 2**64, (len(half.ids), draws), dtype=np.uint64)
        sums[number] = proportions.measure(
            setting.make(),
            setting.epsilons,
            setting.rank_cs,
            np.array(half.ids, np.int64),
            random,
            search,
        )
    return curve(Halves(setting, samples), sums)


@refused(
    """
    at_most=                                    there is nothing to calibrate for
    at_most=distant                             `at_most` distant: write it as share=number
    at_most=far=0.2                             shares are original, close, distant
    at_most=distant=20                          a number must be between 0 and 1
    at_most=distant=0                           a number must be between 0 and 1
    at_most=distant=nan                         a number must be between 0 and 1
    at_least=close=1                            a number must be between 0 and 1
    at_least=close=few                          `at_least` close=few: write it as
    at_most=distant=0.2,distant=0.3             names distant twice
    at_most=close=0.2 at_least=close=0.3        contradict each other
    at_least=close=0.6,original=0.5             asks for more than all words
    at_most=close=0.2,original=0.2,distant=0.2  leaves words without a place
    """
)
def test_targets_that_say_nothing_are_refused(flags: list[str], said: str) -> None:
    targets = {"at_most": "", "at_least": "", **dict(flag.split("=", 1) for flag in flags)}
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        parse_targets(**targets)


def test_targets_are_read_as_they_are_written() -> None:
    targets = parse_targets("distant=0.2, original=0.5", "close=0.125")
    assert [target.sentence for target in targets] == [
        "distant at most 20 %",
        "original at most 50 %",
        "close at least 12.5 %",
    ]


def _by_brute_force(rows: list[Row], targets: Any) -> tuple[float, float | None]:
    """Epsilon and c of what the module's docstring asks for, by looking at everything."""

    def slack(row: Row) -> float:
        slacks = []
        for share, at_most, value in targets:
            if at_most:
                far = row[share] + 2 * (row[f"{share}_high"] - row[share])
                slacks.append(value - far)
            else:
                far = row[share] - 2 * (row[share] - row[f"{share}_low"])
                slacks.append(far - value)
        return min(slacks)

    meeting = [row for row in rows if slack(row) >= 0]
    if meeting:
        smallest = min(row["epsilon"] for row in meeting)
        there = [row for row in meeting if row["epsilon"] == smallest]
    else:
        most = max(max(slack(row) for row in rows if row["epsilon"] == e) for e in range(1, 9))
        [smallest] = {row["epsilon"] for row in rows if slack(row) == most}
        there = [row for row in rows if row["epsilon"] == smallest]
    most = max(map(slack, there))
    by_c = {row["rank_c"]: row for row in there}
    return next(
        (smallest, c) for c in (None, 0.1, 0.01) if c in by_c and slack(by_c[c]) >= most - TIE
    )


@pytest.mark.parametrize("seed", range(20))
def test_the_answer_is_that_of_looking_at_everything(seed: int) -> None:
    generator = np.random.default_rng(seed)
    rows = []
    for epsilon, c in itertools.product(range(1, 9), (None, 0.01, 0.1)):
        original, close, _ = generator.dirichlet([epsilon, 2, 6])
        rows.append(_row(epsilon, c, original, close, wide=generator.uniform(0, 0.03)))
    for at_most, at_least in (
        ("distant=0.4", ""),
        ("distant=0.6,original=0.3", "close=0.1"),
        ("", "original=0.5"),
        ("", "close=0.9"),
    ):
        targets = parse_targets(at_most, at_least)
        [answer] = answers(_both(rows), targets)
        chosen = answer.chosen["epsilon"], answer.chosen["rank_c"]
        if answer.confirmed or at_least == "close=0.9":
            assert chosen == _by_brute_force(rows, targets)


def test_resampling_is_not_taken_for_next_to_nothing() -> None:
    targets = parse_targets("distant=0.5", "")
    almost = [_row(1, None, 0.3, 0.4), _row(1, 0.1, 0.3, 0.4 + 0.9 * TIE)]
    better = [_row(1, None, 0.3, 0.4), _row(1, 0.1, 0.3, 0.4 + 1.1 * TIE)]
    needed = [_row(1, None, 0.3, 0.219), _row(1, 0.1, 0.3, 0.221)]
    assert [best_at_each_epsilon(rows, targets)[0]["rank_c"] for rows in (almost, better)] == [
        None,
        0.1,
    ]
    assert best_at_each_epsilon(needed, targets)[0]["rank_c"] == 0.1


def test_what_the_other_half_does_not_confirm_is_no_answer() -> None:
    targets = parse_targets("distant=0.3", "close=0.3")
    chosen = _row(2, 0.1, 0.3, 0.5)
    for other, said in (
        (_row(2, 0.1, 0.3, 0.405), "leaves open whether distant at most 30 % is met"),
        (_row(2, 0.1, 0.3, 0.35), "distant 35.0 % (34.0 to 36.0), 5 points short of"),
        (_row(2, 0.1, 0.6, 0.2), "close 20.0 % (19.0 to 21.0), 10 points short of"),
    ):
        [answer] = answers([chosen, {**other, "half": VERIFICATION}], targets)
        assert not answer.confirmed
        assert said in answer.missed
    [answer] = answers([chosen, _row(2, 0.1, 0.3, 0.42, VERIFICATION)], targets)
    assert answer.confirmed
    assert answer.missed == ""


def test_whether_a_choice_failed_or_its_confirmation_is_told_apart() -> None:
    targets = parse_targets("distant=0.3", "")
    heading = Heading({"name": "voc", "words": 9, "dimensions": 2}, "", "dxbeam calibrate")
    for chosen, said in (
        (_row(2, None, 0.3, 0.5), "epsilon = 2 with no rank resampling gave distant at most"),
        (_row(2, None, 0.3, 0.35), "none of the settings that were tried (epsilon = 2 with no"),
    ):
        rows = [chosen, _row(2, None, 0.3, 0.35, VERIFICATION)]
        [answer] = answers(rows, targets)
        found = Calibrated(heading, Sampled(9, 0, 0), rows, answer, None, None)
        assert found.failure.startswith(said)
        assert "5 points short of distant at most 30 %" in found.failure
        assert found.failure in html.unescape(page(found))


def test_of_settings_that_all_miss_the_nearest_is_named() -> None:
    rows = [_row(1, None, 0.1, 0.1), _row(2, None, 0.3, 0.2), _row(3, None, 0.5, 0.1)]
    [answer] = answers(_both(rows), parse_targets("", "close=0.5"))
    assert not answer.confirmed
    assert answer.setting == "epsilon = 2 with no rank resampling"
    assert "30 points short of close at least 50 %" in answer.missed


@pytest.mark.slow
def test_the_smallest_epsilon_is_found_where_everything_is_known() -> None:
    """SanText's shares over all words are known exactly, also after rank resampling.

    The answer's exact shares meet the target, no smaller epsilon's do by more than the margin that
    intervals need, and the epsilon is at most three steps of the grid above the smallest one.
    """
    search, words = _search(300, 4), 300
    epsilons = tuple(0.25 * step for step in range(2, 21))
    setting = Setting("santext", (), epsilons, (0.02, 0.1, 0.5))
    order = np.argsort(
        np.linalg.norm(search.vocabulary.vectors[:, None] - search.vocabulary.vectors, axis=2),
        axis=1,
        kind="stable",
    )
    ranks = np.argsort(order, axis=1)
    close = (ranks >= 1) & (ranks <= 100)

    def exact(epsilon: float, c: float | None) -> dict[str, float]:
        reference = santext(make_mechanism("santext", epsilon=epsilon), search.vocabulary)
        released = np.stack(
            [reference.released(i, search.vocabulary.vectors[i]) for i in range(words)]
        )
        if c is not None:
            released = released @ rank_distribution(words, epsilon * c)[ranks]
        original, near = np.trace(released) / words, (released * close).sum() / words
        return {"original": original, "close": near, "distant": 1 - original - near}

    known = {(e, c): exact(e, c) for e in epsilons for c in (None, *setting.rank_cs)}
    rows = _measured(setting, [uniform_sample(words, words, 1)], search)
    for at_most, at_least in (
        ("distant=0.3", ""),
        ("distant=0.3", "close=0.5"),
        ("original=0.4", "close=0.5"),
    ):
        targets = parse_targets(at_most, at_least)
        [answer] = answers(rows, targets)
        assert answer.confirmed
        shares = known[answer.chosen["epsilon"], answer.chosen["rank_c"]]
        assert all(target.shortfall(shares) < 0 for target in targets)
        smallest = min(
            e for (e, _), found in known.items() if all(t.shortfall(found) < 0 for t in targets)
        )
        assert smallest <= answer.chosen["epsilon"] <= smallest + 3 * 0.25


@pytest.mark.slow
def test_intervals_hold_on_words_that_were_not_seen() -> None:
    """20 calibrations with 200 words each, for three targets; 700 other words are the judge.

    All three intervals of an answer must hold together in at least 17 of the 20. Each does with a
    probability of 95 % or more, so a correct calibration fails with at most 1.6 % for a target and
    4.8 % for all three, were the seeds not fixed. (The judge's own error adds 7 % to the width of
    what is compared, which Bonferroni's surplus outweighs.)
    """
    search, words = _search(900, 6), 900
    setting = Setting("laplace", (), (1.0, 1.5, 2.0, 2.5, 3.0, 4.0), (0.03, 0.1, 0.3))
    targets = [
        parse_targets("distant=0.5", ""),
        parse_targets("distant=0.4", "close=0.4"),
        parse_targets("original=0.5", "close=0.3"),
    ]
    held, confirmed = [0, 0, 0], [0, 0, 0]
    for repetition in range(20):
        shuffled = uniform_sample(words, words, repetition)
        rows = _measured(setting, [shuffled._replace(ids=shuffled.ids[:200])], search)
        found = [answers(rows, wanted)[0] for wanted in targets]
        unseen = shuffled._replace(ids=shuffled.ids[200:])
        judged = _judged(setting, found, unseen, search)
        for number, answer in enumerate(found):
            low_high = [(answer.verified[f"{s}_low"], answer.verified[f"{s}_high"]) for s in SHARES]
            share = judged[answer.setting]
            held[number] += all(
                low <= share[s] <= high for s, (low, high) in zip(SHARES, low_high, strict=True)
            )
            confirmed[number] += answer.confirmed
    assert min(held) >= 17
    assert min(confirmed) >= 15


def _judged(
    setting: Setting, found: list[Answer], unseen: WordSample, search: NeighborSearch
) -> dict[str, Row]:
    """Shares of words at the settings of answers."""
    epsilons = sorted({answer.chosen["epsilon"] for answer in found})
    rank_cs = sorted({answer.chosen["rank_c"] for answer in found} - {None})
    asked = setting._replace(epsilons=tuple(epsilons), rank_cs=tuple(rank_cs))
    rows = _measured(asked, [unseen], search)
    judged = {}
    for answer in found:
        own = [r for r in rows if all(r[k] == answer.chosen[k] for k in ("epsilon", "rank_c"))]
        judged[answer.setting] = {s: float(np.mean([r[s] for r in own])) for s in SHARES}
    return judged


def test_a_corpus_of_crowded_words_has_another_answer() -> None:
    """Words with near neighbours come out as themselves at a larger epsilon only."""
    search = _search(600, 6)
    radius = search.close_radius(np.arange(600))
    crowded = np.argsort(radius)[:40].tolist()
    often = WordSample(BY_FREQUENCY, crowded * 20, 800, 0)
    setting = Setting("laplace", (), tuple(np.arange(0.5, 8.1, 0.25)), ())
    rows = _measured(setting, [often, uniform_sample(600, 600, 0)], search)
    own, uniform = answers(rows, parse_targets("", "original=0.5"))
    assert own.confirmed
    assert uniform.confirmed
    assert own.chosen["epsilon"] > uniform.chosen["epsilon"]
    told = compared(own, uniform, rows)
    assert told.startswith(
        "The answers differ: for the vocabulary, where every word counts alike, it is "
        f"{uniform.setting}."
    )
    assert "common word" in told
    again = compared(uniform, uniform._replace(weighting=UNIFORM), rows)
    assert again.startswith("The answers agree")


def test_a_grid_covers_what_all_samples_need() -> None:
    search = _search(600, 6)
    crowded = np.argsort(search.close_radius(np.arange(600)))[:40].tolist()
    often = WordSample(BY_FREQUENCY, crowded * 5, 200, 0)
    alike = uniform_sample(600, 600, 0)
    grid = Grid(("laplace", ()), None, RANK_CS)
    alone = [grid.setting([sample], search).epsilons for sample in (often, alike)]
    assert set(grid.setting([often, alike], search).epsilons) == {*alone[0], *alone[1]}
    assert list(RANK_CS) == sorted(RANK_CS)
    assert RANK_CS[0] == 0.001
    assert RANK_CS[-1] == 1


def test_a_single_text_has_no_other_half() -> None:
    one = WordSample(BY_FREQUENCY, [1, 2, 3], 3, 0, [3], [0, 1, 1])
    with pytest.raises(CorpusError, match="only one text was drawn"):
        check_halves([one])
    check_halves([one._replace(sizes=[1, 2]), one._replace(sizes=[], breaks=[])])
