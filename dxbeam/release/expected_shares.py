"""What a setting does to the words of a corpus, expected from a sample: for --dry_run."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from secrets import SystemRandom

from dxbeam.documents import Document
from dxbeam.keys import given_or_new_key
from dxbeam.language.model import LanguageModel
from dxbeam.release import usefulness
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.text.tally import Tally, total
from dxbeam.text.tokenization import words

MOST_WORDS = 2000
"""So many words are sanitized at most."""

EXAMPLE = "The doctor asked her to return in two weeks."
"""A public sentence."""

_Words = Callable[[str], list[str]]
"""A text -> its words."""

_NORMAL_QUANTILE = 1.959964  # of 0.975


def sanitized_sample(
    documents: Sequence[Document],
    search: NeighborSearch,
    configuration: Configuration,
    language_model: LanguageModel | None = None,
) -> Tally:
    """What becomes of words of some documents, or of the bags of some of them.

    Words are drawn at random from all documents, as those of one text are alike. Bags are taken
    whole, so that a document counts as much as it does in a release.

    Args:
      documents: none that ``document_problem`` has something against.
      search: the vocabulary.
      configuration: what is run.
      language_model: what its decoder reads with, or None. Where words are read together whole
        documents are taken, as words out of their order would be read worse.
    """
    # The key is a new one, as for any Sanitizer without one: under a key that others know, such as
    # one of zeros, whoever reads the shares could compare them with those of a guessed corpus.
    sanitizer = Sanitizer(search, configuration, language_model=language_model)
    rule = configuration.words

    def words_of(text: str) -> list[str]:
        return rule.words(text, search.vocabulary)

    if sanitizer.reads_context:
        results = sanitizer.sanitize(_some_documents(documents, words_of))
    elif configuration.bag is None:
        results = sanitizer.sanitize([" ".join(_some_words(documents, words_of))])
    else:
        # A smaller bag is the same draw, so words of it come out alike.
        length = min(configuration.bag.length, MOST_WORDS)
        bag = dataclasses.replace(configuration.bag, length=length)
        some = SystemRandom().sample(documents, min(len(documents), MOST_WORDS // length))
        smaller = dataclasses.replace(configuration, bag=bag)
        results = Sanitizer(search, smaller, language_model=language_model).sanitize(some)
    return total(result.tally for result in results if result.document)


def decoded_example(
    search: NeighborSearch, configuration: Configuration, language_model: LanguageModel | None
) -> tuple[str, ...]:
    """A public sentence with the words drawn for it, and as it is decoded: a line each.

    Nothing where nothing is decoded, or where the vocabulary is of another language.
    """
    decoder, known = configuration.decoder, search.vocabulary.ids_of(words(EXAMPLE)) != UNKNOWN
    if decoder is None or configuration.bag or not known.all():
        return ()
    key = given_or_new_key(None)
    drawn = dataclasses.replace(configuration, decoder=None, truecase=None)
    before = Sanitizer(search, drawn, key).sanitize_text(EXAMPLE, "example")
    after = Sanitizer(search, configuration, key, language_model).sanitize_text(EXAMPLE, "example")
    return (
        f'For example, "{EXAMPLE}" without the decoder: {before}',
        f"and by {decoder.kind}: {after}",
    )


def _some_documents(documents: Sequence[Document], words_of: _Words) -> list[Document]:
    """Random ones, about as many as hold as many words as are looked at."""
    chosen, count = [], 0
    for document in SystemRandom().sample(documents, len(documents)):
        chosen.append(document)
        count += len(words_of(document.text))
        if count >= MOST_WORDS:
            break
    return chosen


def _some_words(documents: Sequence[Document], words_of: _Words) -> list[str]:
    counts = [len(words_of(document.text)) for document in documents]
    count = sum(counts)
    places = set(SystemRandom().sample(range(count), min(count, MOST_WORDS)))
    every = itertools.chain.from_iterable(words_of(document.text) for document in documents)
    return [word for place, word in enumerate(every) if place in places]


def interval(count: int, whole: int) -> tuple[float, float]:
    """The 95 % interval of a share, count / whole: its lower and upper end, from 0 to 1.

    Wilson: Probable inference, the law of succession, and statistical inference (1927): the shares
    from which the observed one is no more than 1.96 of their own standard errors away.
    """
    square = _NORMAL_QUANTILE**2
    centre = count + square / 2
    spread = _NORMAL_QUANTILE * math.sqrt(count * (whole - count) / whole + square / 4)
    low, high = (centre - spread) / (whole + square), (centre + spread) / (whole + square)
    return max(0.0, low), min(1.0, high)


def sentences(sample: Tally, bags: bool, cause: str = "") -> list[str]:
    """The expected shares as a person reads them, a line each; never a word of the sample.

    Words that fill up bags are no words of the corpus, so shares are of all others. ``cause`` says
    why words are unknown, where many are.
    """
    known = sample.original + sample.close + sample.distant
    whole = sample.tokens - sample.fillers
    if not whole:
        return ["There is no word in a sample of the corpus, so no shares are expected."]
    kind = "words drawn for bags" if bags else "words"
    shares = [
        ("unchanged", sample.unchanged, whole, "all words come out unchanged, casing aside"),
        ("original", sample.original, known, "words of the vocabulary come out as they were"),
        ("close", sample.close, known, "them come out as one of their 100 nearest neighbours"),
        ("distant", sample.distant, known, "them come out as another word"),
        ("unknown", sample.unknown, whole, "all words are not in the vocabulary"),
    ]
    return [
        f"Expected, measured on a sample of the corpus: {whole:,} {kind}, {known:,} of them in the "
        "vocabulary.",
        *(
            f"{name:<11} {_with_interval(count, of)} of {what}"
            for name, count, of, what in shares
            if of
        ),
        "In brackets are 95 % intervals, approximate, as other texts of the corpus may differ.",
        "Shares are computed from the raw text; the guarantee does not cover them.",
        *usefulness.warnings(sample, cause),
    ]


def _with_interval(count: int, whole: int) -> str:
    low, high = interval(count, whole)
    return f"{count / whole:.1%} ({low:.1%} to {high:.1%})".replace("%", " %")
