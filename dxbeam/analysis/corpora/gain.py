"""What a release is good for, set off against what it still tells: gain over the risk.

    gamma = U / U0 - P / P0,

with U the accuracy of the task and P that of the attack, and U0 and P0 the same of the originals
(Mattern, Weggenmann, Kerschbaum: The limits of word level differential privacy, 2022). Above 0 the
attack loses more than the task does. As an accuracy is never far below the majority class, which
needs no text, gamma is also taken of what is above it:

    (U - M) / (U0 - M) - (P - N) / (P0 - N),

M and N being the shares of the commonest class. Both are nothing but two accuracies, and tell
nothing of attacks that were not tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dxbeam.analysis.evaluate.classification import MAJORITY, ORIGINAL, RELEASED, Classified
from dxbeam.analysis.evaluate.text_features import WORDS
from dxbeam.space.search.neighbors import Floats

GAIN, GAIN_OVER_MAJORITY = "gain", "gain_over_majority"

_TASK = "task_accuracy"


def gains(
    of_originals: Sequence[Classified], of_release: Sequence[Classified]
) -> Iterator[Classified]:
    """Gamma of a release, for the attacker who learns of originals, and of released text.

    Accuracies are those by TF-IDF weights of words. There is none without a task or an attack, and
    none over the majority class where originals may teach no more than that.

    Args:
      of_originals: what classifiers come to on originals only.
      of_release: and with the release.
    """
    rows = [*of_originals, *of_release]
    by_setting = {each[:4]: each for each in rows if each.replicates}
    attacks = [key[0] for key in by_setting if key[0].startswith("attack_") and key[1] == MAJORITY]
    task = [
        by_setting.get((_TASK, WORDS, RELEASED, ORIGINAL)),
        by_setting.get((_TASK, WORDS, ORIGINAL, ORIGINAL)),
        by_setting.get((_TASK, MAJORITY, None, None)),
    ]
    for attack in attacks:
        for trained_on in (ORIGINAL, RELEASED):
            risk = [
                by_setting.get((attack, WORDS, trained_on, RELEASED)),
                by_setting.get((attack, WORDS, ORIGINAL, ORIGINAL)),
                by_setting.get((attack, MAJORITY, None, None)),
            ]
            every = [each for each in (*task, *risk) if each is not None]
            if len(every) == 6:
                yield from _gains(every, trained_on)


def _gains(rows: Sequence[Classified], trained_on: str) -> Iterator[Classified]:
    values = np.array([[row.value, *row.replicates] for row in rows])
    after, before, least, told, known, guessed = values
    plain = after / before - told / known
    yield _gain(GAIN, plain, rows[0], trained_on)
    task, risk = before - least, known - guessed
    if min(task.min(), risk.min()) > 0:
        above = (after - least) / task - (told - guessed) / risk
        yield _gain(GAIN_OVER_MAJORITY, above, rows[0], trained_on)


def _gain(metric: str, values: Floats, task: Classified, trained_on: str) -> Classified:
    low, high = np.nanquantile(values[1:], [0.025, 0.975])
    return Classified(
        metric, WORDS, trained_on, RELEASED, float(values[0]), float(low), float(high), task.n
    )
