"""The headings under which --help lists flags."""

from __future__ import annotations

import argparse

CORPUS = "corpus"
STREAM = "stream"
EMBEDDINGS = "embeddings"
VOCABULARY = "vocabulary"
INDEX = "search index"
LANGUAGE_MODEL = "language model"
VECTORS = "vectors"
MECHANISM = "mechanism"
AUDIT = "audit"
TARGET = "target"
MEASURE = "measurement"
ATTACK = "attackers"
EVALUATION = "evaluation"
DECODING = "decoding"
KEY = "secret key"
OUTPUT = "output"
LEDGER = "ledger"
REPAIR = "repair by a language model"
RUN = "run"

HEADINGS = (
    CORPUS, STREAM, EMBEDDINGS, VOCABULARY, INDEX, LANGUAGE_MODEL, VECTORS, TARGET, MECHANISM,
    AUDIT, MEASURE, ATTACK, EVALUATION, DECODING, KEY, OUTPUT, LEDGER, REPAIR, RUN,
)  # fmt: skip
"""In the order of --help."""


def flag_group(parser: argparse.ArgumentParser, heading: str) -> argparse._ArgumentGroup:
    """The parser's group of flags with this heading, made where there is none yet."""
    for group in parser._action_groups:
        if group.title == heading:
            return group
    return parser.add_argument_group(heading)
