"""Whether a release is of use: warnings for those who may see figures computed from the raw text.

A release without a useful word, or without a changed one, is complete all the same. So nothing
fails here, and exit codes do not depend on the texts. What is said is for whoever runs the job,
like the metrics, and no part of a release.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from dxbeam.corpus import reading
from dxbeam.corpus.files import CorpusFile
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.errors import CorpusError
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.tally import Tally
from dxbeam.text.word_rule import FIRST_RULE, WordRule

MOST_UNKNOWN, MOST_UNCHANGED, MOST_DISTANT = 0.2, 0.8, 0.95
"""Shares from which there is a warning; of unknown words, above which."""

_SAMPLED_TEXTS = 200
_SAMPLED_CHARACTERS = 2000  # of each
_LONG = 30  # letters of no word, but of a key or an address

CASING, CODES, UNSPACED, OTHERS = "casing", "codes", "unspaced", "others"

_SENTENCES = {
    CASING: "Most of them are in it with another casing: build it with --lowercase.",
    CODES: "Most of them are numbers or codes, such as ids and addresses: is it the right "
    "--text_field?",
    UNSPACED: "Most of them are of a script that puts no spaces between words: "
    "--segmenter finds words in it.",
    OTHERS: "The likely cause: texts in another language than the vocabulary, or a vocabulary of "
    "too few words.",
}

_CODE = re.compile(rf".*\d|[A-Za-z]{{{_LONG},}}")
_LETTERS_WITHOUT_SPACES = re.compile(
    "[\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Thai, Lao, Tibetan, Myanmar, Khmer, Japanese and Chinese."""


def unknown_and_unchanged(counts: Tally, kind: str) -> str:
    """How many words are unknown and how many came out unchanged, as the start of a sentence."""
    words = counts.tokens - counts.fillers
    unknown, unchanged = _percent(counts.unknown, words), _percent(counts.unchanged, words)
    return (
        f"Of {words:,} {kind} {counts.unknown:,} ({unknown}) are not in the vocabulary and "
        f"{counts.unchanged:,} ({unchanged}) came out unchanged"
    )


def are_mostly_known(counts: Tally) -> bool:
    """Whether so many words are in the vocabulary that there is no warning of the others."""
    return counts.unknown <= MOST_UNKNOWN * (counts.tokens - counts.fillers)


def warnings(counts: Tally, cause: str) -> list[str]:
    """What of these counts says that a release is of little use or protects little; a line each.

    ``cause`` says why words are unknown, see ``likely_cause``.
    """
    words, sentences = counts.tokens - counts.fillers, []
    known = counts.original + counts.close + counts.distant
    if not are_mostly_known(counts):
        sentences.append(
            f"{_percent(counts.unknown, words)} of the words are not in the vocabulary, and what "
            f"is released for them says nothing of what they were. {cause}"
        )
    if counts.unchanged >= MOST_UNCHANGED * words > 0:
        sentences.append(
            f"{_percent(counts.unchanged, words)} of the words came out unchanged, so whoever "
            "reads the release reads most of the originals, whatever the guarantee says. A smaller "
            "--epsilon changes more."
        )
    if counts.distant >= MOST_DISTANT * known > 0:
        sentences.append(
            f"{_percent(counts.distant, known)} of the words of the vocabulary came out as distant "
            "words, so hardly any meaning is left. A larger --epsilon, or --rank_c, keeps more."
        )
    return [f"Warning: {sentence}" for sentence in sentences]


def _percent(count: int, whole: int) -> str:
    return f"{100 * count / whole:.1f} %"


def likely_cause(
    texts: Iterable[str],
    vocabulary: Vocabulary,
    rule: WordRule = FIRST_RULE,
) -> str:
    """The most frequent reason why words of some texts are unknown, as a sentence."""
    reasons: Counter[str] = Counter()
    for text in texts:
        words = rule.words(text[:_SAMPLED_CHARACTERS], vocabulary)
        ids = rule.ids_of(words, vocabulary)
        reasons.update(
            _reason(word, vocabulary)
            for word, own_id in zip(words, ids, strict=True)
            if own_id == UNKNOWN
        )
    return _SENTENCES[max(reasons, key=lambda reason: reasons[reason]) if reasons else OTHERS]


def cause_in_corpus(
    files: Sequence[CorpusFile],
    corpus: CorpusFormat,
    vocabulary: Vocabulary,
    rule: WordRule = FIRST_RULE,
) -> str:
    """The same of the first texts of a corpus."""
    try:
        texts = reading.some_texts(files, corpus, _SAMPLED_TEXTS)
    except (CorpusError, OSError):  # a file that the run left out, or that only workers can read
        texts = []
    return likely_cause(texts, vocabulary, rule)


def _reason(word: str, vocabulary: Vocabulary) -> str:
    if (vocabulary.ids_of([word.lower(), word.title(), word.upper()]) != UNKNOWN).any():
        return CASING
    if _CODE.match(word):
        return CODES
    return UNSPACED if _LETTERS_WITHOUT_SPACES.search(word) else OTHERS
