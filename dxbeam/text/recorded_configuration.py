"""A configuration made again from what release.json records of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dxbeam.errors import DxbeamError
from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.base_measure import FREQUENCY, BaseMeasure, FrequencyBase
from dxbeam.mechanisms.exact_constant import ExactConstant
from dxbeam.mechanisms.importance import Importance
from dxbeam.mechanisms.resampling import RankResampling
from dxbeam.text.bag_of_words import BagOfWords, read_stop_words
from dxbeam.text.bag_of_words_published import BagOfWordsPublished
from dxbeam.text.configuration import DECODER, TRUECASE, Configuration
from dxbeam.text.decoding.decoder import Decoder
from dxbeam.text.epsilon_by_field import EpsilonByField
from dxbeam.text.importance_file import NAMED, read_importance
from dxbeam.text.truecase import Truecase

_STOP_WORDS = ("english", "none")
"""The lists that come with dxbeam; of any other list only a digest is recorded."""


def rebuilt(record: Mapping[str, Any]) -> Configuration | None:
    """The configuration whose ``as_dict`` is this record.

    None where it cannot be made from the record alone: the record is of released vectors, of an
    earlier rule for noise or words, or names stop words or weights that do not come with dxbeam.
    """
    try:
        parameters = dict(record["mechanism"])
        if importance := parameters.pop("importance", None):
            parameters["importance"] = _importance(importance)
        if base := parameters.pop("base", None):
            parameters["base"] = _base(base)
        if constant := parameters.pop("constant", None):
            settings = {**record["mechanism"]}
            parameters["constant"] = _constant(constant, settings)
        resampling, bag = record["rank_resampling"], record.get("bag_of_words")
        levels, decoder = record.get("epsilon_by"), record.get(DECODER)
        made = Configuration(
            make_mechanism(parameters.pop("name"), **parameters),
            RankResampling(**resampling) if resampling else None,
            record["unknown_words"],
            _bag(bag) if bag else None,
            allow_unsound=True,
            epsilon_by=EpsilonByField(**levels) if levels else None,
            decoder=Decoder.from_dict(decoder) if decoder else None,
            truecase=Truecase(record[TRUECASE]["model"]) if TRUECASE in record else None,
        )
    except (KeyError, TypeError, ValueError, DxbeamError):
        return None
    return made if made.as_dict() == dict(record) else None


def _importance(record: Mapping[str, Any]) -> Importance:
    if record["kind"] not in NAMED:
        raise ValueError("of a file only a digest is recorded")
    return read_importance(f"{record['kind']}={record['largest']!r}")


def _base(record: Mapping[str, Any]) -> BaseMeasure:
    if record["kind"] != FREQUENCY:
        raise ValueError("of a file only a digest is recorded")
    return FrequencyBase(record["exponent"])


def _constant(record: Mapping[str, Any], mechanism: dict[str, Any]) -> ExactConstant:
    levels = tuple((float(epsilon), each) for epsilon, each in record["nominal_epsilon"].items())
    for name in ("epsilon", "constant"):
        del mechanism[name]
    return ExactConstant(record["vocabulary"], levels, mechanism, record["scan"])


def _bag(record: Mapping[str, Any]) -> BagOfWords | None:
    bags = (
        kind(record["length"], read_stop_words(name))
        for kind in (BagOfWords, BagOfWordsPublished)
        for name in _STOP_WORDS
    )
    return next((bag for bag in bags if bag.as_dict() == record), None)
