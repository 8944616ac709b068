"""Why words of a corpus are not in the vocabulary, as far as a sample of its texts tells.

What is said is computed from raw text. It is for whoever runs the job, like the metrics, and no
part of a release.
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
from dxbeam.text.word_rule import FIRST_RULE, WordRule

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
