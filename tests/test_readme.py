"""What the README and the page of paragraphs show was really produced: it is drawn again."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dxbeam.documents import Document
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.space.embeddings.reader import read_embeddings
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.batch import Sanitized
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitizer

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PARAGRAPHS = (ROOT / "docs" / "results" / "paragraphs.md").read_text("utf-8")
KEY = hashlib.sha256(b"dxbeam README 7").digest()
"""A published key, for this table alone."""


@pytest.fixture(scope="module")
def glove(real_data: Path) -> Vocabulary:
    path = real_data / "embeddings" / "glove.840B.300d.33k.w2v.txt.gz"
    chunks = list(read_embeddings(str(path), lowercase=True))
    words = [word for chunk in chunks for word in chunk.words]
    # The digest that keys the noise is fixed, so that the table outlives changes of the artifact.
    return Vocabulary(
        words,
        np.concatenate([chunk.vectors for chunk in chunks]),
        lowercase=True,
    ).with_content_digest("glove.840B.300d.33k")


def table(vocabulary: Vocabulary) -> Iterator[str]:
    paragraph = " ".join(re.findall(r"^> (.*)$", PARAGRAPHS, re.MULTILINE))
    yield "| ε | | released |"
    yield "|---|---|---|"
    for epsilon in (5, 10, 20, 40):
        for c in (None, 0.05):
            settings = Configuration(Laplace(epsilon), RankResampling(c) if c else None)
            sanitizer = Sanitizer(vocabulary, settings, KEY)
            [result] = sanitizer.sanitize([Document("maria", paragraph)])
            assert isinstance(result, Sanitized)
            resampled = f"rank_c {c}" if c else ""
            yield f"| {epsilon} | {resampled} | {result.document.text} |"


@pytest.mark.slow
def test_the_paragraphs_are_what_the_code_produces(glove: Vocabulary) -> None:
    shown = PARAGRAPHS.partition("<!-- paragraphs: begin -->")[2]
    assert shown.partition("<!-- paragraphs: end -->")[0].strip() == "\n".join(table(glove))


def test_the_readme_shows_sentences_of_that_page() -> None:
    [original] = re.findall(r"^> (.*)$", README, re.MULTILINE)
    assert f"> {original}" in PARAGRAPHS
    shown = re.findall(r"^\| (\d+) \| (.+?\.) \|", README, re.MULTILINE)
    assert len(shown) == 3
    for epsilon, released in shown:
        assert f"| {epsilon} | context | {released}" in PARAGRAPHS


def test_the_readme_is_short() -> None:
    assert len(README.split()) <= 700
