"""The published draw, with replacement: exact losses next to the theorem's, and its refusal.

Losses are enumerated over all pairs of documents of n of five words on a line; see
tests/support/exact_bags.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from dxbeam import BagOfWords, BagOfWordsPublished, Configuration, Laplace, Sanitizer
from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError
from dxbeam.text.batch import Sanitized
from dxbeam.text.recorded_configuration import rebuilt
from tests.support import exact_bags as exact
from tests.support import tiny

Draw = Callable[[exact.Bag, int], exact.Distribution]


def _largest_ratio(draw: Draw, n: int) -> float:
    """Of loss and epsilon WMD (Definition 2, masses 1 / n), over all pairs of n words."""
    documents = list(itertools.combinations_with_replacement(range(5), n))
    return max(
        exact.loss(draw(x, n), draw(y, n)) / (exact.EPSILON * exact.movers(x, y)[0])
        for x, y in itertools.combinations(documents, 2)
    )


@pytest.mark.parametrize(("n", "as_published"), [(1, 1.0), (2, 3.995), (3, 8.977)])
def test_losses_are_those_of_the_page(n: int, as_published: float) -> None:
    """The paper's theorem 4 is false by the factor n, and its draw by nearly another one.

    Without replacement the loss is n WMD, the sum of all distances, and no more. The bound of the
    theorem is WMD. A sum in place of the mean, as in its proof, saves the one, not the other.
    """
    assert _largest_ratio(exact.without_replacement, n) == pytest.approx(n)
    assert _largest_ratio(exact.with_replacement, n) == pytest.approx(as_published, abs=5e-4)


def _bag(n: int) -> BagOfWordsPublished:
    return BagOfWordsPublished(n, frozenset())


def _released(documents: list[Document], n: int, epsilon: float) -> list[Sanitized]:
    settings = Configuration(Laplace(epsilon), bag=_bag(n), allow_unsound=True)
    results = list(Sanitizer(exact.line(), settings, tiny.KEY).sanitize(documents))
    return [result for result in results if result.document]


@pytest.mark.slow
@pytest.mark.parametrize("document", [(0, 4, 4, 2), (3,)])
def test_released_bags_follow_the_enumerated_law(document: exact.Bag) -> None:
    """Chi-squared; false alarms: 1e-6 each, and the key is fixed."""
    count, text = 10_000, " ".join(f"w{word}" for word in document)
    documents = [Document(str(number), text) for number in range(count)]
    released = (r.document.text for r in _released(documents, 2, exact.EPSILON))
    assert exact.p_value(released, exact.with_replacement(document, 2), count) > 1e-6


def test_a_short_document_is_not_filled_up_and_its_tally_adds_up() -> None:
    for text, fillers in (("w1 w3", 0), ("", 5)):
        [result] = _released([Document("a", text)], 5, 5000.0)
        assert len(result.document.text.split()) == 5
        assert result.tally.tokens == 5
        assert result.tally.fillers == fillers
        assert result.tally.unknown == 0
        if text:
            assert set(result.document.text.split()) <= set(text.split())


def test_it_needs_consent_and_promises_nothing() -> None:
    with pytest.raises(ConfigurationError, match=r"draws words with replacement.*allow_unsound"):
        Configuration(Laplace(5.0), bag=_bag(7))
    made = Configuration(Laplace(5.0), bag=_bag(7), allow_unsound=True)
    assert made.guarantee().sentence == "Nothing is guaranteed for a document."
    other = Configuration(Laplace(5.0), bag=BagOfWords(7, frozenset()))
    assert made.digest("v") != other.digest("v")
    assert rebuilt(made.as_dict()) == made
    assert rebuilt(other.as_dict()) == other
