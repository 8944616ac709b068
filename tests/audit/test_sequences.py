"""The audit of ``fluent`` with a language model: it passes, and copies with a mistake do not.

An audit raises a false alarm with probability 1e-6 at most.
"""

from __future__ import annotations

import pytest

from dxbeam.audit.batteries.decoded import made_up_model
from dxbeam.audit.cut_model import CutModel
from dxbeam.audit.fitted import Fitted
from dxbeam.audit.run_audit import parts
from dxbeam.audit.subject import SMALL, Size, Subject
from dxbeam.language.artifact import language_model_handle
from dxbeam.mechanisms.fluent import Fluent
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.mechanisms.santext import SanText
from dxbeam.text.configuration import Configuration
from tests.support import broken_fluent
from tests.support.audits import failures

FEW = Size(outputs=600, words=2_400)
"""At which all mistakes show."""

READS = Fitted(model=made_up_model)


def test_fluent_passes_with_a_model() -> None:
    subject = Subject(Configuration(Fluent(10.0, 0.8)), SMALL, fitted=READS)
    assert failures(subject) == []


def test_fluent_passes_with_a_model_that_is_cut_and_with_rank_resampling() -> None:
    model = CutModel(language_model_handle("demo"))
    settings = Configuration(Fluent(10.0, 0.8))
    subject = Subject(settings, SMALL, fitted=Fitted(model=model))
    assert failures(subject, {"sequences", "line", "cluster", "texts"}) == []
    ranks = Configuration(Fluent(10.0, 0.8), RankResampling(0.05))
    assert failures(Subject(ranks, SMALL, fitted=READS), {"plane", "sequences", "batches"}) == []


@pytest.mark.parametrize("name", sorted(broken_fluent.MECHANISMS))
def test_broken_copies_are_found(name: str) -> None:
    mechanism = broken_fluent.MECHANISMS[name](10.0, 0.8)
    subject = Subject(Configuration(mechanism), FEW, fitted=READS)
    assert failures(subject, {"sequences"})


def test_only_mechanisms_that_read_have_this_part() -> None:
    assert "sequences" not in {part.name for part in parts(Subject(Configuration(SanText(2.0))))}
