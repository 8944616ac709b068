"""Several releases of one corpus in one evaluation, side by side."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from dxbeam.errors import DxbeamError
from pipelines.evaluate import evaluate_release
from tests.support import releases, tiny
from tests.support.releases import SECRET

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module")
def several(uri: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The output of an evaluation of three releases, which lie in ``releases`` next to it."""
    output = tmp_path_factory.mktemp("several") / "out"
    releases.evaluated(uri, output, "--task=label", "--attack=author")
    return output


def test_several_releases_have_the_scores_that_each_has_alone(
    uri: str, several: Path, tmp_path: Path
) -> None:
    rows = pq.read_table(several / "scores.parquet").to_pylist()
    folder = several.parent / "releases"
    assert list(dict.fromkeys(row["release"] for row in rows)) == [
        None, *(str(folder / name) for name in ("low", "high", "resampled")),
    ]  # fmt: skip
    corpus, one = several.parent / "texts.jsonl", folder / "high"
    flags = [f"--vocabulary={uri}", "--task=label", "--attack=author"]
    alone = releases.rows(corpus, one, tmp_path / "alone", *flags)
    assert [row for row in rows if row["release"] in (None, str(one))] == alone


def test_what_is_of_originals_alone_is_told_once(several: Path) -> None:
    rows = pq.read_table(several / "scores.parquet").to_pylist()
    for row in rows:
        of_originals = row["model"] == "majority class" or (
            (row["trained_on"], row["tested_on"]) == ("original", "original")
        )
        assert (row["release"] is None) == of_originals
    once = [row for row in rows if row["metric"] == "task_accuracy" and row["release"] is None]
    assert len(once) == 3  # the majority, and two models


def test_several_releases_stand_side_by_side_and_against_epsilon(several: Path) -> None:
    page = (several / "report.html").read_text()
    assert not re.search(r"<(script|img|iframe|link)|src=|url\((?!#)|@import", page)
    assert not re.search(r"(?i)\bw\d+\b(?!\.org)|secret-id|" + SECRET, page)
    assert "3 releases next to their originals" in page
    assert page.count('<th scope="row"') == 3 + 3 + 2
    captions = re.findall("<figcaption>(.*?)</figcaption>", page)
    assert len(captions) == page.count("<svg") == 6
    for caption in captions:
        assert re.search(r"laplace: [\d.e-]+ at 1, [\d.e-]+ at 5; laplace, c = 0.1: ", caption)
    assert sum("majority class: " in caption for caption in captions) == 3
    assert page.count("<details>") == 3


def test_a_release_of_another_corpus_is_named(uri: str, several: Path, tmp_path: Path) -> None:
    release = several.parent / "releases" / "low"
    corpus = several.parent / "texts.jsonl"
    other = tiny.write_jsonl(tmp_path / "other.jsonl", [{"id": "new", "text": "w1"}])
    strange = releases.release(uri, other, tmp_path / "strange")
    flags = [f"--original={corpus}", f"--released={release},{strange}"]
    with pytest.raises(DxbeamError, match="strange: no document of --released"):
        evaluate_release([*flags, f"--output={tmp_path}/out"])
    with pytest.raises(DxbeamError, match=r"is within the release .*strange"):
        evaluate_release([*flags, f"--output={strange}/out"])


def test_releases_with_the_same_settings_are_told_apart_by_their_names(
    uri: str, several: Path, tmp_path: Path
) -> None:
    corpus, low = several.parent / "texts.jsonl", several.parent / "releases" / "low"
    again = releases.release(uri, corpus, tmp_path / "again", "--epsilon=1")
    flags = [f"--original={corpus}", f"--released={low},{again}", f"--output={tmp_path}/out"]
    evaluate_release(flags)
    page = (tmp_path / "out" / "report.html").read_text()
    for name in ("laplace (low)", "laplace (again)"):
        assert f'font-weight: normal">{name}</th>' in page
