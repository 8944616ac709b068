"""The second rule of words: punctuation of all scripts, marks, and scripts without spaces."""

from __future__ import annotations

import hashlib
import sys
import unicodedata
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dxbeam import Configuration, Document, Laplace, Sanitizer
from dxbeam.errors import ConfigurationError
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text import tokenization, unicode_lists
from dxbeam.text.recorded_configuration import rebuilt
from dxbeam.text.word_rule import SEGMENTERS, WordRule, word_rule_of
from tests.support import tiny

SECOND = WordRule(2)
TEXT = st.text(
    st.sampled_from(
        "ab é👍👩\u200d💻🏽🇩🇪人类自由的ไม่ทยន្តកあア ー。、，！؟।\u0301\u200f\u200b\u00ad'-1١\n"
    )
    | st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    max_size=40,
)


def _vocabulary(words: Sequence[str], lowercase: bool = True) -> Vocabulary:
    vectors = np.random.default_rng(0).normal(0, 1, (len(words), 4)).astype(np.float32)
    return Vocabulary(list(words), vectors, lowercase)


WORDS = _vocabulary(
    ["人类", "人", "自由", "自由的", "ไม่", "ไทย", "café", "house", "می‌خواهم", "👍", "的"]
)


def test_the_lists_are_those_that_the_rule_names() -> None:
    """Whoever changes a list must give the rule a new name: it is part of the configuration."""
    lists = "|".join(
        getattr(unicode_lists, name)
        for name in "WHITE_SPACE PUNCTUATION DIRECTION_MARKS MARKS IGNORED UNSPACED EMOJI".split()
    )
    digest = hashlib.sha256(lists.encode()).hexdigest()
    assert (tokenization.RULE_2, digest[:16]) == ("dxbeam-2", "1fc0f3e11d319209")


def test_what_the_first_rule_releases_the_second_releases_too() -> None:
    for character in tokenization.WHITE_SPACE + tokenization.PUNCTUATION:
        assert SECOND.words(f"a{character}b", WORDS) == ["a", "b"]


def test_nothing_that_could_be_a_word_passes_through() -> None:
    """Letters, marks, numbers and pictures are protected, in whatever version of Unicode."""
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if unicodedata.category(character)[0] in "LMN" or unicodedata.category(character) == "So":
            assert tokenization.SECOND.words(character) == [character], hex(code)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("你好，世界！", ["你好", "世界"]),
        ("هل أنت بخير؟ نعم، شكراً.", ["هل", "أنت", "بخير", "نعم", "شكراً"]),
        ("सभी मनुष्य।स्वतंत्र", ["सभी", "मनुष्य", "स्वतंत्र"]),
        ("\u200fשלום\u200f, \u2067עולם\u2069", ["שלום", "עולם"]),
        ("„Grüße“ ‹ici› ⸺ §5", ["Grüße", "ici", "5"]),
        ("cafe\u0301 nai\u0308ve", ["cafe\u0301", "nai\u0308ve"]),
        ("🇩🇪👍🏽 👩\u200d💻!", ["🇩🇪👍🏽", "👩\u200d💻"]),
        ("12,5 ١٢٣ €9", ["12", "5", "١٢٣", "€9"]),
    ],
)
def test_words_of_several_scripts(text: str, words: list[str]) -> None:
    assert SECOND.words(text, WORDS) == words


@pytest.mark.parametrize(
    ("segmenter", "text", "units"),
    [
        ("longest_match", "人类自由的人", ["人类", "自由的", "人"]),
        ("longest_match", "自由自在", ["自由", "自", "在"]),
        ("longest_match", "ไม่ไทยกา", ["ไม่", "ไทย", "กา"[0], "กา"[1]]),
        ("longest_match", "iPhone的house", ["iPhone", "的", "house"]),
        ("longest_match", "great👍👍🏽", ["great", "👍", "👍🏽"]),
        ("graphemes", "人类", ["人", "类"]),
        ("graphemes", "ไม่น้ำ", ["ไ", "ม่", "น้ำ"]),
        ("graphemes", "が\u304b\u3099", ["が", "\u304b\u3099"]),
        ("graphemes", "👩\u200d💻🇩🇪🇫🇷❤\ufe0f", ["👩\u200d💻", "🇩🇪", "🇫🇷", "❤\ufe0f"]),
        ("graphemes", "ន្តក", ["ន្ត", "ក"]),
        ("graphemes", "Straße 7", ["Straße", "7"]),
        ("none", "人类自由", ["人类自由"]),
    ],
)
def test_scripts_without_spaces_are_cut(segmenter: str, text: str, units: list[str]) -> None:
    assert WordRule(2, segmenter).words(text, WORDS) == units


