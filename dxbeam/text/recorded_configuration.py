"""A configuration made again from what release.json records of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dxbeam.errors import DxbeamError
from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.constants.exact_constant import ExactConstant
from dxbeam.mechanisms.public.base_measure import BaseMeasure, FrequencyBase
from dxbeam.mechanisms.public.importance import Importance
from dxbeam.mechanisms.public.listed_words import FREQUENCY
from dxbeam.mechanisms.public.public_model import PublicModel
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.text.bag_of_words import BagOfWords, read_stop_words
from dxbeam.text.bag_of_words_published import BagOfWordsPublished
from dxbeam.text.configuration import DECODER, DETECT, TRUECASE, Configuration
from dxbeam.text.decoding.decoder import Decoder
from dxbeam.text.detection.detector import Detector
from dxbeam.text.epsilon_by_field import EpsilonByField
from dxbeam.text.public.base_file import read_base
from dxbeam.text.public.importance_file import NAMED, read_importance
from dxbeam.text.truecase import Truecase
from dxbeam.text.word_rule import WordRule

_STOP_WORDS = ("english", "none")
"""The lists that come with dxbeam; of any other list only a digest is recorded."""


def rebuilt(
    record: Mapping[str, Any],
    importance: str | None = None,
    stop_words: str | None = None,
    base: str | None = None,
) -> Configuration | None:
    """The configuration whose ``as_dict`` is this record.

    None where it cannot be made: the record is of released vectors or of an earlier rule for noise
    or words, or names stop words, weights or a base measure of a file that is not given, or is
    another one.

    Args:
      record: what release.json says of it.
      importance: the file of the words' weights, where there is one.
      stop_words: the file of the stop words, where there is one.
      base: the file of the base measure, where there is one.

    Raises:
      ConfigurationError: a file that is given cannot be read.
    """
    weights_of_file = read_importance(importance) if importance else None
    listed = read_stop_words(stop_words) if stop_words else None
    try:
        parameters = dict(record["mechanism"])
        if weights := parameters.pop("importance", None):
            parameters["importance"] = weights_of_file or _importance(weights)
        if measure := parameters.pop("base", None):
            parameters["base"] = _base(measure, base)
        if constant := parameters.pop("constant", None):
            settings = {**record["mechanism"]}
            parameters["constant"] = _constant(constant, settings)
        if model := parameters.pop("model", None):
            parameters["model"] = PublicModel(**model)
        resampling, bag = record["rank_resampling"], record.get("bag_of_words")
        levels, decoder = record.get("epsilon_by"), record.get(DECODER)
        settings_again = Configuration(
            make_mechanism(parameters.pop("name"), **parameters),
            RankResampling(**resampling) if resampling else None,
            record["unknown_words"],
            _bag(bag, listed) if bag else None,
            allow_unsound=True,
            epsilon_by=EpsilonByField(**levels) if levels else None,
            decoder=Decoder.from_dict(decoder) if decoder else None,
            truecase=Truecase(record[TRUECASE]["model"]) if TRUECASE in record else None,
            words=WordRule.from_dict(record),
            detector=Detector.from_dict(record[DETECT]) if DETECT in record else None,
        )
    except (KeyError, TypeError, ValueError, DxbeamError):
        return None
    return settings_again if settings_again.as_dict() == dict(record) else None


def files_needed(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Which files ``rebuilt`` must be given: of "importance", "base" and "stop_words"."""
    needed = []
    mechanism, bag = record.get("mechanism"), record.get("bag_of_words")
    weights = mechanism.get("importance") if isinstance(mechanism, dict) else None
    if weights and not (isinstance(weights, dict) and weights.get("kind") in NAMED):
        needed.append("importance")
    if has_listed_base(record):
        needed.append("base")
    if bag and _bag(bag, None) is None:
        needed.append("stop_words")
    return tuple(needed)


def has_listed_base(record: Mapping[str, Any]) -> bool:
    """Whether there is a base measure of a list, which ``rebuilt`` needs the file for."""
    mechanism = record.get("mechanism")
    base = mechanism.get("base") if isinstance(mechanism, dict) else None
    return isinstance(base, dict) and base.get("kind") != FREQUENCY


def _importance(record: Mapping[str, Any]) -> Importance:
    if record["kind"] not in NAMED:
        raise ValueError("of a file only a digest is recorded")
    return read_importance(f"{record['kind']}={record['largest']!r}")


def _base(record: Mapping[str, Any], file: str | None) -> BaseMeasure:
    if record["kind"] == FREQUENCY:
        return FrequencyBase(record["exponent"])
    if file is None:
        raise ValueError("of a file only a digest is recorded")
    return read_base(file, record["exponent"])


def _constant(record: Mapping[str, Any], mechanism: dict[str, Any]) -> ExactConstant:
    levels = tuple((float(epsilon), each) for epsilon, each in record["nominal_epsilon"].items())
    for name in ("epsilon", "constant"):
        del mechanism[name]
    return ExactConstant(record["vocabulary"], levels, mechanism, record["scan"])


def _bag(record: Any, listed: frozenset[str] | None) -> BagOfWords | None:
    """The bag of a record, with the stop words that are given or else one of dxbeam's lists."""
    lists = [listed] if listed is not None else [read_stop_words(name) for name in _STOP_WORDS]
    try:
        bags = (
            kind(record["length"], words)
            for kind in (BagOfWords, BagOfWordsPublished)
            for words in lists
        )
        return next((bag for bag in bags if bag.as_dict() == record), None)
    except (KeyError, TypeError, DxbeamError):
        return None
