"""The page of a preview: its words are those of the Sanitizer, and it goes to its owner only."""

from __future__ import annotations

import html
import json
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxbeam
from dxbeam.analysis.measure.settings import named_mechanisms, promises
from dxbeam.analysis.preview.draws import drawn, new_keys
from dxbeam.analysis.preview.epsilons import epsilon_at, position
from dxbeam.analysis.preview.page import Places, page
from dxbeam.analysis.preview.sample import MOST_WORDS, sample_of
from dxbeam.errors import ConfigurationError, CorpusError, DxbeamError, OutputError
from dxbeam.language.model import language_model_of
from dxbeam.mechanisms import MECHANISMS, Mechanism, ScalesNoise, make_mechanism
from dxbeam.mechanisms.public.base_measure import FrequencyBase
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.space.search.neighbors import NeighborSearch
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import Decoder
from pipelines.preview import preview
from tests.support import browser, preview_page, tiny

TEXT = "W1, w2 w3 (w4)!\nStrange w5. W6 w7 w8 </script> w9 w1 w2."
KEYS = new_keys(8)
CHOSEN = "santext", "vickrey"


def _scales(name: str) -> bool:
    return promises(name) and isinstance(make_mechanism(name, epsilon=1.0), ScalesNoise)


SCALED = [name for name in MECHANISMS if _scales(name)]


@pytest.fixture(scope="module")
def search() -> NeighborSearch:
    return NeighborSearch(tiny.vocabulary(), 1)


@pytest.fixture(scope="module")
def model(search: NeighborSearch) -> dxbeam.LanguageModel:
    sentences = np.random.default_rng(0).integers(0, 300, (80, 9))
    return language_model_of(sentences, search.vocabulary)


def _page(search: NeighborSearch, model: dxbeam.LanguageModel | None, *names: str) -> str:
    sample, named = sample_of([TEXT], search.vocabulary), named_mechanisms(",".join(names))
    return page(sample, named, search, model, Places("tiny", "model"), KEYS).html


@pytest.fixture(scope="module")
def data(search: NeighborSearch) -> dict[str, Any]:
    """Of a page without decoders."""
    return preview_page.embedded(_page(search, None, *SCALED, *CHOSEN))


@pytest.fixture(scope="module")
def read(search: NeighborSearch, model: dxbeam.LanguageModel) -> str:
    """A page whose words a language model reads."""
    return _page(search, model, "laplace", "fluent")


@pytest.fixture
def sanitized(
    search: NeighborSearch, model: dxbeam.LanguageModel, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., str]:
    """What a Sanitizer releases of the text with the random numbers of one draw of the page."""

    def run(mechanism: Mechanism, draw: int, c: float | None = None, decode: str = "") -> str:
        [rows] = drawn(mechanism, 8, 20, KEYS[draw : draw + 1])

        def fill(key: bytes, first: int, out: np.ndarray) -> None:
            out[:] = rows[first : first + len(out), : out.shape[1]]

        monkeypatch.setattr("dxbeam.text.sanitizer.fill", fill)
        settings = Configuration(
            mechanism,
            resampling=RankResampling(c) if c else None,
            decoder=Decoder(decode) if decode else None,
        )
        read = model if decode or mechanism.name == "fluent" else None
        return dxbeam.Sanitizer(search, settings, language_model=read).sanitize_text(TEXT)

    return run


def _made(name: str, epsilon: float, model: dxbeam.LanguageModel) -> Mechanism:
    made = make_mechanism(name, epsilon=epsilon)
    return replace(made, model=model) if name == "fluent" else made  # type: ignore[type-var]


@pytest.mark.parametrize("name", SCALED)
def test_every_epsilon_of_noise_is_that_of_the_sanitizer(
    name: str,
    data: dict[str, Any],
    model: dxbeam.LanguageModel,
    sanitized: Callable[..., str],
) -> None:
    found = preview_page.reading(data, name, "nearest", None)
    [grid] = [shown["grid"] for shown in data["mechanisms"] if shown["name"] == name]
    generator = np.random.default_rng(1)
    places = generator.integers(position(grid[0]), position(grid[-1]) + 1, 25)
    texts = set()
    for place in places.tolist():
        epsilon, draw = epsilon_at(place), int(generator.integers(8))
        text = preview_page.released(data, found, draw, epsilon)
        assert text == sanitized(_made(name, epsilon, model), draw)
        texts.add(text)
    assert len(texts) > 10


@pytest.mark.parametrize("name", [*CHOSEN, "fluent"])
def test_a_grid_is_that_of_the_sanitizer(
    name: str,
    data: dict[str, Any],
    read: str,
    model: dxbeam.LanguageModel,
    sanitized: Callable[..., str],
) -> None:
    data = preview_page.embedded(read) if name == "fluent" else data
    found = preview_page.reading(data, name, "nearest", None)
    for number, epsilon in enumerate(found["grid"][::9]):
        expected = sanitized(_made(name, epsilon, model), number)
        assert preview_page.released(data, found, number, epsilon) == expected


