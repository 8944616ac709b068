"""The flags of a mechanism and of how words are treated -> a Configuration."""

from __future__ import annotations

from dxbeam.commands.flags.sanitize import SanitizeOptions
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import make_mechanism, parse_parameters
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.text.bag_of_words import BagOfWords, read_stop_words
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import decoder_of
from dxbeam.text.epsilon_by_field import parse_epsilon_by
from dxbeam.text.public.mechanism_model import model_of_mechanism
from dxbeam.text.public.public_settings import PublicSettings
from dxbeam.text.truecase import Truecase
from dxbeam.text.word_rule import word_rule_of


def configuration(options: SanitizeOptions) -> Configuration:
    """The settings of the release; refuses what ``Configuration`` refuses."""
    parameters = parse_parameters(options.parameters)
    if "epsilon" in parameters:
        raise ConfigurationError("--parameters: epsilon has a separate flag, --epsilon")
    for name in ("importance", "base", "constant"):
        if name in parameters:
            raise ConfigurationError(f"--parameters: {name} has a separate flag, --{name}")
    public = PublicSettings(
        options.importance,
        options.base,
        options.base_exponent,
        options.constant,
        options.constant_scan,
    ).read()
    levels = parse_epsilon_by(options.epsilon_by, options.epsilon) if options.epsilon_by else None
    epsilon = levels.largest if levels else options.epsilon
    model = model_of_mechanism(options.mechanism, options.language_model)
    mechanism = make_mechanism(
        options.mechanism, epsilon=epsilon, model=model, **public, **parameters
    )
    if options.stop_words and options.bag_of_words is None:
        raise ConfigurationError("--stop_words is only of use with --bag_of_words; leave it out")
    return Configuration(
        mechanism,
        RankResampling(options.rank_c) if options.rank_c is not None else None,
        options.unknown_words,
        BagOfWords(options.bag_of_words, read_stop_words(options.stop_words or "english"))
        if options.bag_of_words is not None
        else None,
        options.allow_unsound,
        levels,
        decoder_of(options.decode, options.decode_loss),
        Truecase() if options.truecase else None,
        word_rule_of(options.tokenization, options.segmenter),
    )
