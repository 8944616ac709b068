"""The tools of tests change nothing of what they speed up."""

from __future__ import annotations

from typing import Any

import apache_beam as beam
from apache_beam.transforms import core

from tests.support.beam_signatures import Signature, Specs, remembered, remembered_states


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


def test_states_are_remembered_by_class() -> None:
    asked: list[beam.DoFn] = []

    def look_up(do_fn: beam.DoFn) -> Specs:
        asked.append(do_fn)
        return {len(asked)}, set()

    remember = remembered_states(look_up)
    assert remember(_DoFn()) == ({1}, set())
    remember(_DoFn())[0].clear()
    assert remember(_DoFn()) == ({1}, set()), "whoever changes it changes a copy"
    assert remember(_Other()) == ({2}, set())
    assert remember(core.CallableWrapperDoFn(len)) == remember(core.CallableWrapperDoFn(max))
    of_its_own = core.CallableWrapperDoFn(_DoFn().process)
    assert remember(of_its_own) == ({4}, set()), "it has a method as its process"
    assert remember(of_its_own) == ({5}, set())
