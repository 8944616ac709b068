"""The tools of tests change nothing of what they speed up."""

from __future__ import annotations

from typing import Any

import apache_beam as beam

from tests.support.beam_signatures import Signature, remembered


class _DoFn(beam.DoFn):
    def process(self, element: Any, one: int = 1, two: Any = beam.DoFn.KeyParam) -> None: ...


class _Other(_DoFn):
    def process(self, element: Any) -> None: ...


def test_signatures_are_remembered_by_method() -> None:
    asked: list[Any] = []

    def look_up(method: Any) -> Signature:
        asked.append(method)
        return ["element"], [len(asked)]

    remember = remembered(look_up)
    assert remember(_DoFn().process) == (["element"], [1])
    remember(_DoFn().process)[1].clear()
    assert remember(_DoFn().process) == (["element"], [1]), "whoever changes it changes a copy"
    assert remember(_Other().process) == (["element"], [2])
    assert remember(_Other().start_bundle) == remember(_DoFn().start_bundle) == (["element"], [3])
    assert remember(_DoFn.process) == (["element"], [4]), "of what is no method, each time"
    assert remember(_DoFn.process) == (["element"], [5])
