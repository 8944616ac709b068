"""What the matrix of attackers must show, checked in its rows; and how rows are joined."""

from __future__ import annotations

import pytest

from benchmarks.attack_matrix import by_attacker
from benchmarks.matrix_tables import CHANCE, MASKED, NOISY, READERS, RELEASED, Row, settings

EVERY = settings()
EVERYWHERE = [name for name in RELEASED if name != "pretrained"]  # who was run with every seed
BELIEF = RELEASED["believes the release"]
PAIRS = [
    pytest.param(rows, words, id=f"{each.private}-{each.text}-{each.epsilon}-{each.seed}-{words}")
    for each, rows in EVERY.items()
    for words in ("all", "rare")
]


def test_every_setting_has_every_attacker() -> None:
    for setting, rows in EVERY.items():
        names = EVERYWHERE if setting.reader != "context" else ("chance", "believes the release")
        assert {RELEASED[name] for name in names} <= rows.keys(), setting
        assert RELEASED["learned"] in rows
        if setting.seed == 0 and not setting.more:
            assert RELEASED["pretrained"] in rows
            assert {(name, "released words around") for name in MASKED.values()} <= rows.keys()
        if setting.mechanism == "laplace" and setting.reader != "rank_c":
            assert {NOISY[name] for name in NOISY if name != "pretrained"} <= rows.keys(), setting


@pytest.mark.parametrize(("rows", "words"), PAIRS)
def test_training_never_does_harm(rows: dict[tuple[str, str], Row], words: str) -> None:
    """Nor a model that is brought: each gets what it starts from, as far as intervals tell."""
    for columns in (RELEASED, NOISY):
        for name in ("learned", "pretrained"):
            # Decoded text is believed, where there is nobody who reads it with context.
            start = columns["context"] if columns["context"] in rows or columns is NOISY else BELIEF
            if {start, columns[name]} <= rows.keys():
                assert rows[columns[name]][words][2] >= rows[start][words][1]


@pytest.mark.parametrize(("rows", "words"), PAIRS)
def test_attackers_that_know_what_is_frequent_are_at_chance_at_least(
    rows: dict[tuple[str, str], Row], words: str
) -> None:
    """Below it are: belief, where hardly a word comes out unchanged, and who sees words around."""
    chance = rows[CHANCE][words][0]
    for attacker, row in rows.items():
        if attacker != RELEASED["believes the release"] and attacker[0] not in MASKED.values():
            assert row[words][2] >= chance, attacker


def test_rows_of_all_words_and_of_rare_ones_are_joined() -> None:
    def row(attacker: str, words: str, share: float, rank_c: float | None = None) -> Row:
        return {
            "parameters": "", "rank_c": rank_c, "attacker": attacker, "sees": "released words",
            "words": words, "success": share, "low": 0.1, "high": 0.9, "chance": 0.05,
        }  # fmt: skip

    written = [row("a", "all", 0.5), row("a", "rare", 0.25), row("a", "all", 0.4, 0.02)]
    decoded = [{**one, "parameters": "decode=context"} for one in (row("context", "all", 0.2),)]
    first, second = by_attacker(written + decoded)
    assert (first["all"], first["rare"]) == ([0.5, 0.1, 0.9], [0.25, 0.1, 0.9])
    assert (first["chance_all"], first["reader"], second["reader"]) == (0.05, "nearest", "rank_c")
    assert {first["reader"], second["reader"]} < READERS.keys()
