"""The card of a release: nothing but what the release says, and nothing raw."""

from __future__ import annotations

import copy
import html
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dxbeam.analysis.pages.card import card_page
from dxbeam.errors import ConfigurationError, DamagedReleaseError, OutputError
from dxbeam.release.card import RECORDS, card
from dxbeam.release.verification.verify import VerifiedRelease
from pipelines.verify import verify
from tests.support import tiny

SECRET, FIELD = "Xqzvkplorm", "fieldsecret"
TEXTS = ["W1, w2 w3!", "w4 w5", "w6, w7 w8 w9", "w10 w11", f"{SECRET} w12 <b>w13</b>"]


def _released(uri: str, folder: Path, word: str) -> Path:
    folder.mkdir()
    (folder / "key").write_text(tiny.KEY.hex())
    texts = [text.replace("w8", word) for text in TEXTS]
    records = [{"id": f"d{i}", "text": text, "side": FIELD} for i, text in enumerate(texts)]
    corpus = tiny.write_jsonl(folder / "corpus.jsonl", records)
    flags = (f"--key_uri={folder}/key", "--keep_fields=side", "--epsilon=0.2")
    tiny.run(uri, corpus, folder / "release", *flags)
    return folder / "release"


@pytest.fixture(scope="module")
def twins(uri: str, tmp_path_factory: pytest.TempPathFactory) -> list[VerifiedRelease]:
    """Releases of two corpora that differ in one word, under one key."""
    root = tmp_path_factory.mktemp("twins")
    places = [_released(uri, root / name, word) for name, word in (("a", "w8"), ("b", "w200"))]
    return [tiny.verified(place, uri) for place in places]


@pytest.fixture
def release(twins: list[VerifiedRelease]) -> VerifiedRelease:
    return twins[0]


def _page(verified: VerifiedRelease) -> str:
    return card_page(card(verified))


def test_a_card_holds_what_an_officer_signs(release: VerifiedRelease) -> None:
    page = html.unescape(_page(release))
    said = release.manifest["guarantee"]
    for sentence in (said["sentence"], *said["caveats"], "white space", release.digest):
        assert sentence in page
    for term in ("Unit of privacy", "Model", "Composition", "Hazards", "likelihood ratio"):
        assert term in page
    assert "Everything was checked" in page
    assert "unchanged since" in page
    texts = [record["text"] for record in _records(release)]
    assert card(release).records == tuple(texts[:RECORDS])
    assert all(text in page for text in texts[:RECORDS])


def _records(release: VerifiedRelease) -> list[dict[str, Any]]:
    [shard] = release.manifest["shards"]
    return [json.loads(line) for line in (Path(release.prefix) / shard["name"]).open()]


def test_what_was_not_checked_stands_first(release: VerifiedRelease) -> None:
    unsure = replace(release, unchecked=("Whether it rained.",), unchanged=False)
    page = _page(unsure)
    assert page.index("Whether it rained.") < page.index("What is promised")
    assert "Everything was checked" not in page


def test_nothing_raw_is_on_a_card(release: VerifiedRelease) -> None:
    page = _page(release)
    for raw in (SECRET, SECRET.lower(), FIELD, ">d0<", "w8 w9", "<b>"):
        assert raw not in page
    assert "the field &#39;side&#39;" in page, "its name is public, and said"
    assert FIELD in json.dumps(_records(release)), "so the search above looks for the right thing"


def test_cards_of_twins_differ_where_their_releases_do(twins: list[VerifiedRelease]) -> None:
    differ = {
        value
        for mine, other in zip(*(_values(twin) for twin in twins), strict=True)
        if mine != other
        for value in (mine, other)
    }
    shown = [_page(twin) for twin in twins]
    assert shown[0] != shown[1], "noise has covered the word, but run and digests differ"
    for value in sorted(differ, key=len, reverse=True):
        shown = [page.replace(html.escape(value, quote=False), "…") for page in shown]
    shown = [re.sub("[0-9]{1,3}(,[0-9]{3})* bytes", "… bytes", page) for page in shown]
    assert shown[0] == shown[1]


def _values(twin: VerifiedRelease) -> list[str]:
    """All that the release consists of, as texts in a fixed order."""
    flat = [twin.digest, *(record["text"] for record in _records(twin))]

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            for part in value.values():
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)
        else:
            flat.append(str(value))

    walk(twin.manifest)
    return flat


def _edited(release: VerifiedRelease, **guarantee: Any) -> VerifiedRelease:
    content = copy.deepcopy(release.manifest)
    content["guarantee"].update(guarantee)
    return replace(release, manifest=content)


def test_no_document_is_shown_where_words_are_released_as_they_are(
    release: VerifiedRelease,
) -> None:
    """Of a release that keeps unknown words, and of one that guarantees nothing."""
    for edited in (
        _edited(release, unprotected=["words outside the vocabulary, released as they are"]),
        _edited(release, epsilon=None),
    ):
        assert card(edited).records == ()
        assert "None is shown" in _page(edited)
    masked = _edited(release, unprotected=["words outside the vocabulary, replaced by <unk>"])
    masked.manifest["configuration"]["unknown_words"] = "mask"
    assert len(card(masked).records) == RECORDS


def test_what_epsilon_means_is_shown_or_refused(release: VerifiedRelease) -> None:
    assert "Large factor" not in _page(release)
    edited = _edited(release)
    edited.manifest["in_context"][2]["exponent"] = 62.93
    assert "Between two typical words the factor may reach e^63." in _page(edited)
    edited.manifest["in_context"] = [{"words": "typical pair"}]
    with pytest.raises(DamagedReleaseError, match="'in_context' must list pairs"):
        card(edited)
    edited.manifest["in_context"] = []
    assert "does not say what the promise means" in _page(edited)


def test_verify_writes_a_card_beside_the_release_only(
    release: VerifiedRelease, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "card.html"
    assert verify([release.prefix, f"--card={place}"]) == 0
    assert f"Card: {place}" in capsys.readouterr().out
    page = place.read_text()
    assert page.startswith("<!doctype html>")
    assert page.index("Whether release.json itself was edited") < page.index("What is promised")
    assert not re.search(r"https?:", page), "it asks nobody for anything"
    assert len(page) < 2_000_000
    with pytest.raises(OutputError, match="exists already"):
        verify([release.prefix, f"--card={place}"])
    with pytest.raises(ConfigurationError, match="is within the release"):
        verify([release.prefix, f"--card={release.prefix}/card.html"])


def test_without_jinja2_the_card_says_what_to_install(
    release: VerifiedRelease, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'dxbeam\[report\]'"):
        verify([release.prefix, f"--card={tmp_path}/card.html"])
