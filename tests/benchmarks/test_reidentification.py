"""What the page says of documents found again, checked in the rows; and how rows are joined."""

from __future__ import annotations

from benchmarks.reidentification import by_attacker
from benchmarks.reidentification_tables import ROWS
from benchmarks.rows import kept

FIRST = "right one first"


def test_the_likeliest_original_beats_who_compares_words_under_every_setting() -> None:
    rows = {(row["setting"], row["attacker"]): row[FIRST] for row in kept(ROWS)}
    settings = {setting for setting, _ in rows}
    assert settings
    for setting in settings:
        by_words = rows[setting, "nearest by TF-IDF of words"]
        assert rows[setting, "likeliest original"][1] > by_words[2], setting


def test_measures_of_an_attacker_are_joined_and_others_are_left_out() -> None:
    shared = {"attacker": "a", "sees": "s", "n": 9, "low": 0.1, "high": 0.3, "chance": 0.0}
    measures = {FIRST: 0.2, "others behind the right one": 0.25, "words recovered": 0.3}
    written = [{**shared, "measure": name, "success": share} for name, share in measures.items()]
    [row] = by_attacker(written)
    assert row == {
        "attacker": "a",
        "sees": "s",
        "n": 9,
        FIRST: [0.2, 0.1, 0.3, 0.0],
        "others behind the right one": [0.25, 0.1, 0.3, 0.0],
    }