def test_a_base_measure_is_that_of_the_sanitizer(
    search: NeighborSearch, sanitized: Callable[..., str]
) -> None:
    """Also in the flags that the page shows."""
    html = _page(search, None, "santext:base=frequency:base_exponent=0.5")
    data = preview_page.embedded(html)
    [shown] = data["mechanisms"]
    assert shown["flags"] == "--base frequency --base_exponent 0.5"
    made = make_mechanism("santext", epsilon=1.0, base=FrequencyBase(0.5))
    found = preview_page.reading(data, "santext", "nearest", None)
    for number, epsilon in enumerate(found["grid"][::9]):
        there = replace(made, epsilon=epsilon)  # type: ignore[type-var]
        expected = sanitized(there, number)
        assert preview_page.released(data, found, number, epsilon) == expected


@pytest.mark.parametrize("decode", ["prior", "context"])
def test_decoded_words_are_those_of_the_sanitizer(
    decode: str, read: str, model: dxbeam.LanguageModel, sanitized: Callable[..., str]
) -> None:
    data = preview_page.embedded(read)
    found = preview_page.reading(data, "laplace", decode, None)
    assert len(found["grid"]) == 60
    for number, epsilon in enumerate(found["grid"][::9]):
        expected = sanitized(_made("laplace", epsilon, model), number, decode=decode)
        assert preview_page.released(data, found, number, epsilon) == expected


@pytest.mark.parametrize("name", ["laplace", "santext"])
def test_resampled_words_are_those_of_the_sanitizer(
    name: str,
    data: dict[str, Any],
    model: dxbeam.LanguageModel,
    sanitized: Callable[..., str],
) -> None:
    for c in (0.02, 0.3):
        found = preview_page.reading(data, name, "nearest", c)
        for number, epsilon in enumerate(found["grid"][::3]):
            expected = sanitized(_made(name, epsilon, model), number, c)
            assert preview_page.released(data, found, number, epsilon) == expected


def test_positions_are_numbers_of_four_digits() -> None:
    places = np.random.default_rng(0).integers(0, 62_999, 500).tolist()
    assert [position(epsilon_at(place)) for place in places] == places
    assert [epsilon_at(place) for place in (0, 8_999, 9_000)] == [0.001, 0.009999, 0.01]
    assert position(12.344) == position(12.34)


def test_words_are_told_apart_as_they_are(data: dict[str, Any], search: NeighborSearch) -> None:
    """By how near they are, and by whether they are in the vocabulary."""
    assert data["originals"].count(-1) == 2, "strange, script"
    for number, word in zip(data["distinct"], data["words"], strict=True):
        for close in data["close"][number]:
            ids = search.vocabulary.ids_of([word, data["lexicon"][close]])
            assert search.is_close(ids[:1], ids[1:])[0]
            assert ids[0] != ids[1]


def test_a_long_text_and_a_corpus_are_shown_by_a_sample(search: NeighborSearch) -> None:
    sample = sample_of(["w1 w2. " * 300], search.vocabulary)
    assert (len(sample.words), sample.gaps[-1]) == (MOST_WORDS, " …")
    assert "the first 200 words" in sample.remark
    sample = sample_of([f"w{number} w1. W2" for number in range(200)], search.vocabulary)
    assert len(sample.words) == MOST_WORDS
    assert "67 of 200 documents" in sample.remark
    assert sample_of(["w1. W2"], search.vocabulary).breaks.tolist() == [0, 0]


def test_a_notebook_shows_the_page_in_a_frame(search: NeighborSearch) -> None:
    shown = dxbeam.preview("w1 w2 <b>", search, "laplace")
    frame = shown._repr_html_()
    assert html.unescape(frame.split('srcdoc="')[1].split('" width')[0]) == shown.html
    assert "w1" not in repr(shown)
    with pytest.raises(ConfigurationError, match="takes a text, or several in a list"):
        dxbeam.preview([], search)


def _arguments(uri: str, place: Path, *flags: str) -> list[str]:
    return [f"--vocabulary={uri}", "--mechanisms=laplace", f"--output={place}", *flags]


