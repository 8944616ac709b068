"""dxbeam calibrate: its answer, the flags it prints, its page, and what it refuses."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dxbeam.analysis.measure.word_sample import BY_FREQUENCY, UNIFORM
from dxbeam.errors import ConfigurationError, RunError
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.search.neighbors import NeighborSearch
from pipelines.calibrate import calibrate
from pipelines.sanitize import sanitize
from tests.support import tiny

pytestmark = pytest.mark.usefixtures("undrawn")

TARGETS = ["--at_most=distant=0.4", "--at_least=close=0.2"]
FLAGS = [*TARGETS, "--epsilons=0.5:4:0.5", "--rank_cs=0.05,0.2", "--words=300"]


def _calibrated(uri: str, output: Path, *flags: str) -> list[dict[str, Any]]:
    return tiny.table_of(calibrate, uri, output, "calibration.parquet", *(flags or FLAGS))


@pytest.fixture(scope="module")
def found(
    uri: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[dict[str, Any]], str, str]:
    """The curve, the page, and what was printed."""
    output = tmp_path_factory.mktemp("calibrated") / "out"
    with contextlib.redirect_stdout(io.StringIO()) as told:
        rows = _calibrated(uri, output)
    return rows, (output / "report.html").read_text(), told.getvalue()


def test_the_curve_has_a_row_for_each_half_and_setting(found: Any) -> None:
    rows = found[0]
    assert [(row["half"], row["rank_c"], row["epsilon"]) for row in rows] == [
        (half, c, 0.5 * step)
        for half in ("choice", "verification")
        for c in (None, 0.05, 0.2)
        for step in range(1, 9)
    ]
    for row in rows:
        assert (row["words"], row["weighting"], row["mechanism"]) == (150, UNIFORM, "laplace")
        for share in ("original", "close", "distant"):
            assert row[f"{share}_low"] <= row[share] <= row[f"{share}_high"]


def test_the_answer_is_told_with_its_interval_its_cost_and_its_flags(
    found: Any, uri: str, tmp_path: Path
) -> None:
    rows, _, told = found
    [epsilon, c] = re.findall(r"Answer .*: epsilon = ([\d.]+) with c = ([\d.]+)", told)[0]
    [row] = [
        row
        for row in rows
        if (row["half"], row["epsilon"], row["rank_c"])
        == ("verification", float(epsilon), float(c))
    ]
    assert row["distant_high"] <= 0.4
    assert row["close_low"] >= 0.2
    for share in ("original", "close", "distant"):
        low, high = (100 * row[f"{share}_{end}"] for end in ("low", "high"))
        assert f"{share} {100 * row[share]:.1f} % ({low:.1f} to {high:.1f})" in told
    assert "150 words that had no part in the choice" in told
    for pair in ("its nearest word", "a typical word", "the farthest word seen"):
        assert re.search(f"a word and {pair} .*likelihood ratio of at most e\\^", told)
    assert f"exp({epsilon} * d(x, x'))" in told
    flags = told.splitlines()[-1]
    assert flags == (
        f"dxbeam sanitize --vocabulary {uri} --mechanism laplace --epsilon {epsilon} "
        f"--rank_c {c} --input … --output …"
    )
    corpus = tiny.write_jsonl(tmp_path / "in.jsonl", [{"id": "a", "text": "w1 w2"}])
    pasted = flags.replace("--input …", f"--input {corpus}").replace("…", f"{tmp_path}/out")
    sanitize([*shlex.split(pasted)[2:], "--dry_run"])  # is not refused


def test_the_page_says_the_same_and_needs_nothing_from_elsewhere(found: Any) -> None:
    _, page, told = found
    assert not re.search(r"<(script|img|iframe|link)|src=|@import|url\((?!#)|href=\"(?!#)", page)
    assert page.count("<svg") == 2
    assert told.splitlines()[-1] in page
    for text in ("distant at most 40 %", "had no part in the choice", "likelihood ratio", "halves"):
        assert text in page
    assert "dxbeam calibrate --vocabulary" in page


def test_the_same_seed_gives_the_same_curve(found: Any, uri: str, tmp_path: Path) -> None:
    assert _calibrated(uri, tmp_path / "out") == found[0]


def test_where_nothing_meets_the_target_the_nearest_is_named_and_nothing_is_offered(
    uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--at_most=distant=0.02", "--at_least=close=0.85", *FLAGS[2:4], "--words=100"]
    with pytest.raises(RunError) as refused:
        _calibrated(uri, tmp_path / "out", *flags)
    assert "none of the settings that were tried (8 values of epsilon from 0.5 to 4" in str(
        refused.value
    )
    assert re.search(r"comes closest, with .* \d+(\.\d+)? points short of", str(refused.value))
    page = (tmp_path / "out" / "report.html").read_text()
    assert "There is none" in page
    for told in (page, capsys.readouterr().out):
        assert "dxbeam sanitize" not in told


@pytest.fixture(scope="module")
def corpus(uri: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of the three words with the farthest neighbours, which come out as themselves first."""
    search = NeighborSearch(open_vocabulary(uri))
    everything = np.arange(300)
    nearest = search.neighbor(everything, np.ones(300, np.int64))
    vectors = search.vocabulary.vectors
    lonely = np.argsort(np.linalg.norm(vectors - vectors[nearest], axis=1))[-3:]
    text = " ".join(f"w{word}" for word in lonely) + " qzxqzx"
    path = tmp_path_factory.mktemp("corpus") / "texts.jsonl"
    return tiny.write_jsonl(path, [{"id": f"d{i}", "text": text} for i in range(9)])


