"""Names of fields, and how many records a run may reject."""

from __future__ import annotations

import pytest

from dxbeam.documents import dead_letter_cap, field_names
from dxbeam.errors import ConfigurationError, RunError


@pytest.mark.parametrize(
    ("listed", "names"),
    [("doc, body", ("doc", "body")), (" a ,b,, ", ("a", "b")), ("", ()), ("a b", ("a b",))],
)
def test_names_of_fields_in_a_list(listed: str, names: tuple[str, ...]) -> None:
    assert field_names(listed) == names


@pytest.mark.parametrize(
    ("given", "dead", "records", "passes"),
    [
        ("0", 0, 5, True),
        ("0", 1, 5, False),
        ("3", 3, 5, True),
        ("3", 4, 5, False),
        ("50%", 2, 4, True),
        ("50%", 3, 4, False),
        ("0.5%", 1, 200, True),
        ("0.5 %", 2, 200, False),
    ],
)
def test_dead_letters_up_to_a_cap(given: str, dead: int, records: int, passes: bool) -> None:
    cap = dead_letter_cap(given)
    assert cap
    if passes:
        cap.check(dead, records)
        return
    with pytest.raises(RunError, match=f"{dead} of {records} records went to the dead letters"):
        cap.check(dead, records)


@pytest.mark.parametrize("given", ["", "-1", "1.5", "%", "101%", "-1%", "nan%", "many", "٣"])
def test_a_cap_is_a_number_or_a_percentage(given: str) -> None:
    with pytest.raises(ConfigurationError, match="`max_dead_letters`"):
        dead_letter_cap(given)
