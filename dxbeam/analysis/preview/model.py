"""All that a page holds, before it is packed: the words, what each setting makes of them, figures.

It is computed from raw text and holds it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from dxbeam.analysis.evaluate.language_scores import RARE
from dxbeam.analysis.measure.plan import Named, made
from dxbeam.analysis.measure.plan import promises as promises_something
from dxbeam.analysis.measure.public_parameters import Known
from dxbeam.analysis.preview.beliefs import BELIEF_DRAWS, Beliefs, beliefs
from dxbeam.analysis.preview.chances import Chances, chances
from dxbeam.analysis.preview.draws import DRAWS, new_keys
from dxbeam.analysis.preview.packing import smallest
from dxbeam.analysis.preview.promise import promises
from dxbeam.analysis.preview.readings import Drawn, Reading, draw, readings
from dxbeam.analysis.preview.runs import arrays, lexicon_of
from dxbeam.analysis.preview.sample import Sample
from dxbeam.errors import ConfigurationError
from dxbeam.language.model import LanguageModel
from dxbeam.mechanisms import Mechanism, check_vocabulary
from dxbeam.mechanisms.sampling.noise import Floats
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.text.plain_settings import reads_model

MECHANISMS = "laplace,mahalanobis,santext,tem"
"""Those that a page shows unless others are named."""

_THREADS = 2
"""So many mechanisms are drawn at once."""


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
    # Many small products: threads of BLAS would wait for one another most of the time.
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(_THREADS) as pool:
        shown = list(
            pool.map(
                lambda named, mechanism: _shown(named, mechanism, sample, distinct, known),
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
    if any(isinstance(value, Known) for _, value in parameters):
        raise ConfigurationError(
            f"`mechanisms` {name}: a preview knows no base measure and no scan; leave them out"
        )
    mechanism: Any = made(named, 1.0)
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
) -> Shown:
    prior, model, keys, search = known
    draws = draw(mechanism, sample, keys, search)
    return Shown(
        named,
        draws,
        list(readings(draws, sample, model, search)),
        beliefs(mechanism, distinct, draws.grid, prior, search),
        chances(mechanism, distinct, draws.grid, search),
        [promise._asdict() for promise in promises(mechanism, draws.grid, search)],
    )


def _close(
    every: Sequence[Any],
    distinct: Ids,
    which: Ids,
    lexicon: Ids,
    search: NeighborSearch,
) -> list[list[int]]:
    """For each distinct word, those released words, by number, that are close to it."""
    pairs = np.unique(np.concatenate(list(_pairs(every, which, len(lexicon), lexicon))))
    originals, released = distinct[pairs // len(lexicon)], lexicon[pairs % len(lexicon)]
    kept = (originals >= 0) & (originals != released)
    pairs, originals, released = pairs[kept], originals[kept], released[kept]
    close = np.zeros(len(pairs), bool)
    for start in range(0, len(pairs), 4096):
        part = slice(start, start + 4096)
        close[part] = search.is_close(originals[part], released[part])
    found: list[list[int]] = [[] for _ in distinct]
    for pair in pairs[close].tolist():
        found[pair // len(lexicon)].append(pair % len(lexicon))
    return found


def _pairs(every: Sequence[Any], which: Ids, words: int, lexicon: Ids) -> Iterator[Ids]:
    for runs in every:
        rows = np.repeat(np.tile(which, runs.draws), runs.counts)
        yield np.unique(rows * words + np.searchsorted(lexicon, runs.ids))


def _packed(shown: Shown, lexicon: Ids) -> dict[str, Any]:
    name, parameters = shown.named
    grid = shown.draws.grid
    return {
        "name": name,
        "parameters": ",".join(f"{key}={value}" for key, value in parameters),
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
        "chances": {
            "grid": shown.chances.grid,
            "of": shown.chances.of,
            "stay": shown.chances.stay,
        },
        "beliefs": _packed_beliefs(shown.beliefs, lexicon),
    }


def _packed_beliefs(beliefs: Beliefs, lexicon: Ids) -> dict[str, Any]:
    return {
        "sees": beliefs.sees,
        "grid": beliefs.grid,
        "truth": _percent(beliefs.truth),
        "right": beliefs.right,
        "words": smallest(np.searchsorted(lexicon, beliefs.words)),
        "shares": _percent(beliefs.shares),
    }


def _percent(shares: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    return np.rint(100 * np.clip(shares, 0, 1)).astype(np.uint8)