def test_the_answer_for_a_corpus_differs_and_says_so(
    uri: str, corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    flags = ["--at_least=original=0.5", "--epsilons=0.5:4:0.25", "--rank_cs=none", "--words=300"]
    rows = _calibrated(uri, tmp_path / "out", f"--input={corpus}", *flags)
    assert list(dict.fromkeys(row["weighting"] for row in rows)) == [UNIFORM, BY_FREQUENCY]
    assert {row["rank_c"] for row in rows} == {None}
    told = "".join(capfd.readouterr())
    [own] = re.findall(rf"Answer \({BY_FREQUENCY}\): epsilon = ([\d.]+)", told)
    [uniform] = re.findall(r"every word counts alike, it is epsilon = ([\d.]+)", told)
    assert float(own) < float(uniform)
    assert "The answers differ" in told
    assert f"keep it with {corpus}" in told
    page = (tmp_path / "out" / "report.html").read_text()
    for said in ("Computed from raw text", "27 of its 36 words", "The answers differ"):
        assert said in page
    words = {word for text in corpus.read_text().split('"') for word in text.split()}
    for content in (page, told, tiny.told(tmp_path / "out" / "calibration.parquet")):
        for word in words:
            if re.fullmatch(r"w\d+|qzxqzx", word):
                assert not re.search(rf"\b{word}\b", content)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), "say what is wanted"),
        (("--at_most=distant=20",), "--at_most distant=20: write it as share=number"),
        (("--at_most=far=0.2",), "shares are original, close, distant"),
        (("--at_most=close=0.1", "--at_least=close=0.2"), "--at_least close=0.2 and --at_most"),
        (("--at_most=distant=0.2", "--epsilons=0:3"), "--epsilons 0:3 is neither"),
        (("--at_most=distant=0.2", "--rank_cs=-1"), "--rank_cs -1: write numbers above 0"),
        (("--at_most=distant=0.2", "--mechanism=lapalce"), "there is no such mechanism"),
        (("--at_most=distant=0.2", "--parameters=epsilon=3"), "--parameters: epsilon is what is"),
        (("--at_most=distant=0.2", "--parameters=delta=3"), "has no parameter delta"),
        (("--at_most=distant=0.2", "--words=1"), "so 2 are needed"),
        (("--at_most=distant=0.2", "--mechanism=trlaplace_published"), "guarantees nothing"),
        (("--at_most=distant=0.2", "--epsilon=3"), "unknown flag --epsilon"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(
    uri: str, tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        _calibrated(uri, tmp_path / "out", "--dry_run", *flags)
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_where_something_lies(uri: str, tmp_path: Path) -> None:
    tiny.check_refused_beside(lambda folder: _calibrated(uri, folder), tmp_path)


def test_consent_to_what_guarantees_nothing_is_among_the_flags(
    uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--mechanism=vickrey", "--at_most=distant=0.6", "--epsilons=2:4", "--rank_cs=none"]
    _calibrated(uri, tmp_path / "out", *flags, "--allow_unsound", "--words=100")
    assert " --mechanism vickrey " in (last := capsys.readouterr().out.splitlines()[-1])
    assert " --allow_unsound " in last


def test_a_dry_run_says_what_it_would_try(
    uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calibrate([f"--vocabulary={uri}", f"--output={tmp_path}/out", *FLAGS, "--dry_run"])
    told = capsys.readouterr().out
    assert "Would try laplace at 8 values of epsilon from 0.5 to 4 with no rank resampling" in told
    assert "distant at most 40 %, close at least 20 %" in told
    assert not (tmp_path / "out").exists()


def test_a_mechanism_is_explained_without_an_epsilon(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        calibrate(["--help", "--mechanism=gaussian"])
    told = capsys.readouterr().out
    assert "usage: dxbeam calibrate --mechanism gaussian --parameters" in told