@pytest.mark.parametrize("segmenter", SEGMENTERS)
@settings(deadline=None)
@given(TEXT)
def test_gaps_and_words_are_the_text_again(segmenter: str, text: str) -> None:
    """And no mark is cut off from what it combines with."""
    rule = WordRule(2, segmenter)
    again, last = "", ""
    for gaps, words in rule.parts(text, WORDS):
        assert all(words)
        assert len(gaps) - len(words) in (0, 1)
        again += "".join(map(str.__add__, gaps, words)) + "".join(gaps[len(words) :])
        for gap, word in zip(gaps, words, strict=False):
            if segmenter != "none" and not gap and last:
                assert not unicodedata.combining(word[0]), (last, word)
            last = word
    assert again == text


@pytest.mark.filterwarnings("ignore:The vocabulary has one word")
@pytest.mark.parametrize("segmenter", SEGMENTERS)
@settings(deadline=None, max_examples=40)
@given(TEXT)
def test_a_release_without_its_words_is_the_original_without_its_words(
    segmenter: str, text: str
) -> None:
    """Every word is replaced by one and the same, so that it can be taken out again."""
    one = _vocabulary(["wxyz"])
    rule = WordRule(2, segmenter)
    sanitizer = Sanitizer(one, Configuration(Laplace(5.0), words=rule), tiny.KEY)
    [result] = sanitizer.sanitize([Document("a", text)])
    assert result.document
    gaps = [gap for some, _ in rule.parts(text, one) for gap in some]
    count = len(rule.words(text, one))
    assert result.document.text == "wxyz".join([*gaps, ""][: count + 1])
    assert result.tally.tokens == count


def test_long_runs_are_cut_as_short_ones() -> None:
    """However far is looked ahead at once."""
    text = "人类自由的不人" * 300
    rule = WordRule(2, "longest_match")
    whole = rule.units(text, WORDS)
    assert rule.units(text, WORDS, ahead=7) == whole
    assert whole == ["人类", "自由的", "不", "人"] * 300


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("café", True),
        ("cafe\u0301", True),
        ("CAFE\u0301", True),
        ("ho\u00aduse", True),
        ("می‌خواهم", True),
        ("👍\ufe0f", True),
        ("cafe", False),
        ("می\u200dخواهم", False),
    ],
)
def test_words_are_looked_up_by_their_spelling(word: str, known: bool) -> None:
    assert (SECOND.ids_of([word], WORDS)[0] != UNKNOWN) == known
    if not word.isascii() and word not in WORDS.words and known:
        assert (WordRule().ids_of([word], WORDS)[0] != UNKNOWN) == (word.lower() in WORDS.words)


def test_the_first_rule_is_what_is_recorded_of_earlier_releases() -> None:
    record = Configuration(Laplace(5.0)).as_dict()
    assert record["tokenization"] == "dxbeam-1"
    assert "segmenter" not in record
    for rule in (WordRule(), SECOND, WordRule(2, "longest_match"), WordRule(2, "graphemes")):
        configuration = Configuration(Laplace(5.0), words=rule)
        assert rebuilt(configuration.as_dict()) == configuration
        assert WordRule.from_dict(configuration.as_dict()) == rule
    assert rebuilt({**record, "tokenization": "dxbeam-3"}) is None


def test_each_rule_draws_noise_of_its_own_and_says_what_stays_visible() -> None:
    configurations = [
        Configuration(Laplace(5.0), words=WordRule(version, segmenter))
        for version, segmenter in [(1, "none"), *((2, name) for name in SEGMENTERS)]
    ]
    assert len({each.digest("v") for each in configurations}) == 4
    caveats = [" ".join(each.guarantee().caveats) for each in configurations]
    assert ["irection marks" in said for said in caveats] == [False, True, True, True]
    assert "how its neighbours are cut" in caveats[2]
    assert "adds up over its characters" in caveats[3]
    assert "direction marks" in configurations[1].unprotected


@pytest.mark.parametrize(
    ("given", "said"),
    [((3, "none"), "`tokenization` is 1 or 2"), ((1, "graphemes"), "needs `tokenization` 2"),
     ((2, "jieba"), "`segmenter` is one of none, longest_match"), (("x", "none"), "is 1 or 2")],
)  # fmt: skip
def test_rules_that_there_are_not(given: tuple[int, str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        word_rule_of(*given)


def test_a_segmenter_alone_asks_for_the_second_rule() -> None:
    assert word_rule_of(None, "none") == WordRule()
    assert word_rule_of(None, "graphemes") == WordRule(2, "graphemes")
    assert word_rule_of("2", "none") == SECOND
