"""All that a page holds, before it is packed: the words, what each setting makes of them, figures.

It is computed from raw text and holds it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from dxbeam.analysis.evaluate.language_scores import RARE
from dxbeam.analysis.measure.public_parameters import BASE, EXPONENT, Known, taken_apart, written
from dxbeam.analysis.measure.settings import Named, make_named
from dxbeam.analysis.measure.settings import promises as promises_something
from dxbeam.analysis.preview.belief_means import BELIEF_DRAWS, Beliefs
from dxbeam.analysis.preview.beliefs import beliefs
from dxbeam.analysis.preview.chances import Chances, chances
from dxbeam.analysis.preview.draws import DRAWS, new_keys
from dxbeam.analysis.preview.packing import smallest
from dxbeam.analysis.preview.promise import promises
from dxbeam.analysis.preview.readings import Drawn, Reading, draw, readings
from dxbeam.analysis.preview.runs import Runs, arrays, lexicon_of
from dxbeam.analysis.preview.sample import Sample
from dxbeam.errors import ConfigurationError
from dxbeam.language.model import LanguageModel
from dxbeam.mechanisms import Mechanism, check_vocabulary
from dxbeam.mechanisms.sampling.noise import Floats
from dxbeam.space.search.distance_rows import distance_rows, half_squares
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.text.plain_settings import reads_model

MECHANISMS = "laplace,mahalanobis,santext,tem"
"""Those that a page shows unless others are named."""

_THREADS = 2
"""Mechanisms that are drawn side by side."""

_PAIRS_AT_ONCE = 4096


class Shown(NamedTuple):
    """A mechanism on the page.

    Attributes:
      named: its name and parameters, as they were given.
      draws: of the words.
      readings: what is released.
      beliefs: what an attacker believes.
      chances: how often words stay.
      promises: what it promises, ready for JSON.
    """

    named: Named
    draws: Drawn
    readings: list[Reading]
    beliefs: Beliefs
    chances: Chances
    promises: list[dict[str, Any]]


def page_model(
    sample: Sample,
    mechanisms: Sequence[Named],
    search: NeighborSearch,
    model: LanguageModel | None = None,
    keys: list[bytes] | None = None,
) -> dict[str, Any]:
    """Draws everything and packs it.

    Args:
      sample: the words.
      mechanisms: names and parameters.
      search: the vocabulary.
      model: a public language model, or None.
      keys: of the draws, for tests; by default new ones that nobody keeps.

    Raises:
      ConfigurationError: a mechanism that promises nothing, or that cannot be used here.
    """
    distinct, which = np.unique(sample.ids, return_inverse=True)
    prior = prior_of(model, len(search.vocabulary))
    known = prior, model, keys or new_keys(DRAWS), search
    opened = [_mechanism(named, model, search) for named in mechanisms]
    threads = max(1, _THREADS // len(mechanisms))  # of each
    # Many small products: threads of BLAS would wait for one another most of the time.
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(_THREADS) as pool:
        shown = list(
            pool.map(
                lambda named, mechanism: _shown(named, mechanism, sample, distinct, known, threads),
                mechanisms,
                opened,
            )
        )
    every = [reading.runs for each in shown for reading in each.readings]
    believed = [each.beliefs.words.ravel() for each in shown]
    lexicon = lexicon_of(every, np.concatenate([distinct[distinct >= 0], *believed]))
    rare = (sample.ids >= 0) & (prior[sample.ids] < RARE)
    return {
        "lexicon": search.vocabulary.words_of(lexicon),
        "gaps": sample.gaps,
        "words": sample.words,
        "originals": np.where(sample.ids < 0, -1, np.searchsorted(lexicon, sample.ids)).tolist(),
        "distinct": which.tolist(),
        "rare": rare.astype(int).tolist(),
        "close": _close(every, distinct, which, lexicon, search),
        "most_frequent": _right(prior, sample),
        "belief_draws": BELIEF_DRAWS,
        "mechanisms": [_packed(each, lexicon) for each in shown],
    }


def prior_of(model: LanguageModel | None, words: int) -> Floats:
    """How frequent words are: by the language model, or 1 / r for the r-th word: float64 [N]."""
    weights = 1 / np.arange(1, words + 1) if model is None else np.asarray(model.prior[:-1])
    return np.asarray(weights / weights.sum())


def _right(prior: Floats, sample: Sample) -> float:
    """The share of known words that the guess of the most frequent word gets."""
    known = sample.ids[sample.ids >= 0]
    return float((known == prior.argmax()).mean())


def _mechanism(named: Named, model: LanguageModel | None, search: NeighborSearch) -> Mechanism:
    name, parameters = named
    if not promises_something(name, parameters):
        raise ConfigurationError(
            f"`mechanisms` {name} promises nothing, or nothing for some words, so a preview of it "
            "would mislead; leave it out"
        )
    if any(isinstance(value, Known) and key not in (BASE, EXPONENT) for key, value in parameters):
        raise ConfigurationError(
            f"`mechanisms` {name}: a preview shows many epsilons, and a scan is of a few; it shows "
            "decoders of all mechanisms, with `language_model`; leave them out"
        )
    mechanism: Any = make_named(named, 1.0)
    if reads_model(name):
        if model is None:
            raise ConfigurationError(f"`mechanisms` {name} needs a `language_model`")
        mechanism = dataclasses.replace(mechanism, model=model)
    check_vocabulary(mechanism, search.vocabulary)
    result: Mechanism = mechanism
    return result


def _shown(
    named: Named,
    mechanism: Mechanism,
    sample: Sample,
    distinct: Ids,
    known: tuple[Floats, LanguageModel | None, list[bytes], NeighborSearch],
    threads: int,
) -> Shown:
    prior, model, keys, search = known
    draws = draw(mechanism, sample, keys, search)
    return Shown(
        named,
        draws,
        list(readings(draws, sample, model, search, threads)),
        beliefs(mechanism, distinct, draws.grid, prior, search),
        chances(mechanism, distinct, draws.grid, search),
        [promise._asdict() for promise in promises(mechanism, draws.grid, search)],
    )


def _close(
    every: Sequence[Runs], distinct: Ids, which: Ids, lexicon: Ids, search: NeighborSearch
) -> list[list[int]]:
    """For each distinct word, those released words, by number, that are close to it."""
    nearby, words = _nearby(distinct, search), len(search.vocabulary)
    pairs = np.unique(np.concatenate([_nearby_pairs(runs, which, nearby) for runs in every]))
    rows, released = np.divmod(pairs, words)
    close = np.zeros(len(pairs), bool)
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        close[part] = search.is_close(distinct[rows[part]], released[part])
    numbers = np.searchsorted(lexicon, released[close])
    result: list[list[int]] = [[] for _ in distinct]
    for row, number in zip(rows[close].tolist(), numbers.tolist(), strict=True):
        result[row].append(number)
    return result


def _nearby(distinct: Ids, search: NeighborSearch) -> npt.NDArray[np.bool_]:
    """Which words may be close to each of D words, but for itself: bool [D, N].

    By distances in float32, which are off by far less than the margin.
    """
    margin = np.float32(0.02 * np.sqrt(2 * half_squares(search).max()))
    nearby = np.zeros((len(distinct), len(search.vocabulary)), bool)
    known = np.flatnonzero(distinct >= 0)
    for part, apart in distance_rows(distinct[known], search):
        radii = search.close_radius(distinct[known[part]]).astype(np.float32)
        nearby[known[part]] = apart <= (radii + margin)[:, None]
    nearby[known, distinct[known]] = False
    return nearby


def _nearby_pairs(runs: Runs, which: Ids, nearby: npt.NDArray[np.bool_]) -> Ids:
    """Numbers of distinct words, times N, plus the words nearby that are released for them."""
    rows = np.repeat(np.tile(which, runs.draws), runs.counts)
    kept = nearby[rows, runs.ids]
    return np.asarray(rows[kept] * nearby.shape[1] + runs.ids[kept])


def _packed(shown: Shown, lexicon: Ids) -> dict[str, Any]:
    name, parameters = shown.named
    grid, text, beliefs = shown.draws.grid, written(parameters), shown.beliefs
    further = taken_apart(text)
    chosen = [f"--parameters {further.parameters}"] if further.parameters else []
    return {
        "name": name,
        "parameters": text,
        "flags": " ".join([*chosen, further.flags]).strip(),
        "grid": grid,
        "readings": [
            {
                "decode": reading.decode,
                "c": reading.rank_c,
                "grid": reading.grid,
                **arrays(reading.runs, lexicon),
            }
            for reading in shown.readings
        ],
        "promises": shown.promises,
        "chances": shown.chances._asdict(),
        "beliefs": {
            **beliefs._asdict(),
            "truth": _percent(beliefs.truth),
            "words": smallest(np.searchsorted(lexicon, beliefs.words)),
            "shares": _percent(beliefs.shares),
        },
    }


def _percent(shares: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    return np.rint(100 * np.clip(shares, 0, 1)).astype(np.uint8)