def test_the_command_writes_a_page_for_its_owner(uri: str, tmp_path: Path) -> None:
    (tmp_path / "my text.txt").write_text("W1 w2, 'w3' &amp; w4")
    place = tmp_path / "page.html"
    assert preview(_arguments(uri, place, f"--input={tmp_path}/my text.txt")) == 0
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    written = place.read_text()
    seen = preview_page.visible(written)
    assert seen.index("This page holds the raw text") < seen.index("W1 w2, 'w3' &amp; w4")
    assert "http:" not in written
    assert "https:" not in written
    assert "default-src 'none'" in written
    flags = preview_page.embedded(written)["flags"]
    assert flags == (
        f"--input '{tmp_path}/my text.txt' --input_format text --document_per file "
        f"--vocabulary {uri}"
    )
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", [{"body": "w5 w6"}, {"body": "w7"}])
    flag = f"--input={corpus}"
    preview(_arguments(uri, tmp_path / "other.html", flag, "--text_field=body"))
    data = preview_page.embedded((tmp_path / "other.html").read_text())
    assert sorted(data["words"]) == ["w5", "w6", "w7"]
    assert data["flags"].startswith(f"--input {corpus} --text_field body ")


def test_what_cannot_be_shown_is_refused_in_a_sentence(uri: str, tmp_path: Path) -> None:
    for folder, file in (("release", "release.json"), ("metrics", "metrics.json")):
        (tmp_path / folder / "below").mkdir(parents=True)
        (tmp_path / folder / file).write_text("{}")
    (tmp_path / "binary").write_bytes(b"\x89PNG\x00\xff")
    (tmp_path / "there.html").write_text("")
    page, text = tmp_path / "page.html", "--text=w1"
    for place, flag, kind, message in (
        (tmp_path / "release/page.html", text, ConfigurationError, "a release or the metrics"),
        (tmp_path / "metrics/below/page.html", text, ConfigurationError, "must not be handed on"),
        (Path("gs://bucket/page.html"), text, ConfigurationError, "to this machine only"),
        (tmp_path / "there.html", text, OutputError, "exists already"),
        (tmp_path / "nowhere/page.html", text, OutputError, "there is no folder"),
        (page, "--text=Nothing known.", ConfigurationError, "no word of the vocabulary"),
        (page, f"--input={tmp_path}/binary", CorpusError, "is not text"),
        (page, "--text_field=a", ConfigurationError, "one of the two"),
        (page, "--mechanisms=trlaplace_published", ConfigurationError, "promises nothing"),
        (page, "--mechanisms=santext:base=none.tsv", ConfigurationError, "cannot be read"),
    ):
        flags = [flag] if flag.startswith(("--text", "--input")) else [flag, text]
        arguments = _arguments(uri, place, *flags)
        if "gs://" in str(arguments) or "gs:/" in str(arguments):
            arguments[2] = "--output=gs://bucket/page.html"
        with pytest.raises(DxbeamError, match=message) as refused:
            preview(arguments)
        assert isinstance(refused.value, kind)
        assert "Nothing known" not in str(refused.value)
    assert not page.exists()


@pytest.mark.slow
@pytest.mark.skipif(not browser.PROGRAM, reason=browser.MISSING)
def test_a_browser_shows_what_the_page_holds(read: str, tmp_path: Path) -> None:
    """With the keyboard only, and asking nobody for anything."""
    data = preview_page.embedded(read)
    found = preview_page.reading(data, "laplace", "nearest", None)
    place, profile = tmp_path / "page.html", tmp_path / "browser"
    place.write_text(read)
    profile.mkdir()
    with browser.browser(profile) as shown:
        shown.open(place, dark=True, width=360)
        shown.evaluate("ready")
        assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
        shown.evaluate("at('epsilon').focus()")
        seen = []
        for _ in range(5):
            before = shown.evaluate("state.epsilon")
            shown.press("ArrowRight")
            epsilon, text = shown.evaluate("[state.epsilon, at('text').textContent]")
            assert epsilon > before
            assert text == preview_page.released(data, found, 0, epsilon)
            seen.append(shown.evaluate("at('epsilon').getAttribute('aria-valuetext')"))
        assert len(set(seen)) == 5
        shown.evaluate("BUTTONS[0].focus()")
        shown.press("ArrowRight")
        assert "“w2” is released as" in shown.evaluate("at('word').textContent")
        shown.evaluate("at('again').click()")
        text = shown.evaluate("at('text').textContent")
        assert text == preview_page.released(data, found, 1, epsilon)
        for number, mechanism in enumerate(data["mechanisms"]):
            for each in mechanism["readings"]:
                settings = {"mechanism": number, "decode": each["decode"], "c": each["c"]}
                shown.evaluate(f"Object.assign(state, {json.dumps(settings)}); settle()")
                epsilon, draw, text = shown.evaluate(
                    "[state.epsilon, state.draw, at('text').textContent]"
                )
                assert text == preview_page.released(data, each, draw, epsilon)
                command = shown.evaluate("at('command').textContent")
                assert command.startswith("dxbeam sanitize --input … --vocabulary tiny --mech")
                reads = each["decode"] != "nearest" or mechanism["name"] == "fluent"
                assert ("--language_model model" in command) == reads
        assert shown.messages == []
        assert shown.requests == [place.as_uri()]
