"""What settings do to words, as dxbeam measure tells it: tables, a page, and refusals."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from dxbeam.analysis.measure.word_sample import BY_FREQUENCY, UNIFORM
from dxbeam.analysis.theory.exponential_shares import exponential_shares
from dxbeam.errors import DxbeamError
from dxbeam.mechanisms import make_mechanism
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.search.neighbors import NeighborSearch
from pipelines.measure import measure_settings
from tests.support import tiny
from tests.support.refusals import refused

pytestmark = pytest.mark.usefixtures("undrawn")

FREQUENT, RARE = "w7", "w251"

FLAGS = [
    "--mechanisms=laplace,santext",
    "--epsilons=1:5",
    "--rank_cs=0.05",
    "--words=100",
    "--repeats=5",
]


def _measured(uri: str, output: Path, *flags: str) -> list[dict[str, Any]]:
    return tiny.table_of(measure_settings, uri, output, "proportions.parquet", *(flags or FLAGS))


@pytest.fixture(scope="module")
def output(uri: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("measured") / "out"
    _measured(uri, folder)
    return folder


def test_a_row_per_mechanism_epsilon_and_c(output: Path) -> None:
    rows = pq.read_table(output / "proportions.parquet").to_pylist()
    settings = [(row["mechanism"], row["rank_c"], row["epsilon"]) for row in rows]
    assert settings == [
        (name, c, float(epsilon))
        for name in ("laplace", "santext")
        for c in (None, 0.05)
        for epsilon in range(1, 6)
    ]
    for row in rows:
        assert row["words"] == 100
        assert row["weighting"] == UNIFORM
        assert sum(row[name] for name in ("original", "close", "distant")) == pytest.approx(1)
        for name in ("original", "close", "distant"):
            assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]


def test_words_come_out_as_themselves_more_often_at_a_larger_epsilon(output: Path) -> None:
    rows = pq.read_table(output / "proportions.parquet").to_pylist()
    santext = [row["original"] for row in rows if row["mechanism"] == "santext"][:5]
    assert santext == sorted(santext)
    assert santext[-1] > 0.5


def test_words_with_weights_come_out_as_themselves_more_often(
    uri: str, output: Path, tmp_path: Path
) -> None:
    """And files say which weights: tables as a parameter, the page as flags of the release."""
    weights = tmp_path / "weights.tsv"
    weights.write_text("".join(f"w{i}\t9\n" for i in range(300)))
    flags = ["--mechanisms=santext,tem", *FLAGS[1:], f"--importance={weights}"]
    rows = _measured(uri, tmp_path / "out", *flags)
    assert {row["parameters"] for row in rows} == {f"importance={weights}"}
    for name in ("santext", "tem"):
        own = [row for row in rows if row["mechanism"] == name and row["rank_c"] is None]
        assert min(row["original"] for row in own) > 0.95
    plain = pq.read_table(output / "proportions.parquet").to_pylist()
    assert min(row["original"] for row in plain if row["mechanism"] == "santext") < 0.5
    page = (tmp_path / "out" / "report.html").read_text()
    assert f"--mechanism santext --epsilon 1 --importance {weights}" in page
    assert "the public weights of importance (file, 300 words, SHA-256" in page


@refused(
    """
    --importance=frequency  goes with --mechanism santext or tem, not with laplace
    --mechanisms=santext,custext --importance=frequency  not with custext
    --mechanisms=all --importance=frequency  goes with --mechanism santext or tem
    --mechanisms=tem:importance=2  importance has a separate flag, --importance
    --mechanisms=tem --importance=stop_words  is in the vocabulary
    --mechanisms=tem --importance=nowhere  cannot be read
    """
)
def test_weights_that_do_not_go_with_what_is_measured_are_refused(
    flags: list[str], said: str, uri: str, tmp_path: Path
) -> None:
    with pytest.raises(DxbeamError, match=re.escape(said)):
        _measured(uri, tmp_path / "out", *flags)
    assert not (tmp_path / "out").exists()


def test_the_same_seed_measures_the_same_and_another_does_not(
    uri: str, output: Path, tmp_path: Path
) -> None:
    before = pq.read_table(output / "proportions.parquet").to_pylist()
    assert _measured(uri, tmp_path / "again") == before
    assert _measured(uri, tmp_path / "other", *FLAGS, "--seed=1") != before


def test_the_geometry_of_the_vocabulary_is_told(output: Path) -> None:
    rows = pq.read_table(output / "geometry.parquet").to_pylist()
    thresholds = [row for row in rows if row["quantity"] == "threshold"]
    assert [row["between"] for row in thresholds] == ["z(w, x1)", "z(x1, x2)", "z(x1, x101)"]
    assert all(row["low"] < row["value"] < row["high"] for row in thresholds)
    both = {row["quantity"] for row in rows if row["between"] == "z(w, x1)"}
    assert both == {"threshold", "probability at the mean threshold", "mean probability"}
    at = {(row["quantity"], row["between"], row["epsilon"]): row for row in rows}
    for released in ("w", "x1"):
        for epsilon in range(1, 6):
            bound = at["bound on the share released", released, epsilon]["value"]
            measured = at["share released", released, epsilon]
            assert 0 <= measured["low"] <= measured["value"] <= measured["high"] <= 1
            assert measured["low"] <= bound <= 1


def test_ranks_agree_with_shares(output: Path) -> None:
    shares = pq.read_table(output / "proportions.parquet").to_pylist()
    ranks = pq.read_table(output / "ranks.parquet").to_pylist()
    for row in shares:
        if row["rank_c"] is not None:
            continue
        own = [r for r in ranks if all(r[k] == row[k] for k in ("mechanism", "epsilon"))]
        assert [r["first_rank"] for r in own][:4] == [0, 1, 2, 3]
        assert all(a["last_rank"] + 1 == b["first_rank"] for a, b in pairwise(own))
        assert own[0]["share"] == pytest.approx(row["original"])
        close = sum(r["share"] for r in own if 1 <= r["last_rank"] <= 100)
        assert close == pytest.approx(row["close"])
        assert sum(r["share"] for r in own) == pytest.approx(1)


def test_single_words_are_told(output: Path) -> None:
    rows = pq.read_table(output / "words.parquet").to_pylist()
    assert len({row["word"] for row in rows}) == 100
    for row in rows:
        assert 0 <= row["n_w"] <= row["repeats"] == 5
        assert 0 <= row["s_w"] <= 5 + 1e-9
        assert row["n_w"] + row["s_w"] - 1 <= 5 + 1e-9  # what is not itself is another word
    known = [row for row in rows if row["transition_epsilon"] is not None]
    assert known
    for row in known:
        above = row["epsilon"] > row["transition_epsilon"]
        assert (row["n_w"] >= 2.5) == above or row["epsilon"] == row["transition_epsilon"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of one word and another, three to one, and a word that no vocabulary has."""
    path = tmp_path_factory.mktemp("corpus") / "texts.jsonl"
    text = f"{FREQUENT} {FREQUENT} {FREQUENT}, {RARE}! qzxqzx"
    return tiny.write_jsonl(path, [{"id": f"d{i}", "text": text} for i in range(9)])


