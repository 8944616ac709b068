"""The frontier's page: every mechanism can be told apart, and nothing is said that is not known."""

from __future__ import annotations

import re

from dxbeam.analysis.attackers.resampled_channel import MOST_RANKS
from dxbeam.analysis.frontier.compute import Estimate, Point
from dxbeam.analysis.frontier.document_utility import TaskBaseline
from dxbeam.analysis.frontier.page import Asked, not_followed, page
from dxbeam.analysis.pages.page import Heading
from dxbeam.mechanisms import MECHANISMS

HEADING = Heading({"name": "demo", "words": 2_000, "dimensions": 50}, "", "dxbeam frontier")


def _around(value: float) -> Estimate:
    return Estimate(value, max(0.0, value - 0.02), value + 0.02)


def _point(
    name: str, epsilon: float, useful: float, risk: float, rank_c: float | None = None
) -> Point:
    return Point(
        name, "", rank_c, epsilon, 500, _around(useful), _around(useful / 2), _around(risk), None
    )


def _page(points: list[Point], baseline: TaskBaseline | None = None, **asked: object) -> str:
    return page(Asked(HEADING, "", 0.2, **asked), points, baseline)  # type: ignore[arg-type]


def _rows(html: str) -> dict[str, str]:
    """The last cell of each row of the first table, by the row's first cell."""
    table = html[html.index("<caption>") : html.index("</table>")]
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(<td>.*)</tr>", table)]
    return {row[0].replace("&nbsp;", " "): row[-1] for row in rows}


def test_all_mechanisms_are_told_apart() -> None:
    points = [
        _point(name, epsilon, epsilon / 10, epsilon / 20)
        for name in MECHANISMS
        for epsilon in (1.0, 5.0, 9.0)
    ]
    html = _page(points)
    figure = html[html.index("<svg") : html.index("</svg>")]
    assert [name for name in MECHANISMS if f">{name}</text>" not in figure] == []
    lines = re.findall(r'style="fill: none; ([^"]*); stroke-width: 1.2', figure)
    assert len(set(lines)) == len(MECHANISMS)


def test_a_panel_for_each_c() -> None:
    points = [_point("laplace", 5, 0.5, 0.1, c) for c in (None, 0.02, 0.1)]
    titles = re.findall(r"<h3>(.*)</h3>", _page(points))
    assert titles == [
        "Without rank resampling",
        "With rank resampling, c = 0.02",
        "With rank resampling, c = 0.1",
    ]


def test_rows_name_those_that_they_surely_beat() -> None:
    points = [
        _point(name, 5, useful, 0.1)
        for name, useful in (("laplace", 0.5), ("tem", 0.47), ("santext", 0.4), ("vickrey", 0.3))
    ]
    assert _rows(_page(points)) == {
        "1. laplace": "3–4",
        "2. tem": "3–4",
        "3. santext": "4",
        "4. vickrey": "none",
    }


def test_words_in_documents_are_not_said_to_be_drawn_one_by_one() -> None:
    alone = _point("laplace", 5, 0.5, 0.1)
    read = alone._replace(parameters="decode=context,language_model=lm", words=7_000)
    both = "500 words of the vocabulary, each as likely as any other; of settings that\nread texts"
    assert f"Each point is\n{both} with a language model it is 7,000 words" in _page([alone, read])
    assert "Each point is\n7,000 words in their places in documents" in _page([read])
    assert "in their places" not in _page([alone])


def test_a_mechanism_that_needs_consent_is_given_no_flags() -> None:
    html = _page([_point("laplace", 5, 0.5, 0.1), _point("santext_plus", 5, 0.6, 0.1)])
    assert "--mechanism laplace --epsilon 5" in html
    assert "--mechanism santext_plus" not in html
    assert "santext_plus, which needs --allow_unsound" in html


def test_what_is_left_out_is_said() -> None:
    points = [
        _point("laplace", 0.5, 0.1, 0.05),
        _point("laplace", 5, 0.5, 0.1),
        _point("laplace", 5, 0.6, 0.1, 0.005),
        _point("tem", 5, 0.9, 0.9),
    ]
    missing = ["laplace, c = 0.005 at epsilon = 0.5", "tem, c = 0.005 at epsilon = 5"]
    assert not_followed(points, (0.005,)) == missing
    html = _page(points, rank_cs=(0.005,), left_out=("truncated_gumbel",))
    assert f"{MOST_RANKS:,} ranks" in html
    assert "; ".join(missing) in html
    assert "Left out: truncated_gumbel." in html
    assert "No point of tem is within the limit" in html


def test_what_is_learnt_stands_beside_what_the_originals_teach() -> None:
    points = [
        _point("laplace", 5, 0.5, 0.1).with_documents(task_accuracy=_around(0.8), wmd=_around(2.0)),
        _point("tem", 5, 0.5, 0.1).with_documents(task_accuracy=_around(0.6), wmd=_around(3.0)),
    ]
    html = _page(points, TaskBaseline("stars", 300, _around(0.9), _around(0.5)))
    assert "learns\n<code>stars</code> from released documents" in html
    assert "always the commonest class" in html
    assert _rows(html) == {"1. laplace": "2", "2. tem": "none"}
    assert "WMD" not in html
    assert "Word Mover" not in _page(points)


def test_records_that_could_not_be_read_are_counted() -> None:
    asked = Asked(HEADING._replace(corpus="corpus/*.jsonl"), "", 0.2)
    said = "3 records could not be read and are left out."
    assert said in page(asked, [_point("laplace", 5, 0.5, 0.1)], left_out=3)
    assert "could not be read" not in page(asked, [_point("laplace", 5, 0.5, 0.1)])
