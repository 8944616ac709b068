"""Releases found by the names of their places, and what they were made with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dxbeam.corpus.formats import CorpusFormat
from dxbeam.errors import OutputError
from dxbeam.release.text_release import ReleaseSetting, TextRelease, named_releases


@pytest.fixture
def places(tmp_path: Path) -> Path:
    for name in ("a", "b", "c,d", "e*"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "release.json").write_text("{}")
    (tmp_path / "unfinished").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("{0}/a", ["a"]),
        ("{0}/b,{0}/a", ["b", "a"]),
        ("{0}/a,{0}/b/../a", ["a"]),
        ("{0}/?", ["a", "b"]),
        ("{0}/*", ["a", "b", "c,d", "e*"]),
        ("{0}/b,{0}/*", ["b", "a", "c,d", "e*"]),
        ("{0}/c,d", ["c,d"]),
        ("{0}/e*", ["e*"]),
        ("{0}/unfinished", ["unfinished"]),
    ],
)
def test_releases_are_found_by_their_names(places: Path, given: str, found: list[str]) -> None:
    assert named_releases(given.format(places)) == [str(places / name) for name in found]


def test_a_glob_that_matches_no_release_is_refused(places: Path) -> None:
    with pytest.raises(OutputError, match=r"`released` .*no release\.json"):
        named_releases(f"{places}/unfin*")


def _release(configuration: dict[str, Any], **further: Any) -> TextRelease:
    manifest = {"configuration": configuration, **further}
    return TextRelease("somewhere", manifest, CorpusFormat("jsonl"))


def test_a_setting_is_named_as_the_manifest_has_it() -> None:
    laplace = {"mechanism": {"name": "laplace", "epsilon": 5.0}, "rank_resampling": None}
    plain = _release(laplace).setting
    assert plain == ReleaseSetting("laplace", (), None, 5.0)
    assert plain.curve == "laplace"
    resampled = _release({**laplace, "rank_resampling": {"c": 0.04}}).setting
    assert resampled.curve == "laplace, c = 0.04"
    gaussian = {"name": "gaussian", "epsilon": 3.0, "delta": 1e-6, "distance": 5.0}
    other = _release(
        {"mechanism": gaussian, "bag_of_words": {"length": 50}, "unknown_words": "drop"},
        post_processing=[{}],
    ).setting
    assert other.curve == (
        "gaussian, delta = 1e-06, distance = 5, bags of 50 words, unknown words: drop, repaired"
    )
    assert other.epsilon == 3
    decoding = {"decode": "context", "loss": "word", "truecase": {"model": "m"}}
    later = _release(laplace, post_processing={"decoding": decoding})
    assert later.setting.curve == (
        "laplace, decoded from the release by context, loss word, with capitals"
    )
    assert later.in_order


def test_words_keep_their_places_where_nothing_moves_them() -> None:
    laplace = {"mechanism": {"name": "laplace", "epsilon": 5.0}}
    assert _release(laplace).in_order
    assert not _release({**laplace, "bag_of_words": {"length": 5}}).in_order
    assert not _release({**laplace, "unknown_words": "drop"}).in_order
    assert not _release(laplace, post_processing=[{}]).in_order