def test_words_as_frequent_as_in_a_corpus(uri: str, corpus: Path, tmp_path: Path) -> None:
    flags = [f"--input={corpus}", "--mechanisms=santext", "--epsilons=1,3", "--words=4000"]
    rows = _measured(uri, tmp_path / "out", *flags)
    assert {row["weighting"] for row in rows} == {BY_FREQUENCY}
    search = NeighborSearch(open_vocabulary(uri))
    ids = search.vocabulary.ids_of([FREQUENT, RARE])
    exact, _ = exponential_shares(make_mechanism("santext", epsilon=1.0), [1.0, 3.0], ids, search)
    expected = 0.75 * exact[0] + 0.25 * exact[1]
    for row, (original, _, _) in zip(rows, expected, strict=True):
        assert row["original_low"] - 0.03 < original < row["original_high"] + 0.03


def test_nothing_that_is_written_names_a_word_of_the_corpus(
    uri: str, corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    flags = [f"--input={corpus}", "--mechanisms=laplace", "--epsilons=1,3", "--words=50"]
    _measured(uri, tmp_path / "out", *flags)
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == ["geometry.parquet", "proportions.parquet", "ranks.parquet", "report.html"]
    told = "".join(capfd.readouterr())
    for path in (tmp_path / "out").iterdir():
        content = tiny.told(path) + told
        for word in (FREQUENT, RARE, "qzxqzx"):
            assert not re.search(rf"\b{word}\b", content)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Computed from raw text" in page
    assert "36 of its 45 words" in page


def test_a_corpus_without_words_of_the_vocabulary_is_refused(uri: str, tmp_path: Path) -> None:
    path = tiny.write_jsonl(tmp_path / "texts.jsonl", [{"id": "a", "text": "qzxqzx"}])
    with pytest.raises(DxbeamError, match="no word of the corpus is in the vocabulary"):
        _measured(uri, tmp_path / "out", f"--input={path}", "--epsilons=1,2")
    assert not (tmp_path / "out").exists()


class _Page(HTMLParser):
    """What a page loads, and the texts that stand for its pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.alternatives: list[str] = []
        self.pictures = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag in ("script", "img", "iframe", "link"):
            self.loaded.append(tag)
        self.loaded += [given[name] or "" for name in ("src", "href") if name in given]
        self.pictures += tag == "svg"
        if given.get("role") == "img":
            self.alternatives.append(given.get("aria-label") or "")


def test_the_page_needs_nothing_from_elsewhere_and_says_what_it_shows(output: Path) -> None:
    text = (output / "report.html").read_text()
    page = _Page()
    page.feed(text)
    assert not [place for place in page.loaded if not place.startswith("#")]
    assert not re.search(r"url\((?!#)|@import", text)
    assert page.pictures == len(page.alternatives) == 14
    [directions] = [text for text in page.alternatives if "epsilon" not in text]
    assert "whatever its length" in directions
    assert "any two original words" in text  # what is promised
    assert "95 % intervals" in text
    assert "dxbeam measure --vocabulary" in text  # how to make it again


def test_flags_are_given_where_sanitize_takes_them(uri: str, tmp_path: Path) -> None:
    flags = ["--mechanisms=laplace,santext_plus,truncated_gumbel", "--words=20"]
    _measured(uri, tmp_path / "out", *flags, "--epsilons=0.1,0.2", "--repeats=1")
    assert "dxbeam sanitize" not in (tmp_path / "out" / "report.html").read_text()
    _measured(uri, tmp_path / "more", *flags, "--epsilons=0.1,10", "--repeats=1")
    page = (tmp_path / "more" / "report.html").read_text()
    assert re.findall("dxbeam sanitize .*--mechanism (\\w+) --epsilon 10", page) == ["laplace"]


def test_each_mechanism_gets_a_grid_of_its_own(uri: str, tmp_path: Path) -> None:
    flags = ["--mechanisms=laplace,santext", "--words=20"]
    rows = _measured(uri, tmp_path / "out", *flags)
    for name in ("laplace", "santext"):
        own = [row for row in rows if row["mechanism"] == name]
        assert len(own) >= 20
        assert own[0]["original"] < 0.2
        assert own[-1]["original"] > 0.8


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("--epsilons=0:3", "--epsilons 0:3 is neither"),
        ("--epsilons=5,1", "--epsilons 5,1 is neither"),
        ("--epsilons=1:2:3:4", "is neither"),
        ("--epsilons=1:1e9", "more than 1,000"),
        ("--epsilons=nan", "is neither"),
        ("--rank_cs=-1", "--rank_cs -1: write numbers above 0"),
        ("--rank_cs=few", "--rank_cs few: write numbers above 0"),
        ("--mechanisms=lapalce", "there is no such mechanism"),
        ("--mechanisms=laplace:epsilon=3", "leave it out"),
        ("--mechanisms=laplace:delta=3", "has no parameter delta"),
        ("--mechanisms=", "there is no such mechanism"),
        ("--mechanisms=laplace,laplace", "twice"),
        ("--words=0", "--words"),
    ],
)
def test_what_cannot_be_measured_is_refused(uri: str, tmp_path: Path, flag: str, said: str) -> None:
    with pytest.raises(DxbeamError, match=re.escape(said)):
        _measured(uri, tmp_path / "out", flag)
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_where_something_lies(uri: str, tmp_path: Path) -> None:
    tiny.check_refused_beside(lambda folder: _measured(uri, folder), tmp_path)


def test_a_dry_run_says_what_it_would_measure(
    uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measure_settings([f"--vocabulary={uri}", f"--output={tmp_path}/out", *FLAGS, "--dry_run"])
    told = capsys.readouterr().out
    assert (
        "Would measure laplace on 100 words of the vocabulary at 5 values of epsilon, 1 to 5"
        in told
    )
    assert not (tmp_path / "out").exists()
