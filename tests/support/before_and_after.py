"""Texts before and after, for scores of likeness: sentences with some of their words replaced."""

from __future__ import annotations

import numpy as np

MARKS = [" ", " ", " ", " ", ", ", ". ", "-", "'", " (", ") ", "\n"]


def texts(documents: int, replaced: float = 0.4, seed: int = 0) -> list[tuple[str, str]]:
    """Pairs of texts whose gaps are the same; some are empty, and some are all of one word."""
    generator = np.random.default_rng(seed)
    made = []
    for number in range(documents):
        length = 0 if number % 50 == 49 else int(generator.integers(1, 60))
        words = 1 if number % 50 == 48 else 40
        before = [_word(int(generator.integers(words))) for _ in range(length)]
        after = [
            _word(int(generator.integers(40))) if generator.random() < replaced else word
            for word in before
        ]
        gaps = [str(generator.choice(MARKS)) for _ in range(length)]
        made.append(
            tuple(
                "".join(word + gap for word, gap in zip(side, gaps, strict=True))
                for side in (before, after)
            )
        )
    return made  # type: ignore[return-value]


def _word(number: int) -> str:
    return f"{'bcdfgklmnp'[number % 10]}{'aeio'[number // 10]}{'rst'[number % 3]}{number % 7}"
