"""All six pages as a browser shows them: whole, offline, light and dark, narrow and wide."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.calibrate import calibrate
from pipelines.frontier import measure_frontier
from pipelines.measure import measure_settings
from pipelines.preview import preview
from pipelines.verify import verify
from tests.support import browser, releases, tiny
from tests.support.browser import Page

pytestmark = pytest.mark.skipif(browser.PROGRAM is None, reason=browser.MISSING)

INTERACTIVE = "a[href], button, input, select, textarea, summary, [tabindex], [onclick]"

PICTURES = {"measure": 5, "calibrate": 2, "evaluate": 0, "frontier": 2, "preview": 0, "card": 0}
"""All pages, and how many pictures each has at least."""

CONTRASTS = """
(() => {
  const parts = text => text.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = element => {
    for (; element; element = element.parentElement) {
      const [r, g, b, opacity = 1] = parts(getComputedStyle(element).backgroundColor);
      if (opacity > 0) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.body.querySelectorAll('*:not(style)')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!own || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const drawn = element instanceof SVGElement ? style.fill : style.color;
    const [low, high] = [luminance(parts(drawn)), luminance(ground(element))].sort((a, b) => a - b);
    found.push([(high + 0.05) / (low + 0.05), element.textContent.trim().slice(0, 40)]);
  }
  return found;
})()
"""


@pytest.fixture(scope="module", params=PICTURES)
def report(
    uri: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Path:
    output = tmp_path_factory.mktemp(request.param) / "out"
    if request.param in ("preview", "card"):
        return _single(request.param, uri, output)
    if request.param == "evaluate":
        releases.evaluated(uri, output, "--task=label", "--attack=author", "--group_by=label")
        return output / "report.html"
    grid = "--epsilons=2,8" if request.param == "frontier" else "--epsilons=1:5"
    flags = [f"--vocabulary={uri}", f"--output={output}", grid]
    if request.param == "measure":
        own = ["--mechanisms=laplace,santext", "--rank_cs=0.05", "--words=50"]
        measure_settings(flags + own)
    elif request.param == "frontier":
        own = ["--mechanisms=all", "--rank_cs=0.05", "--attacked_words=30", "--pairs=200"]
        texts = [
            {"id": str(i), "text": f"w{i % 7 + 100 * (i % 2)} w{i % 5}", "side": i % 2}
            for i in range(40)
        ]
        corpus = tiny.write_jsonl(output.parent / "corpus.jsonl", texts)
        measure_frontier([*flags, *own, f"--input={corpus}", "--task=side"])
    else:
        own = ["--at_most=distant=0.5", "--rank_cs=0.05,0.2", "--words=200"]
        calibrate(flags + own)
    return output / "report.html"


def _single(name: str, uri: str, output: Path) -> Path:
    """A page that is a file by itself."""
    output.mkdir()
    place = output / "report.html"
    if name == "preview":
        text = "--text=W1, w2 (w3)! Strange w5. </script> w9 w1."
        flags = [f"--vocabulary={uri}", "--mechanisms=laplace,santext", f"--output={place}"]
        preview([text, *flags])
    else:
        corpus = releases.write_corpus(output / "corpus.jsonl")
        released = releases.release(uri, corpus, output / "released")
        assert verify([str(released), f"--vocabulary={uri}", f"--card={place}"]) == 0
    return place


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser.browser(tmp_path_factory.mktemp("browser")) as page:
        yield page


@pytest.fixture(params=["light", "dark"])
def page(opened: Page, report: Path, request: pytest.FixtureRequest) -> Page:
    _open(opened, report, dark=request.param == "dark")
    assert opened.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") == (
        request.param == "dark"
    )
    return opened


def _open(opened: Page, report: Path, *, dark: bool = False, width: int = 1280) -> None:
    opened.open(report, dark=dark, width=width)
    opened.evaluate("typeof ready === 'undefined' ? null : ready")


def test_all_pages_are_made_alike(report: Path) -> None:
    """One head and foot, nothing from elsewhere, and tables that a screen reader can read out."""
    text = report.read_text()
    assert len(text.encode()) < 2_000_000
    assert '<html lang="en">' in text
    assert "default-src 'none'" in text
    assert text.count("<h1>") == text.count("<main ") == text.count("<footer>") == 1
    assert text.index('href="#content"') < text.index('<main id="content">') < text.index("<h1>")
    assert not re.search(r"""(src|href)=["'](?!#|data:)|@import|url\((?!#|["']?data:)""", text)
    for table in re.findall(r"<table>.*?</table>", text, re.S):
        assert "<caption>" in table
        assert all("scope=" in head for head in re.findall(r"<th\b[^>]*>", table))
    levels = [int(level) for level in re.findall(r"<h([1-6])", text)]
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_the_page_is_shown_whole_and_without_a_complaint(page: Page, report: Path) -> None:
    page.pdf()  # which has the browser lay out everything
    assert page.messages == []
    assert page.failures == []
    assert page.requests == [report.as_uri()]
    assert page.evaluate("document.querySelectorAll('h1, h2').length") >= 4
    sizes = page.evaluate(
        "[...document.querySelectorAll('svg')].map(svg => svg.getBoundingClientRect().width)"
    )
    name = report.parent.parent.name.rstrip("0123456789")
    assert len(sizes) >= PICTURES[name]
    assert min(sizes, default=201) > 200


def test_every_picture_has_words_for_those_who_do_not_see_it(page: Page) -> None:
    alternatives = page.images()
    assert len(alternatives) == page.evaluate("document.querySelectorAll('svg').length")
    assert all(len(alternative) > 40 for alternative in alternatives)


def test_text_stands_out_from_its_ground(page: Page) -> None:
    """4.5 to 1, level AA of the Web Content Accessibility Guidelines."""
    found = page.evaluate(CONTRASTS)
    assert len(found) > 50
    assert [pair for pair in found if pair[0] < 4.5] == []


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_reaches_beyond_the_window(opened: Page, report: Path, width: int) -> None:
    _open(opened, report, width=width)
    opened.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert opened.evaluate("innerWidth") == width
    beyond = opened.evaluate(
        "[...document.body.querySelectorAll('*')]"
        ".filter(part => !part.closest('.wide, pre') "
        f"&& part.getBoundingClientRect().right > {width})"
        ".map(part => part.tagName + '.' + (part.getAttribute('class') || ''))"
    )
    assert beyond == []
    assert opened.evaluate("document.documentElement.scrollWidth") <= width


def test_whatever_can_be_clicked_is_reached_and_opened_by_keyboard(
    opened: Page, report: Path
) -> None:
    _open(opened, report)
    opened.evaluate(
        f"parts = [...document.querySelectorAll('{INTERACTIVE}')]"
        ".filter(part => !part.disabled && !part.matches('.text button + button')); null"
    )
    count = opened.evaluate("parts.length")
    assert count > 0
    assert opened.evaluate("parts.every(part => part.tabIndex === 0)")
    reached = set()
    for _ in range(3 * count + 10):
        opened.press("Tab")
        reached.add(opened.evaluate("parts.indexOf(document.activeElement)"))
    assert set(range(count)) <= reached
    if opened.evaluate("!!document.querySelector('summary')"):
        opened.evaluate("document.querySelector('summary').focus()")
        opened.press("Enter")
        assert opened.evaluate("document.querySelector('details').open")


def test_the_page_can_be_printed(opened: Page, report: Path) -> None:
    _open(opened, report)
    printed = opened.pdf()
    assert printed.startswith(b"%PDF")
    assert len(printed) > 10_000


def test_a_page_with_faults_is_noticed(opened: Page, tmp_path: Path) -> None:
    """Else the tests above would say nothing."""
    faulty = tmp_path / "faulty.html"
    faulty.write_text(
        "<script>console.log('here I am')</script><script src='missing.js'></script>"
        "<img src='https://dxbeam.example/pixel.png'><svg width='50' height='50'></svg>"
        "<p style='color: #999; width: 500px'>pale and wide</p>"
    )
    opened.open(faulty, width=360)
    assert any("here I am" in message for message in opened.messages)
    assert len(opened.requests) == 3
    assert len(opened.failures) == 2
    assert "" in opened.images()
    assert [ratio < 4.5 for ratio, _ in opened.evaluate(CONTRASTS)] == [True]
    assert opened.evaluate("document.documentElement.scrollWidth") > 360
